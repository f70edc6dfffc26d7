"""The advice of an analysis in words and tables: what to set, alone and together."""

from collections.abc import Iterator, Sequence
from math import log

from penstock.answer.table import NONE
from penstock.study.analysis import Analysis
from penstock.study.formatting import (
    figure,
    interval,
    listed,
    named,
    p_figure,
    p_value,
    signed,
    size,
    spans,
)
from penstock.study.noise import SIGNIFICANT
from penstock.study.recommend import Combination, FactorAdvice, combination_means
from penstock.text import units

LEVEL = f"{100 * SIGNIFICANT:g} %"
"""Below which a p counts."""

AGAINST = "†"
"""Marks a p that compares with something else than noise."""

CLAUSES = 4
"""Combinations of factors that are named in a sentence; more of them are counted."""

ROWS = 10
"""Combinations of a factor in the table, those in which the wrong level costs most."""

WIDTH = 160
"""Characters of a line."""


def lines(analysis: Analysis) -> Iterator[str]:
    """Yields what to set, which factors act together, and the best cell."""
    settled = [entry for entry in analysis.advice if is_settled(entry)]
    dependent = [entry for entry in analysis.advice if entry.depends_on]
    unclear = [entry.factor for entry in analysis.advice if entry.unclear]
    free = [entry.factor for entry in analysis.advice if entry.sns]
    anything = [f"{listed(free)} may be anything."] if free else []
    if settled:
        said = ", ".join(f"{entry.factor} = {levels(entry.best)}" for entry in settled)
        yield " ".join([f"Set {said}.", *anything])
    elif not dependent and not unclear:
        yield f"No factor changes {_least(analysis)}."
    yield from _together(analysis, dependent)
    if anything and not settled and (dependent or unclear):
        yield anything[0]
    if unclear and analysis.fit.pure is None:
        yield (
            f"Whether {listed(unclear)} may be anything is not known: cells differ by more than "
            f"{analysis.matters:g} %, and no cell was run twice."
        )
    elif unclear:
        change = "changes" if len(unclear) == 1 else "change"
        yield (
            f"{listed(unclear)} {change} {_least(analysis)} in some cells, but no two cells differ "
            "for certain. Repeat runs to know which."
        )
    yield from _best_cell(analysis, settled)


def is_settled(advice: FactorAdvice) -> bool:
    """Whether some levels of a factor, not all, are advised whatever the others are."""
    return not (advice.sns or advice.unclear or advice.depends_on)


def levels(best: Sequence[object]) -> str:
    """The levels that are as good."""
    return " or ".join(map(str, best))


def _least(analysis: Analysis) -> str:
    return f"{analysis.table.response} by more than noise or {analysis.matters:g} %"


def _best_cell(analysis: Analysis, settled: Sequence[FactorAdvice]) -> Iterator[str]:
    best = analysis.configurations[0]
    mean = log(best.mean) if analysis.fit.transform == "log" else best.mean
    against = analysis.fit.percent(mean - analysis.fit.grand)
    ends = "" if best.low is None else f" [{figure(best.low)} to {figure(best.high)}]"
    yield (
        f"Best cell: {named(best.levels)}, with {figure(best.mean)}{ends}: {signed(against)} "
        "against the mean of all cells."
    )
    apart = [entry for entry in settled if best.levels[entry.factor] not in entry.best]
    if apart:
        cell = listed([f"{entry.factor} = {best.levels[entry.factor]}" for entry in apart])
        advised = listed([f"{entry.factor} = {entry.best[0]}" for entry in apart])
        yield (
            f"That cell has {cell}: what {advised} would change there is noise or less than "
            f"{analysis.matters:g} %."
        )


def _together(analysis: Analysis, dependent: Sequence[FactorAdvice]) -> Iterator[str]:
    """Yields sentences on the factors that depend on others, those of one group together."""
    groups: dict[frozenset[str], list[FactorAdvice]] = {}
    for entry in dependent:
        groups.setdefault(frozenset([entry.factor, *entry.depends_on]), []).append(entry)
    for group, entries in groups.items():
        names = [name for name in analysis.table.factors if name in group]
        clauses = combinations_of(entries[0])
        if len(clauses) > CLAUSES:
            for entry in entries:
                yield from packed(_depends(entry), _counted(entry))
        elif len(entries) == len(group):
            yield from packed(f"{listed(names)} act together", clauses)
            yield from _others(analysis, names, entries[0])
        else:
            for entry in entries:
                yield from packed(_depends(entry), combinations_of(entry))
                worst, response = size(_most(entry)), analysis.table.response
                yield f"Another {entry.factor} costs up to {worst} of {response}."


def _depends(advice: FactorAdvice) -> str:
    return f"{advice.factor} depends on {listed(advice.depends_on)}"


def _most(advice: FactorAdvice) -> float:
    """The cost of the worst level where that is greatest, in per cent."""
    return max(abs(combination.cost_pct) for combination in advice.combinations)


def combinations_of(advice: FactorAdvice) -> list[str]:
    """The advice for each combination of the factors that a factor depends on."""
    by_best: dict[tuple[object, ...], list[Combination]] = {}
    for combination in advice.combinations:
        # Levels of one other factor that have the same advice are named together.
        apart = () if len(advice.depends_on) == 1 else tuple(combination.levels.items())
        by_best.setdefault((*combination.best, *apart), []).append(combination)
    clauses = []
    for alike in by_best.values():
        others = [
            f"{name} = {levels(list(dict.fromkeys(part.levels[name] for part in alike)))}"
            for name in advice.depends_on
        ]
        clauses.append(f"{advice.factor} = {levels(alike[0].best)} with {listed(others)}")
    return clauses


def packed(head: str, clauses: Sequence[str]) -> Iterator[str]:
    """Yields a sentence of many clauses, in lines that are not too long."""
    line = f"{head}: set {clauses[0]}"
    for clause in clauses[1:]:
        if len(line) + len(clause) + 3 > WIDTH:
            yield f"{line};"
            line = f"set {clause}"
        else:
            line += f"; {clause}"
    yield f"{line}."


def _counted(advice: FactorAdvice) -> list[str]:
    """How often each level is best among the combinations of the others, and what that is worth."""
    counts: dict[object, int] = {}
    for combination in advice.combinations:
        counts[combination.best[0]] = counts.get(combination.best[0], 0) + 1
    ordered = sorted(counts.items(), key=lambda entry: -entry[1])
    parts = [f"{advice.factor} = {level} with {count}" for level, count in ordered]
    parts[0] += f" of their {units.many(len(advice.combinations), 'combination')}"
    parts[-1] += f"; the worst level costs up to {size(_most(advice))}"
    return parts


def _others(analysis: Analysis, names: Sequence[str], advice: FactorAdvice) -> Iterator[str]:
    """Yields the cost of the combinations of a group that are not advised."""
    means = combination_means(analysis.fit, names)
    best = (min if analysis.less else max)(means.values())
    advised = {
        tuple({**combination.levels, advice.factor: level}[name] for name in names)
        for combination in advice.combinations
        for level in combination.best
    }
    costs = sorted(
        abs(analysis.fit.percent(mean - best))
        for levels_of, mean in means.items()
        if levels_of not in advised
    )
    if costs:
        ends = f"{size(costs[0])} to {size(costs[-1])}" if len(costs) > 1 else size(costs[0])
        verb = "combination costs" if len(costs) == 1 else f"{len(costs)} combinations cost"
        yield f"The other {verb} {ends} of {analysis.table.response} against the best."


def rule(analysis: Analysis) -> list[str]:
    """Returns the rules that decide whether levels differ."""
    return [
        "SNS: no level differs from the best, as Tukey's HSD on the model's residual does not "
        f"separate them at {LEVEL} or they differ by less than {analysis.matters:g} % of "
        f"{analysis.table.response}.",
        "No level is as good that a comparison of cells shows to be worse (all comparisons "
        f"together at {LEVEL}, by Holm).",
    ]


ADVICE = ["factor", "best", "as good", "worst", "gain", "95 % interval", "p", "", "runs"]


def advice(analysis: Analysis) -> Iterator[list[str]]:
    """A row for each factor."""
    mark = AGAINST if analysis.fit.misleading else ""
    for entry in analysis.advice:
        yield [
            entry.factor,
            str(entry.best[0]),
            ", ".join(map(str, entry.best[1:])) or NONE,
            str(entry.worst),
            signed(entry.effect_pct),
            interval(entry.low_pct, entry.high_pct),
            NONE if entry.p is None else f"{p_figure(entry.p)}{mark}",
            _why(entry, analysis),
            units.count(len(entry.runs)),
        ]


COMBINATIONS = ["factor", "with", "best", "as good", "worst", "changes by", "p"]


def combinations(analysis: Analysis) -> tuple[list[list[str]], list[str]]:
    """A row for each combination on which a factor depends, and what is said of them."""
    rows, left = [], 0
    for entry in analysis.advice:
        ordered = sorted(entry.combinations, key=lambda combination: -abs(combination.cost_pct))
        left += len(ordered[ROWS:])
        rows += [
            [
                entry.factor,
                named(combination.levels),
                str(combination.best[0]),
                ", ".join(map(str, combination.best[1:])) or NONE,
                str(combination.worst),
                signed(combination.cost_pct),
                NONE if combination.p is None else p_figure(combination.p),
            ]
            for combination in ordered[:ROWS]
        ]
    notes = ["p is of the clearest difference of cells there, adjusted for all comparisons (Holm)."]
    if left:
        notes.append(f"{units.many(left, 'more combination')}: --json has all.")
    return rows, notes


def entries(analysis: Analysis) -> Iterator[tuple[str, list[str]]]:
    """Yields the details of each factor's row: its effect, its means, the cells and the runs."""
    cells = analysis.table.frame.select(list(analysis.table.factors))
    for entry in analysis.advice:
        best = ", ".join(map(str, entry.best))
        p = "not known" if entry.p is None else p_value(entry.p)
        means = ", ".join(f"{level}: {figure(mean)}" for level, mean in entry.means)
        count = cells.filter(cells[entry.factor].is_in(list(entry.best))).n_unique()
        where = [f"{clause}." for clause in combinations_of(entry)] if entry.depends_on else []
        yield (
            f"{entry.factor} = {best}",
            [
                f"{entry.best[0]} against {entry.worst}: {signed(entry.effect_pct)}, 95 % interval "
                f"{interval(entry.low_pct, entry.high_pct)}, by Tukey's HSD {p}.",
                *where,
                f"Mean of {analysis.table.response} over all cells with each level: {means}.",
                f"Behind it: {units.many(count, 'cell')}, runs {spans(entry.runs)}.",
            ],
        )


def _why(entry: FactorAdvice, analysis: Analysis) -> str:
    if entry.depends_on:
        return f"by {', '.join(entry.depends_on)}"
    if entry.unclear:
        return "unclear"
    below = f"below {analysis.matters:g} %"
    reasons = {"tukey": "Tukey", "matters": below, "both": f"Tukey or {below}", None: ""}
    said = reasons[entry.reason]
    return f"SNS: {said}" if entry.sns else said
