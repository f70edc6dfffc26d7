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
        progress = look(folder)
        output.data(f"{_line(progress, folder)}\n")
        ends = once or not progress.written
        # A kind of remark that is new is said at once, and all of them at the end.
        kinds = len(remarks.counted(progress.remarks))
        if ends or kinds > said:
            said = kinds
            for line in remarks.lines(progress.remarks):
                output.talk(f"note: {line}")
        if ends:
            return
        time.sleep(EVERY_S)


def _line(progress: Seen, folder: Path) -> str:
    far = f"{progress.done} of {progress.runs} runs ({percent(progress.done / progress.runs)})"
    if progress.done >= progress.runs:
        return f"{far}: the study is complete"
    if not progress.written:
        return f"{far}: no process writes to {folder}; go on with `penstock study run --resume`"
    if not progress.rate:
        return f"{far}: how long it takes is not known yet"
    left = (progress.runs - progress.done) / progress.rate
    return f"{far}, {progress.rate:.1f} a second, about {seconds(left)} left"
