"""How much of a class fits while goals hold: the search, its answers, and exhaustive search."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from math import log2
from pathlib import Path
from statistics import median_low
from typing import Any

import pytest

from command import penstock as command
from penstock import _native
from penstock.advise.capacity import LoadPoint, PolicyCapacity
from penstock.advise.capacity_load import By, load_of
from penstock.advise.capacity_search import capacity, resolution, search
from penstock.advise.goal import Goal
from penstock.errors import PenstockError
from penstock.experiment.bench import Bench, run_all
from penstock.experiment.trial import Setup, only_run
from penstock.job import Agent, Class, Job
from penstock.report.files import is_page, is_picture
from penstock.results.figure import Figure
from penstock.results.rounds import Rounds, Spread
from penstock.session import Variant
from penstock.target import Target
from sample import one_class, one_run

QUICK = """\
seed = 7
duration = "1s"
device = "flash"

[class.tenants]
[class.batch]
[class.idle]

[[agent]]
class = "tenants"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "500/s" }

[[agent]]
name = "night"
class = "batch"
op = "write"
size = "64KiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 2 }
"""


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """A job whose runs take milliseconds."""
    path = tmp_path / "quick.toml"
    path.write_text(QUICK)
    return path


def searched(limit: int, start: int, stride: int, most: int, *, apart: int = 1) -> tuple[int, int]:
    """The answer of a search where loads up to `limit` hold, and how many loads it has run."""
    run = search(start, stride, most, apart=apart)
    load, count = next(run), 1
    while True:
        assert 1 <= load <= most
        try:
            load, count = run.send(load <= limit), count + 1
        except StopIteration as end:
            return end.value, count


class TestSearch:
    """Which loads are run."""

    @pytest.mark.parametrize("most", [1, 2, 7, 100])
    def test_it_finds_the_last_load_that_holds_from_any_start(self, most: int) -> None:
        for limit in range(most + 1):
            for start in range(1, most + 1):
                for stride in (1, max(1, start // 2)):
                    found, _ = searched(limit, start, stride, most)
                    assert found == limit

    @pytest.mark.parametrize("limit", [0, 1, 17, 40, 99, 100])
    def test_loads_near_each_other_are_not_resolved_but_the_ends_are(self, limit: int) -> None:
        found, count = searched(limit, 30, 8, 100, apart=8)
        assert found == limit if limit in (0, 100) else limit - 8 < found <= limit
        assert count <= 6

    @pytest.mark.parametrize("limit", [250, 3_333, 65_000, 99_999])
    def test_among_many_loads_it_comes_within_a_hundredth_in_few_runs(self, limit: int) -> None:
        found, count = searched(limit, 200, 100, 100_000)
        assert limit - resolution(found) < found <= limit
        assert count <= log2(limit / 200) + 10


class TestLoad:
    """What grows, and what a job has to change for it."""

    def test_copies_of_several_agents_keep_their_ratio(self) -> None:
        agents: list[dict[str, object]] = [
            {"class": "a", "copies": 4, "arrivals": {"kind": "closed"}},
            {"class": "b", "arrivals": {"kind": "closed"}},
            {"class": "a", "name": "log", "copies": 6, "arrivals": {"kind": "closed"}},
        ]
        load = load_of(_text(agents), "a", None)
        assert (load.by, load.start, load.text(1), load.text(3)) == (
            "copies",
            2,
            "1 copy",
            "3 copies",
        )
        assert load.sets(3) == ["agent.0.copies=6", "agent.log.copies=9"]

    def test_a_rate_is_that_of_all_agents_with_their_copies_on_each_file(self) -> None:
        files = '[[file]]\nname = "data"\ncount = 3\n[[file]]\nname = "log"\n'
        agents: list[dict[str, object]] = [
            {"class": "a", "file": ["data"], "copies": 2, "arrivals": {"rate": "10/s"}},
            {"class": "a", "file": ["log", "data.1"], "arrivals": {"rate": "20/s"}},
        ]
        load = load_of(f"{_text(agents)}{files}", "a", "rate")
        assert load.text(load.start) == "100/s"
        doubled = load.sets(2 * load.start)
        assert doubled == ["agent.0.arrivals.rate=20/s", "agent.1.arrivals.rate=40/s"]

    @pytest.mark.parametrize("rate", ["0.00002/s", "0.5/s", "20/s", "123456789/s"])
    def test_a_rate_has_at_least_a_hundred_steps_and_no_exponent(self, rate: str) -> None:
        agent = {"class": "a", "arrivals": {"rate": rate}}
        load = load_of(_text([agent]), "a", "rate")
        assert 100 <= load.start <= 1000
        assert load.sets(load.start)[0].removeprefix("agent.0.arrivals.rate=").count("e") == 0
        assert load.number(load.start) == pytest.approx(float(rate[:-2]), rel=0.005)

    def test_programs_grow_by_their_rate(self) -> None:
        programs = [{"class": "a", "arrivals": {"kind": "poisson", "rate": "5/s"}}]
        load = load_of(_text(programs, "program"), "a", None)
        assert (load.by, load.sets(load.start)) == ("rate", ["program.0.arrivals.rate=5/s"])
        with pytest.raises(PenstockError, match="consists of programs, which have no copies"):
            load_of(_text(programs, "program"), "a", "copies")

    def test_a_weight_is_that_of_the_class(self) -> None:
        load = load_of("[class.a]\n[class.b]\nweight = 300\n", "b", "weight")
        assert (load.start, load.most, load.sets(7)) == (300, 10_000, ["class.b.weight=7"])
        assert load.amount(400) == "weight 400 for b"
        assert load_of("[class.a]\n", "a", "weight").start == 100

    @pytest.mark.parametrize(
        ("by", "text", "steps"),
        [("copies", "40", 40), ("rate", "55/s", 550), ("rate", "55", 550), ("weight", "9", 9)],
    )
    def test_the_limit_has_the_unit_of_the_load(self, by: By, text: str, steps: int) -> None:
        agent = {"class": "a", "arrivals": {"rate": "20/s"}}
        assert load_of(_text([agent]), "a", by).up_to(text).most == steps


def _text(members: Sequence[Mapping[str, object]], kind: str = "agent") -> str:
    """A job of agents or programs, as far as a load reads it."""
    job = "[class.a]\n[class.b]\n"
    for member in members:
        job += f"[[{kind}]]\n"
        for key, value in member.items():
            if isinstance(value, dict):
                pairs = ", ".join(f"{name} = {json.dumps(word)}" for name, word in value.items())
                job += f"{key} = {{ {pairs} }}\n"
            else:
                job += f"{key} = {json.dumps(value)}\n"
    return job


GOAL = Goal.parse("tellers.p99 <= 5ms")


class TestAnswer:
    """What follows from runs."""

    def test_loads_that_contradict_the_answer_are_found(self) -> None:
        every = [(10, 0), (20, 5), (40, 5), (44, 1), (80, 4)]
        policy = _policy([_point(steps, met=met) for steps, met in every], Spread(40, 38, 42))
        assert [point.steps for point in policy.contradictions] == [10, 80]
        assert policy.at is policy.points[2]
        assert policy.beyond is policy.points[3]

    def test_a_load_that_some_seeds_ran_only_contradicts_nothing(self) -> None:
        policy = _policy([_point(10, met=0, runs=1), _point(40, met=5)], Spread(40, 40, 40))
        assert not policy.contradictions

    def test_the_knee_has_the_most_load_for_its_latency(self) -> None:
        latencies = [(10, 1.0), (20, 1.2), (30, 1.5), (40, 3.0), (50, 9.0)]
        points = [_point(steps, met=5, p99_ms=ms) for steps, ms in latencies]
        assert _policy(points, Spread(40, 40, 40)).knee(GOAL.figure) == 30
        assert _policy(points[:3], Spread(30, 30, 30)).knee(GOAL.figure) is None
        flat = [_point(steps, met=5, p99_ms=1.0) for steps in (10, 20, 30, 40)]
        assert _policy(flat, Spread(40, 40, 40)).knee(GOAL.figure) is None

    def test_the_worst_goal_and_the_busiest_disk_are_named(self) -> None:
        goals = [GOAL, Goal.parse("tellers.p50 <= 1us")]
        point = _point(10, met=0, goals=goals)
        assert point.worst is goals[1]
        assert point.disk.name is None
        disks: Any = [{"utilisation": 0.2}, {"utilisation": 0.9, "device": "log"}]
        for run in point.rounds.runs:
            run["device_stats"] = {"utilisation": 0.55, "disks": disks}  # type: ignore[typeddict-item]
        assert point.disk == ("log", 0.9)

    def test_of_equal_answers_that_of_the_better_seeds_is_first(self, quick: Path) -> None:
        job = Variant(name="quick", text=quick.read_text())
        goal = Goal.parse("tenants.p99 <= 1ms")
        answer = capacity(job, "tenants", [goal], Target(), policies=["fcfs"], seeds=1)
        answers = [Spread(3, 2, 4), Spread(3, 3, 3), Spread(4, 1, 4), Spread(3, 2, 4)]
        policies = [
            replace(_policy([], steps), policy=str(number)) for number, steps in enumerate(answers)
        ]
        ranked = replace(answer, policies=policies).ranked
        assert [policy.policy for policy in ranked] == ["2", "1", "0", "3"]


def _point(
    steps: int, *, met: int, runs: int = 5, p99_ms: float = 1.0, goals: Sequence[Goal] = (GOAL,)
) -> LoadPoint:
    """Runs at a load of which some meet the goal, with a latency, and the others miss it."""
    latencies = [p99_ms] * met + [20.0] * (runs - met)
    ran = [one_run("fcfs", [one_class("tellers", p99=round(ms * 1e6))]) for ms in latencies]
    for run in ran:
        run["device_busy"] = 0.5
    return LoadPoint(steps, Rounds("fcfs", ran), goals)


def _policy(points: Sequence[LoadPoint], steps: Spread) -> PolicyCapacity:
    return PolicyCapacity(
        policy="fcfs", steps=steps, most=1000, points=points, without=None, seeds=5
    )


def advised(job: Path, *words: str | Path) -> dict[str, Any]:
    """The answer of the command as JSON."""
    ended = command("advise", "capacity", job, *words, "--json")
    assert ended.code in (0, 3), ended.err
    answer: dict[str, Any] = json.loads(ended.out)
    assert (ended.code == 3) == (not answer["fits"])
    return answer


class TestCommand:
    """The command end to end."""

    GOAL = ("--class", "tenants", "--goal", "tenants.p99 <= 1ms")

    def test_the_answer_is_a_change_of_the_job_with_which_the_goal_holds(self, quick: Path) -> None:
        answer = advised(quick, *self.GOAL, "--policies", "noop,class-priority", "--seeds", "3")
        assert [policy["policy"] for policy in answer["policies"]] == ["noop", "class-priority"]
        for policy in answer["policies"]:
            copies, after = policy["capacity"]["median"], policy["fails_at"]["load"]
            assert policy["set"] == [f"agent.0.copies={copies:.0f}"]
            assert after == copies + 1
            assert policy["fails_at"]["goal"] == "tenants.p99 <= 1ms"
            held = {
                load: sum(
                    self._p99_us(quick, policy["policy"], load, seed) <= 1000 for seed in (7, 8, 9)
                )
                for load in (copies, after)
            }
            assert held[copies] >= 2 > held[after]
            known = {point["load"]: point for point in policy["curve"]}
            assert known[copies]["met_in"] == held[copies]

    @staticmethod
    def _p99_us(job: Path, policy: str, copies: float, seed: int) -> float:
        sets = ("--set", f"agent.0.copies={copies:.0f}", "--set", f"seed={seed}")
        ended = command("run", job, "--policy", policy, *sets, "--json")
        class_ = json.loads(ended.out)["runs"][0]["classes"][0]
        return float(class_["lat_ns"]["percentile"]["99.000000"]) / 1e3

    def test_the_answer_comes_first_then_what_fails_then_how_sure_it_is(self, quick: Path) -> None:
        ended = command("advise", "capacity", quick, *self.GOAL, "--policies", "fcfs,noop")
        assert ended.code == 0, ended.err
        head, lines, table = ended.out.split("\n\n")
        assert head == f"SIMULATED  {quick} on flash, tenants by copies"
        first, second, *_, last = lines.splitlines()
        assert " takes the most: " in first
        assert " copies of tenants" in first
        assert "; as --set agent.0.copies=" in first
        assert " copies the first goal is missed: tenants.p99 " in second
        assert "the disk busy " in second
        assert (
            "with seeds 7–11, the same at every load; the answer of a seed is exact to 1 copy"
            in last
        )
        assert table.startswith("policy  copies of tenants  tenants.p99 there  goals met  fails at")

    def test_equal_jobs_get_equal_answers(self, quick: Path) -> None:
        words = ("advise", "capacity", quick, *self.GOAL, "--by", "rate", "--seeds", "2", "--json")
        assert command(*words).out == command(*words).out

    def test_a_weight_grows_under_policies_that_use_weights(self, quick: Path) -> None:
        quick.write_text(QUICK.replace('"poisson", rate = "500/s"', '"closed", depth = 16'))
        words = ("--class", "batch", "--goal", "tenants.iops >= 6000/s", "--by", "weight")
        answer = advised(quick, *words, "--seeds", "1", "--set", "duration=1s")
        known = json.loads(_native.policies())
        answers = {policy["policy"]: policy for policy in answer["policies"]}
        assert list(answers) == [policy["name"] for policy in known if policy["weights"]]
        sfq = answers["sfq"]
        assert 1 < sfq["capacity"]["median"] < 10_000
        assert sfq["set"] == [f"class.batch.weight={sfq['capacity']['median']:.0f}"]

    def test_a_goal_that_the_least_load_misses_is_said(self, quick: Path) -> None:
        words = ("advise", "capacity", quick, "--class", "tenants", "--policies", "fcfs")
        ended = command(*words, "--goal", "tenants.p99 <= 1us", "--seeds", "2")
        assert ended.code == 3
        assert "\nnot even one copy of tenants holds tenants.p99 <= 1us under fcfs\n" in ended.out
        assert "nearest is fcfs at 1 copy: tenants.p99 " in ended.out
        assert "at all" not in ended.out

    def test_a_goal_that_fails_without_the_class_is_said(self, quick: Path) -> None:
        words = ("--class", "tenants", "--policies", "fcfs", "--seeds", "2")
        goals = ("--goal", "batch.bw >= 900GB/s", "--goal", "tenants.p99 <= 1s")
        ended = command("advise", "capacity", quick, *words, *goals)
        assert ended.code == 3
        assert "\nnot even one copy of tenants holds batch.bw >= 900GB/s and " in ended.out
        assert "\na goal is missed under fcfs with no tenants at all: batch.bw " in ended.out
        answer = advised(quick, *words, *goals)
        without = answer["policies"][0]["without_class"]
        assert without["met_in"] == 0
        assert without["figures"]["tenants.p99"] is None

    def test_a_goal_that_never_fails_is_said_with_the_limit(self, quick: Path) -> None:
        words = ("advise", "capacity", quick, "--class", "tenants", "--goal", "tenants.p99 <= 1h")
        ended = command(*words, "--policies", "fcfs,noop", "--up-to", "20", "--seeds", "2")
        assert ended.code == 0
        assert (
            "fcfs takes the most: at least 20 copies of tenants with tenants.p99 <= 1h" in ended.out
        )
        assert (
            "no goal fails up to 20 copies under fcfs, noop: --up-to sets another limit"
            in ended.out
        )
        assert "\nfcfs           20 or more " in ended.out

    def test_goals_that_hold_again_beyond_a_load_that_fails_are_said(self, quick: Path) -> None:
        words = ("--class", "tenants", "--goal", "tenants.iops >= 1500/s", "--policies", "fcfs")
        ended = command("advise", "capacity", quick, *words)
        assert ended.code == 3
        assert "NOT MONOTONE under fcfs: goals also hold at 4, above that answer" in ended.out
        assert not advised(quick, *words)["policies"][0]["monotone"]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--class", "tenant"), "error: --class: found 'tenant'; the job has no such class\n"
             "hint: one of tenants, batch, idle"),
            (("--class", "idle"), "error: class idle does not scale "
             "with copies or a rate: no agent and no program of the job belongs to it\n"),
            (("--class", "batch", "--by", "rate"), "error: --by rate: found no rate of agent.night "
             "in class batch; expected one of each\n"),
            (("--class", "batch", "--by", "weight", "--policies", "sfq,noop"), "error: --by "
             "weight: noop does not use weights\nhint: as --policies bfq,fairio,sfq"),
            (("--class", "batch", "--by", "size"), "error: --by: found 'size'; expected one of "
             "copies, rate, weight\n"),
            (("--class", "batch", "--policies", "alone:batch"), "error: --policies: found "
             "alone:batch, under which no other class runs\n"),
            (("--class", "batch", "--policies", "nop"), "unknown policy `nop`"),
            (("--class", "batch", "--up-to", "2.5"), "error: --up-to: found '2.5'; expected a "
             "number, as 200\n"),
            (("--class", "batch", "--up-to", "70000"), "expected a whole number from 1 to 65536"),
            (("--class", "tenants", "--by", "rate", "--up-to", "0/s"), "error: --up-to: found "
             "'0/s'; expected a rate, as 500/s\n"),
            (("--class", "tenants", "--goal", "night.p99 <= 1s"), "error: no class `night` of "
             "night.p99 ran\n"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_is_refused(
        self, quick: Path, words: Sequence[str], message: str
    ) -> None:
        ended = command("advise", "capacity", quick, "--goal", "tenants.p99 <= 1ms", *words)
        assert (ended.code, ended.out) == (2, "")
        assert message in ended.err

    def test_without_a_goal_there_is_no_limit_to_look_for(self, quick: Path) -> None:
        ended = command("advise", "capacity", quick, "--class", "tenants")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error: found no --goal; expected one or more\nhint: as --goal")

    def test_it_writes_a_page_and_a_picture_of_each_goal(self, quick: Path, tmp_path: Path) -> None:
        page, plots = tmp_path / "page.html", tmp_path / "plots"
        more = ("--goal", "batch.bw >= 1MB/s", "--report", page, "--plots", plots, "--seeds", "2")
        answer = advised(quick, *self.GOAL, "--policies", "fcfs,noop", *more)
        assert is_page(page)
        text = unescape(page.read_text())
        assert " ".join(answer["lines"]).replace("   ", " ").partition("; as")[0] in text
        names = {"capacity-tenants.p99", "capacity-batch.bw"}
        assert {path.stem for path in plots.iterdir()} == names
        assert all(is_picture(plots / f"{name}.png") for name in names)
        drawing = (plots / "capacity-tenants.p99.svg").read_text()
        for policy in answer["policies"]:
            assert f"{policy['policy']}: {policy['capacity']['median']:.0f}" in drawing

    def test_on_a_real_target_it_says_first_how_long_it_takes(
        self, quick: Path, tmp_path: Path
    ) -> None:
        target = ("--on", "./d.img", "--create", "16MiB", "--set", "duration=100ms")
        words = ("--class", "tenants", "--goal", "tenants.p99 <= 10s", "--policies", "noop")
        more = ("--up-to", "2", "--seeds", "1")
        ended = command("advise", "capacity", quick, *words, *target, *more, cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert ended.out.startswith("MEASURED")
        announced, *_ = (line for line in ended.err.splitlines() if line.startswith("on ./d.img"))
        assert " this takes about " in announced
        assert " runs of 100 ms each; fewer with --policies, --seeds and --up-to" in announced
        assert "at least 2 copies of tenants" in ended.out
        assert "how much other seeds differ is not known" in ended.out


@dataclass(frozen=True)
class Case:
    """A job with a policy, and how far a figure of it may rise above that at a low load."""

    job: Job
    policy: str
    by: By
    figure: Figure
    rises: float

    @classmethod
    def of(cls, number: int) -> "Case":
        """A case whose tenants saturate the device at 60 to 160 loads of 200."""
        draw = random.Random(number)
        device = ("flash", "ssd-sata", "hdd-7200", "hdd-10k", "ssd-sata")[number % 5]
        size = draw.choice(["4KiB", "8KiB", "16KiB"])
        iops = _served(device, size)
        by: By = "copies" if number % 2 == 0 else "rate"
        rate = iops / draw.uniform(60, 160) * (1 if by == "copies" else MIDDLE)
        others = iops * draw.uniform(0.1, 0.3)
        job = Job(
            name=f"case {number}",
            duration=f"{1e6 * REQUESTS / iops:.0f}us",
            device=device,
            seed=number,
            classes=[Class(name="others"), Class(name="tenants", prio=1)],
            agents=[
                Agent(
                    class_="others",
                    op=draw.choice(["read", "write"]),
                    size=draw.choice(["4KiB", "32KiB"]),
                    pattern=draw.choice(["sequential", "random"]),
                    region=("50%", "100%"),
                    arrivals={"kind": "poisson", "rate": f"{others:.3f}/s"},
                ),
                Agent(
                    class_="tenants",
                    op="read",
                    size=size,
                    pattern="random",
                    region=("0%", "50%"),
                    arrivals={"kind": "poisson", "rate": f"{rate:.4f}/s"},
                ),
            ],
        )
        return cls(
            job, POLICIES[number % 8], by, Figure.parse(FIGURES[number % 6]), draw.uniform(4, 8)
        )


POLICIES = (
    *("noop", "deadline", "sfq", "class-priority"),
    *("size-priority", "read-first", "mq-deadline", "fairio"),
)

FIGURES = (
    *("tenants.p99", "tenants.p95", "others.p99"),
    *("tenants.mean", "others.p95", "others.mean"),
)

REQUESTS = 4000
"""Requests of a run that saturates the device."""

LOADS = 200
"""Loads of exhaustive search."""

MIDDLE = 50
"""The load of a job that grows by rate."""

RUNS_FROM = 3
"""Seeds of each load."""

CHEAP = (0, 5, 13, 17)
"""Cases of `make test`."""


def _served(device: str, size: str) -> float:
    """Random reads a second of a device, eight at a time."""
    loop: dict[str, Any] = {"kind": "closed", "depth": 8}
    agent = Agent(class_="all", op="read", size=size, pattern="random", arrivals=loop)
    duration = "20s" if device.startswith("hdd") else "20ms"
    job = Job(duration=duration, device=device, classes=["all"], agents=[agent])
    (run,) = run_all(Setup(target=Target(), reduce=only_run, policies=["fcfs"]), [job])
    return run["classes"][0]["iops"]


def _median(spread: Spread | None) -> float:
    return float("inf") if spread is None else spread.median


def _before_first_failure(loads: Sequence[int], holds: Sequence[bool]) -> int:
    """The load up to which the goal always holds."""
    return next((0, *loads)[at] for at, held in enumerate([*holds, False]) if not held)


def _last_that_holds(loads: Sequence[int], holds: Sequence[bool]) -> int:
    return max((load for load, held in zip(loads, holds, strict=True) if held), default=0)


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=() if n in CHEAP else pytest.mark.soak) for n in range(20)],
)
def test_it_agrees_with_exhaustive_search_at_a_tenth_of_its_runs(number: int) -> None:
    """Compare with every load: the last before a first that fails, to the last that holds."""
    case = Case.of(number)
    job = Variant(name=case.job.name, text=case.job.text, policies=[case.policy])
    with Bench(Setup(target=Target(), reduce=only_run), [job]) as bench:
        (known,) = bench.check([job])
        load = load_of(known["job"]["text"], "tenants", case.by)
        spacing = 1 if case.by == "copies" else load.start / MIDDLE
        loads = [round(spacing * at) for at in range(1, LOADS + 1)]
        variants = [
            Variant(
                name=job.name,
                text=job.text,
                sets=[*load.sets(steps), f"seed={number + seed}"],
                policies=job.policies,
            )
            for steps in loads
            for seed in range(RUNS_FROM)
        ]
        spreads = [case.figure.over(Rounds("", [run])) for run in bench.run(variants)]
    values = [
        [*map(_median, spreads[at : at + RUNS_FROM])] for at in range(0, len(spreads), RUNS_FROM)
    ]
    limit = round(case.rises * median_low(values[LOADS // 20]))
    goal = Goal.parse(f"{case.figure} <= {limit}ns")
    holds = [[value <= limit for value in of_load] for of_load in values]
    first = median_low(
        _before_first_failure(loads, of_seed) for of_seed in zip(*holds, strict=True)
    )
    last = median_low(_last_that_holds(loads, of_seed) for of_seed in zip(*holds, strict=True))

    answer = capacity(
        Variant(name=job.name, text=job.text),
        "tenants",
        [goal],
        Target(),
        by=case.by,
        policies=[case.policy],
        seeds=RUNS_FROM,
        up_to=load.text(loads[-1]).removesuffix(" copies"),
    )
    (policy,) = answer.policies
    within = max(0.02 * policy.answer, 1)
    assert first - within <= policy.answer <= last + within
    assert answer.runs <= len(variants) / 10
