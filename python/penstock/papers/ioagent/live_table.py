"""What the fraction comes to: the verdict, its price, its trust, and the tables."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.papers.ioagent.campaign import AMOUNT
from penstock.papers.ioagent.live_claims import JudgedClaim, undecided
from penstock.papers.ioagent.live_fraction import LeftOut
from penstock.papers.ioagent.live_results import MachineEffect, MachineStudy, PatternResult
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


def verdict(live: MachineStudy) -> Verdict:
    """By the ranks of the cells in each pattern, and by the claims that are certain on both.

    They agree if all of these are alike, and disagree if no ranks or no claims are.
    """
    if any(pattern.ranks is None for pattern in live.patterns):
        return Verdict.OPEN
    ranked = [_ranked_alike(pattern) for pattern in live.patterns]
    alike = [not _differ(live, claim) for claim in _certain_on_both(live)]
    if all(ranked) and all(alike):
        return Verdict.AGREES
    if not any(ranked) or (alike and not any(alike)):
        return Verdict.DISAGREES
    return Verdict.IN_PART


def answer(live: MachineStudy) -> str:
    """The verdict in a sentence."""
    alike = sum(map(_ranked_alike, live.patterns))
    rhos = [pattern.ranks.rho for pattern in live.patterns if pattern.ranks is not None]
    reach = f" (Spearman {min(rhos):.2f} to {max(rhos):.2f})" if rhos else ""
    ids = _judged_on_both(live)
    same = len(ids) - sum(_differ(live, claim) for claim in ids)
    both = _certain_on_both(live)
    same_certain = len(both) - sum(_differ(live, claim) for claim in both)
    return (
        f"the model and this machine rank cells alike in {alike} of {len(live.patterns)} "
        f"patterns{reach}; {same} of {len(ids)} claims come out alike, {same_certain} of the "
        f"{len(both)} that are certain on both"
    )


def details(live: MachineStudy) -> Iterator[str]:
    """Returns what holds of the paper, the price, and what speaks for and against the figures."""
    held = [
        sum(judged.claim["holds"] for judged in side.values()) for side in (live.here, live.model)
    ]
    yield (
        f"the paper: {held[0]} of {len(live.here)} claims hold here, "
        f"{held[1]} of {len(live.model)} on the model in the same cells"
    )
    moved = AMOUNT // live.part >> 20
    possible = sum(pattern.possible for pattern in live.patterns)
    ended = (
        f", of {count(live.planned)} that were planned: the budget ended" if live.stopped else ""
    )
    yield (
        f"price: {count(live.runs)} of {count(possible)} cells, once each{ended}; "
        f"{seconds(live.seconds)} of {seconds(live.budget_s)}; about {moved} MiB a file and run, "
        f"in {many(live.files, 'file')} of {live.file_bytes >> 20} MiB, which are removed again"
    )
    yield f"trust: {', '.join(_trust(live))}"


def _trust(live: MachineStudy) -> Iterator[str]:
    noises = [pattern.noise_pct for pattern in live.patterns if pattern.noise_pct is not None]
    if noises:
        yield f"runs of one cell differ by {digits(min(noises), 2)} to {digits(max(noises), 2)} %"
    else:
        yield "no cell ran twice"
    drifts = [
        (pattern.pattern, pattern.drift) for pattern in live.patterns if pattern.drift is not None
    ]
    texts = [f"{name} by {drift.percent:+.0f} %" for name, drift in drifts if drift.seen]
    if texts:
        yield f"drift of {', '.join(texts)}"
    elif drifts:
        yield "no drift is seen"
    open_ = [name for name, judged in live.here.items() if not judged.certain]
    if open_:
        yield f"not certain here: {', '.join(open_)}"


def patterns(live: MachineStudy) -> Table:
    """How alike both machines rank the cells of each pattern."""
    headings = ["pattern", "cells", "of", "Spearman", "95 %", "p", "noise, %"]
    cells = [
        [
            pattern.pattern,
            f"{pattern.cells}",
            f"{pattern.possible}",
            *_ranks(pattern),
            NONE if pattern.noise_pct is None else digits(pattern.noise_pct, 2),
        ]
        for pattern in live.patterns
    ]
    return Table(headings, cells)


def _ranks(pattern: PatternResult) -> list[str]:
    if pattern.ranks is None:
        return [NONE] * 3
    rho, low, high, p = pattern.ranks
    return [f"{rho:.2f}", f"{low:.2f} to {high:.2f}", f"{p:.1g}"]


def effects(live: MachineStudy) -> Table:
    """Returns the effects of the levels on both machines, by the paper's models."""
    headings = ["pattern", "", "here, % off the mean", "model, % off the mean"]
    cells = []
    for pattern in live.patterns:
        for factor in FACTORS:
            here, model = (_of_factor(side, factor) for side in (pattern.here, pattern.model))
            if here and model:
                cells.append([pattern.pattern, factor, _levels(here), _levels(model)])
    return Table(headings, cells, words=4)


def _of_factor(effects: Sequence[MachineEffect], factor: str) -> list[MachineEffect]:
    """Returns the effects of a factor, with its levels in the paper's order."""
    of_factor = [effect for effect in effects if effect.factor == factor]
    return sorted(of_factor, key=lambda effect: FACTORS[factor].index(effect.level))


def _levels(effects: Sequence[MachineEffect]) -> str:
    return "  ".join(f"{effect.level}:{round(effect.percent):+d}" for effect in effects)


def claims(live: MachineStudy) -> Table:
    """Each claim of the paper on both machines."""
    cells = [
        [
            name,
            judged.claim["text"],
            _holds(live.model.get(name)),
            _holds(judged),
            "same" if name in live.model and not _differ(live, name) else "",
        ]
        for name, judged in live.here.items()
    ]
    return Table(["claim", "the paper says", "model", "here", ""], cells, words=5)


def _holds(claim: JudgedClaim | None) -> str:
    if claim is None:
        return NONE
    said = "holds" if claim.claim["holds"] else "fails"
    return said if claim.certain else f"{said}?"


def notes(live: MachineStudy) -> Iterator[str]:
    """Returns the notes for reading the figures."""
    yield (
        "factor D is files here, all in one folder and so on one disk; pages of the files are "
        "dropped before each run, but not what the disk, its controller or a host keeps"
    )
    for name, _, why in undecided(live.here):
        yield f"not judged: {name}: {why}"
    yield from _left_out(live.left_out)
    for remark, times in live.remarks:
        yield f"in {many(times, 'run')}: {remark}"


def _left_out(left_out: Sequence[LeftOut]) -> Iterator[str]:
    by_reason: dict[str, list[LeftOut]] = {}
    for entry in left_out:
        by_reason.setdefault(entry.why, []).append(entry)
    for why, entries in by_reason.items():
        named = "; ".join(cell_name(entry.cell) for entry in entries[:SHOWN])
        more = f" and {len(entries) - SHOWN} more" if len(entries) > SHOWN else ""
        yield f"left out: {named}{more}: {why}"


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell in words."""
    levels = ", ".join(f"{name} = {cell[name]}" for name in FACTORS)
    return f"{cell['pattern']}: {levels}"


def _ranked_alike(pattern: PatternResult) -> bool:
    return pattern.ranks is not None and pattern.ranks.low > 0


def _judged_on_both(live: MachineStudy) -> list[str]:
    return [name for name in live.here if name in live.model]


def _certain_on_both(live: MachineStudy) -> list[str]:
    return [
        name
        for name in _judged_on_both(live)
        if live.here[name].certain and live.model[name].certain
    ]


def _differ(live: MachineStudy, name: str) -> bool:
    return live.here[name].claim["holds"] != live.model[name].claim["holds"]


MARKS = (
    "Effects and claims are those of the paper's models, fitted to the cells that ran. ? marks "
    "what these do not decide with 95 % certainty."
)
"""What has to be known to read the tables."""
