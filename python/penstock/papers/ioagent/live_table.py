"""What the fraction comes to: the verdict, its price, its trust, and the tables."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.papers.ioagent.campaign import AMOUNT
from penstock.papers.ioagent.live import Live, PatternFound
from penstock.papers.ioagent.live_compare import Effect, Judged, undecided
from penstock.papers.ioagent.live_fraction import LeftOut
from penstock.papers.ioagent.setting import FACTORS
from penstock.text.units import count, digits, many, seconds

SHOWN = 5
"""So many cells that did not run are named, of each reason one."""


class Verdict(StrEnum):
    """Whether the model and this machine agree."""

    AGREES = "AGREES"
    IN_PART = "AGREES IN PART"
    DISAGREES = "DISAGREES"
    OPEN = "UNDECIDED"


def verdict(of: Live) -> Verdict:
    """By the ranks of the cells in each pattern, and by the claims that are certain on both.

    They agree if all of these are alike, and disagree if no ranks or no claims are.
    """
    if any(one.ranks is None for one in of.patterns):
        return Verdict.OPEN
    ranked = [_ranked_alike(one) for one in of.patterns]
    alike = [not _differ(of, one) for one in _certain_on_both(of)]
    if all(ranked) and all(alike):
        return Verdict.AGREES
    if not any(ranked) or (alike and not any(alike)):
        return Verdict.DISAGREES
    return Verdict.IN_PART


def answer(of: Live) -> str:
    """The verdict in a sentence."""
    alike = sum(map(_ranked_alike, of.patterns))
    rhos = [one.ranks.rho for one in of.patterns if one.ranks is not None]
    reach = f" (Spearman {min(rhos):.2f} to {max(rhos):.2f})" if rhos else ""
    ids = _judged_on_both(of)
    same = len(ids) - sum(_differ(of, one) for one in ids)
    both = _certain_on_both(of)
    same_certain = len(both) - sum(_differ(of, one) for one in both)
    return (
        f"the model and this machine rank cells alike in {alike} of {len(of.patterns)} "
        f"patterns{reach}; {same} of {len(ids)} claims come out alike, {same_certain} of the "
        f"{len(both)} that are certain on both"
    )


def details(of: Live) -> Iterator[str]:
    """What holds of the paper, the price, and what speaks for and against the figures."""
    held = [sum(one.claim["holds"] for one in each.values()) for each in (of.here, of.model)]
    yield (
        f"the paper: {held[0]} of {len(of.here)} claims hold here, {held[1]} of {len(of.model)} "
        "on the model in the same cells"
    )
    moved = AMOUNT // of.part >> 20
    possible = sum(one.possible for one in of.patterns)
    ended = f", of {count(of.planned)} that were planned: the budget ended" if of.stopped else ""
    yield (
        f"price: {count(of.runs)} of {count(possible)} cells, once each{ended}; "
        f"{seconds(of.seconds)} of {seconds(of.budget_s)}; about {moved} MiB a file and run, in "
        f"{many(of.files, 'file')} of {of.file_bytes >> 20} MiB, which are removed again"
    )
    yield f"trust: {', '.join(_trust(of))}"


def _trust(of: Live) -> Iterator[str]:
    noises = [one.noise_pct for one in of.patterns if one.noise_pct is not None]
    if noises:
        yield f"runs of one cell differ by {digits(min(noises), 2)} to {digits(max(noises), 2)} %"
    else:
        yield "no cell ran twice"
    drifts = [(one.pattern, one.drift) for one in of.patterns if one.drift is not None]
    seen = [f"{name} by {one.percent:+.0f} %" for name, one in drifts if one.seen]
    if seen:
        yield f"drift of {', '.join(seen)}"
    elif drifts:
        yield "no drift is seen"
    open_ = [name for name, one in of.here.items() if not one.certain]
    if open_:
        yield f"not certain here: {', '.join(open_)}"


def patterns(of: Live) -> Table:
    """How alike both machines rank the cells of each pattern."""
    headings = ["pattern", "cells", "of", "Spearman", "95 %", "p", "noise, %"]
    cells = [
        [
            one.pattern,
            f"{one.cells}",
            f"{one.possible}",
            *_ranks(one),
            NONE if one.noise_pct is None else digits(one.noise_pct, 2),
        ]
        for one in of.patterns
    ]
    return Table(headings, cells)


def _ranks(of: PatternFound) -> list[str]:
    if of.ranks is None:
        return [NONE] * 3
    rho, low, high, p = of.ranks
    return [f"{rho:.2f}", f"{low:.2f} to {high:.2f}", f"{p:.1g}"]


def effects(of: Live) -> Table:
    """What the levels of each factor do on both machines, by the paper's models."""
    headings = ["pattern", "", "here, % off the mean", "model, % off the mean"]
    cells = []
    for one in of.patterns:
        for factor in FACTORS:
            here, model = (_of_factor(each, factor) for each in (one.here, one.model))
            if here and model:
                cells.append([one.pattern, factor, _levels(here), _levels(model)])
    return Table(headings, cells, words=4)


def _of_factor(of: Sequence[Effect], factor: str) -> list[Effect]:
    """Of its levels, in the order of the paper: a table has words as they come."""
    own = [one for one in of if one.factor == factor]
    return sorted(own, key=lambda one: FACTORS[factor].index(one.level))


def _levels(of: Sequence[Effect]) -> str:
    return "  ".join(f"{one.level}:{round(one.percent):+d}" for one in of)


def claims(of: Live) -> Table:
    """Each claim of the paper on both machines."""
    cells = [
        [
            name,
            one.claim["text"],
            _holds(of.model.get(name)),
            _holds(one),
            "same" if name in of.model and not _differ(of, name) else "",
        ]
        for name, one in of.here.items()
    ]
    return Table(["claim", "the paper says", "model", "here", ""], cells, words=5)


def _holds(one: Judged | None) -> str:
    if one is None:
        return NONE
    said = "holds" if one.claim["holds"] else "fails"
    return said if one.certain else f"{said}?"


def notes(of: Live) -> Iterator[str]:
    """What has to be known to read the figures."""
    yield (
        "factor D is files here, all in one folder and so on one disk; pages of the files are "
        "dropped before each run, but not what the disk, its controller or a host keeps"
    )
    for name, _, why in undecided(of.here):
        yield f"not judged: {name}: {why}"
    yield from _left_out(of.left_out)
    for remark, times in of.remarks:
        yield f"in {many(times, 'run')}: {remark}"


def _left_out(of: Sequence[LeftOut]) -> Iterator[str]:
    by_reason: dict[str, list[LeftOut]] = {}
    for one in of:
        by_reason.setdefault(one.why, []).append(one)
    for why, each in by_reason.items():
        named = "; ".join(cell_name(one.cell) for one in each[:SHOWN])
        more = f" and {len(each) - SHOWN} more" if len(each) > SHOWN else ""
        yield f"left out: {named}{more}: {why}"


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell in words."""
    levels = ", ".join(f"{name} = {cell[name]}" for name in FACTORS)
    return f"{cell['pattern']}: {levels}"


def _ranked_alike(of: PatternFound) -> bool:
    return of.ranks is not None and of.ranks.low > 0


def _judged_on_both(of: Live) -> list[str]:
    return [name for name in of.here if name in of.model]


def _certain_on_both(of: Live) -> list[str]:
    return [one for one in _judged_on_both(of) if of.here[one].certain and of.model[one].certain]


def _differ(of: Live, name: str) -> bool:
    return of.here[name].claim["holds"] != of.model[name].claim["holds"]


MARKS = (
    "Effects and claims are those of the paper's models, fitted to the cells that ran. ? marks "
    "what these do not decide with 95 % certainty."
)
"""What has to be known to read the tables."""
