"""Accuracy of shares by weight, and the cost of commands, computed from runs.

What each class has alone gives the law of costs: a base and a part for each byte.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median_low

from penstock.errors import RUN_FAILED, PenstockError
from penstock.results.json_types import Class as ClassJson
from penstock.results.percentile import percentile
from penstock.results.rounds import KERNEL

PLAIN, BY_TIME, BY_LAW = "fcfs", "fairio by time", "fairio by law"
"""Names of the rows: no shares, shares of device time, shares by the law."""

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class WeighedClass:
    """A class that is promised a share."""

    name: str
    weight: int
    ioprio: str | None = None


@dataclass(frozen=True)
class LawOfReads:
    """Cost of a read: a base, and a part for each megabyte, in nanoseconds."""

    base_ns: float
    per_mb_ns: float

    def text(self) -> str:
        """Returns the law as the value of a policy's parameter."""
        costs = ", ".join(f'{key} = "{cost}"' for key, cost in self.costs().items())
        return f"{{ read = {{ {costs} }} }}"

    def costs(self) -> Mapping[str, str]:
        """Each by its key."""
        return {"base": f"{self.base_ns:.0f}ns", "per_mb": f"{self.per_mb_ns:.0f}ns"}


@dataclass(frozen=True)
class SharesRow:
    """Results of classes under one policy: each figure the median of the rounds, class by class."""

    policy: str
    weights: Sequence[int]
    kernel_weights: Sequence[int] | None
    """Weights of the classes' control groups; `None` if it is not of the kernel, or has none."""
    share: Sequence[float] | None
    """`None` under the kernel, where the device times of classes overlap."""
    share_error_pct: Sequence[float] | None
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
    rows: Sequence[SharesRow]
    law: LawOfReads
    remarks: Sequence[str] = ()
    """Facts about the runs under the kernel's schedulers."""


def law(alone: Sequence[ClassJson], sizes: Sequence[int]) -> LawOfReads:
    """The law through what a request of each length costs if its class has the device alone."""
    each_ns: dict[int, list[float]] = {}
    for class_, size in zip(alone, sizes, strict=True):
        if class_["iops"] <= 0:
            message = (
                f"error: class {class_['name']} finished no read while it had the device alone"
            )
            raise PenstockError(message, exit_code=RUN_FAILED)
        each_ns.setdefault(size, []).append(1e9 / class_["iops"])
    (little, short), (much, long) = ((size, fmean(ns)) for size, ns in sorted(each_ns.items()))
    per_byte = max(long - short, 0.0) / (much - little)
    return LawOfReads(max(short - per_byte * little, 0.0), per_byte * _MEGABYTE)


def row(
    label: str,
    weights: Sequence[int],
    rounds: Sequence[Sequence[ClassJson]],
    alone: Sequence[Sequence[Sequence[ClassJson]]],
) -> SharesRow:
    """The medians of a policy's rounds, next to what each class had alone in the same round."""
    ideal = [weight / sum(weights) for weight in weights]
    felt: list[list[float]] = []
    for at, classes in enumerate(rounds):
        by_itself = [of_class[at][0]["bw_bytes"] for of_class in alone]
        felt.append(
            [
                class_["bw_bytes"] / bw if bw else 0.0
                for class_, bw in zip(classes, by_itself, strict=True)
            ]
        )
    errors = [
        [100 * (part / (sum(class_) or 1.0) - ideal[n]) for n, part in enumerate(class_)]
        for class_ in felt
    ]

    in_force = [class_["kernel_weight"] for class_ in rounds[0] if "kernel_weight" in class_]
    timed = not label.startswith(KERNEL)

    def over(figure: Callable[[ClassJson], float]) -> list[float]:
        return _medians([[figure(class_) for class_ in classes] for classes in rounds])

    return SharesRow(
        label,
        weights,
        in_force or None,
        over(lambda class_: class_["share"]) if timed else None,
        over(lambda class_: class_["share_error_pct"] or 0.0) if timed else None,
        _medians(felt),
        _medians(errors),
        over(lambda class_: class_["bw_bytes"]),
        over(lambda class_: percentile(class_["lat_ns"], 99) / 1e6),
        len(rounds),
    )


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Returns the median over rounds for each class."""
    return [median_low(of_class) for of_class in zip(*rounds, strict=True)]
