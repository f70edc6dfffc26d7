"""`penstock study confirm`: what a study recommends is run anew."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks, Part, headline
from penstock.cli import output
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.study_analyse import Better, Betters, By
from penstock.cli.study_options import Folder, placed
from penstock.cli.target import targeted
from penstock.errors import GOAL_MISSED, needs
from penstock.study.confirm import Confirmed, unchanged
from penstock.study.confirm import confirm as confirmed
from penstock.target import Target

Response = Annotated[
    str | None,
    typer.Option(
        "--response", metavar="NAME", help="A response of the study. If not given, its first."
    ),
]

Repeat = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        min=1,
        max=1000,
        metavar="N",
        help="Runs of each cell. If not given, as many as in the study.",
    ),
]


@targeted()
def confirm(
    folder: Folder,
    *,
    response: Response = None,
    by: By = None,
    better: Better = None,
    repeat: Repeat = None,
    target: Target,
    sets: Annotated[list[str] | None, typer.Option("--set", hidden=True)] = None,
    as_json: Json = False,
) -> None:
    """Run the best cell of a study, its neighbours and the plain default anew.

    The default is the cell of the first level of each factor. Runs have other seeds than those of
    the study, or are made elsewhere, as --on says. Exit code 3 if less than half of the gain that
    the study promises comes.
    """
    needs("statsmodels", feature="study confirm")
    study = unchanged(folder)
    where, places = placed(study, target, sets or [])

    def run(_: Progress) -> Answer:
        results = confirmed(
            folder,
            study,
            where,
            sets=places,
            response=response,
            by=by,
            less=None if better is None else better is Betters.less,
            repeat=repeat,
            say=output.talk,
        )
        return Answer(
            data=lambda: json.dumps([_plain(result) for result in results], indent=2),
            blocks=_blocks(results, by),
            exit_code=0 if all(result.came for result in results) else GOAL_MISSED,
        )

    answer(run, as_json=as_json)


def _notes(result: Confirmed) -> Iterator[str]:
    """Yields how the best cell and the advice of the study's analysis go together."""
    from penstock.study.formatting import listed

    if result.factors and all(advice.sns for advice in result.factors):
        yield "no factor matters in the study, so its best cell may be so by chance"
    for advice in result.factors:
        if advice.depends_on:
            others = listed(advice.depends_on)
            yield f"{advice.factor} depends on {others}: with other levels, another may be best"


def _plain(result: Confirmed) -> dict[str, Any]:
    ends = result.interval_pct
    return {
        "level": result.level,
        "response": result.response,
        "came": result.came,
        "promised_pct": result.promised_pct,
        "gain_pct": result.gain_pct,
        "low_pct": None if ends is None else ends[0],
        "high_pct": None if ends is None else ends[1],
        "advice": {
            "levels": dict(result.advice.levels),
            "before": result.advice.before,
            "now": result.advice.mean,
        },
        "default": {
            "levels": dict(result.default.levels),
            "before": result.default.before,
            "now": result.default.mean,
        },
        "neighbours": [
            {
                "factor": factor,
                "level": neighbour.levels[factor],
                "before": neighbour.before,
                "now": neighbour.mean,
                "against_advice_pct": result.against(neighbour),
            }
            for factor, neighbour in result.neighbours
        ],
        "depends_on": {
            advice.factor: list(advice.depends_on) for advice in result.factors if advice.depends_on
        },
    }


def _blocks(results: Sequence[Confirmed], by: str | None) -> Blocks:
    from penstock.study.formatting import figure, signed

    for result in results:
        where = "" if by is None else f"{by} = {result.level}: "
        ends = result.interval_pct
        interval = "" if ends is None else f" [{signed(ends[0])} to {signed(ends[1])}]"
        if result.advice.levels == result.default.levels:
            said = f"{where}the default is the best cell of the study, which promises nothing"
        else:
            said = (
                f"{where}the advice gains {signed(result.gain_pct)}{interval} over the default; "
                f"the study promises {signed(result.promised_pct)}"
            )
        block: list[Part] = [headline("came" if result.came else "did not come", said)]
        for name, rerun in (("advice", result.advice), ("default", result.default)):
            cell = ", ".join(f"{key} = {level}" for key, level in rerun.levels.items() if key != by)
            block.append(f"  {name}: {cell}: {figure(rerun.mean)} {result.response}")
        block += (f"  note: {note}" for note in _notes(result))
        better = [f"{factor} = {rerun.levels[factor]}" for factor, rerun in result.better]
        if better:
            block.append(f"  better than the advice now: {', '.join(better)}")
        yield block
        cells = [
            [
                factor,
                f"{rerun.levels[factor]}",
                figure(rerun.before),
                figure(rerun.mean),
                signed(result.against(rerun)),
            ]
            for factor, rerun in result.neighbours
        ]
        if cells:
            yield [Table(["changed", "to", "in the study", "now", "against the advice"], cells)]
