"""What the programs of a class did, as people read it."""

from collections.abc import Iterator, Sequence

from penstock.results import rounds
from penstock.results.json_types import Programs, Run
from penstock.results.percentile import percentile
from penstock.results.rounds import Spread
from penstock.text import ranges, units


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """A line for each class with programs: how many ended, how long they took, who computed."""
    names = rounds.class_names(list(runs))
    for name in names:
        found = [
            one["programs"]
            for run in runs
            for one in run["classes"]
            if one["name"] == name and "programs" in one
        ]
        if found and any(one["n"] or one["unfinished"] for one in found):
            yield f"{name}: {_line(found)}"


def _line(found: Sequence[Programs]) -> str:
    count = ranges.figure(Spread.of(one["n"] for one in found), lambda n: units.count(int(n)))
    computed = ranges.figure(Spread.of(one["cpu_share"] for one in found), units.percent)
    line = f"{count} programs, {computed} of the processors"
    if all(one["n"] for one in found):
        mean = ranges.latency(Spread.of(one["time_ns"]["mean"] for one in found))
        p99 = ranges.latency(Spread.of(percentile(one["time_ns"], 99) for one in found))
        line = f"{line}, mean {mean}, p99 {p99}"
    left = sum(one["unfinished"] for one in found)
    return f"{line}; {units.count(left)} had not ended" if left else line
