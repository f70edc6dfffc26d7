"""`penstock compare`: one workload under several policies."""

from typing import Annotated

import typer

from penstock.cli.job import work
from penstock.cli.options import Job, Json, Plots, Repeat, Report, Sets, Xlsx
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.report import Outputs
from penstock.target import Target

app = verb()

Policies = Annotated[
    str | None,
    typer.Option(
        "--policies",
        metavar="A,B,…",
        help="Policies in the order in which they run (`penstock list policies`). "
        "alone:CLASS gives that class the device to itself; kernel:NAME lets the classes meet "
        "under that scheduler of the kernel, on a real file, as root. The verdict compares each "
        "with the first that serves all classes. If not given, every policy there is.",
    ),
]


def named(policies: str | None) -> list[str]:
    """The policies that `--policies` names; none: every policy there is."""
    return [] if policies is None else [name.strip() for name in policies.split(",")]


@app.command("compare")
@targeted()
def compare(
    job: Job,
    *,
    policies: Policies = None,
    target: Target,
    repeat: Repeat = None,
    sets: Sets = None,
    report: Report = None,
    plots: Plots = None,
    xlsx: Xlsx = None,
    as_json: Json = False,
) -> None:
    """Run one workload under several policies and compare what each class gets.

    On a named device it is simulated, on a real file measured: by the same policies and the same
    workload. Ctrl-C ends the run and shows what there is, marked as partial.
    """
    work(
        job,
        policies=named(policies),
        target=target,
        sets=sets or [],
        record=None,
        outputs=Outputs(report=report, plots=plots, xlsx=xlsx),
        as_json=as_json,
        repeat=repeat,
    )
