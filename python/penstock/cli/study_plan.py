"""`penstock study plan`: what a study amounts to before it runs."""

import json
import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from penstock.answer.value import Answer
from penstock.cli.answering import answer
from penstock.cli.options import Json, Sets
from penstock.cli.progress import Progress
from penstock.cli.study_options import StudyFile, Workers, placed
from penstock.cli.target import targeted
from penstock.study import remarks
from penstock.study.cells import Outcome
from penstock.study.definition import Definition
from penstock.study.run import PILOT, Ready, opened, pilot, ready, work
from penstock.target import Target
from penstock.text.units import seconds

Noise = Annotated[
    float | None,
    typer.Option(
        "--noise",
        metavar="PERCENT",
        min=0,
        help="How much replicates of a cell differ, as a standard deviation in per cent of the "
        "response. If not given, a pilot measures it.",
    ),
]


@targeted()
def plan(
    study: StudyFile,
    *,
    workers: Workers = None,
    noise: Noise = None,
    target: Target,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Check a study and say how many runs it has, how long they take, and what they will show.

    A few cells run twice to time them: on a real target, too. Nothing is recorded.
    """
    definition = Definition.load(study)
    where, places = placed(definition, target, sets or [])
    task = work(definition, where, places)

    def planned(_: Progress) -> Answer:
        with opened(definition, task) as bench:
            plan = ready(definition, task, bench)
            tried = list(pilot(plan, bench, PILOT))
        return _answer(study, plan, tried, noise=noise, workers=workers)

    answer(planned, as_json=as_json)


def _answer(
    study: str,
    plan: Ready,
    tried: Sequence[tuple[int, float, Outcome]],
    *,
    noise: float | None,
    workers: int | None,
) -> Answer:
    """Estimate the whole study from a pilot, whose cells each took a time and had an outcome."""
    failed = [outcome.failure for _, _, outcome in tried if outcome.failure is not None]
    met = remarks.lines([remarks.kept(outcome.remarks) for _, _, outcome in tried])
    run_s = sum(took for _, took, _ in tried) / len(tried)
    processors = plan.processors(workers)
    measured = _noise([(cell, outcome) for cell, _, outcome in tried if outcome.failure is None])
    sd = measured if noise is None else noise / 100
    figures: dict[str, Any] = {
        "study": study,
        "world": plan.world,
        "cells": len(plan.schedule.cells),
        "blocks": plan.schedule.study.repeat,
        "runs": len(plan.planned),
        "seconds": run_s * len(plan.planned) / processors,
        "noise_pct": None if sd is None else 100 * sd,
        "detectable_pct": None if sd is None or failed else _detectable(plan, sd),
    }
    return Answer(
        data=lambda: json.dumps(figures, ensure_ascii=False),
        blocks=[_lines(plan, figures, run_s, processors)],
        messages=[
            *(f"note: a run of the pilot failed: {why}" for why in failed[:1]),
            *(f"note: in the pilot, {line}" for line in met),
        ],
    )


def _lines(plan: Ready, figures: dict[str, Any], run_s: float, processors: int) -> list[str]:
    study = plan.schedule.study
    levels = " × ".join(f"{factor.name} {len(factor.levels)}" for factor in study.factors)
    extra = len(plan.planned) - plan.schedule.count()
    again = f", {extra} of them of the reference cell" if extra else ""
    lines = [
        f"{plan.world.upper()}  {study.name} on {plan.about['device']}",
        f"{figures['cells']} cells ({levels}; {study.design}), {figures['blocks']} blocks, "
        f"{figures['runs']} runs{again}",
        f"About {seconds(figures['seconds'])}: {seconds(run_s)} a run in a pilot, "
        f"on {processors} processor{'s' if processors > 1 else ''}",
    ]
    if not plan.schedule.balanced:
        lines.append("Not all combinations run: the design is unbalanced.")
    if figures["noise_pct"] is not None:
        lines.append(f"Replicates of a cell differ by {figures['noise_pct']:.2g} % (one sd).")
    if figures["detectable_pct"]:
        shown = ", ".join(
            f"{name} {_pct(effect)}" for name, effect in figures["detectable_pct"].items()
        )
        lines.append(f"Effects that will show 4 times of 5, at least: {shown}.")
    return lines


def _pct(effect: float) -> str:
    return f"{effect:.2g} %" if math.isfinite(effect) else "none"


def _noise(tried: Sequence[tuple[int, Outcome]]) -> float | None:
    """The standard deviation of the first response's logarithm between replicates of a cell."""
    by_cell: dict[int, list[float]] = {}
    for cell, outcome in tried:
        if outcome.values[0] > 0:
            by_cell.setdefault(cell, []).append(math.log(outcome.values[0]))
    pairs = [values for values in by_cell.values() if len(values) == 2]
    if not pairs:
        return None
    return math.sqrt(sum((first - second) ** 2 / 2 for first, second in pairs) / len(pairs))


def _detectable(plan: Ready, noise: float) -> dict[str, float] | None:
    if find_spec("scipy") is None:
        return None
    levels = {factor.name: len(factor.levels) for factor in plan.schedule.study.factors}
    from penstock.study import power

    smallest: dict[str, float] = power.detectable(levels, runs=plan.schedule.count(), noise=noise)
    return smallest
