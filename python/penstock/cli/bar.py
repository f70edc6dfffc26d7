"""A bar with the time left, for work that has no job of its own."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def bar() -> Iterator[Callable[[str, float], None] | None]:
    """What is called with what goes on and how far it has come, if a person is watching stderr."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    text = TextColumn("{task.description}", markup=False)
    with Progress(text, *columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=1)
        yield lambda what, done: progress.update(task, description=what, completed=done)
