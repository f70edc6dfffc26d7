"""Remarks of runs: what has to be known to read their figures, kept with each run and counted.

Remarks of one kind differ in their figures alone, as in how many MiB stayed in the page cache.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.results.json_types import Comparison, Run
from penstock.text import failures, places, schedule, units

LATE = 0.05
"""A model in real time is late if its answers come later by this share of the mean latency."""

_FIGURE = re.compile(r"(?<![\w/.-])\d[\d.,]*(?:\s?(?:ns|µs|ms|s|min|h|%|[kMGT]i?B)(?!\w))?")


@dataclass
class Counted:
    """A kind of remark."""

    text: str
    """The first of them."""
    runs: int = 0
    """Number of runs that have it."""
    alike: bool = True
    """Whether all have the same figures."""


def of_run(comparison: Comparison, run: Run) -> list[str]:
    """Returns the remarks on a run: of the engine, and on failures and late requests."""
    late = [schedule.troubles(run), _late(run)]
    failed = [failures.some_failed(class_) for class_ in run["classes"] if class_["errors"]]
    every = [*comparison.get("remarks", []), *run.get("remarks", []), *failed, *late]
    return list(dict.fromkeys(remark for remark in every if remark is not None))


def _late(run: Run) -> str | None:
    asked = sum(class_["requests"] for class_ in run["classes"])
    if "emulation" not in run or not asked:
        return None
    mean = sum(class_["requests"] * class_["lat_ns"]["mean"] for class_ in run["classes"]) / asked
    return places.emulation([run]) if run["emulation"]["mean_ns"] > LATE * mean else None


def kept(remarks: Sequence[str]) -> str | None:
    """The remarks of a run as a row has them: each a line."""
    return "\n".join(remarks) or None


def counted(column: Iterable[str | None]) -> list[Counted]:
    """Each kind of remark in a column of rows, the most frequent first."""
    kinds: dict[str, Counted] = {}
    for row in column:
        of_row: dict[str, str] = {}
        for text in (row or "").splitlines():
            of_row.setdefault(_FIGURE.sub("#", text), text)
        for kind, text in of_row.items():
            remark = kinds.setdefault(kind, Counted(text))
            remark.runs += 1
            remark.alike &= remark.text == text
    return sorted(kinds.values(), key=lambda remark: -remark.runs)


def lines(column: Sequence[str | None]) -> Iterator[str]:
    """Yields the remarks in words, each with the share of the runs that have it."""
    for remark in counted(column):
        figures = "" if remark.alike else "; figures differ"
        share = units.percent(remark.runs / len(column))
        yield f"{remark.text} ({remark.runs} of {units.many(len(column), 'run')}, {share}{figures})"
