"""The two streams: data for whoever reads stdout, talk for the person at stderr."""

import os
import sys
from collections.abc import Callable
from typing import NoReturn

from rich.console import Console

PIPED_COLUMNS = 120
"""How wide a line may be where there is no terminal to ask."""


def data(text: str) -> None:
    """Write to stdout. A reader that went away has had enough: no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget()


def forget() -> None:
    """Let what is still buffered for stdout go nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def drawn(draw: Callable[[Console], None]) -> None:
    """Write to stdout what `draw` prints: styled on a terminal, plain text anywhere else."""
    width = None if sys.stdout.isatty() else PIPED_COLUMNS
    console = Console(width=width, highlight=False, emoji=False, markup=False)
    with console.capture() as capture:
        draw(console)
    data(capture.get())


def talk(text: str) -> None:
    """Write a line to stderr."""
    print(text, file=sys.stderr, flush=True)


def leave(code: int) -> NoReturn:
    """End the process at once: a silent target may never give back what it was given.

    Both streams are closed first, so that a reader knows that there is no more, however long the
    kernel takes.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nowhere, stream.fileno())
    os._exit(code)
