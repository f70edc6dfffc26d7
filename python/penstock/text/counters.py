"""Rows of a policy's own counters."""

from collections.abc import Iterator, Sequence

from penstock.results.json_types import Run
from penstock.results.rounds import Spread
from penstock.text import ranges, units


def rows(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Yield each counter by its name in the JSON, with its value over rounds."""
    for name in dict.fromkeys(name for run in runs for name in run.get("policy_stats", {})):
        values = [run["policy_stats"][name] for run in runs if name in run.get("policy_stats", {})]
        if name.endswith("_ns"):
            yield name, ranges.latency(Spread.of(values))
        else:
            yield name, ranges.figure(Spread.of(values), lambda value: units.count(int(value)))
