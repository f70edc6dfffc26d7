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
    wanted, figure = [Goal.parse(one) for one in goals or []], Figure.parse(best)

    def searched(progress: Progress) -> Answer:
        found = search(variant, wanted, figure, target, policies=named(policies), progress=progress)
        return Answer(
            data=lambda: json.dumps(_advice(found), indent=2),
            blocks=_blocks(found),
            exit_code=RUN_FAILED if found.found is None else 0,
        )

    answer(searched, as_json=as_json)


def _blocks(found: Advice) -> Blocks:
    yield list(heading(found.comparison))
    yield [words.table(found)]
    yield words.lines(found)
    yield (words.setting(found) or "").splitlines()


def _advice(found: Advice) -> Mapping[str, object]:
    return {
        "goals": [one.text for one in found.goals],
        "best": str(found.best),
        "met": found.found is not None,
        "world": found.comparison["world"],
        "device": found.comparison["device"],
        "model": found.model,
        "tried": found.tried,
        "settings": [
            {
                "setting": one.rounds.label,
                "policy": one.setting.policy,
                "set": dict(one.setting.changes),
                "met_in": one.met,
                "rounds": len(one.rounds.whole()),
                "figures": {
                    str(asked): (of := asked.over(one.rounds)) and of._asdict()
                    for asked in words.figures(found)
                },
            }
            for one in found.candidates
        ],
        "lines": words.lines(found),
    }
