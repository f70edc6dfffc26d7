"""Advice for a goal: what is tried, who wins, and how near that is to the best of a whole grid."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest

from command import ROOT
from command import penstock as command
from penstock.advise import search
from penstock.advise.goal import Goal, Standing
from penstock.advise.levels import around, every
from penstock.errors import PenstockError
from penstock.results.figure import Figure
from penstock.session import Variant
from penstock.sweeps.run import measured
from penstock.sweeps.vary import Setting, known_policies
from penstock.target import Target


class TestGoals:
    """What a goal may be, and how settings stand to it."""

    @pytest.mark.parametrize(
        ("written", "figure", "at_most", "limit"),
        [
            ("tellers.p99 <= 5ms", Figure("tellers", "p99"), True, 5e6),
            ("tellers.p99.9<2s", Figure("tellers", "p99.9"), True, 2e9),
            ("batch.bw >= 30MB/s", Figure("batch", "bw"), False, 30e6),
            ("batch.bw > 1MiB", Figure("batch", "bw"), False, 2**20),
            ("batch.iops >= 200/s", Figure("batch", "iops"), False, 200),
        ],
    )
    def test_it_is_a_figure_and_its_limit(
        self, written: str, figure: Figure, at_most: bool, limit: float
    ) -> None:
        assert Goal.parse(written) == (figure, at_most, limit, written)

    @pytest.mark.parametrize(
        "written",
        ["tellers.p99", "tellers <= 5ms", "t.p99 <= 5", "b.bw >= 5ms", "b.iops > x", "b.bw > 0B"],
    )
    def test_what_is_none_says_how_one_looks(self, written: str) -> None:
        with pytest.raises(PenstockError, match="expected "):
            Goal.parse(written)

    def test_a_goal_that_is_met_comes_before_any_figure(self) -> None:
        good, better = Standing(0.5, 10), Standing(1.0, 20)
        missed, far = Standing(1.1, 99), Standing(3.0, 99)
        assert sorted([far, good, missed, better], key=Standing.key) == [far, missed, good, better]


class TestTried:
    """Which settings are worth a try."""

    def test_every_policy_as_it_is_and_each_of_its_parameters(self) -> None:
        found = list(every(known_policies()))
        assert {one.policy for one in found if not one.changes} == set(known_policies())
        assert len({one.label for one in found}) == len(found)
        split = [
            one.changes["size-priority.split"]
            for one in found
            if "size-priority.split" in one.changes
        ]
        assert split == ["off", "16KiB", "64KiB", "256KiB", "1MiB"]
        stall = [
            one.changes["size-priority.guard.stall"]
            for one in found
            if "size-priority.guard.stall" in one.changes
        ]
        assert stall == ["12ms", "50ms", "200ms", "800ms"]

    def test_around_a_setting_its_numbers_change(self) -> None:
        key = "size-priority.split"
        found = [
            one.changes for one in around(Setting(policy="size-priority", changes={key: "64KiB"}))
        ]
        assert {key: "32KiB"} in found
        assert {key: "128KiB"} in found
        assert {} in found
        assert {key: "64KiB", "size-priority.order": "rr"} in found

    def test_a_table_and_the_word_in_its_place_are_never_both_set(self) -> None:
        key = "size-priority.long_in_flight"
        for begin in ({key: "unlimited"}, {f"{key}.target": "1ms"}):
            for one in around(Setting(policy="size-priority", changes=begin)):
                assert not {key, f"{key}.target"} <= one.changes.keys()


class TestCommand:
    """The command end to end."""

    def test_it_answers_with_a_setting_that_a_job_can_have(self, tmp_path: Path) -> None:
        words = ("--goal", "tellers.p99 <= 500us", "--best", "batch.bw", "--on", "flash")
        ended = command("advise", ROOT / "examples/shared-disk.toml", *words)
        assert ended.code == 0, ended.err
        assert "\ntake size-priority split=128KiB (tellers.p99 4" in ended.out
        assert "it meets tellers.p99 <= 500us in each of 3 rounds" in ended.out
        assert "without any parameter: size-priority (" in ended.out
        written = ended.out[ended.out.index("\n[policy.") :]
        job = tmp_path / "job.toml"
        before = (ROOT / "examples/shared-disk.toml").read_text()
        job.write_text(before.partition("[policy.")[0] + written)
        run = command("run", job, "--policy", "size-priority", "--on", "flash", "--json")
        assert run.code == 0, run.err
        assert json.loads(run.out)["runs"][0]["params"]["split"] == "128KiB"

    def test_a_goal_that_cannot_be_met_says_what_comes_nearest(self, job: Path) -> None:
        words = ("advise", job, "--goal", "tellers.p99 <= 10us", "--best", "batch.bw")
        ended = command(*words, "--policies", "noop,class-priority")
        assert ended.code == 1
        assert "no setting meets tellers.p99 <= 10us; the nearest is " in ended.out
        found = json.loads(command(*words, "--policies", "noop", "--json").out)
        assert not found["met"]
        assert {one["policy"] for one in found["settings"]} == {"noop"}

    def test_equal_jobs_get_equal_answers(self, job: Path) -> None:
        words = ("advise", job, "--best", "tellers.p99", "--policies", "noop,cfq,class-priority")
        assert command(*words).out == command(*words).out

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (("--goal", "tellers.p99 <= 5", "--best", "batch.bw"), "expected a time, as 5ms"),
            (("--best", "night.bw"), "no class `night`"),
            (("--best", "batch.bw", "--policies", "nop"), "unknown policy `nop`"),
        ],
    )
    def test_what_is_not_there_is_refused(
        self, job: Path, more: Sequence[str], message: str
    ) -> None:
        ended = command("advise", job, *more)
        assert (ended.code, ended.out) == (2, "")
        assert message in ended.err

    def test_a_real_target_has_the_best_measured(self, tmp_path: Path) -> None:
        words = ("--goal", "tellers.p99 <= 10s", "--best", "batch.bw", "--policies", "noop,fcfs")
        disk = ("--on", "./d.img", "--create", "16MiB", "--set", "duration=500ms")
        job = ROOT / "examples/bank-day.toml"
        ended = command("advise", job, *words, *disk, cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert ended.out.startswith("MEASURED")
        assert "were tried on hdd-7200" in ended.out
        assert "were measured on ./d.img, in rounds" in ended.out


@dataclass(frozen=True)
class Case:
    """A job with its goal."""

    job: str
    on: str
    goal: str
    best: str
    sets: Sequence[str] = field(default=())


CASES = (
    Case("bank-day", "hdd-7200", "tellers.p99 <= 60ms", "batch.bw"),
    Case("bank-day", "hdd-7200", "batch.bw >= 28MB/s", "tellers.p99"),
    Case("bank-day", "ssd-sata", "tellers.p99 <= 3ms", "batch.bw", ("duration=1min",)),
    Case("bank-day", "ssd-nvme", "batch.bw >= 3GB/s", "tellers.p99", ("duration=30s",)),
    Case("bank-day", "raid0.toml", "tellers.p99 <= 60ms", "batch.bw", ("duration=2min",)),
    Case("shared-disk", "flash", "tellers.p99 <= 500us", "batch.bw"),
    Case(
        "shared-disk",
        "hdd-7200",
        "batch.bw >= 20MB/s",
        "tellers.p99",
        ("agent.0.arrivals.rate=20/s",),
    ),
    Case("buffered", "hdd-7200", "orders.p99 <= 40ms", "report.bw"),
)


def grid() -> list[Setting]:
    """Every policy, and every combination of what matters in four of them."""
    found = [Setting(policy=policy, changes={}) for policy in known_policies()]
    own = "size-priority."
    splits = ("auto", "16KiB", "32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "off")
    flights = ("unlimited", "64KiB", "256KiB", "1MiB", "4MiB")
    for split, flight, guard, threshold in product(splits, flights, (None, "off"), (None, "16KiB")):
        levels = {
            "split": split,
            "long_in_flight": flight,
            "guard": guard,
            "threshold": threshold,
        }
        changes = {f"{own}{key}": value for key, value in levels.items() if value is not None}
        found.append(Setting(policy="size-priority", changes=changes))
    for expire, batch in product(("50ms", "500ms", "2s"), ("1", "4", "64")):
        changes = {"deadline.write_expire": expire, "deadline.fifo_batch": batch}
        found.append(Setting(policy="deadline", changes=changes))
    found += [Setting(policy="cfq", changes={"cfq.quantum": n}) for n in ("1", "2", "8", "32")]
    return found


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case.on == "flash" else pytest.mark.soak) for case in CASES],
    ids=lambda case: f"{case.job} on {case.on}: {case.goal}, best {case.best}",
)
def test_it_is_within_a_twentieth_of_the_best_of_a_grid(case: Case) -> None:
    job = Variant(name=str(ROOT / f"examples/{case.job}.toml"), sets=case.sets)
    on = ROOT / "examples/devices" / case.on if case.on.endswith(".toml") else case.on
    target, goals, best = Target(on=str(on)), [Goal.parse(case.goal)], Figure.parse(case.best)
    found = search.search(job, goals, best, target)
    # As the finalists run: as long, and from the same seeds.
    written = search._Written.of(job, target)
    rates = search._rates(job, target, written, goals, best)
    longer = written.for_requests(rates, search.CONFIRMED, search.CONFIRMED_OF_CLASS)
    sets = [*search._lasting(job, longer).sets, f"seed={written.seed + 1}"]
    confirmed = Variant(name=job.name, sets=sets)
    settings = grid()
    ran = measured(confirmed, settings, target, repeat=search.SEEDS)
    ranked = search._ranked(settings, ran, goals, best)
    greatest = max((one.standing for one in ranked), key=Standing.key)
    assert greatest.meets
    assert found.found is not None
    ours, theirs = abs(found.found.standing.score), abs(greatest.score)
    assert ours >= 0.95 * theirs if best.kind.more_is_better else ours <= theirs / 0.95
