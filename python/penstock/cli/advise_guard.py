"""`penstock advise guard`: which of the kernel's means protects programs, before they suffer."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from penstock.advise import guard_words
from penstock.advise.goal import Goal
from penstock.advise.guard import (
    DEPTH,
    ROUNDS,
    SCHEDULER,
    GuardAdvice,
    GuardQuestion,
    TriedMeans,
    advise,
)
from penstock.answer.table import NONE, Table
from penstock.answer.value import Answer, Blocks
from penstock.cli.answering import answer
from penstock.cli.job_input import read
from penstock.cli.lists import share
from penstock.cli.options import Job, Json, Sets
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.errors import RUN_FAILED, wrong
from penstock.results.figure import Figure
from penstock.results.rounds import Spread
from penstock.session import Variant
from penstock.target import Target
from penstock.text import units
from penstock.text.table import heading

Batch = Annotated[
    str,
    typer.Option(
        "--batch",
        metavar="CLASS,…",
        help="Classes that may wait; the others are online.",
        show_default=False,
    ),
]

GuardGoals = Annotated[
    list[str],
    typer.Option(
        "--goal",
        metavar="'CLASS.FIGURE <= LIMIT'",
        help="What an online class must keep, as 'tellers.p99 <= 50ms'. May be given again: all "
        "are kept.",
        show_default=False,
    ),
]

Keep = Annotated[
    str,
    typer.Option("--keep", metavar="SHARE", help="What the batch keeps of its throughput."),
]

Rounds = Annotated[int, typer.Option("--rounds", metavar="N", min=1, max=1000, help="Rounds.")]

Depth = Annotated[
    int,
    typer.Option(
        "--depth",
        metavar="N",
        min=4,
        help="Requests that the kernel gives the disk at once, on a model and on a served one.",
    ),
]

Scheduler = Annotated[
    str, typer.Option("--scheduler", metavar="NAME", help="The scheduler that the disk has.")
]


@targeted()
def guard(
    job: Job,
    *,
    batch: Batch,
    goals: GuardGoals,
    keep: Keep = "0%",
    rounds: Rounds = ROUNDS,
    depth: Depth = DEPTH,
    scheduler: Scheduler = SCHEDULER,
    target: Target,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Find which of the kernel's means protects the online classes of a job.

    The job runs with nothing, then with the batch in the idle I/O class, with less read ahead, with
    a shorter queue and shorter commands, and under bfq. On a block device, loop:PATH or
    block:DEVICE the kernel does it, and only root may; on a model the models of its schedulers do.
    The exit code is 1 if no means meets the goals.
    """
    name, text = read(job)
    question = GuardQuestion(
        batch=[class_ for class_ in batch.split(",") if class_],
        goals=[Goal.parse(goal) for goal in goals],
        keep=share("--keep", keep),
        rounds=rounds,
        depth=depth,
        scheduler=scheduler,
    )
    if not question.batch:
        raise wrong("--batch names no class", "as --batch batch,report")
    variant = Variant(name=name, text=text, sets=sets or [])

    def advised(progress: Progress) -> Answer:
        advice = advise(variant, target, question, progress=progress)
        return Answer(
            data=lambda: json.dumps(_plain(advice), indent=2),
            blocks=_blocks(advice),
            exit_code=RUN_FAILED if advice.chosen is None else 0,
        )

    answer(advised, as_json=as_json)


def _blocks(advice: GuardAdvice) -> Blocks:
    yield list(heading(advice.comparison))
    goals = [goal.text for goal in advice.question.goals]
    headings = ["means", *goals, "batch keeps", ""]
    yield [Table(headings, list(_rows(advice)), sentences=1)]
    yield guard_words.lines(advice)


def _rows(advice: GuardAdvice) -> Iterator[list[str]]:
    for tried in advice.tried:
        figures = [_figure(goal.figure, tried.figures[goal.text]) for goal in advice.question.goals]
        yield [
            tried.means.name,
            *figures,
            units.percent(tried.batch.median),
            guard_words.verdict(tried, advice.question),
        ]


def _figure(figure: Figure, spread: Spread | None) -> str:
    if spread is None:
        return NONE
    if figure.is_latency:
        return units.latency(spread.median)
    return units.megabytes(spread.median) if figure.what == "bw" else f"{spread.median:.1f}"


def _plain(advice: GuardAdvice) -> Mapping[str, Any]:
    """The answer as JSON has it."""
    return {
        "world": advice.comparison["world"],
        "device": advice.comparison["device"],
        "goals": [goal.text for goal in advice.question.goals],
        "keep": advice.question.keep,
        "met": advice.chosen is not None,
        "chosen": (advice.chosen or advice.nearest).means.name,
        "means": [_tried(tried, advice) for tried in advice.tried],
        "left_out": advice.left_out,
        "lines": guard_words.lines(advice),
    }


def _tried(tried: TriedMeans, advice: GuardAdvice) -> Mapping[str, Any]:
    return {
        "name": tried.means.name,
        "policy": tried.policy,
        "set": list(tried.sets),
        "figures": {text: spread and spread._asdict() for text, spread in tried.figures.items()},
        "batch_share": tried.batch._asdict(),
        "missed_by": tried.missed_by,
        "meets": tried.meets(advice.question.keep),
    }
