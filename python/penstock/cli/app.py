"""The command line: its verbs, and how a failure ends it."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from penstock import __version__
from penstock._native import Failure
from penstock.cli import (
    advise,
    calibrate,
    compare,
    doctor,
    list,
    output,
    paper,
    replay,
    replay_decisions,
    run,
    schema,
    trace,
    watch,
)

EXIT_CODES = (
    "Exit codes: 0 all went well; 1 the run failed; 2 wrong use or wrong input; 4 decisions "
    "differ; 5 an unsafe target was refused; 77 this machine cannot run it; 130 ended by "
    "Ctrl-C, 143 by SIGTERM, 129 by a lost connection, 131 by SIGQUIT."
)

app = typer.Typer(
    name="penstock",
    help="Show what happens when online and batch work share a disk, and control it.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compare", short_help="Run a workload under several policies.")(compare.compare)
app.command("watch", short_help="Watch a workload run, class by class.")(watch.watch)
app.command("run", short_help="Run a workload under one policy.")(run.run)
app.command("replay-decisions", short_help="Prove that a recorded run decides alike again.")(
    replay_decisions.replay_decisions
)
app.command("replay", short_help="Play a recorded trace under policies.")(replay.replay)
app.command("calibrate", short_help="Measure a disk and make a device of it.")(calibrate.run)
app.add_typer(advise.app, name="advise")
app.add_typer(paper.app, name="paper")
app.add_typer(trace.app, name="trace")
app.add_typer(list.app, name="list")
app.command("doctor", short_help="Say what this machine can do, and why not.")(doctor.doctor)
app.command("schema", short_help="Print the JSON Schema of jobs and devices.")(schema.schema)


def _version(asked: bool) -> None:
    if asked:
        output.data(f"penstock {__version__}\n")
        raise typer.Exit


@app.callback()
def penstock(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Show what happens when online and batch work share a disk, and control it."""


def main() -> None:
    """Run the command and exit."""
    for stream in (sys.stdout, sys.stderr):
        # A figure with `?` for `µ` is worth more than a traceback.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="penstock")
    except Failure as failure:
        output.talk(str(failure))
        if failure.stuck:
            output.leave(failure.exit_code)
        sys.exit(failure.exit_code)
