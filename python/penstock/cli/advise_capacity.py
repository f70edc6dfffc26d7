"""`penstock advise capacity`: how much of a class fits while every goal holds."""

import json
from typing import Annotated

import typer

from penstock.advise import capacity_files as files
from penstock.advise import capacity_words as words
from penstock.advise.capacity import Capacity
from penstock.advise.capacity_load import KINDS, By
from penstock.advise.capacity_search import SEEDS, SEEDS_LIVE, capacity
from penstock.advise.goal import Goal
from penstock.answer.value import Answer, Blocks, headline
from penstock.cli import output
from penstock.cli.advise_goal import Goals
from penstock.cli.answering import answer, command_line
from penstock.cli.job_input import read
from penstock.cli.options import Dark, Job, Json, Plots, Policies, Report, Sets, named
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.errors import GOAL_MISSED, wrong
from penstock.report.outputs import Outputs
from penstock.results.rounds import ROUNDS_MOST
from penstock.session import Variant
from penstock.target import Target
from penstock.text import units

Class = Annotated[
    str,
    typer.Option("--class", metavar="CLASS", help="The class that grows.", show_default=False),
]

Growth = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="|".join(KINDS),
        help="What grows: the copies of its agents, the requests a second of the whole class, or "
        "its weight. If not given, copies; for programs, rate.",
    ),
]

UpTo = Annotated[
    str | None,
    typer.Option(
        "--up-to",
        metavar="LOAD",
        help="Largest load that is tried, as 200, or 500/s with --by rate. If not given, 1000 "
        "copies, 100 times the rate, or a weight of 10000.",
    ),
]

Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="N",
        min=1,
        max=ROUNDS_MOST,
        help="Seeds that each load runs from. If not given, "
        f"{SEEDS}, or {SEEDS_LIVE} on a target that runs in real time.",
    ),
]


@targeted()
def run(
    job: Job,
    *,
    class_: Class,
    by: Growth = None,
    goals: Goals = None,
    policies: Policies = None,
    up_to: UpTo = None,
    seeds: Seeds = None,
    target: Target,
    sets: Sets = None,
    report: Report = None,
    plots: Plots = None,
    dark: Dark = False,
    as_json: Json = False,
) -> None:
    """Find how much of a class fits under each policy while every goal holds.

    The load of the class is doubled until a goal fails, and what lies between is halved, with the
    same seeds at every load. Loads below and far beyond the answer are tried too: if goals do not
    simply fail from some load on, the answer says so. The exit code is 3 if not even the least load
    holds under any policy.
    """
    outputs = Outputs(
        report=report,
        plots=plots,
        dark=dark,
        command=command_line(),
        options=("report", "plots"),
    )
    outputs.check()
    name, text = read(job)
    variant = Variant(name=name, text=text, sets=sets or [])
    wanted = [Goal.parse(goal) for goal in goals or []]
    growth = _growth(by)

    def searched(progress: Progress) -> Answer:
        result = capacity(
            variant,
            class_,
            wanted,
            target,
            by=growth,
            up_to=up_to,
            policies=named(policies),
            seeds=seeds,
            progress=progress,
            announce=_announce,
        )
        return Answer(
            data=lambda: json.dumps(files.plain(result), indent=2),
            blocks=_blocks(result),
            files=outputs.write(files.contents(result)),
            exit_code=0 if result.fits else GOAL_MISSED,
        )

    answer(searched, as_json=as_json)


def _growth(by: str | None) -> By | None:
    for kind in KINDS:
        if by == kind:
            return kind
    if by is None:
        return None
    raise wrong(f"--by: found {by!r}; expected one of {', '.join(KINDS)}", f"as --by {KINDS[0]}")


def _announce(device: str, seconds: float | None, runs: int) -> None:
    """Says how long the runs take in real time, before the first."""
    if seconds is None:
        lasts = f"about {runs} runs, each until its work is done"
    else:
        together = units.seconds(runs * seconds)
        lasts = f"about {together}: {runs} runs of {units.seconds(seconds)} each"
    output.talk(f"on {device} this takes {lasts}; fewer with --policies, --seeds and --up-to")


def _blocks(result: Capacity) -> Blocks:
    yield [
        headline(result.world, words.title(result)),
        *(f"  set {change}" for change in result.changes),
    ]
    yield words.lines(result)
    yield [words.table(result)]
