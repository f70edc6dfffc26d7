"""An analysis in words and tables: what to set, what that brings, and whether to trust it."""

from collections.abc import Iterator, Sequence
from math import isfinite

from penstock.answer.table import NONE
from penstock.study import model
from penstock.study.analysis import Analysis
from penstock.study.fit import SIGNIFICANT
from penstock.study.recommend import Advice
from penstock.study.table import Level
from penstock.text import units

LEVEL = f"{100 * SIGNIFICANT:g} %"
"""Below which a p counts."""

AGAINST = "†"
"""Marks a p that compares with something else than noise."""

SHOWN = 5
"""Number of runs that are named."""

TYPES = {1: "I", 2: "II", 3: "III"}


def title(of: Analysis) -> tuple[str, str]:
    """The world in capitals, and what was analysed."""
    table = of.table
    worlds = table.frame["world"].unique().to_list() if "world" in table.frame.columns else []
    world = str(worlds[0]).upper() if len(worlds) == 1 else "TABLE"
    what = "its logarithm" if of.fit.transform == "log" else "as it is"
    less = "less" if of.less else "more"
    return world, (
        f"{table.source}: {units.many(len(of.fit.y), 'run')} of "
        f"{units.many(len(of.fit.counts), 'cell')}; response {table.response}, {what}; "
        f"{less} is better"
    )


def lines(of: Analysis) -> list[str]:
    """The verdict: the advice, what it brings, and whether it can be trusted."""
    return [*_advice(of), *_trust(of)]


def _advice(of: Analysis) -> Iterator[str]:
    matter = [one for one in of.advice if not one.sns]
    rest = [one.factor for one in of.advice if one.sns]
    said = ", ".join(f"{one.factor} = {' or '.join(map(str, one.best))}" for one in matter)
    free = f"{_listed(rest)} may be anything" if rest else ""
    if said:
        yield f"Set {said}.{f' {free}.' if free else ''}"
    else:
        yield f"No factor changes {of.table.response} by more than noise or {of.matters:g} %."
    best = of.configurations[0]
    cell = _cell(best.levels)
    against = of.fit.percent(_log(of, best.mean) - of.fit.grand)
    interval = "" if best.low is None else f" [{figure(best.low)} to {figure(best.high)}]"
    yield (
        f"Best cell: {cell}, with {figure(best.mean)}{interval}: {signed(against)} against the "
        "mean of all cells."
    )
    apart = [
        f"{one.factor} = {best.levels[one.factor]}, although {one.best[0]} is best on average"
        for one in matter
        if best.levels[one.factor] not in one.best
    ]
    if apart:
        yield f"Factors act together: that cell has {'; '.join(apart)}."


def _log(of: Analysis, value: float) -> float:
    from math import log

    return log(value) if of.fit.transform == "log" else value


def _trust(of: Analysis) -> Iterator[str]:
    fit = of.fit
    off = fit.percent((fit.rss / fit.df_resid) ** 0.5) if fit.df_resid else 0.0
    lack, pure = fit.lack, fit.pure
    if pure is None:
        yield (
            "No cell was run twice, so noise cannot be separated from what the model lacks, and "
            "intervals hold only if the model does. Repeat runs to know."
        )
        if of.table.simulated:
            yield f"Simulated: p values ({AGAINST}) compare with what the model lacks, not noise."
    elif lack is None:
        yield "The model has a coefficient for every cell, so nothing can be said of its fit."
    elif fit.rules:
        noise = fit.percent(pure.variance**0.5)
        by = f"F = {figure(lack.f)}, {p_value(lack.p)}" if isfinite(lack.f) else "no noise at all"
        yield (
            f"Lack of fit, not noise: cells lie off the model by {size(off)}, runs of one cell "
            f"apart by {size(noise)} ({by})."
        )
        yield (
            f"So p values marked {AGAINST} compare with what the model lacks; intervals come from "
            "repeated runs. Judge by per cent, not by p."
        )
    else:
        fits = (
            "The model lacks something, but little next to noise"
            if lack.there
            else "The model fits: cells lie off it by no more than noise explains"
        )
        yield (
            f"{fits} (lack of fit F = {figure(lack.f)}, {p_value(lack.p)}); runs of one cell "
            f"differ by {size(fit.percent(pure.variance**0.5))}."
        )
        if of.table.simulated:
            yield f"Simulated: p values marked {AGAINST} are about a model's seeds, not a machine."
    failed = [one.what for one in of.checks if one.holds is False]
    if failed and not fit.misleading:
        hold = "does not hold" if len(failed) == 1 else "do not hold"
        yield f"Take intervals with care: {_listed(failed)} {hold} (see below)."
    if not fit.balanced:
        yield (
            "Unbalanced: combinations of levels were not run equally often, so sums of squares "
            f"depend on their type, here {TYPES[of.kind]}."
        )
    if (moved := of.drift) is not None and moved.seen:
        how = (
            "blocks take out what changed between them, not within one"
            if moved.by == "blocks" or of.table.blocks
            else "no blocks take it out"
        )
        yield (
            f"The target drifted: {signed(moved.percent)} over the study "
            f"[{signed(moved.low)} to {signed(moved.high)}]; {how}."
        )


def rule(of: Analysis) -> str:
    """Returns the rule that decides whether levels differ."""
    return (
        "SNS: no level differs from the best, as Tukey's HSD on the model's residual does not "
        f"separate them at {LEVEL} or they differ by less than {of.matters:g} % of "
        f"{of.table.response}."
    )


ADVICE = ["factor", "best", "as good", "worst", "gain", "95 % interval", "p", "", "runs"]


def advice(of: Analysis) -> Iterator[list[str]]:
    """A row for each factor."""
    mark = AGAINST if of.fit.misleading else ""
    for one in of.advice:
        yield [
            one.factor,
            str(one.best[0]),
            ", ".join(map(str, one.best[1:])) or NONE,
            str(one.worst),
            signed(one.effect_pct),
            interval(one.low_pct, one.high_pct),
            NONE if one.p is None else f"{p_figure(one.p)}{mark}",
            _why(one, of),
            units.count(len(one.runs)),
        ]


def entries(of: Analysis) -> Iterator[tuple[str, list[str]]]:
    """Yields the details of each factor's row: its effect, its means, the cells and the runs."""
    cells = of.table.frame.select(list(of.table.factors))
    for one in of.advice:
        best = ", ".join(map(str, one.best))
        p = "not known" if one.p is None else p_value(one.p)
        means = ", ".join(f"{level}: {figure(mean)}" for level, mean in one.means)
        count = cells.filter(cells[one.factor].is_in(list(one.best))).n_unique()
        yield (
            f"{one.factor} = {best}",
            [
                f"{one.best[0]} against {one.worst}: {signed(one.effect_pct)}, 95 % interval "
                f"{interval(one.low_pct, one.high_pct)}, by Tukey's HSD {p}.",
                f"Mean of {of.table.response} over all cells with each level: {means}.",
                f"Behind it: {units.many(count, 'cell')}, runs {spans(one.runs)}.",
            ],
        )


def spans(numbers: Sequence[int]) -> str:
    """Numbers with those that follow one another as one: `1-4, 9`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in found)


def _why(one: Advice, of: Analysis) -> str:
    below = f"below {of.matters:g} %"
    reasons = {"tukey": "Tukey", "matters": below, "both": f"Tukey or {below}", None: ""}
    said = reasons[one.reason]
    return f"SNS: {said}" if one.sns else said


def configurations(of: Analysis) -> tuple[list[str], list[list[str]]]:
    """The best cells: headings and rows."""
    factors = list(of.table.factors)
    rows = [
        [
            str(at),
            *(str(one.levels[factor]) for factor in factors),
            figure(one.mean),
            NONE if one.low is None else f"{figure(one.low)} to {figure(one.high)}",
            _runs(one.runs),
        ]
        for at, one in enumerate(of.configurations, 1)
    ]
    return ["best cells", *factors, of.table.response, "95 % interval", "runs"], rows


COSTS = ["from the best cell", "next level", "changes by", "worst level", "changes by"]


def costs(of: Analysis) -> Iterator[list[str]]:
    """Yields the cost of each other level of a factor, from the best cell."""
    for one in of.configurations[0].costs:
        yield [
            f"{one.factor} = {of.configurations[0].levels[one.factor]}",
            str(one.level),
            signed(one.least_pct),
            str(one.worst),
            signed(one.most_pct),
        ]


ANOVA = ["term", "df", "sum_sq", "mean_sq", "F", "PR(>F)", "partial η²", "partial ω²", "span"]


def anova(of: Analysis) -> Iterator[list[str]]:
    """The table of variances; `span` is what a term changes from its lowest to its highest."""
    mark = AGAINST if of.fit.misleading else ""
    spans = {model.name(term): of.span(term) for term in of.fit.terms}
    for row in of.anova:
        tested = row.p is not None
        yield [
            row.term,
            units.count(row.df),
            figure(row.sum_sq),
            figure(row.mean_sq),
            figure(row.f) if row.f is not None else "∞" if tested else "",
            "" if row.p is None else f"{p_figure(row.p)}{mark}",
            "" if row.partial_eta_sq is None else f"{row.partial_eta_sq:.3f}",
            "" if row.partial_omega_sq is None else f"{row.partial_omega_sq:.3f}",
            signed(spans[row.term]) if row.term in spans else "",
        ]


def fit_lines(of: Analysis) -> Iterator[str]:
    """Yields the lines on how well the model fits."""
    fit = of.fit
    adjusted = NONE if fit.r2_adj is None else f"{fit.r2_adj:.4f}"
    chosen = "as asked for" if of.given else "chosen by F"
    yield (
        f"Model ({chosen}): {model.text(fit.terms)}; R² = {fit.r2:.4f}, adjusted {adjusted}; sums "
        f"of squares of type {TYPES[of.kind]}, levels coded to sum to zero."
    )
    if (pure := fit.pure) is not None:
        said = f"Pure error: sd {figure(pure.variance**0.5)}, df {units.count(pure.df)}"
        if (lack := fit.lack) is not None:
            f = figure(lack.f) if isfinite(lack.f) else "∞"
            said += (
                f"; lack of fit: df {units.count(lack.df)}, mean_sq "
                f"{figure(lack.sum_sq / lack.df)}, F = {f}, {p_value(lack.p)}"
            )
        yield f"{said}."
    if fit.noise is not None:
        free = f"{units.count(fit.noise.df)} degrees of freedom"
        source = f"the residual, {free}"
        if fit.noise.source == "replicates":
            own = "" if fit.own is None else ", each cell with a variance of its own"
            source = f"repeated runs, {free}{own}"
        yield f"Intervals: 95 %, from {source}."
    if (power := of.boxcox) is not None:
        ends = interval(power.low, power.high, figure)
        has = [
            word for at, word in ((0.0, "the logarithm"), (1.0, "no transform")) if power.has(at)
        ]
        said = f"which has {' and '.join(has)}" if has else "neither the logarithm nor no transform"
        yield f"Box-Cox: λ = {power.power:.2f}, interval {ends}, {said}."
    leverage = of.leverage
    out = f"; {_runs(leverage.runs)} stand out" if leverage.runs else "; no run stands out"
    yield f"Leverage: mean {leverage.mean:.3f}, greatest {leverage.most:.3f}{out}."
    if (moved := of.drift) is not None:
        by = "runs of the reference cell" if moved.by == "reference" else "blocks"
        yield (
            f"Drift: {signed(moved.percent)} [{signed(moved.low)} to {signed(moved.high)}] over "
            f"the study, by {moved.runs} {by}."
        )


EFFECTS = ["term", "level", "mean", "effect", "95 % interval"]


def effects(of: Analysis, *, order: int = 1) -> Iterator[list[str]]:
    """The effects of so many factors together, in per cent of the mean of all cells."""
    fit = of.fit
    means = {(one.factor, level): mean for one in of.advice for level, mean in one.means}
    for one in fit.effects:
        if len(one.term) != order:
            continue
        ends = [None if end is None else fit.percent(end) for end in (one.low, one.high)]
        mean = means.get((one.term[0], one.levels[0])) if order == 1 else None
        yield [
            model.name(one.term),
            ":".join(map(str, one.levels)),
            NONE if mean is None else figure(mean),
            signed(fit.percent(one.effect)),
            interval(ends[0], ends[1]),
        ]


CHECKS = ["check", "test", "statistic", "p", "holds", "what it says"]


def checks(of: Analysis) -> Iterator[list[str]]:
    """A row for each check."""
    for one in of.checks:
        yield [
            one.what,
            one.test,
            NONE if one.statistic is None else figure(one.statistic),
            NONE if one.p is None else p_figure(one.p),
            {True: "yes", False: "no", None: NONE}[one.holds],
            one.says,
        ]


def worst(of: Analysis) -> tuple[list[str], list[list[str]]]:
    """The cells that are predicted worst: headings and rows."""
    factors = list(of.table.factors)
    rows = [
        [
            str(at),
            *(str(one.levels[factor]) for factor in factors),
            figure(one.mean),
            figure(one.predicted),
            signed(one.off_pct),
        ]
        for at, one in enumerate(of.worst, 1)
    ]
    return ["predicted worst", *factors, of.table.response, "predicted", "off by"], rows


PATH = ["terms", "R²", "error of unseen cells", "weakest", "F", "p", ""]


def path(of: Analysis) -> Iterator[list[str]]:
    """A row for each model on the way down, with the term that goes next."""
    for at, step in enumerate(of.path.steps):
        marks = [
            word
            for word, chosen in (("by F", of.path.by_f), ("by error", of.path.by_error))
            if chosen == at
        ]
        if set(step.terms) == set(of.terms):
            marks.append("analysed")
        yield [
            units.count(len(step.terms)),
            f"{step.r2:.4f}",
            NONE if step.rmse is None else size(of.fit.percent(step.rmse)),
            "" if step.drops is None else model.name(step.drops),
            "" if step.f is None else figure(step.f) if isfinite(step.f) else "∞",
            "" if step.p is None else p_figure(step.p),
            f"← {', '.join(marks)}" if marks else "",
        ]


def path_lines(of: Analysis) -> Iterator[str]:
    """Yields the lines on the models that the path chooses."""
    way = of.path
    yield f"By F at {LEVEL}: {model.text(way.chosen)}."
    if way.by_error is None:
        yield "By the error of unseen cells: not known, as there are too few cells."
    elif way.by_error != way.by_f:
        yield f"By the error of unseen cells: {model.text(way.steps[way.by_error].terms)}."
    else:
        yield "By the error of unseen cells: the same."
    if of.given and set(of.terms) != set(way.chosen):
        lacks = [one for one in way.chosen if one not in of.terms]
        more = [one for one in of.terms if one not in way.chosen]
        parts = [f"lacks {model.text(lacks)}"] if lacks else []
        parts += [f"has {model.text(more)} more"] if more else []
        yield f"The model of --model {' and '.join(parts)} than that by F."


def figure(value: float | None) -> str:
    """Three digits, with an exponent where there would be many zeros."""
    if value is None:
        return NONE
    if value and not 1e-3 <= abs(value) < 1e12:
        return f"{value:.2e}"
    return units.digits(value)


def signed(percent: float) -> str:
    """A change in per cent."""
    return f"{'+' if percent > 0 else ''}{size(percent)}"


def size(percent: float) -> str:
    """Per cent, with as many digits as mean something."""
    return f"{percent:,.0f} %" if abs(percent) >= 100 else f"{percent:.3g} %"


def interval(low: float | None, high: float | None, of: object = None) -> str:
    """Two ends, in per cent if nothing else is said."""
    shown = figure if of is figure else signed
    if low is None and high is None:
        return NONE
    return " to ".join("…" if end is None else shown(end) for end in (low, high))


def p_figure(p: float) -> str:
    """A p with two digits; very small ones are all alike."""
    return "< 1e-10" if p < 1e-10 else f"{p:.2g}" if p < 1e-3 else f"{p:.3f}"


def p_value(p: float) -> str:
    """Returns a p-value as a sentence has it."""
    shown = p_figure(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def _runs(runs: Sequence[int]) -> str:
    named = ", ".join(map(str, runs[:SHOWN]))
    return f"{named} and {len(runs) - SHOWN} more" if len(runs) > SHOWN else named


def _cell(levels: dict[str, Level]) -> str:
    return ", ".join(f"{factor} = {level}" for factor, level in levels.items())


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
