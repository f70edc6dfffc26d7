"""`penstock study run`: every cell of a study runs, and is recorded at once."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.answer.value import Answer
from penstock.cli import output
from penstock.cli.answering import answer
from penstock.cli.options import Json, Sets
from penstock.cli.progress import Progress
from penstock.cli.study_options import StudyFile, Workers, budget_s, placed
from penstock.cli.target import targeted
from penstock.errors import RUN_FAILED
from penstock.experiment.budget import Budget as TimeBudget
from penstock.study import remarks, rows
from penstock.study.definition import Definition
from penstock.study.run import Ran
from penstock.study.run import run as ran
from penstock.target import Target
from penstock.text.units import many, seconds

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

Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="How long all of it may take, as 2h. Blocks that do not fit are left out.",
    ),
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
    budget: Budget = None,
    target: Target,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Run every cell of a study in random order, in blocks of replicates, and record each run.

    On a model cells run on all processors, on a real target one after another. A run that is
    recorded is never made again: after Ctrl-C or a crash --resume goes on with the rest. With
    --budget a pilot says first how long the whole study takes, and only whole blocks run.
    """
    length = None if budget is None else budget_s(budget)
    definition = Definition.load(study)
    where, places = placed(definition, target, sets or [])

    def recorded(progress: Progress) -> Answer:
        study_run = ran(
            definition,
            Path(out),
            where,
            sets=places,
            workers=workers,
            cluster=cluster,
            resume=resume,
            budget=None if length is None else TimeBudget(length),
            report=lambda done, runs: progress(f"{done} of {runs} runs", done / runs),
            say=output.talk,
        )
        return _answer(study, out, study_run, length)

    kept = f"interrupted: what is recorded is in {out}; --resume goes on with it"
    answer(recorded, as_json=as_json, interrupted=kept)


def _answer(study: str, out: str, study_run: Ran, budget: float | None) -> Answer:
    plain: dict[str, Any] = {
        "study": study,
        "runs": study_run.runs,
        "done": study_run.done,
        "resumed": study_run.resumed,
        "failed": len(study_run.failures),
        "seconds": round(study_run.seconds, 3),
    }
    messages = []
    if study_run.price is not None and budget is not None:
        blocks = len(study_run.price.blocks)
        left_out = blocks - study_run.blocks
        plain["budget"] = {
            "budget_s": budget,
            "whole_s": study_run.price.whole_s,
            "blocks": blocks,
            "blocks_left_out": left_out,
        }
        if left_out:
            messages.append(
                f"note: --budget {seconds(budget)} leaves out {left_out} of "
                f"{many(blocks, 'block')}; --resume goes on with them"
            )
        if study_run.seconds > budget:
            messages.append(
                f"note: it took longer than --budget {seconds(budget)}, as a block that has begun "
                "is made whole"
            )
    again = f", {study_run.resumed} of them before" if study_run.resumed else ""
    line = (
        f"{study}: {study_run.done} of {study_run.runs} runs are recorded{again}, "
        f"in {seconds(study_run.seconds)}: {out}"
    )
    more = len(study_run.failures) - SHOWN
    return Answer(
        data=lambda: json.dumps(plain, ensure_ascii=False),
        blocks=[[line]],
        messages=[
            *messages,
            *(f"error: {why}" for why in study_run.failures[:SHOWN]),
            *([f"error: {more} more runs failed"] if more > 0 else []),
            *(f"note: {line}" for line in remarks.lines(rows.remarks(rows.every_part(out)))),
        ],
        exit_code=RUN_FAILED if study_run.failures else 0,
    )
