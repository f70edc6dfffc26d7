"""`penstock advise merge`: its choice against all others, what it says of races, wrong input."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from command import penstock
from penstock.advise import merge_disks, merge_words
from penstock.advise.merge import Choice, Facts, PlacementAdvice, Question
from penstock.advise.merge_runs import advise, simulation_of
from penstock.errors import PenstockError
from penstock.target import Target
from penstock.text.verdict import WIDTH


def advised(*words: str | Path) -> dict[str, Any]:
    ended = penstock("advise", "merge", *words, "--json")
    assert ended.code == 0, ended.err
    answer: dict[str, Any] = json.loads(ended.out)
    return answer


def refused(*words: str | Path, code: int = 2) -> str:
    ended = penstock("advise", "merge", *words)
    assert (ended.code, ended.out) == (code, ""), ended.err
    return ended.err


class Setting(NamedTuple):
    """Merges on some disks."""

    disks: int
    jobs: int
    n: int
    m: int
    runs: int
    device: str


def settings() -> list[Setting]:
    """Twenty of all sorts; the same each time."""
    draw = random.Random(1992)
    found = []
    for _ in range(20):
        disks = draw.choice([2, 3, 4, 5, 6, 8])
        found.append(
            Setting(
                disks=disks,
                jobs=draw.randint(1, min(disks, 6)),
                n=draw.choice([4, 6, 8, 12, 16, 24, 32]),
                m=draw.choice([10, 20, 40, 80, 120]),
                runs=draw.choice([8, 12, 20]),
                device=draw.choice(["linear-1992", "linear-1992", "hdd-10k", "ssd-sata"]),
            )
        )
    return found


def excess(of: Setting) -> float:
    """By what part the advice is worse than the best of all choices, from seeds of their own."""
    sets = [
        f"merge.read={of.n}",
        f"merge.write={of.m}",
        f"merge.runs={of.runs}",
        "merge.run=400blocks",
    ]
    disks = merge_disks.found([of.device], of.disks, Target())
    found = advise(disks, Question(jobs=of.jobs, sets=sets))
    others = Question(jobs=of.jobs, sets=[*sets, "seed=1000"])
    simulation, _ = simulation_of(disks[0], others)
    blank = [replace(one, times={}) for one in found.choices]
    every = replace(simulation, seeds=5).tried(blank, None, (0.0, 1.0))
    assert len(every) == (60 if of.jobs < of.disks else 45)
    at = found.choices.index(found.best)
    return every[at].time / min(one.time for one in every) - 1


class TestAgainstAll:
    """Its choice against the best of all, simulated from other seeds than it used."""

    @pytest.mark.parametrize("of", [one for one in settings() if one.device == "linear-1992"][:2])
    def test_it_is_near_the_best(self, of: Setting) -> None:
        assert excess(of) <= 0.05

    @pytest.mark.soak
    def test_it_is_within_five_percent_of_the_best_nineteen_times_of_twenty(self) -> None:
        found = {of: excess(of) for of in settings()}
        assert sum(one <= 0.05 for one in found.values()) >= 19, found


class TestAnswer:
    """What it says."""

    def test_few_merges_get_disks_of_their_own_for_their_outputs(self) -> None:
        answer = advised("--disks", "5", "--jobs", "2")
        assert (answer["placement"], answer["policy"]) == ("dedicated", "fcfs")
        assert answer["time_s"] == pytest.approx(27.1, rel=0.03)
        assert answer["f_eff"] == pytest.approx(2.7, rel=0.03)
        assert answer["races"]
        assert not answer["at_boundary"]
        assert len(answer["choices"]) == 60
        times = {
            (one["placement"], one["policy"], one["buffer"]): one["time_s"]
            for one in answer["choices"]
        }
        assert times["separate", "fcfs", None] == pytest.approx(47.7, rel=0.04)
        assert times["shared", "fcfs", None] == pytest.approx(38.2, rel=0.02)
        assert all(one["sd_s"] > 0 and one["failure"] is None for one in answer["choices"])

    def test_many_need_a_scheduler_and_what_it_saves_is_said(self) -> None:
        answer = advised("--disks", "5", "--jobs", "5")
        assert (answer["policy"], answer["buffer_blocks"]) == ("read-first", None)
        assert answer["time_s"] == pytest.approx(64.3, rel=0.02)
        assert not any(one["placement"] == "dedicated" for one in answer["choices"])
        simple = answer["simplest"]
        assert simple["policy"] == "fcfs"
        assert simple["costs"] == pytest.approx(simple["time_s"] / answer["time_s"], rel=0.01)
        assert 1.05 < simple["costs"] < 1.15
        assert not simple["alike"]
        # Where runs lie does not matter then: that is no lead, and is said.
        assert not answer["certain"]
        assert any("Noise hides how it differs" in line for line in answer["lines"])

    def test_the_text_has_the_answer_first_and_fits_a_line(self) -> None:
        ended = penstock("advise", "merge", "--disks", "5", "--jobs", "3")
        assert ended.code == 0, ended.err
        lines = ended.out.splitlines()
        assert lines[0].startswith("SIMULATED  3 merges on 5 disks like linear-1992: 20 runs")
        assert lines[2].startswith("Set placement shared, policy read-first, unlimited memory: ")
        assert lines[3].startswith("f_eff is 2.7")
        assert any(line.startswith("Simpler, without a scheduler: ") for line in lines)
        assert all(len(line) <= WIDTH for line in lines)

    def test_a_number_that_is_not_known_rules_out_placements_that_need_it(self) -> None:
        answer = advised("--disks", "5")
        assert answer["jobs"] is None
        assert {one["placement"] for one in answer["choices"]} == {"separate", "all"}
        assert all(set(one["times_s"]) == {"1", "3", "5"} for one in answer["choices"])

    def test_equal_questions_have_equal_answers(self) -> None:
        words = ("--disks", "3", "--jobs", "2", "--run", "100blocks")
        assert advised(*words) == advised(*words)

    @pytest.mark.parametrize(
        ("words", "races", "at_boundary", "said"),
        [
            (("--disks", "2", "--jobs", "2"), False, False, "below 1: merges do not race"),
            (("--disks", "3", "--jobs", "2", "--n", "7"), None, True, "near the boundary of 1"),
            (
                ("--disks", "3", "--jobs", "2", "--n", "24"),
                True,
                False,
                "above 1: with placement separate",
            ),
            (("--disks", "5", "--jobs", "1"), False, False, "a single merge cannot race"),
        ],
    )
    def test_whether_merges_race_is_said_with_its_boundary(
        self, words: Sequence[str], races: bool | None, at_boundary: bool, said: str
    ) -> None:
        answer = advised(*words, "--run", "300blocks")
        assert races is None or answer["races"] is races
        assert answer["at_boundary"] is at_boundary
        assert said in answer["lines"][1]

    def test_disks_may_be_of_any_device_and_the_slowest_counts(self) -> None:
        answer = advised("--on", "ssd-sata", "--on", "linear-1992", "--run", "100blocks")
        assert (answer["device"], answer["disks"]) == ("linear-1992", 2)
        assert "linear-1992 is the slowest of 2 disks" in answer["remarks"][0]

    def test_a_sweep_finds_how_much_to_read_and_write_at_once(self) -> None:
        plain = ("--disks", "3", "--jobs", "2", "--run", "300blocks", "--memory", "600")
        given, swept = advised(*plain), advised(*plain, "--sweep")
        assert (given["n"], given["m"]) == (12, 40)
        assert (swept["n"], swept["m"]) != (12, 40)
        assert swept["time_s"] < 0.99 * given["time_s"]
        assert swept["buffer_blocks"] <= 600

    def test_long_runs_are_shortened_and_that_is_said(self) -> None:
        long = ("--run", "100000blocks", "--set", "device.capacity=64GiB")
        answer = advised("--disks", "3", "--jobs", "2", "--placement", "shared", *long)
        assert answer["shortened"] > 1
        assert f"1/{answer['shortened']:.3g} of their blocks" in " ".join(answer["lines"])
        least = 100_000 * 20 / 40 * 0.049
        assert answer["time_s"] > 0.9 * least


class TestDeadlock:
    """Choices that do not end."""

    def test_where_none_ends_what_would_is_said(self) -> None:
        message = refused("--disks", "5", "--jobs", "2", "--memory", "420", code=1)
        assert "with 420 blocks of memory for each merge none of 12 choices comes to its end" in (
            message
        )
        assert "(deadlock); 511 are always enough" in message
        assert "hint: give --memory 511" in message

    def test_one_that_fails_is_told_and_never_advised(self) -> None:
        disks = merge_disks.found([], 3, Target())
        question = Question(jobs=2, sets=["merge.run=200blocks"])
        found = advise(disks, question)
        simulation, facts = simulation_of(disks[0], question)
        # It would be the best by far, and a job waits for ever with it.
        small = Choice(placement="separate", policy="fcfs", buffer=facts.least)
        (failed,) = simulation.tried([small], None, (0.0, 1.0))
        assert failed.failure is not None
        assert "the cache is too small (deadlock)" in failed.failure
        assert not failed.times
        both = simulation.tried([small, found.best], None, (0.0, 1.0))
        assert [one.failure is None for one in both] == [False, True]
        with_failed = replace(found, choices=[failed, *found.choices])
        assert failed not in with_failed.ranked
        assert with_failed.best == found.best
        said = next(
            line for line in merge_words.lines(with_failed) if "fail and are not advised" in line
        )
        assert said.startswith(f"1 of {len(with_failed.choices)} choices fail")
        assert "deadlock" in said

    def test_memory_that_may_not_be_enough_is_reported(self) -> None:
        answer = advised("--disks", "5", "--jobs", "2", "--memory", "490")
        assert answer["buffer_blocks"] == 490
        assert any("490 blocks were enough with 13 seeds" in line for line in answer["lines"])


class TestChoosing:
    """Among choices that differ by noise alone the simplest is taken."""

    def of(self, *choices: Choice, jobs: int | None = 2) -> PlacementAdvice:
        disks = merge_disks.found([], 5, Target())[0]
        facts = Facts(2, 20, 1000, 4096, 12, 40, 4360, 288, 511)
        return PlacementAdvice(
            disks=disks,
            question=Question(jobs=jobs),
            facts=facts,
            choices=choices,
            f_eff=2.7,
            shortened=1.0,
        )

    def choice(self, placement: str, policy: str, buffer: int | None, *times: float) -> Choice:
        return Choice(placement=placement, policy=policy, buffer=buffer, times={2: times})

    def test_no_scheduler_then_the_usual_placement_then_little_memory(self) -> None:
        best = self.choice("separate", "read-first", None, 10.0, 10.1)
        plain = self.choice("separate", "fcfs", None, 10.1, 10.2)
        usual = self.choice("dedicated", "fcfs", None, 10.1, 10.2)
        little = self.choice("dedicated", "fcfs", 511, 10.1, 10.2)
        assert self.of(best, plain).best is plain
        assert self.of(best, plain, usual).best is usual
        assert self.of(best, plain, usual, little).best is little

    def test_one_that_differs_by_more_than_chance_is_no_choice(self) -> None:
        best = self.choice("separate", "read-first", None, 10.0, 10.1)
        plain = self.choice("separate", "fcfs", None, 11.0, 11.1)
        found = self.of(best, plain)
        assert (found.best, found.runner_up, found.simplest) == (best, plain, plain)
        assert found.certain
        assert found.costs(plain) == pytest.approx(11.05 / 10.05)

    def test_a_wide_spread_hides_which_is_best(self) -> None:
        best = self.choice("separate", "read-first", None, 9.0, 11.0)
        plain = self.choice("separate", "fcfs", None, 10.0, 12.5)
        assert not self.of(best, plain).certain


class TestWrongInput:
    """Each is refused with what was found, what was expected, and a hint."""

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (
                ("--disks", "3", "--jobs", "5"),
                "--jobs: found 5 merges on 3 disks; expected at most",
            ),
            (
                ("--disks", "3", "--jobs", "3", "--placement", "dedicated"),
                "--placement dedicated: found 3 merges on 3 disks; expected fewer merges than",
            ),
            (
                ("--disks", "1", "--jobs", "1", "--placement", "shared"),
                "--placement shared: found 1 disk; expected 2 or more",
            ),
            (("--disks", "3", "--placement", "shared"), "--placement shared: found no --jobs"),
            (("--disks", "3", "--placement", "best"), "--placement: found 'best'; expected one of"),
            (
                ("--disks", "3", "--jobs", "2", "--n", "2000"),
                "2000 blocks are read at once, and a run has 1000",
            ),
            (
                ("--disks", "3", "--jobs", "2", "--m", "2000"),
                "2000 blocks are written at once, and a run has 1000",
            ),
            (
                ("--disks", "3", "--jobs", "2", "--memory", "100"),
                "with 100 blocks of memory no job can end: it takes 288",
            ),
            (("--jobs", "2"), "found no --disks; expected how many disks there are"),
            (("--disks", "3", "--on", "hdd-9999"), "unknown device `hdd-9999`"),
            (("--disks", "3", "--on", "/etc"), "/etc: found a directory; expected a file"),
            (("--disks", "3", "--on", "fairio-raid"), "fairio-raid: found an array; expected one"),
            (
                ("--disks", "3", "--on", "hdd-7200", "--on", "hdd-10k"),
                "found --on 2 times and --disks 3; expected one for all disks, or one for each",
            ),
            (
                ("--disks", "2", "--jobs", "2", "--run", "1000000blocks"),
                "are to lie on disk",
            ),
        ],
    )
    def test_it_is_refused(self, words: Sequence[str], said: str) -> None:
        message = refused(*words)
        assert said in message
        assert "hint: " in message

    def test_a_path_that_is_no_disk_is_unsafe(self) -> None:
        message = refused("--disks", "3", "--on", "/dev/null", code=5)
        assert "/dev/null: found a character device; expected a regular file" in message

    def test_the_python_side_raises_the_same(self) -> None:
        disks = merge_disks.found([], 2, Target())
        with pytest.raises(PenstockError, match="found 3 merges on 2 disks"):
            advise(disks, Question(jobs=3))


@pytest.mark.soak
def test_a_target_is_probed_first(tmp_path: Path) -> None:
    """Two minutes: as `penstock calibrate`."""
    file = tmp_path / "disk.img"
    answer = advised(
        "--disks", "3", "--jobs", "2", "--run", "50blocks", "--on", file, "--create", "64MiB"
    )
    assert answer["device"] == str(file)
    assert "was probed: model" in answer["remarks"][0]
    assert answer["f_eff"] > 0
