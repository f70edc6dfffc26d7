"""Lines about the programs of classes."""

from collections.abc import Iterator, Sequence

from penstock.results import rounds
from penstock.results.json_types import Programs, Run
from penstock.results.percentile import percentile
from penstock.results.rounds import Spread
from penstock.text import ranges, units


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield for each class with programs how many ended, their times, and their processor share."""
    names = rounds.class_names(list(runs))
    for name in names:
        programs = [
            class_["programs"]
            for run in runs
            for class_ in run["classes"]
            if class_["name"] == name and "programs" in class_
        ]
        if programs and any(run["n"] or run["unfinished"] for run in programs):
            yield f"{name}: {_line(programs)}"


def _line(programs: Sequence[Programs]) -> str:
    count = ranges.figure(Spread.of(run["n"] for run in programs), lambda n: units.count(int(n)))
    computed = ranges.figure(Spread.of(run["cpu_share"] for run in programs), units.percent)
    line = f"{count} programs, {computed} of the processors"
    if all(run["n"] for run in programs):
        mean = ranges.latency(Spread.of(run["time_ns"]["mean"] for run in programs))
        p99 = ranges.latency(Spread.of(percentile(run["time_ns"], 99) for run in programs))
        line = f"{line}, mean {mean}, p99 {p99}"
    left = sum(run["unfinished"] for run in programs)
    return f"{line}; {units.count(left)} had not ended" if left else line
