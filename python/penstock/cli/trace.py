"""`penstock trace`: what a trace holds, the same in another format, and a trace of a job."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks
from penstock.cli import output
from penstock.cli.answering import give, write
from penstock.cli.options import JobFile, Json, ModelOn, Plots, Sets
from penstock.cli.replay import Classes, Format, Trace
from penstock.cli.verb import group
from penstock.report import trace as trace_report
from penstock.text import races as races_words
from penstock.text import trace as trace_table
from penstock.text import units

app = group()

ClassesOrProcesses = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="JOB.toml",
        help="A job whose rules say which request is of which class. If not given, each process "
        "is a class.",
    ),
]

TraceOrRecord = Annotated[
    str,
    typer.Argument(
        metavar="TRACE",
        help="The trace, packed or not, or the record of a run.",
        show_default=False,
    ),
]


@app.command("info", short_help="What a trace is.")
def info(trace: Trace, *, file_format: Format = None, as_json: Json = False) -> None:
    """Tell what a trace is: its format, its length, whose requests are in it."""
    text = _native.trace_describe(trace, format=file_format)
    facts = trace_table.facts(json.loads(text))
    width = max(map(len, facts))
    _give(text, [f"{name:<{width}}  {value}" for name, value in facts.items()], as_json=as_json)


def _give(text: str, lines: Iterable[str], *, as_json: bool, messages: Sequence[str] = ()) -> None:
    """Print an answer of the engine as it is, or these lines."""
    give(
        Answer(
            data=lambda: text,
            blocks=[list(lines)],
            messages=messages,
        ),
        as_json=as_json,
    )


@app.command("stats", short_help="What a trace asks for, by class.")
def stats(
    trace: Trace, *, file_format: Format = None, classes: Classes = None, as_json: Json = False
) -> None:
    """Tell what a trace asks for: how much, how large, how often, how regularly, where."""
    text = _native.trace_describe(trace, format=file_format, classes=classes)
    described: trace_table.Description = json.loads(text)
    give(
        Answer(
            data=lambda: text,
            blocks=[[trace_table.table(described["classes"])]],
            notes=[f"note: {remark}" for remark in described["remarks"]],
        ),
        as_json=as_json,
    )


@app.command("races", short_help="Find classes that stall behind writes of another.")
def races(
    trace: TraceOrRecord,
    *,
    file_format: Format = None,
    classes: ClassesOrProcesses = None,
    as_json: Json = False,
) -> None:
    """Find classes whose reads stalled behind writes of another class, and which stalls are races.

    TRACE is a trace with completions, or a record that `penstock run --record` wrote. Classes of a
    trace are those of --classes, or else its processes. A stall is a race if the other class makes
    progress meanwhile: it completes more than twice as many new reads as it has outstanding at
    most, and writes what it has read into the same queue.
    """
    text = _native.trace_races(trace, format=file_format, classes=classes)
    report: races_words.Report = json.loads(text)
    give(
        Answer(
            data=lambda: text,
            blocks=_races(report),
            notes=[f"note: {remark}" for remark in report["remarks"]],
        ),
        as_json=as_json,
    )


def _races(report: races_words.Report) -> Blocks:
    yield list(races_words.lines(report))
    if rows := races_words.rows(report):
        yield [Table(races_words.HEADINGS, rows)]


@app.command("plot", short_help="Pictures of what a trace asks for.")
def plot(
    trace: Trace,
    *,
    file_format: Format = None,
    classes: Classes = None,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE.html|.png|.svg",
            help="Write a page that needs nothing else, or all pictures as one. An earlier one is "
            "replaced, any other file is not.",
        ),
    ] = None,
    plots: Plots = None,
) -> None:
    """Draw what a trace asks for: when, where, how much, how regularly, in which order."""
    outputs = trace_report.outputs(out, plots)
    outputs.check()
    text = _native.trace_describe(trace, format=file_format, classes=classes, drawn=True)
    write(outputs.write(trace_report.contents(json.loads(text))))


@app.command("convert", short_help="Write a trace in another format.")
def convert(
    trace: Trace,
    to: Annotated[str, typer.Argument(metavar="OUT", help="The file to make; it may not exist.")],
    *,
    into: Annotated[
        str, typer.Option("--to", metavar="NAME", help="The format of the file to make.")
    ],
    file_format: Format = None,
    as_json: Json = False,
) -> None:
    """Write a trace in another format, as far as that format has words for it."""
    text = _native.trace_convert(trace, to, into=into, format=file_format)
    made: trace_table.Description = json.loads(text)
    line = f"{units.count(made['requests'])} requests from {made['from']}{_left_out(made)}"
    _about_written(to, text, line, [], as_json=as_json)


@app.command("make", short_help="Write what a job asks for as a trace.")
def make(
    job: JobFile,
    *,
    out: Annotated[
        str,
        typer.Option("-o", "--out", metavar="FILE", help="The file to make; it may not exist."),
    ],
    file_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="The format of the file to make.")
    ] = "fio-iolog3",
    on: ModelOn = None,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Write what the agents of a job ask for as a trace, without running it.

    Every request completes at once: a closed loop asks again after its think time. The device
    only says how large regions are that the job gives as shares.
    """
    text = _native.trace_made(job, out, into=file_format, sets=sets or [], on=on)
    made: trace_table.Description = json.loads(text)
    line = f"{units.count(made['requests'])} requests{_left_out(made)}"
    _about_written(out, text, line, [f"wrote {out}"], as_json=as_json)


def _about_written(path: str, text: str, line: str, notes: Sequence[str], *, as_json: bool) -> None:
    """Print an answer about a trace that was written; as a message if the trace went to stdout."""
    try:
        is_stdout = os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):
        is_stdout = False
    if is_stdout:
        output.talk(line)
        return
    give(Answer(data=lambda: text, blocks=[[line]], notes=notes), as_json=as_json)


def _left_out(made: trace_table.Description) -> str:
    """How many requests a format could not express."""
    left = made["left_out"]
    return f"; {units.count(left)} left out, which {made['into']} has no words for" if left else ""


@app.command("formats", short_help="What formats there are.")
def formats(*, as_json: Json = False) -> None:
    """List the formats of traces."""
    text = _native.trace_formats()
    formats = (
        f"{entry['name']}: {entry['summary']}{' (read and written)' if entry['writes'] else ''}"
        for entry in json.loads(text)
    )
    _give(text, formats, as_json=as_json)
