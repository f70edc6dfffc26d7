"""How well shares by weight hold on a target, and what commands cost there.

Classes of unlike lengths read at random, each alone and all together, in interleaved rounds. What
each has alone gives the law of costs: a base and a part for each byte. Together they run in order
of arrival, with shares of device time, and with shares by the law.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean, median_low

from penstock.comparison import Comparison
from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.job import Agent, Class, Job
from penstock.results.json_types import Class as ClassJson
from penstock.results.json_types import Run
from penstock.results.percentile import percentile
from penstock.results.rounds import ALONE
from penstock.results.steps import Step
from penstock.session import Session, Variant
from penstock.target import Target

SIZES = (4096, 65536)
"""Bytes of the classes' requests, in turns."""

DEPTH = 32
"""Requests that each class has outstanding."""

DURATION = "3s"
"""How long each run is."""

CYCLE = "200ms"
"""Shares hold over some cycles: a run has fifteen."""

ROUNDS = 5

PLAIN, BY_TIME, BY_LAW = "fcfs", "fairio by time", "fairio by law"
"""What the rows are called: no shares, shares of device time, shares by the law."""

Progress = Callable[[str, float], None]
"""Called with what goes on and how far it has come, from 0 to 1."""

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class LawOfReads:
    """What a read costs: a base, and a part for each megabyte, in nanoseconds."""

    base_ns: float
    per_mb_ns: float

    def text(self) -> str:
        """As a parameter of a policy has it."""
        costs = ", ".join(f'{key} = "{cost}"' for key, cost in self.costs().items())
        return f"{{ read = {{ {costs} }} }}"

    def costs(self) -> Mapping[str, str]:
        """Each by its key."""
        return {"base": f"{self.base_ns:.0f}ns", "per_mb": f"{self.per_mb_ns:.0f}ns"}


@dataclass(frozen=True)
class Row:
    """What classes got under one policy: each figure the median of the rounds, class by class."""

    policy: str
    weights: Sequence[int]
    share: Sequence[float]
    share_error_pct: Sequence[float]
    of_alone: Sequence[float]
    felt_error_pct: Sequence[float]
    bw_bytes: Sequence[float]
    p99_ms: Sequence[float]
    rounds: int


@dataclass(frozen=True)
class Shares:
    """The answer."""

    world: str
    target: str
    rows: Sequence[Row]
    law: LawOfReads


def shares_on(
    target: Target, weights: Sequence[int], *, rounds: int = ROUNDS, progress: Progress | None
) -> Shares:
    """Measure how well shares of these weights hold."""
    if len(weights) < 2:
        message = f"weights: found {len(weights)}, expected two or more"
        raise wrong(message, "one for each class, as 1,2")
    job, names = _job(weights)
    alone = Variant(name=job.name, text=job.text, policies=[f"{ALONE}{name}" for name in names])
    with closing(Session(target, [alone])) as session:
        (first,) = session.run([alone], progress=_step(progress, "each class alone", 0.0, 0.1))
    law = _law(first, names)
    cycle = f"policy.fairio.cycle={CYCLE}"
    policies = [*alone.policies, PLAIN, "fairio"]
    plain = Variant(name=job.name, text=job.text, sets=[cycle], policies=policies)
    costs = (f"policy.fairio.law.read.{key}={cost}" for key, cost in law.costs().items())
    sets = (cycle, "policy.fairio.charge=law", *costs)
    by_law = Variant(name=job.name, text=job.text, sets=sets, policies=["fairio"])
    with closing(Session(target, [plain, by_law], repeat=rounds)) as session:
        both = session.run([plain, by_law], progress=_step(progress, "shares in rounds", 0.1, 1.0))
    times, laws = (one.raw["runs"] for one in both)
    lone = [_of(times, f"{ALONE}{name}") for name in names]
    rows = [
        _row(PLAIN, weights, _of(times, PLAIN), lone),
        _row(BY_TIME, weights, _of(times, "fairio"), lone),
        _row(BY_LAW, weights, _of(laws, "fairio"), lone),
    ]
    return Shares(first.world, first.device, rows, law)


def _job(weights: Sequence[int]) -> tuple[Job, Sequence[str]]:
    """A job of a class for each weight, which reads at random, and the classes' names."""
    sizes = [SIZES[at % len(SIZES)] for at in range(len(weights))]
    names = [f"class{at + 1}" for at in range(len(weights))]
    agents = [
        Agent(
            class_=name,
            op="read",
            size=f"{size}B",
            pattern="random",
            arrivals={"kind": "closed", "depth": DEPTH},
        )
        for name, size in zip(names, sizes, strict=True)
    ]
    # Weights are relative; the least that the job takes is 1.
    classes = [Class(name=name, weight=weight) for name, weight in zip(names, weights, strict=True)]
    return Job(name="shares", duration=DURATION, classes=classes, agents=agents), names


def _law(alone: Comparison, names: Sequence[str]) -> LawOfReads:
    """The law through what a request of each length costs if it has the device alone."""
    each_ns: dict[int, list[float]] = {}
    for at, (name, run) in enumerate(zip(names, alone.raw["runs"], strict=True)):
        (one,) = run["classes"]
        if one["iops"] <= 0:
            message = f"error: class {name} finished no read while it had the device alone"
            raise PenstockError(message, exit_code=RUN_FAILED)
        each_ns.setdefault(SIZES[at % len(SIZES)], []).append(1e9 / one["iops"])
    short, long = (fmean(each_ns[size]) for size in SIZES)
    per_byte = max(long - short, 0.0) / (SIZES[1] - SIZES[0])
    return LawOfReads(max(short - per_byte * SIZES[0], 0.0), per_byte * _MEGABYTE)


def _of(runs: Sequence[Run], policy: str) -> list[list[ClassJson]]:
    """The classes of each round under a policy."""
    return [run["classes"] for run in runs if run["policy"] == policy]


def _row(
    label: str,
    weights: Sequence[int],
    rounds: Sequence[Sequence[ClassJson]],
    alone: Sequence[Sequence[Sequence[ClassJson]]],
) -> Row:
    """The medians of a policy's rounds, next to what each class had alone in the same round."""
    ideal = [weight / sum(weights) for weight in weights]
    felt: list[list[float]] = []
    for at, classes in enumerate(rounds):
        by_itself = [of_class[at][0]["bw_bytes"] for of_class in alone]
        felt.append(
            [
                one["bw_bytes"] / bw if bw else 0.0
                for one, bw in zip(classes, by_itself, strict=True)
            ]
        )
    errors = [
        [100 * (part / (sum(one) or 1.0) - ideal[n]) for n, part in enumerate(one)] for one in felt
    ]

    def over(figure: Callable[[ClassJson], float]) -> list[float]:
        return _medians([[figure(one) for one in classes] for classes in rounds])

    return Row(
        label,
        weights,
        over(lambda one: one["share"]),
        over(lambda one: one["share_error_pct"] or 0.0),
        _medians(felt),
        _medians(errors),
        over(lambda one: one["bw_bytes"]),
        over(lambda one: percentile(one["lat_ns"], 99) / 1e6),
        len(rounds),
    )


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Of each class the median over rounds."""
    return [median_low(of_class) for of_class in zip(*rounds, strict=True)]


def _step(
    progress: Progress | None, what: str, begin: float, end: float
) -> Callable[[Step], None] | None:
    """Reports the steps of a session as a part of the whole."""
    if progress is None:
        return None

    def step(now: Step) -> None:
        if now["step"] == "running":
            done = (now["number"] + now["fraction"]) / now["of"]
            progress(what, begin + (end - begin) * done)

    return step


def plain(found: Shares, verdict: Sequence[str]) -> Mapping[str, object]:
    """The answer as JSON has it."""
    return {
        "world": found.world,
        "target": found.target,
        "rows": [vars(row) for row in found.rows],
        "law": {"read": {"base_ns": found.law.base_ns, "per_mb_ns": found.law.per_mb_ns}},
        "verdict": list(verdict),
    }


def text(found: Shares, verdict: Sequence[str]) -> str:
    """The same as text."""
    return json.dumps(plain(found, verdict), indent=2) + "\n"
