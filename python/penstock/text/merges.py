"""Merges side by side in a line: when they ended, how far they were apart, what was queued."""

from collections.abc import Sequence

from penstock.results.json_types import Run
from penstock.results.rounds import Spread
from penstock.text import ranges, units


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
