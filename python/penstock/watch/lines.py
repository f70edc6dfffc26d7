"""Progress of a run in plain lines for a pipe or a log: the figures of each class every second."""

import time
from collections.abc import Iterator

from penstock.results.steps import Finished, Now, Running, Step
from penstock.text.units import percent
from penstock.watch.progress import HEADINGS, figures, in_round, p99, when, which

EVERY_S = 1.0
"""Seconds between two reports."""

EARLY_S = 0.1
"""Seconds by which a window may end too early and still be reported."""


class Lines:
    """Turns steps into lines, at most once per `EVERY_S`."""

    def __init__(self) -> None:
        """Begin with nothing reported."""
        self._next_s = 0.0
        self._reported: tuple[int, int] | None = None

    def of(self, step: Step) -> Iterator[str]:
        """Yield the lines about a step; mostly none."""
        if step["step"] == "finished":
            yield ended(step)
            return
        now = step.get("now") if step["step"] == "running" else None
        at_s = time.monotonic()
        if at_s < self._next_s - EARLY_S:
            return
        if step["step"] == "creating":
            yield f"writing {step['path']}: {percent(step['fraction'])}"
        elif (
            now is None or not now["windows"] or self._reported == (step["number"], now["windows"])
        ):
            return
        else:
            self._reported = (step["number"], now["windows"])
            yield from running(step, now)
        self._next_s = at_s + EVERY_S


def running(step: Running, now: Now) -> Iterator[str]:
    """Yield a line for each class."""
    width = max(len(class_["name"]) for class_ in now["classes"])
    for class_ in now["classes"]:
        name, rate, throughput, *counts = figures(class_, windows=now["windows"])
        labelled = (
            f"{heading} {figure}" for heading, figure in zip(HEADINGS[3:], counts, strict=True)
        )
        shown = "  ".join([f"{name:<{width}}", f"{rate}/s", f"{throughput} MB/s", *labelled])
        yield f"{which(step)}  {when(now)}  {shown}"


def ended(step: Finished) -> str:
    """Return the line of a run that has ended."""
    of_each = ", ".join(f"{class_['name']} {p99(class_)}" for class_ in step["classes"])
    return f"{in_round(step)} has ended: p99 {of_each}"
