"""`penstock advise JOB`: which policy and parameters meet a goal."""

import json
from collections.abc import Mapping
from typing import Annotated

import typer

from penstock.advise import words
from penstock.advise.goal import Goal
from penstock.advise.search import Advice, search
from penstock.answer.value import Answer, Blocks
from penstock.cli.answering import answer
from penstock.cli.job_input import read
from penstock.cli.options import Job, Json, Policies, Sets, named
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.errors import RUN_FAILED
from penstock.results.figure import Figure
from penstock.session import Variant
from penstock.target import Target
from penstock.text.table import heading

Goals = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="'CLASS.FIGURE <= LIMIT'",
        help="What a setting must keep, as 'tellers.p99 <= 5ms' or 'batch.bw >= 30MB/s'. May be "
        "given again: all are kept.",
    ),
]

Best = Annotated[
    str,
    typer.Option(
        "--best",
        metavar="CLASS.FIGURE",
        help="What is to be best among those: batch.bw, tellers.p99, …",
        show_default=False,
    ),
]


@targeted()
def goal(
    job: Job,
    *,
    goals: Goals = None,
    best: Best,
    policies: Policies = None,
    target: Target,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Find the policy and its parameters that meet every goal and have the best of one figure.

    Settings are tried on a modelled device in short runs; the best run longer and from other seeds.
    With --on a real target the search is done on the job's own device, and the three best are
    measured on the target in rounds. The exit code is 1 if no setting meets the goals.
    """
    name, text = read(job)
    variant = Variant(name=name, text=text, sets=sets or [])
    wanted, figure = [Goal.parse(goal_) for goal_ in goals or []], Figure.parse(best)

    def searched(progress: Progress) -> Answer:
        advice = search(
            variant, wanted, figure, target, policies=named(policies), progress=progress
        )
        return Answer(
            data=lambda: json.dumps(_advice(advice), indent=2),
            blocks=_blocks(advice),
            exit_code=RUN_FAILED if advice.found is None else 0,
        )

    answer(searched, as_json=as_json)


def _blocks(advice: Advice) -> Blocks:
    yield list(heading(advice.comparison))
    yield [words.table(advice)]
    yield words.lines(advice)
    yield (words.setting(advice) or "").splitlines()


def _advice(advice: Advice) -> Mapping[str, object]:
    return {
        "goals": [goal_.text for goal_ in advice.goals],
        "best": str(advice.best),
        "met": advice.found is not None,
        "world": advice.comparison["world"],
        "device": advice.comparison["device"],
        "model": advice.model,
        "tried": advice.tried,
        "settings": [
            {
                "setting": candidate.rounds.label,
                "policy": candidate.setting.policy,
                "set": dict(candidate.setting.changes),
                "met_in": candidate.met,
                "rounds": len(candidate.rounds.whole()),
                "figures": {
                    str(asked): (spread := asked.over(candidate.rounds)) and spread._asdict()
                    for asked in words.figures(advice)
                },
            }
            for candidate in advice.candidates
        ],
        "lines": words.lines(advice),
    }
