"""`penstock study watch`: how far a study is, while it runs or afterwards."""

import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import output
from penstock.cli.answering import answer
from penstock.cli.study_options import Folder
from penstock.study import remarks
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
    answer(lambda _: _watch(Path(folder), once=once), interrupted="")


def _watch(folder: Path, *, once: bool) -> None:
    said = 0
    while True:
        seen = look(folder)
        output.data(f"{_line(seen, folder)}\n")
        ends = once or not seen.written
        # A kind of remark that is new is said at once, and all of them at the end.
        kinds = len(remarks.counted(seen.remarks))
        if ends or kinds > said:
            said = kinds
            for line in remarks.lines(seen.remarks):
                output.talk(f"note: {line}")
        if ends:
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
