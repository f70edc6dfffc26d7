"""`penstock depths`: the throughput of a job at several queue depths, as an example of a verb."""

import json
from typing import Annotated

import typer

from penstock.answer.table import Table
from penstock.answer.value import Answer
from penstock.cli import lists
from penstock.cli.answering import answer
from penstock.cli.job_input import read
from penstock.cli.options import Job, Json, Sets
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run
from penstock.results.json_types import Run
from penstock.session import Variant
from penstock.target import Target

app = verb()

Depths = Annotated[
    str,
    typer.Option(
        "--depths", metavar="N,N,…", help="How many commands the device has at once, at most."
    ),
]


def rate(run: Run) -> float:
    """Returns the bytes a second of all classes."""
    return sum(class_["bw_bytes"] for class_ in run["classes"])


@app.command("depths")
@targeted()
def depths(
    job: Job,
    *,
    depths: Depths = "1,4,16",
    target: Target,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Run a job at several queue depths and show its throughput."""
    levels = lists.positive("--depths", depths)
    name, text = read(job)
    cells = [
        Variant(name=name, text=text, sets=[*(sets or []), f"live.depth={level}"])
        for level in levels
    ]
    setup = Setup(target=target, reduce=lambda result: rate(only_run(result)), policies=["fcfs"])

    def work(progress: Progress) -> Answer:
        rates = dict(zip(levels, run_all(setup, cells, progress=progress.step), strict=True))
        rows = [(str(level), f"{rate / 1e6:.1f}") for level, rate in rates.items()]
        return Answer(data=lambda: json.dumps(rates), blocks=[[Table(["depth", "MB/s"], rows)]])

    answer(work, as_json=as_json)
