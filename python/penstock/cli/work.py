"""A job from its options to its output: progress, interrupts, the table and the verdict."""

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from penstock import _native
from penstock.cli import output
from penstock.detail import without_detail
from penstock.errors import PenstockError
from penstock.report import Outputs
from penstock.schema import Comparison, Creating, Running
from penstock.table import show
from penstock.verdict import verdict

INTERRUPTED = 130
"""What shells say of a command that Ctrl-C ended: 128 and the number of SIGINT."""


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
) -> None:
    """Run a job under each policy, show what came of it, and write what is asked for.

    With `text` that is the job, and `job` only what it is called.
    """
    with wrong_outputs_end():
        outputs.check()
    try:
        with first_interrupt_stops(), _progress() as progress:
            text = _native.compare(
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
            )
    except KeyboardInterrupt as interrupt:
        output.talk(str(interrupt.__cause__ or "interrupted: there is no result yet"))
        raise typer.Exit(INTERRUPTED) from interrupt
    comparison: Comparison = json.loads(text)
    if as_json:
        output.data(f"{without_detail(text)}\n")
    else:
        output.drawn(lambda console: _show(comparison, console))
    with wrong_outputs_end():
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
def wrong_outputs_end() -> Iterator[None]:
    """Within this, a file that may not or cannot be written ends the command."""
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


@contextmanager
def _progress() -> Iterator[Callable[[Creating | Running], None] | None]:
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

        def tell(step: Creating | Running) -> None:
            if step["step"] == "creating":
                what = f"writing {step['path']}"
                bar.update(creating, description=what, completed=step["fraction"], visible=True)
                return
            number, of = step["number"], step["of"]
            what = step["policy"] if of == 1 else f"{step['policy']} ({number + 1} of {of})"
            done = number + step["fraction"]
            bar.update(creating, visible=False)
            bar.update(running, description=what, completed=done, total=of, visible=True)

        yield tell
