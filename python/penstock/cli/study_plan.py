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
    failed = [one.failure for _, _, one in tried if one.failure is not None]
    met = remarks.lines([remarks.kept(one.remarks) for _, _, one in tried])
    each = sum(took for _, took, _ in tried) / len(tried)
    processors = plan.processors(workers)
    measured = _noise([(cell, one) for cell, _, one in tried if one.failure is None])
    sd = measured if noise is None else noise / 100
    found: dict[str, Any] = {
        "study": study,
        "world": plan.world,
        "cells": len(plan.schedule.cells),
        "blocks": plan.schedule.study.repeat,
        "runs": len(plan.planned),
        "seconds": each * len(plan.planned) / processors,
        "noise_pct": None if sd is None else 100 * sd,
        "detectable_pct": None if sd is None or failed else _detectable(plan, sd),
    }
    return Answer(
        data=lambda: json.dumps(found, ensure_ascii=False),
        blocks=[_lines(plan, found, each, processors)],
        messages=[
            *(f"note: a run of the pilot failed: {why}" for why in failed[:1]),
            *(f"note: in the pilot, {line}" for line in met),
        ],
    )


def _lines(plan: Ready, found: dict[str, Any], each: float, processors: int) -> list[str]:
    study = plan.schedule.study
    levels = " × ".join(f"{one.name} {len(one.levels)}" for one in study.factors)
    extra = len(plan.planned) - plan.schedule.count()
    again = f", {extra} of them of the reference cell" if extra else ""
    lines = [
        f"{plan.world.upper()}  {study.name} on {plan.about['device']}",
        f"{found['cells']} cells ({levels}; {study.design}), {found['blocks']} blocks, "
        f"{found['runs']} runs{again}",
        f"About {seconds(found['seconds'])}: {seconds(each)} a run in a pilot, "
        f"on {processors} processor{'s' if processors > 1 else ''}",
    ]
    if not plan.schedule.balanced:
        lines.append("Not all combinations run: the design is unbalanced.")
    if found["noise_pct"] is not None:
        lines.append(f"Replicates of a cell differ by {found['noise_pct']:.2g} % (one sd).")
    if found["detectable_pct"]:
        shown = ", ".join(f"{name} {_pct(one)}" for name, one in found["detectable_pct"].items())
        lines.append(f"Effects that will show 4 times of 5, at least: {shown}.")
    return lines


def _pct(effect: float) -> str:
    return f"{effect:.2g} %" if math.isfinite(effect) else "none"


def _noise(tried: Sequence[tuple[int, Outcome]]) -> float | None:
    """The standard deviation of the first response's logarithm between replicates of a cell."""
    by_cell: dict[int, list[float]] = {}
    for cell, one in tried:
        if one.values[0] > 0:
            by_cell.setdefault(cell, []).append(math.log(one.values[0]))
    pairs = [values for values in by_cell.values() if len(values) == 2]
    if not pairs:
        return None
    return math.sqrt(sum((one - other) ** 2 / 2 for one, other in pairs) / len(pairs))


def _detectable(plan: Ready, noise: float) -> dict[str, float] | None:
    if find_spec("scipy") is None:
        return None
    levels = {one.name: len(one.levels) for one in plan.schedule.study.factors}
    from penstock.study import power

    found: dict[str, float] = power.detectable(levels, runs=plan.schedule.count(), noise=noise)
    return found
