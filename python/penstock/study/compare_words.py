"""Comparison of two studies in words, tables and JSON."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.study import model, remarks
from penstock.study.advice_words import is_settled, levels
from penstock.study.compare import (
    EffectDifference,
    StudyComparison,
    unequal_noise,
)
from penstock.study.difference import WelchDifference
from penstock.study.fit import Fit
from penstock.study.formatting import figure, interval, listed, named, p_figure, signed, size
from penstock.study.recommend import FactorAdvice
from penstock.text.units import many

SHOWN = 10
"""Number of cells that are shown."""

CELLS_ONLY = 3
"""Number of cells that are named of those that only one study ran."""


def title(comparison: StudyComparison) -> str:
    """The studies, and what of them is compared."""
    first, second = comparison.names
    where = "" if comparison.where is None else ", {} = {}".format(*comparison.where)
    return (
        f"{second} against {first}{where}: {many(len(comparison.cells), 'cell')} that both ran; "
        f"response {comparison.response}, {'less' if comparison.less else 'more'} is better"
    )


def notes(comparison: StudyComparison) -> Iterator[str]:
    """Yields the remarks on both tables and on their runs."""
    for name, study in zip(comparison.names, comparison.fits, strict=True):
        for remark in (*study.table.remarks, *remarks.lines(study.table.noted)):
            yield f"{name}: {remark}"


def lines(comparison: StudyComparison) -> Iterator[str]:
    """Yields the result, the advice, and whether they can be trusted."""
    yield from _result(comparison)
    yield from _advice(comparison)
    yield from _trust(comparison)


def _result(comparison: StudyComparison) -> Iterator[str]:
    first, second = comparison.names
    mean = comparison.mean
    ends = "" if mean.low is None else f" [{_interval(comparison, mean)}]"
    if comparison.transform == "log":
        yield f"On average {second} is {_shown(comparison, mean)} times {first}{ends}."
    else:
        yield f"On average {second} differs from {first} by {_shown(comparison, mean)}{ends}."
    cells = [cell.difference for cell in comparison.cells]
    differ = sum(cell.differs for cell in cells)
    alike = sum(cell.alike for cell in cells)
    yield (
        f"Cells that differ by more than noise: {differ} of {len(cells)}; alike within "
        f"{comparison.matters:g} %: {alike}; undecided: {len(cells) - differ - alike}."
    )
    terms = dict.fromkeys(
        model.name(effect.term) for effect in comparison.effects if effect.difference.differs
    )
    if terms:
        yield f"Effects that differ: {', '.join(terms)}."
    else:
        yield "No effect differs by more than noise."
    if (ranks := comparison.ranks) is not None:
        ends = "" if abs(ranks.rho) >= 1 else f" [{ranks.low:.2f} to {ranks.high:.2f}]"
        yield f"Ranks of the cells: Spearman {ranks.rho:.2f}{ends}."


def _advice(comparison: StudyComparison) -> Iterator[str]:
    first, second = comparison.names
    free = [advice.factor for advice in comparison.advice if advice.first.sns and advice.second.sns]
    agreed = [
        f"{advice.factor} = {levels(advice.both)}"
        for advice in comparison.advice
        if advice.agree and (is_settled(advice.first) or is_settled(advice.second))
        if not advice.first.depends_on and not advice.second.depends_on
    ]
    if agreed:
        yield f"Both recommend {', '.join(agreed)}."
    if free:
        yield f"In both {listed(free)} may be anything."
    for advice in comparison.advice:
        if not advice.agree:
            yield (
                f"They disagree on {advice.factor}: {first} recommends {_recommended(advice.first)}"
                f", {second} recommends {_recommended(advice.second)}."
            )
        elif advice.first.depends_on or advice.second.depends_on:
            on = listed(list(dict.fromkeys(advice.first.depends_on + advice.second.depends_on)))
            yield f"Both recommend the same {advice.factor}, which depends on {on}."
        elif advice.first.unclear or advice.second.unclear:
            yield f"Which {advice.factor} is best is not clear."
    best = comparison.best
    if best.first == best.second:
        yield f"Both have the same best cell: {named(best.first)}."
    else:
        worse = "worse" if best.behind_pct is None else f"{size(best.behind_pct)} worse"
        yield (
            f"The best cell of {first}, {named(best.first)}, is {worse} in {second} than the best "
            f"one there, {named(best.second)}."
        )


def _recommended(advice: FactorAdvice) -> str:
    if advice.depends_on:
        return f"one that depends on {listed(advice.depends_on)}"
    return levels(advice.best)


def _trust(comparison: StudyComparison) -> Iterator[str]:
    studies = list(zip(comparison.names, comparison.fits, strict=True))
    yield f"Noise of {'; of '.join(_noise(name, study) for name, study in studies)}."
    unequal = [name for name, study in studies if unequal_noise(study)]
    if unequal:
        yield (
            f"Take intervals of cells with care: some cells of {listed(unequal)} are noisier than "
            "others, and the mean noise is taken for all."
        )
    if comparison.verdict == "undecided":
        if any(study.cell_noise is None for study in comparison.fits):
            yield "Undecided: without noise nothing can be tested. Repeat runs to know it."
        else:
            yield (
                "Undecided: nothing differs by more than noise, but noise may hide a difference of "
                f"more than {comparison.matters:g} %. Repeat runs to see it."
            )
    for name, only in zip(comparison.names, comparison.only, strict=True):
        if only:
            cells = "; ".join(named(cell) for cell in only[:CELLS_ONLY])
            more = f" and {len(only) - CELLS_ONLY} more" if len(only) > CELLS_ONLY else ""
            yield f"Only in {name}: {many(len(only), 'cell')}: {cells}{more}."


def _noise(name: str, study: Fit) -> str:
    """Returns how much runs of a study differ, and where that is known from."""
    noise = study.cell_noise
    world = "" if study.table.world is None else f"{study.table.world} "
    runs = many(len(study.y), f"{world}run")
    if noise is None:
        return f"{name}: not known, as no cell ran twice and its model leaves nothing over ({runs})"
    percent = size(study.percent(noise.variance**0.5))
    if noise.source == "replicates":
        return f"{name}: {percent}, by repeated runs ({runs})"
    return f"{name}: {percent}, by what its model leaves over, as no cell ran twice ({runs})"


def tables(comparison: StudyComparison) -> Iterator[Table]:
    """The cells that differ most, and the effects."""
    change = "ratio" if comparison.transform == "log" else "difference"
    headings = [*comparison.names, change, "95 %", "p", ""]
    factors = list(comparison.fits[0].table.factors)
    cells = sorted(
        comparison.cells,
        key=lambda cell: (not cell.difference.differs, -abs(cell.difference.value)),
    )
    more = [f"{many(len(cells) - SHOWN, 'more cell')}: --json has all."]
    rows = [
        [
            *(str(cell.levels[name]) for name in factors),
            figure(cell.first),
            figure(cell.second),
            *_columns(comparison, cell.difference),
        ]
        for cell in cells[:SHOWN]
    ]
    notes = more if len(cells) > SHOWN else []
    yield Table([*factors, *headings], rows, words=len(factors), notes=notes)
    rows = [
        [
            model.name(effect.term),
            ":".join(map(str, effect.levels)),
            signed(effect.first.percent),
            signed(effect.second.percent),
            *_columns(comparison, effect.difference),
        ]
        for effect in _effects(comparison)
    ]
    if rows:
        tested = 1 + len(cells) + len(comparison.effects)
        notes = [f"p is adjusted for all {tested} differences (Holm), the intervals are not."]
        yield Table(["effect", "level", *headings], rows, words=2, notes=notes)


def _effects(comparison: StudyComparison) -> Iterator[EffectDifference]:
    """Yields all effects of single factors, and the greatest of each interaction that differs."""
    for term, same_term in groupby(comparison.effects, key=lambda effect: effect.term):
        effects = list(same_term)
        if len(term) == 1:
            yield from effects
        elif any(effect.difference.differs for effect in effects):
            yield max(effects, key=lambda effect: abs(effect.difference.value))


def plain(comparison: StudyComparison) -> dict[str, Any]:
    """Returns the comparison as JSON has it."""
    ranks = comparison.ranks
    first, second = (
        _plain_study(name, study)
        for name, study in zip(comparison.names, comparison.fits, strict=True)
    )
    return {
        "verdict": comparison.verdict,
        "first": first,
        "second": second,
        "response": comparison.response,
        "transform": comparison.transform,
        "model": model.text(comparison.fits[0].terms),
        "mean": _plain(comparison, comparison.mean),
        "cells": [
            {
                "levels": cell.levels,
                "first": cell.first,
                "second": cell.second,
                **_plain(comparison, cell.difference),
            }
            for cell in comparison.cells
        ],
        "effects": [
            {
                "term": model.name(effect.term),
                "level": ":".join(map(str, effect.levels)),
                "first_pct": effect.first.percent,
                "second_pct": effect.second.percent,
                **_plain(comparison, effect.difference),
            }
            for effect in comparison.effects
        ],
        "spearman": None if ranks is None else ranks._asdict(),
        "recommend": [
            {
                "factor": advice.factor,
                "first": list(advice.first.best),
                "second": list(advice.second.best),
                "agree": advice.agree,
                "first_depends_on": list(advice.first.depends_on),
                "second_depends_on": list(advice.second.depends_on),
            }
            for advice in comparison.advice
        ],
        "best": comparison.best._asdict(),
        "only_first": comparison.only[0],
        "only_second": comparison.only[1],
    }


def _plain_study(name: str, study: Fit) -> Mapping[str, Any]:
    noise = study.cell_noise
    return {
        "source": name,
        "world": study.table.world,
        "runs": len(study.y),
        "noise_pct": None if noise is None else study.percent(noise.variance**0.5),
        "noise_from": None if noise is None else noise.source,
        "unequal_noise": unequal_noise(study),
    }


def _plain(comparison: StudyComparison, difference: WelchDifference) -> Mapping[str, Any]:
    change = "ratio" if comparison.transform == "log" else "difference"
    return {
        change: comparison.shown(difference.value),
        "low": comparison.shown(difference.low),
        "high": comparison.shown(difference.high),
        "p": difference.p,
        "differs": difference.differs,
        "alike": difference.alike,
    }


def _columns(comparison: StudyComparison, difference: WelchDifference) -> list[str]:
    """A difference in the columns of a table."""
    word = "alike" if difference.alike else "differs" if difference.differs else ""
    p = NONE if difference.p is None else p_figure(difference.p)
    return [_shown(comparison, difference), _interval(comparison, difference), p, word]


def _shown(comparison: StudyComparison, difference: WelchDifference) -> str:
    return figure(comparison.shown(difference.value))


def _interval(comparison: StudyComparison, difference: WelchDifference) -> str:
    low, high = comparison.shown(difference.low), comparison.shown(difference.high)
    return interval(low, high, figure)
