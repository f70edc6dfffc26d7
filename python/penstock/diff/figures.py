"""Figures of a result of any kind: a comparison, merges of files, or tests of files.

Each is a number by round. Where a kind has no policies or no classes, what comes nearest takes
their place: a merge is a class, and so is a test of files at one size.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, isfinite, log
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from penstock.answer.table import NONE
from penstock.results import rounds
from penstock.results.figure import KINDS
from penstock.results.judge import partial
from penstock.text import schedule, units

Json: TypeAlias = Mapping[str, Any]
"""A result as it was read, of which nothing is known yet."""

Rounds: TypeAlias = Mapping[str, float | None]
"""A figure by the name of its round; `None` where nothing was measured."""


SESSION = "session "
"""Begins the name of a round that is a whole session."""


class Quantity(NamedTuple):
    """The kind of a figure."""

    name: str
    more_is_better: bool
    render: Callable[[float], str]


class FigureName(NamedTuple):
    """The place of a figure in a result."""

    policy: str
    of_class: str
    quantity: Quantity

    def __str__(self) -> str:
        """Return it as `--fail-on` names it."""
        return f"{self.of_class}.{self.quantity.name}"


@dataclass(frozen=True, kw_only=True)
class MeasuredResult:
    """A result with its figures."""

    kind: str
    """The verbs that make it."""
    repeat: str | None
    """The option of these verbs for rounds; `None` if they have none."""
    world: str
    facts: Mapping[str, object]
    """What was run and where: two results are compared if they have this in common."""
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The parameters of each policy."""
    machine: Mapping[str, object]
    """The machine, for a result that depends on it."""
    figures: Mapping[FigureName, Rounds]
    remarks: tuple[str, ...] = ()
    """Facts that limit what the figures say."""


def figures(result: Json) -> MeasuredResult:
    """Return the figures of a result.

    # Errors
    Raises `ValueError` if it is of no kind that is known, and whatever comes of a part that is
    missing or of another shape.
    """
    for part, read in {"runs": _comparison, "rounds": _merges, "tests": _file_tests}.items():
        if part in result:
            return read(result)
    raise ValueError("it has no `runs`, `rounds` or `tests`")


def mean(values: Sequence[float], *, logs: bool) -> float:
    """Return the geometric mean, or the arithmetic one."""
    if len(values) == 1:
        return values[0]
    return exp(fmean(map(log, values))) if logs else fmean(values)


def _rate(per_second: float) -> str:
    return f"{units.rate(per_second)}/s"


def _bandwidth(bytes_per_second: float) -> str:
    return f"{units.megabytes(bytes_per_second)} MB/s"


def _seconds(length_s: float) -> str:
    return units.seconds(length_s)


BANDWIDTH = Quantity("bw", True, _bandwidth)

ERRORS = Quantity("errors", False, lambda n: f"{n:,.1f}".removesuffix(".0"))
"""Requests of a class that failed, of one round."""

QUANTITIES = {
    **{
        name: Quantity(name, kind.more_is_better, _rate if name == "iops" else units.latency)
        for name, kind in KINDS.items()
    },
    "bw": BANDWIDTH,
}
"""Figures of a class, by the names that goals have for them."""

MAKESPAN, FINISH, CPU = (Quantity(name, False, _seconds) for name in ("makespan", "finish", "cpu"))


def _comparison(result: Any) -> MeasuredResult:  # noqa: ANN401 # a `Comparison`, if it is right
    """Return the figures of `run`, `compare`, `replay`, `watch` and `linux compare`."""
    simulated = result["world"] == "simulated"
    by_round: dict[FigureName, dict[str, float | None]] = {}
    policies = rounds.by_policy(result)
    for policy in policies:
        for run in policy.whole():
            key = f"seed {run.get('seed', result['seed'])}"
            for class_ in run["classes"]:
                for quantity, value in _of_class(class_):
                    name = FigureName(policy.label, str(class_["name"]), quantity)
                    by_round.setdefault(name, {})[key] = _number(value)
    early = [f"under {policy.label} all runs ended early" for policy in policies if partial(policy)]
    return MeasuredResult(
        kind="run, compare or replay",
        repeat="--repeat",
        world=result["world"],
        facts={
            "version": result["penstock"],
            "world": result["world"],
            "device": result["device"],
            "seed": result["seed"],
            **dict(_job(result["job"]["text"])),
        },
        settings={
            run["policy"]: dict(_keys(run["policy"], run["params"])) for run in result["runs"]
        },
        machine={} if simulated else _machine(result["machine"]),
        figures=by_round,
        remarks=(*early, *(() if simulated else schedule.caveats(policies))),
    )


def _of_class(class_: Any) -> Iterator[tuple[Quantity, float | None]]:  # noqa: ANN401 # a `Class`
    """Yield the figures of a class; without a request it has no latency."""
    for name, kind in KINDS.items():
        known = kind.more_is_better or class_["requests"]
        yield QUANTITIES[name], kind.value(class_) if known else None
    yield ERRORS, class_["errors"]


def _job(text: str) -> Iterator[tuple[str, object]]:
    """Yield the keys of a job, without its seed and its policies, which are apart."""
    try:
        job = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        job = {"job": text}
    return _keys("", {key: value for key, value in job.items() if key not in ("seed", "policy")})


def _keys(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield the path and the value of everything below `path`."""
    members: Mapping[str, object] = {}
    if isinstance(value, dict):
        members = value
    elif isinstance(value, list):
        members = {str(number): item for number, item in enumerate(value)}
    if not members:
        yield path, value
    for name, member in members.items():
        yield from _keys(f"{path}.{name}" if path else name, member)


def _machine(machine: Json) -> Mapping[str, object]:
    return {name: machine.get(name) for name in ("cpu", "cpus", "kernel", "engine")}


def _merges(result: Json) -> MeasuredResult:
    """Return the figures of `merge`."""
    ran, policy = result["rounds"], str(result["policy"])
    all_rounds = {f"round {number}": round_ for number, round_ in enumerate(ran)}
    by_round: dict[FigureName, Rounds] = {}
    for quantity, member in ((MAKESPAN, "makespan_s"), (CPU, "cpu_s")):
        by_round[FigureName(policy, "all", quantity)] = {
            key: _number(round_[member]) for key, round_ in all_rounds.items()
        }
    for number in range(len(result["merges"])):
        by_round[FigureName(policy, f"merge-{number}", FINISH)] = {
            key: _number(round_["finish_s"][number]) for key, round_ in all_rounds.items()
        }
    return MeasuredResult(
        kind="merge",
        repeat="--rounds",
        world=result["world"],
        facts={
            "world": result["world"],
            "disks": result["disks"],
            "model": result["model"],
            **dict(_keys("merges", [_of_merge(merge) for merge in result["merges"]])),
        },
        machine={},
        figures=by_round,
    )


def _of_merge(merge: Json) -> Json:
    return {name: merge[name] for name in ("inputs", "output", "bytes")}


def _file_tests(result: Json) -> MeasuredResult:
    """Return the figures of `iozone`: the throughput of each test, as the children see it."""
    by_round: dict[FigureName, Rounds] = {}
    for test in result["tests"]:
        size, record = (_size(test[f"{name}_bytes"]) for name in ("size", "record"))
        name = f"{test['test']}-r{record}-s{size}-t{test['threads']}"
        rate = sum(worker["bytes"] * 1e9 / worker["ns"] for worker in test["workers"])
        by_round[FigureName(NONE, name, BANDWIDTH)] = {"round 0": _number(rate)}
    return MeasuredResult(
        kind="iozone",
        repeat=None,
        world=result["world"],
        facts={
            "version": result["penstock"],
            "world": result["world"],
            "command": result["command"],
            "scheduler": result["target"]["scheduler"],
            "seed": result["seed"],
        },
        machine={} if result["world"] == "simulated" else {"kernel": result["machine"]["kernel"]},
        figures=by_round,
    )


def _size(n: int) -> str:
    """Return a size as options of IOzone have it."""
    return f"{n >> 20}m" if n % (1 << 20) == 0 else f"{n >> 10}k"


def _number(value: float | None) -> float | None:
    """Check that a value is a number."""
    if value is None:
        return None
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"found {value} for a figure")
    return number
