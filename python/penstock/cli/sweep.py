"""`penstock sweep`: one workload in many settings, and the trade-off between two figures."""

from dataclasses import replace
from typing import Annotated

import typer

from penstock.answer.value import Answer, Blocks
from penstock.cli.answering import answer, command_line
from penstock.cli.job_input import read
from penstock.cli.options import Dark, Job, Json, Plots, Repeat, Report, Sets
from penstock.cli.progress import Progress
from penstock.cli.running import undrawn
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.report.outputs import Outputs
from penstock.session import Variant
from penstock.sweeps.run import Sweep
from penstock.sweeps.run import run as swept
from penstock.sweeps.vary import factors, settings
from penstock.target import Target
from penstock.text import tradeoff
from penstock.text.table import heading

app = verb()

Vary = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="KEY=LEVELS",
        help="What varies, as --set names it, and its levels: policy=noop,size-priority or "
        "size-priority.split=16KiB..1MiB,off, where a range doubles. May be given again: every "
        "combination runs.",
        show_default=False,
    ),
]

X = Annotated[
    str | None,
    typer.Option(
        "--x",
        metavar="CLASS.FIGURE",
        help="What is to be good: p50, p95, p99, p99.9, mean, bw or iops of a class. If not given, "
        "the p99 of the first class that asks at its own pace.",
    ),
]

Y = Annotated[
    str | None,
    typer.Option(
        "--y",
        metavar="CLASS.FIGURE",
        help="What it may cost. If not given, the throughput (bw) of the class that moves most "
        "among those that wait for answers.",
    ),
]

Parquet = Annotated[
    str | None,
    typer.Option(
        "--parquet", metavar="FILE.parquet", help="Write every figure of every run as a table."
    ),
]


@app.command("sweep")
@targeted()
def sweep(
    job: Job,
    *,
    vary: Vary,
    x: X = None,
    y: Y = None,
    target: Target,
    repeat: Repeat = None,
    sets: Sets = None,
    report: Report = None,
    plots: Plots = None,
    dark: Dark = False,
    parquet: Parquet = None,
    as_json: Json = False,
) -> None:
    """Run one workload in many settings and show what one class gains and another one pays.

    Every combination of the levels of --vary runs once, or in rounds with --repeat; a parameter
    varies under its own policy only. Settings that another one beats in both figures are marked.
    """
    outputs = Outputs(
        report=report,
        plots=plots,
        dark=dark,
        parquet=parquet,
        command=command_line(),
        options=("report", "plots", "parquet"),
    )
    outputs.check()
    name, text = read(job)
    variant = Variant(name=name, text=text, sets=sets or [])
    every = settings(factors(vary))

    def run(progress: Progress) -> Answer:
        result = swept(
            variant, every, target, figures=(x, y), repeat=repeat, progress=progress.step
        )
        ran = f"{len(result.by_setting)} of {len(every)} settings ran"
        early = [f"interrupted: the last run is partial; {ran}", *undrawn(outputs)]
        drawn = not result.interrupted
        return Answer(
            data=result.to_json,
            blocks=_blocks(result),
            files=replace(outputs, plots=outputs.plots if drawn else None).write(
                result.contents(drawn=drawn)
            ),
            messages=[] if drawn else early,
            partial=result.interrupted,
        )

    answer(run, as_json=as_json)


def _blocks(result: Sweep) -> Blocks:
    _, *about = heading(result.comparison)
    yield [tradeoff.title(result.comparison, result.tradeoff), *about]
    yield [tradeoff.table(result.tradeoff)]
    yield tradeoff.lines(result.comparison, result.tradeoff)
