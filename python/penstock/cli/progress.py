"""How far long work has come: a bar where a person watches stderr, else a line now and then."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from penstock.cli import output
from penstock.cli.estimate import Estimate
from penstock.results.steps import Step
from penstock.watch.progress import which

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress:
    """Shows how far the work of a verb has come, from its first report to the end of the block."""

    def __init__(self) -> None:
        """Shows nothing until work reports."""
        self._bar: Bar | None = None
        self._estimate = Estimate()
        self._kind: str | None = None

    def __enter__(self) -> Self:
        """Begins with the work."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, part: str, share: float) -> None:
        """Shows which part of the work goes on, and which share of all of it is done."""
        if sys.stderr.isatty():
            self._draw("work", part, share)
        else:
            _say(self._estimate.of_share(part, share))

    def step(self, step: Step) -> None:
        """Shows a step that the engine reports."""
        if not sys.stderr.isatty():
            _say(self._estimate.of(step))
        elif step["step"] == "creating":
            self._draw("creating", f"writing {step['path']}", step["fraction"])
        elif step["step"] == "running":
            done = (step["number"] + step["fraction"]) / step["of"]
            self._draw("running", which(step), done)

    def _draw(self, kind: str, description: str, share: float) -> None:
        """Draws the bar; one of another kind begins anew, with a time left of its own."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        if self._bar is None:
            text = TextColumn("{task.description}", markup=False)
            columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Progress(text, *columns, console=Console(stderr=True), transient=True)
            self._bar.start()
        if kind != self._kind:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(description, total=1)
            self._kind = kind
        (task,) = self._bar.task_ids
        self._bar.update(task, description=description, completed=share)


def _say(lines: Iterable[str]) -> None:
    """Writes lines to stderr; work goes on even if they cannot be written."""
    with suppress(OSError):
        for line in lines:
            output.talk(line)
