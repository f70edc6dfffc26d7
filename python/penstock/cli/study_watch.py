"""`penstock study watch`: how far a study is, while it runs or afterwards."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import output
from penstock.cli.running import errors_end
from penstock.cli.study_options import Folder
from penstock.signals import Asked
from penstock.study.watch import Seen, look
from penstock.text.units import percent, seconds

EVERY_S = 1.0
"""Seconds between two lines."""


def watch(
    folder: Folder,
    *,
    once: Annotated[bool, typer.Option("--once", help="Print one line and end.")] = False,
) -> None:
    """Say once a second how many runs of a study are recorded, at what rate, and what is left.

    It ends with the process that writes to the folder.
    """
    asked = Asked()
    try:
        with errors_end(), asked.first_stops():
            for line in _lines(Path(folder), once=once):
                output.data(f"{line}\n")
    except KeyboardInterrupt:
        raise typer.Exit(asked.exit_code) from None


def _lines(folder: Path, *, once: bool) -> Iterator[str]:
    while True:
        seen = look(folder)
        yield _line(seen, folder)
        if once or not seen.written:
            return
        time.sleep(EVERY_S)


def _line(seen: Seen, folder: Path) -> str:
    far = f"{seen.done} of {seen.runs} runs ({percent(seen.done / seen.runs)})"
    if seen.done >= seen.runs:
        return f"{far}: the study is complete"
    if not seen.written:
        return f"{far}: no process writes to {folder}; go on with `penstock study run --resume`"
    if not seen.rate:
        return f"{far}: how long it takes is not known yet"
    left = (seen.runs - seen.done) / seen.rate
    return f"{far}, {seen.rate:.1f} a second, about {seconds(left)} left"
