"""A job from its options to its output: progress, interrupts, the table and the verdict."""

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from penstock import _native
from penstock.cli import output
from penstock.detail import without_detail
from penstock.errors import PenstockError
from penstock.report import Outputs
from penstock.schema import Comparison, Step
from penstock.table import show
from penstock.verdict import verdict
from penstock.watch.words import which

INTERRUPTED = 130
"""What shells say of a command that Ctrl-C ended: 128 and the number of SIGINT."""

Tell: TypeAlias = Callable[[Step], None]
"""Hears of each step."""

Engine: TypeAlias = Callable[[Tell | None], str]
"""The engine with all that it is asked: runs, telling of its steps, and returns the result."""


def work(
    job: str,
    *,
    policies: Sequence[str],
    on: str | None,
    create: str | None,
    engine: str | None,
    sets: Sequence[str],
    record: str | None,
    outputs: Outputs,
    as_json: bool,
    text: str | None = None,
    pace: _native.Pace | None = None,
    speed: str | None = None,
    repeat: int | None = None,
    let_run: Callable[[Engine], str] | None = None,
) -> None:
    """Run a job under each policy, show what came of it, and write what is asked for.

    With `text` that is the job, and `job` only what it is called. `let_run` has the engine run and
    shows how far it has come, by a bar if not given; with `pace` at `speed`, as one who watches.
    """
    with errors_end():
        outputs.check()

    def run(progress: Tell | None) -> str:
        return _native.compare(
            job,
            policies=policies,
            on=on,
            create=create,
            engine=engine,
            sets=sets,
            record=record,
            detail=bool(outputs),
            text=text,
            progress=progress,
            watch=pace,
            speed=speed,
            repeat=repeat,
        )

    try:
        result = (let_run or _with_a_bar)(run)
    except KeyboardInterrupt as interrupt:
        output.talk(str(interrupt.__cause__ or "interrupted: there is no result yet"))
        raise typer.Exit(INTERRUPTED) from interrupt
    comparison: Comparison = json.loads(result)
    if as_json:
        output.data(f"{without_detail(result)}\n")
    else:
        output.drawn(lambda console: _show(comparison, console))
    with errors_end():
        for written in outputs.write(comparison):
            output.talk(f"wrote {written}")
    ran = comparison["runs"]
    if any(run.get("interrupted") for run in ran):
        of = len(policies) or len(json.loads(_native.policies()))
        left = of - len(ran)
        rest = f"; {left} of {of} policies did not run" if left else ""
        output.talk(f"interrupted: the last run is partial{rest}")
        raise typer.Exit(INTERRUPTED)


def _show(comparison: Comparison, console: Console) -> None:
    show(comparison, console)
    lines = verdict(comparison)
    if lines:
        console.print()
    for line in lines:
        console.print(Text(line), soft_wrap=True)


@contextmanager
def errors_end() -> Iterator[None]:
    """Within this, what is wrong ends the command: a file that may not be written, say."""
    try:
        yield
    except PenstockError as error:
        output.talk(str(error))
        raise typer.Exit(error.exit_code) from None


@contextmanager
def first_interrupt_stops() -> Iterator[None]:
    """Within this, the first Ctrl-C ends the run with what there is, and the second the process."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        # Ignored by whoever started us, or somebody else's.
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _with_a_bar(engine: Engine) -> str:
    with first_interrupt_stops(), _bar() as progress:
        return engine(progress)


@contextmanager
def _bar() -> Iterator[Tell | None]:
    """A bar with the time left, if a person is watching stderr."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        creating = bar.add_task("", total=1, visible=False)
        running = bar.add_task("", total=1, visible=False)

        def tell(step: Step) -> None:
            if step["step"] == "finished":
                return
            if step["step"] == "creating":
                what = f"writing {step['path']}"
                bar.update(creating, description=what, completed=step["fraction"], visible=True)
                return
            done = step["number"] + step["fraction"]
            bar.update(creating, visible=False)
            bar.update(
                running, description=which(step), completed=done, total=step["of"], visible=True
            )

        yield tell
