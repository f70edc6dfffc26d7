"""`penstock study run`: every cell of a study runs, and is recorded at once."""

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.answer.value import Answer
from penstock.cli.answering import answer
from penstock.cli.options import Json, Sets
from penstock.cli.progress import Progress
from penstock.cli.study_options import StudyFile, Workers, placed
from penstock.cli.target import targeted
from penstock.errors import RUN_FAILED
from penstock.study import remarks, rows
from penstock.study.definition import Definition
from penstock.study.run import Ran
from penstock.study.run import run as ran
from penstock.target import Target
from penstock.text.units import seconds

SHOWN = 5
"""So many failures are shown."""

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
    definition = Definition.load(study)
    where, places = placed(definition, target, sets or [])

    def recorded(progress: Progress) -> Answer:
        found = ran(
            definition,
            Path(out),
            where,
            sets=places,
            workers=workers,
            cluster=cluster,
            resume=resume,
            report=lambda done, runs: progress(f"{done} of {runs} runs", done / runs),
        )
        return _answer(study, out, found)

    kept = f"interrupted: what is recorded is in {out}; --resume goes on with it"
    answer(recorded, as_json=as_json, interrupted=kept)


def _answer(study: str, out: str, found: Ran) -> Answer:
    plain = {
        "study": study,
        "runs": found.runs,
        "done": found.done,
        "resumed": found.resumed,
        "failed": len(found.failures),
        "seconds": round(found.seconds, 3),
    }
    again = f", {found.resumed} of them before" if found.resumed else ""
    line = (
        f"{study}: {found.done} of {found.runs} runs are recorded{again}, "
        f"in {seconds(found.seconds)}: {out}"
    )
    more = len(found.failures) - SHOWN
    return Answer(
        data=lambda: json.dumps(plain, ensure_ascii=False),
        blocks=[[line]],
        messages=[
            *(f"error: {why}" for why in found.failures[:SHOWN]),
            *([f"error: {more} more runs failed"] if more > 0 else []),
            *(f"note: {line}" for line in remarks.lines(rows.remarks(rows.every_part(out)))),
        ],
        exit_code=RUN_FAILED if found.failures else 0,
    )
