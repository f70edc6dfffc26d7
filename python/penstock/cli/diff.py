"""`penstock diff`: what changed between two results, and whether it is more than noise."""

import json
from typing import Annotated

import typer

from penstock.answer.value import Answer
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.verb import verb
from penstock.errors import GOAL_MISSED

app = verb()

First = Annotated[
    str,
    typer.Argument(
        metavar="A.json",
        help="The result before, as --json prints it, or a folder of results.",
        show_default=False,
    ),
]

Second = Annotated[
    str,
    typer.Argument(
        metavar="B.json",
        help="The result after, or a folder with results of the same names.",
        show_default=False,
    ),
]

FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="'CLASS.FIGURE > PERCENT'",
        help="End with exit code 3 if a figure changed by more than noise and by more than this, "
        "as 'tellers.p99 > 5%' or 'batch.bw < -5%'. May be given again.",
    ),
]

Anyway = Annotated[
    bool,
    typer.Option(
        "--anyway", help="Compare results of different jobs, versions, policies or classes too."
    ),
]


@app.command("diff")
def diff(
    first: First,
    second: Second,
    *,
    fail_on: FailOn = None,
    anyway: Anyway = False,
    as_json: Json = False,
) -> None:
    """Say what changed between two results, by how much, and whether it is more than noise.

    Simulated results are compared exactly: any difference is one of the job or of the program. Of
    measured results the rounds of --repeat show what is noise. Results of a folder that differ by
    a number at the end of their names are sessions of one result.
    """

    def work(_: Progress) -> Answer:
        from penstock.diff import words
        from penstock.diff.compare import compare
        from penstock.diff.limit import ChangeLimit
        from penstock.diff.read import read

        limits = [ChangeLimit.parse(text) for text in fail_on or []]
        difference = compare((first, second), *read(first, second), anyway=anyway)
        failures = [failure for limit in limits for failure in limit.failures(difference)]
        return Answer(
            data=lambda: json.dumps(words.plain(difference, failures), indent=2),
            blocks=words.blocks(difference, limits),
            notes=[f"note: {remark}" for remark in difference.remarks],
            messages=[words.failed(failure) for failure in failures],
            exit_code=GOAL_MISSED if failures else 0,
        )

    answer(work, as_json=as_json)
