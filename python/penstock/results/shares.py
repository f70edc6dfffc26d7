"""How well policies keep the shares of a device that weights promise, as data."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from penstock import _native
from penstock.results.json_types import Class, Comparison, Run
from penstock.results.rounds import Rounds, Spread


class ShareErrors(NamedTuple):
    """How far a policy is from the shares that weights promise: the class that is farthest."""

    label: str
    share_error: Spread
    """Of the time in which the device was busy, in percentage points."""
    alone_error: Spread | None
    """Of what each class has alone; none unless each ran alone too."""


@cache
def _by_weight() -> frozenset[str]:
    """The policies that use weights."""
    return frozenset(
        policy["name"] for policy in json.loads(_native.policies()) if policy["weights"]
    )


def at_stake(comparison: Comparison) -> bool:
    """Whether weights are to be kept: they differ, or a policy that uses weights took part."""
    weights = {class_["weight"] for run in comparison["runs"] for class_ in run["classes"]}
    return len(weights) > 1 or any(run["policy"] in _by_weight() for run in comparison["runs"])


def nothing_to_share(comparison: Comparison) -> list[str]:
    """Policies that use weights, where no run has requests of two classes."""
    runs = comparison["runs"]
    if any(len(_asking(run)) > 1 for run in runs):
        return []
    return list(dict.fromkeys(run["policy"] for run in runs if run["policy"] in _by_weight()))


def share_errors(policies: Sequence[Rounds]) -> Iterator[ShareErrors]:
    """How far each policy with requests of two classes or more is from the promised shares."""
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
    """Classes that got less than their share for want of requests, and under which policies."""
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
    """Of each policy that works in cycles the class that is farthest from having one request."""
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
    """The classes of a run that had requests."""
    return [class_ for class_ in run["classes"] if class_["ideal_share"] is not None]


def _farthest(run: Run, figure: str) -> float | None:
    """The greatest error of a class; none where one is not known."""
    errors = [class_[figure] for class_ in _asking(run)]  # type: ignore[literal-required]
    return None if None in errors else max(map(abs, errors))
