"""`penstock study run`: every cell of a study runs, and is recorded at once."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import output
from penstock.cli.bar import bar
from penstock.cli.options import Json, Sets
from penstock.cli.running import errors_end
from penstock.cli.study_options import StudyFile, Workers, placed
from penstock.cli.target import targeted
from penstock.errors import RUN_FAILED
from penstock.signals import Asked
from penstock.study import remarks, rows
from penstock.study.definition import Definition
from penstock.study.run import Ran
from penstock.study.run import run as ran
from penstock.target import Target
from penstock.text.units import seconds

SHOWN = 5
"""So many failures are shown."""

LINES_EVERY_S = 10.0
"""Seconds between two lines where no terminal shows a bar."""

Out = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="The folder of the study: a new one, or with --resume one that has begun.",
        show_default=False,
    ),
]

Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the study in DIR. What is recorded does not run."),
]

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run modelled cells on the Dask cluster at this address, as tcp://host:8786.",
    ),
]


@targeted()
def run(
    study: StudyFile,
    *,
    out: Out,
    workers: Workers = None,
    cluster: Cluster = None,
    resume: Resume = False,
    target: Target,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Run every cell of a study in random order, in blocks of replicates, and record each run.

    On a model cells run on all processors, on a real target one after another. A run that is
    recorded is never made again: after Ctrl-C or a crash --resume goes on with the rest.
    """
    asked = Asked()
    with errors_end():
        definition = Definition.load(study)
        where, places = placed(definition, target, sets or [])
        try:
            with asked.first_stops(), _progress() as report:
                found = ran(
                    definition,
                    Path(out),
                    where,
                    sets=places,
                    workers=workers,
                    cluster=cluster,
                    resume=resume,
                    report=report,
                )
        except KeyboardInterrupt:
            output.talk(f"interrupted: what is recorded is in {out}; --resume goes on with it")
            raise typer.Exit(asked.exit_code) from None
    _show(study, out, found, as_json=as_json)
    if found.failures:
        raise typer.Exit(RUN_FAILED)


def _show(study: str, out: str, found: Ran, *, as_json: bool) -> None:
    plain = {
        "study": study,
        "runs": found.runs,
        "done": found.done,
        "resumed": found.resumed,
        "failed": len(found.failures),
        "seconds": round(found.seconds, 3),
    }
    if as_json:
        output.data(f"{json.dumps(plain, ensure_ascii=False)}\n")
    else:
        again = f", {found.resumed} of them before" if found.resumed else ""
        output.data(
            f"{study}: {found.done} of {found.runs} runs are recorded{again}, "
            f"in {seconds(found.seconds)}: {out}\n"
        )
    for why in found.failures[:SHOWN]:
        output.talk(f"error: {why}")
    if len(found.failures) > SHOWN:
        output.talk(f"error: {len(found.failures) - SHOWN} more runs failed")
    for line in remarks.lines(rows.remarks(rows.every_part(out))):
        output.talk(f"note: {line}")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar if a person is watching stderr, else a line now and then."""
    began = said = time.monotonic()
    first: int | None = None

    with bar() as drawn:

        def report(done: int, runs: int) -> None:
            nonlocal said, first
            first = done if first is None else first
            if drawn is not None:
                drawn(f"{done} of {runs} runs", done / runs)
                return
            now = time.monotonic()
            if now - said >= LINES_EVERY_S and done > first:
                said = now
                left = (now - began) * (runs - done) / (done - first)
                output.talk(f"{done} of {runs} runs, about {seconds(left)} left")

        yield report
