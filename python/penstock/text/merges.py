"""Merges side by side in words: when they ended, how far they were apart, what was queued.

The result of merges is the time at which the last one ends, so policies are compared by that. The
latency of single requests can mislead: if writes wait behind reads, all merges may end sooner.
"""

from collections.abc import Sequence

from penstock.results.json_types import Run
from penstock.results.rounds import Rounds, Spread
from penstock.text import ranges, units

ALIKE = 0.01
"""A difference that is not worth a word, of a time."""


def line(runs: Sequence[Run]) -> str | None:
    """How long they took, over rounds; none of a job without merges."""
    found = [run["merge"] for run in runs if "merge" in run]
    whole = [one["makespan_s"] for one in found if one["makespan_s"] is not None]
    if not found:
        return None
    ends = [end for one in found for end in one["finish_s"] if end is not None]
    if not whole:
        jobs = sum(len(one["finish_s"]) for one in found)
        took = f"{len(ends)} of {jobs} have ended"
    else:
        took = f"all ended in {ranges.figure(Spread.of(whole), units.seconds)}"
        first = [min(end for end in one["finish_s"] if end is not None) for one in found]
        if any(len(one["finish_s"]) > 1 for one in found):
            took += f", the first in {ranges.figure(Spread.of(first), units.seconds)}"
    apart = ranges.figure(Spread.of(one["divergence_max"] for one in found), units.percent)
    queued = max(one["max_queued_writes"] for one in found)
    return f"merges: {took}; up to {apart} apart, {units.many(queued, 'write')} at one disk"


def verdict(policies: Sequence[Rounds], baseline: Rounds | None) -> list[str]:
    """The fastest policy, and each against the baseline; no lines unless all merges ended."""
    ends = {policy.label: _makespan(policy) for policy in policies}
    known = {label: end for label, end in ends.items() if end is not None}
    if not ends or len(known) < len(ends):
        return []
    soonest = min(known, key=lambda label: known[label].median)
    said = ranges.figure(known[soonest], units.seconds)
    lines = [f"soonest: {soonest}, all merged in {said}"] if len(known) > 2 else []
    if baseline is None or baseline.label not in known:
        return lines
    than = known[baseline.label]
    return lines + [
        f"{label}: all merged in {ranges.figure(end, units.seconds)}, "
        f"{_differs(end, than, single=len(baseline.whole()) == 1)} {baseline.label}"
        for label, end in known.items()
        if label != baseline.label
    ]


def _makespan(policy: Rounds) -> Spread | None:
    """When the last merge ended, over rounds; none if one did not end."""
    found = [run["merge"]["makespan_s"] if "merge" in run else None for run in policy.whole()]
    whole = [one for one in found if one is not None]
    return Spread.of(whole) if whole and len(whole) == len(found) else None


def _differs(end: Spread, than: Spread, *, single: bool) -> str:
    """How far one end is from another, in the words before the other's name."""
    off = end.median / than.median - 1
    if abs(off) < ALIKE:
        return "as with"
    if not single and end.overlaps(than):
        return "and noise hides how far that is from"
    return f"{units.percent(abs(off))} {'sooner' if off < 0 else 'later'} than"
