"""Comparison of two results figure by figure.

Simulated results with equal seeds have no noise: any difference is one of what was simulated. Other
figures vary from round to round, and their differences are judged by `penstock.diff.noise`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import expm1, inf
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from penstock.answer.table import NONE
from penstock.diff.figures import FigureName, MeasuredResult, Rounds, mean
from penstock.diff.noise import LEVEL, FigurePair, differences
from penstock.diff.read import NamedResults
from penstock.errors import wrong
from penstock.study.difference import WelchDifference
from penstock.text.units import many

T = TypeVar("T")

NAMED = 3
"""Number of differences that an error names."""

Verdict: TypeAlias = Literal["worse", "better", "unknown", "same"]
"""Whether a figure changed by more than noise; `unknown` if no rounds say what is noise."""

VERDICTS: tuple[Verdict, ...] = ("worse", "better", "unknown", "same")
"""The verdicts in the order in which they count for the whole."""


class FigureChange(NamedTuple):
    """A figure in both results."""

    result: str
    """Name of the result in its folder; empty for a file."""
    name: FigureName
    first: float
    second: float
    change_pct: float
    """Change in per cent of the first; infinite if that is zero."""
    low_pct: float | None
    high_pct: float | None
    p: float | None
    """Adjusted for the number of figures; `None` if no noise was judged."""
    verdict: Verdict

    @property
    def changed(self) -> bool:
        """Whether it changed by more than noise."""
        return self.verdict in ("worse", "better")

    @property
    def factor(self) -> float:
        """Ratio of the greater value to the smaller."""
        smaller, greater = sorted((self.first, self.second))
        return greater / smaller if smaller > 0 else inf if greater > 0 else 1.0

    @property
    def worst_pct(self) -> float | None:
        """The end of the interval for the worse; `None` if no noise was judged."""
        return self.low_pct if self.name.quantity.more_is_better else self.high_pct


@dataclass(frozen=True, kw_only=True)
class ResultDifference:
    """The difference of two results, or of all results of two folders."""

    names: tuple[str, str]
    changes: Sequence[FigureChange]
    worlds: Sequence[str]
    rounds: tuple[int, int] | None
    """Fewest rounds of a figure on each side; `None` if no figure has noise."""
    paired: bool
    """Whether rounds are compared in pairs."""
    sessions: bool
    """Whether each round is a session."""
    remedy: str
    """The way to results whose noise is known."""
    remarks: Sequence[str]

    @property
    def verdict(self) -> Verdict:
        """The verdict on all figures."""
        verdicts = {change.verdict for change in self.changes}
        return next(verdict for verdict in VERDICTS if verdict in verdicts)

    def ranked(self) -> list[FigureChange]:
        """Return the figures with the one first that counts most."""
        return sorted(
            self.changes, key=lambda change: (VERDICTS.index(change.verdict), -change.factor)
        )


def compare(
    names: tuple[str, str],
    first: NamedResults,
    second: NamedResults,
    *,
    anyway: bool,
) -> ResultDifference:
    """Compare the results of the same name on both sides.

    # Errors
    If results are of different kinds or have nothing in common. Unless compared `anyway`: if one
    side lacks a result, a policy or a class of the other, or jobs, versions or seeds differ.
    """
    missing = [
        f"{side} has no result {name}, but {partner} has"
        for (side, known), (partner, wanted) in _both_ways(names, (first, second))
        for name in wanted
        if name not in known
    ]
    remarks = [*_refused(missing, "name folders with the same results", anyway=anyway)]
    pairs: list[FigurePair] = []
    for name in (name for name in first if name in second):
        labels, sides = _labels(names, name), (first[name], second[name])
        remarks += _checked(labels, sides, anyway=anyway)
        pairs += _pairs(name, sides)
    if not pairs:
        raise wrong(
            f"{names[0]} and {names[1]} have no figure in common", "compare results of one job"
        )
    noisy = [pair for pair in pairs if not pair.exact]
    judged = zip(pairs, differences(pairs), strict=True)
    return ResultDifference(
        names=names,
        changes=[_change(pair, difference) for pair, difference in judged],
        worlds=list(dict.fromkeys(side.world for side in (*first.values(), *second.values()))),
        rounds=min((pair.rounds for pair in noisy), default=None),
        paired=all(pair.paired for pair in noisy),
        sessions=all(pair.sessions for pair in noisy),
        remedy=_remedy(next(iter(first.values())).repeat),
        remarks=list(dict.fromkeys(remarks)),
    )


def _remedy(repeat: str | None) -> str:
    sessions = "several times in turns into two folders"
    return f"run both {sessions}" if repeat is None else f"run both with {repeat} 10, or {sessions}"


def _both_ways(
    names: tuple[str, str], sides: tuple[T, T]
) -> tuple[tuple[tuple[str, T], tuple[str, T]], ...]:
    """Return both sides with their names, in both orders."""
    first, second = zip(names, sides, strict=True)
    return (first, second), (second, first)


def _labels(names: tuple[str, str], result: str) -> tuple[str, str]:
    """Return the names of a result on both sides."""
    first, second = (f"{name.rstrip('/')}/{result}" if result else name for name in names)
    return first, second


def _refused(facts: Sequence[str], hint: str, *, anyway: bool) -> Sequence[str]:
    """Return facts that differ as remarks, or raise an error that names the first ones."""
    if not facts or anyway:
        return facts
    more = len(facts) - NAMED
    rest = f"; and {many(more, 'more difference')}" if more > 0 else ""
    raise wrong(f"{'; '.join(facts[:NAMED])}{rest}", f"{hint}; --anyway compares all the same")


def _checked(
    labels: tuple[str, str], sides: tuple[MeasuredResult, MeasuredResult], *, anyway: bool
) -> Iterator[str]:
    """Yield what limits the comparison of two results.

    # Errors
    Those of `compare` that are about two results.
    """
    first, second = sides
    if first.kind != second.kind:
        raise wrong(
            f"{labels[0]} is a result of {first.kind}, and {labels[1]} of {second.kind}",
            "compare results of one kind",
        )
    facts = _differing(labels, first.facts, second.facts)
    for policy, settings in first.settings.items():
        facts += _differing(labels, settings, second.settings.get(policy, settings))
    yield from _refused(facts, "compare results of one job and version", anyway=anyway)
    yield from _differing(labels, first.machine, second.machine)
    places = [
        dict.fromkeys((name.policy, name.of_class) for name in side.figures) for side in sides
    ]
    missing = [
        f"{label} has no {_place(place, known)}, but {partner} has"
        for (label, known), (partner, wanted) in _both_ways(labels, (places[0], places[1]))
        for place in wanted
        if place not in known
    ]
    hint = "compare results with the same policies and classes"
    yield from _refused(list(dict.fromkeys(missing)), hint, anyway=anyway)
    for label, side in zip(labels, sides, strict=True):
        yield from (f"{label}: {remark}" for remark in side.remarks)
        for name, rounds in side.figures.items():
            if None in rounds.values():
                where = _where(name.policy, name.of_class)
                yield f"{label}: no request of {where} finished in some round: no latencies"


def _differing(
    labels: tuple[str, str], first: Mapping[str, object], second: Mapping[str, object]
) -> list[str]:
    """Return what differs, with its value on both sides."""
    return [
        f"{key} is {_fact(first, key)} in {labels[0]}, and {_fact(second, key)} in {labels[1]}"
        for key in dict.fromkeys((*first, *second))
        if first.get(key) != second.get(key)
    ]


def _fact(facts: Mapping[str, object], key: str) -> str:
    value = facts.get(key, "not set")
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _place(place: tuple[str, str], known: Iterable[tuple[str, str]]) -> str:
    """Return the name of what is missing: the policy, or the class under it."""
    policy, name = place
    if all(policy != there for there, _ in known):
        return f"policy {policy}"
    return f"class {_where(policy, name)}"


def _where(policy: str, name: str) -> str:
    """Return a class with its policy, if the result has policies."""
    return name if policy == NONE else f"{name} under {policy}"


def _pairs(result: str, sides: tuple[MeasuredResult, MeasuredResult]) -> Iterator[FigurePair]:
    """Yield the figures that both sides measured in all rounds."""
    simulated = all(side.world == "simulated" for side in sides)
    seeded = simulated and sides[0].facts.get("seed") == sides[1].facts.get("seed")
    for name in sides[0].figures:
        first, second = (_measured(side.figures.get(name, {})) for side in sides)
        if first and second:
            exact = seeded and first.keys() == second.keys()
            yield FigurePair(result, name, first, second, exact)


def _measured(rounds: Rounds) -> Mapping[str, float]:
    """Return a figure by round; empty if some round has none."""
    known = {key: value for key, value in rounds.items() if value is not None}
    return known if len(known) == len(rounds) else {}


def _change(pair: FigurePair, difference: WelchDifference | None) -> FigureChange:
    """Return a figure with its verdict; without a difference that noise was judged for."""
    first, second = (mean([*side.values()], logs=pair.logs) for side in (pair.first, pair.second))

    def percent(end: float) -> float:
        if pair.logs:
            return 100 * expm1(min(end, 700.0))
        return 100 * end / first if first else inf * end if end else 0.0

    verdict: Verdict = "unknown"
    if pair.exact or difference is not None:
        same = pair.first == pair.second if difference is None else (difference.p or 0.0) >= LEVEL
        better = (second > first) == pair.name.quantity.more_is_better
        verdict = "same" if same else "better" if better else "worse"
    ends = (None, None) if difference is None else (difference.low, difference.high)
    low, high = (None if end is None else percent(end) for end in ends)
    return FigureChange(
        pair.result,
        pair.name,
        first,
        second,
        100 * (second / first - 1) if first else inf if second else 0.0,
        low,
        high,
        None if difference is None else difference.p,
        verdict,
    )
