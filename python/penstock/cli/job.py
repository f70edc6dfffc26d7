"""`penstock job`: what a job is before it runs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.table import Table
from penstock.answer.value import Answer, Part
from penstock.cli.answering import give
from penstock.cli.options import JobFile, Json, ModelOn, Sets
from penstock.cli.verb import group
from penstock.report import files
from penstock.text import job as job_text
from penstock.text import units

app = group()
app.callback()(lambda: None)  # Without it a group of one verb would be that verb.


@app.command("show", short_help="Say how much a job asks for, and for how long.")
def show(job: JobFile, *, on: ModelOn = None, sets: Sets = None, as_json: Json = False) -> None:
    """Say what a job amounts to before it runs.

    By class: its agents, the requests that they have in flight at most, how many requests and
    bytes they ask for, and how long that takes, as far as it does not depend on the device. By
    file: its size, and the device or target on which it lies.
    """
    text = _native.job_amounts(job, sets=sets or [], on=on)
    amounts: job_text.Amounts = json.loads(text)
    blocks: list[list[Part]] = [
        list(job_text.lines(amounts)),
        [Table(job_text.HEADINGS, job_text.rows(amounts))],
    ]
    if files := job_text.file_rows(amounts):
        blocks.append([Table(job_text.FILE_HEADINGS, files)])
    give(Answer(data=lambda: text, blocks=blocks), as_json=as_json)


@app.command("from-fio", short_help="Make a job of a job file of fio.")
def from_fio(
    fio: Annotated[
        Path, typer.Argument(metavar="JOB.fio", help="The job file.", show_default=False)
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The job to write; it may not exist. If not given, the job goes to stdout.",
        ),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section", metavar="NAME", help="Only this section; given again, those sections."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a job of a job file of fio.

    What could not be taken over is reported by line, with the reason, and stands in the job as
    comments.
    """
    if out is not None:
        files.check_new(out)
    text, agents, in_flight, notes = _native.job_from_fio(fio, sections=section or [])
    if out is not None:
        files.write_new(out, text)
    made = {"agents": agents, "in_flight": in_flight}
    keys = ("line", "text", "why")
    listed = [dict(zip(keys, note, strict=True)) for note in notes]
    where = {"job": text} if out is None else {"file": str(out)}
    written = "" if out is None else f"wrote {out}: "
    flight = f"{units.many(in_flight, 'request')} in flight at most"
    about = [
        f"{written}{units.many(agents, 'agent')}, {flight}",
        *(["not taken over, or stated elsewhere:"] if notes else []),
        *(f"  line {line}, {option}: {why}" for line, option, why in notes),
    ]
    give(
        Answer(
            data=lambda: json.dumps({**where, **made, "notes": listed}),
            blocks=[text.splitlines() if out is None else about],
            notes=about if out is None else [],
        ),
        as_json=as_json,
    )
