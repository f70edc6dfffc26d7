"""Data on how well policies keep the shares of a device that weights promise."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from penstock import _native
from penstock.results.json_types import Class, Comparison, Run
from penstock.results.rounds import Rounds, Spread


class ShareErrors(NamedTuple):
    """Largest errors of a policy against the shares that weights promise."""

    label: str
    share_error: Spread
    """Error of the share of the device's busy time, in percentage points."""
    alone_error: Spread | None
    """Error of the throughput relative to each class alone; `None` unless each ran alone too."""


@cache
def _by_weight() -> frozenset[str]:
    """Return the policies that use weights."""
    return frozenset(
        policy["name"] for policy in json.loads(_native.policies()) if policy["weights"]
    )


def at_stake(comparison: Comparison) -> bool:
    """Return whether shares are judged: the job gives a class a weight."""
    return any(class_["weight_is_given"] for run in comparison["runs"] for class_ in run["classes"])


def nothing_to_share(comparison: Comparison) -> list[str]:
    """Return the policies that use weights, if no run has requests of two classes."""
    runs = comparison["runs"]
    if any(len(_asking(run)) > 1 for run in runs):
        return []
    return list(dict.fromkeys(run["policy"] for run in runs if run["policy"] in _by_weight()))


def share_errors(policies: Sequence[Rounds]) -> Iterator[ShareErrors]:
    """Yield the errors of each policy with requests of two classes or more."""
    for policy in policies:
        runs = [run for run in policy.whole() if len(_asking(run)) > 1]
        if not runs:
            continue
        share_error = Spread.of(_farthest(run, "share_error_pct") or 0.0 for run in runs)
        alone_errors = [_farthest(run, "felt_error_pct") for run in runs]
        known = [error for error in alone_errors if error is not None]
        complete = len(known) == len(alone_errors)
        yield ShareErrors(policy.label, share_error, Spread.of(known) if complete else None)


def limited(policies: Sequence[Rounds]) -> dict[str, list[Rounds]]:
    """Return the classes that asked for less than their share, with the policies."""
    by_class: dict[str, list[Rounds]] = {}
    for policy in policies:
        for name in dict.fromkeys(
            class_["name"] for run in policy.whole() for class_ in _asking(run)
        ):
            if all(class_["limited_by_demand"] for class_ in policy.of(name)):
                by_class.setdefault(name, []).append(policy)
    return by_class


class ShortCycle(NamedTuple):
    """A class whose part of a cycle is shorter than one of its requests."""

    label: str
    name: str
    cycle_ns: float
    part_ns: float
    request_ns: float


def short_cycles(policies: Sequence[Rounds]) -> Iterator[ShortCycle]:
    """Yield for each policy with cycles the class whose part is too short by most, if any."""
    for policy in policies:
        run = policy.middle()
        counters = run.get("policy_stats", {})
        cycle_ns = counters.get("cycle_ns")
        if cycle_ns is None or len(_asking(run)) < 2:
            continue
        disks = max(len(run.get("device_stats", {}).get("disks", [])), 1)
        cycles = [
            ShortCycle(policy.label, class_["name"], cycle_ns, part_ns, request_ns)
            for class_ in _asking(run)
            if (part_ns := (class_["ideal_share"] or 0.0) * disks * cycle_ns)
            < (request_ns := counters.get(f"class.{class_['name']}.estimate_ns", 0))
        ]
        yield from sorted(cycles, key=lambda cycle: cycle.part_ns / cycle.request_ns)[:1]


def _asking(run: Run) -> list[Class]:
    """Return the classes of a run that had requests."""
    return [class_ for class_ in run["classes"] if class_["ideal_share"] is not None]


def _farthest(run: Run, figure: str) -> float | None:
    """Return the greatest error of a class; `None` if one is unknown."""
    errors = [class_[figure] for class_ in _asking(run)]  # type: ignore[literal-required]
    return None if None in errors else max(map(abs, errors))
