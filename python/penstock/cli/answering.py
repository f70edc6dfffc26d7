"""The one way in which verbs do their work and answer.

A verb reads its options and hands its work to `answer`. Signals, the progress bar, JSON or text,
files and the exit code are here; what is wrong is raised, and `app` says it.
"""

import shlex
import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

import typer

from penstock._native import Failure
from penstock.answer.value import Answer
from penstock.cli import output
from penstock.cli.progress import Progress
from penstock.signals import StopSignal
from penstock.text.names import shown, shown_json

T = TypeVar("T")

NO_ANSWER = "interrupted: there is no answer yet"

NOT_WRITTEN = "interrupted: not everything was written"


def answer(
    work: Callable[[Progress], Answer | None],
    *,
    as_json: bool = False,
    interrupted: str = NO_ANSWER,
    stop_signal: StopSignal | None = None,
) -> None:
    """Do the work of a verb, show its progress, and give its answer.

    The first signal that asks for the end raises `KeyboardInterrupt` in `work`. If nothing comes of
    the work then, `interrupted` is said and the exit code is that of the signal. Work without an
    answer has said all itself.
    """
    stop_signal = stop_signal or StopSignal()

    def shown() -> Answer | None:
        with Progress() as progress:
            return work(progress)

    result = until_stopped(shown, stop_signal, interrupted)
    if result is not None:
        give(result, as_json=as_json, stop_signal=stop_signal)


def give(result: Answer, *, as_json: bool, stop_signal: StopSignal | None = None) -> None:
    """Print an answer, write its files, and end with its exit code."""
    if as_json:
        output.data(f"{shown_json(result.data())}\n")
    else:
        # What draws tables takes longer to import than a short run to finish.
        from penstock.cli.console import show

        show(result.blocks)
        for note in result.notes:
            output.talk(note)
    write(result.files)
    for message in result.messages:
        output.talk(message)
    code = result.exit_code
    if result.partial:
        code = (stop_signal or StopSignal()).exit_code
    if result.stuck:
        output.exit_at_once(code)
    if code:
        raise typer.Exit(code)


def command_line() -> str:
    """Returns the words of the command, as a shell takes them."""
    return shown(shlex.join(["penstock", *sys.argv[1:]]))


def write(files: Iterable[str]) -> None:
    """Say what is written once it is; a signal leaves out the rest."""

    def written() -> None:
        for file in files:
            output.talk(f"wrote {file}")

    until_stopped(written, StopSignal(), NOT_WRITTEN)


def until_stopped(work: Callable[[], T], stop_signal: StopSignal, interrupted: str) -> T:
    """Do work that the first signal which asks for the end ends tidily, with the command.

    What failed meanwhile is said, or else what `interrupted` says. No context manager: a signal
    that comes while one is entered is raised outside of it.
    """
    try:
        with stop_signal.first_stops():
            return work()
    except KeyboardInterrupt as interrupt:
        cause = interrupt.__cause__
        if words := str(cause or interrupted):
            output.talk(words)
        if isinstance(cause, Failure) and cause.stuck:
            output.exit_at_once(stop_signal.exit_code)
        raise typer.Exit(stop_signal.exit_code) from interrupt
