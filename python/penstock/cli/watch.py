"""`penstock watch`: a workload under several policies, and how each class fares meanwhile."""

from typing import Annotated

import typer

from penstock import _native
from penstock.cli import output
from penstock.cli.options import (
    Dark,
    Job,
    Json,
    Metrics,
    Plots,
    Policies,
    Repeat,
    Report,
    Requests,
    Sets,
    Xlsx,
    named,
)
from penstock.cli.running import Engine, work
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.errors import needs
from penstock.metrics.outlet import outlet
from penstock.report.outputs import Outputs
from penstock.results.steps import Step
from penstock.signals import StopSignal
from penstock.target import Target
from penstock.watch.lines import Lines
from penstock.watch.metrics import WatchMetrics

app = verb()

Speed = Annotated[
    str | None,
    typer.Option(
        "--speed",
        metavar="N|max",
        help="How many times as fast as real time a simulated run goes, as 10 or 0.5, or max for "
        "as fast as it can. If not given, 1. A real file takes its own time.",
    ),
]


@app.command("watch")
@targeted()
def watch(
    job: Job,
    *,
    policies: Policies = None,
    target: Target,
    speed: Speed = None,
    repeat: Repeat = None,
    sets: Sets = None,
    report: Report = None,
    plots: Plots = None,
    dark: Dark = False,
    xlsx: Xlsx = None,
    requests: Requests = None,
    metrics: Metrics = None,
    as_json: Json = False,
) -> None:
    """Watch a workload run under several policies: what each class gets, second by second.

    On a named device it is simulated, on a real file measured. q or Ctrl-C ends the run with what
    there is, space lets a simulated one pause; then comes what compare prints. Where there is no
    terminal, plain lines go to stderr once a second.
    """
    pace = _native.Pace()
    stop_signal = StopSignal()
    exposed = None if metrics is None else WatchMetrics(outlet(metrics))

    def failed_writes() -> list[str]:
        failure = None if exposed is None else exposed.failure
        return [] if failure is None else [failure]

    on_screen = output.on_a_terminal()
    if on_screen:
        needs("textual", feature="the live view")

    def on_its_screen(engine: Engine) -> str:
        from penstock.watch.screen import Screen

        return Screen(job, engine, pace=pace, speed=speed, stop_signal=stop_signal).to_its_end()

    watcher = on_its_screen if on_screen else _in_lines
    work(
        job,
        policies=named(policies),
        target=target,
        sets=sets or [],
        record=None,
        outputs=Outputs(report=report, plots=plots, dark=dark, xlsx=xlsx, requests=requests),
        as_json=as_json,
        repeat=repeat,
        pace=pace,
        speed=speed,
        watcher=watcher if exposed is None else lambda engine: watcher(exposed.of(engine)),
        failed_writes=failed_writes,
        stop_signal=stop_signal,
    )


def _in_lines(engine: Engine) -> str:
    lines = Lines()

    def on_step(step: Step) -> None:
        for line in lines.of(step):
            output.talk(line)

    return engine(on_step)
