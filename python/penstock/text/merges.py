"""Lines about concurrent merges: when they ended, how far they were apart, what was queued.

The result of merges is the time at which the last one ends, so policies are compared by that. The
latency of single requests can mislead: if writes wait for reads, all merges may end sooner.
"""

from collections.abc import Sequence

from penstock.results.json_types import Run
from penstock.results.rounds import Rounds, Spread
from penstock.text import ranges, units

ALIKE = 0.01
"""Relative difference of times below which they count as equal."""


def line(runs: Sequence[Run]) -> str | None:
    """Return how long the merges took, over rounds; `None` for a job without merges."""
    merges = [run["merge"] for run in runs if "merge" in run]
    makespans = [merge["makespan_s"] for merge in merges if merge["makespan_s"] is not None]
    if not merges:
        return None
    ends = [end for merge in merges for end in merge["finish_s"] if end is not None]
    if not makespans:
        jobs = sum(len(merge["finish_s"]) for merge in merges)
        took = f"{len(ends)} of {jobs} have ended"
    else:
        took = f"all ended in {ranges.figure(Spread.of(makespans), units.seconds)}"
        first = [min(end for end in merge["finish_s"] if end is not None) for merge in merges]
        if any(len(merge["finish_s"]) > 1 for merge in merges):
            took += f", the first in {ranges.figure(Spread.of(first), units.seconds)}"
    apart = ranges.figure(Spread.of(merge["divergence_max"] for merge in merges), units.percent)
    queued = max(merge["max_queued_writes"] for merge in merges)
    return f"merges: {took}; up to {apart} apart, {units.many(queued, 'write')} at one disk"


def verdict(policies: Sequence[Rounds], baseline: Rounds | None) -> list[str]:
    """Compare the policies by the end of the last merge; no lines unless all merges ended."""
    ends = {policy.label: _makespan(policy) for policy in policies}
    known = {label: end for label, end in ends.items() if end is not None}
    if not ends or len(known) < len(ends):
        return []
    soonest = min(known, key=lambda label: known[label].median)
    fastest = ranges.figure(known[soonest], units.seconds)
    lines = [f"soonest: {soonest}, all merged in {fastest}"] if len(known) > 2 else []
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
    """Return when the last merge ended, over rounds; `None` if one did not end."""
    makespans = [run["merge"]["makespan_s"] if "merge" in run else None for run in policy.whole()]
    ends = [end for end in makespans if end is not None]
    return Spread.of(ends) if ends and len(ends) == len(makespans) else None


def _differs(end: Spread, than: Spread, *, single: bool) -> str:
    """Describe the difference of two end times; the name of the second follows."""
    off = end.median / than.median - 1
    if abs(off) < ALIKE:
        return "as with"
    if not single and end.overlaps(than):
        return "and noise hides how far that is from"
    return f"{units.percent(abs(off))} {'sooner' if off < 0 else 'later'} than"
