"""An analysis in words and tables: what to set, what that brings, and whether to trust it."""

from collections.abc import Iterator
from math import isfinite

from penstock.answer.table import NONE
from penstock.study import advice_words, model
from penstock.study.advice_words import AGAINST, LEVEL
from penstock.study.analysis import Analysis
from penstock.study.formatting import (
    figure,
    interval,
    listed,
    p_figure,
    p_value,
    runs,
    signed,
    size,
)
from penstock.text import units

TYPES = {1: "I", 2: "II", 3: "III"}


def title(analysis: Analysis) -> tuple[str, str]:
    """The world in capitals, and what was analysed."""
    table = analysis.table
    response = "its logarithm" if analysis.fit.transform == "log" else "as it is"
    less = "less" if analysis.less else "more"
    return (table.world or "table").upper(), (
        f"{table.source}: {units.many(len(analysis.fit.y), 'run')} of "
        f"{units.many(len(analysis.fit.counts), 'cell')}; response {table.response}, {response}; "
        f"{less} is better"
    )


def lines(analysis: Analysis) -> list[str]:
    """The verdict: the advice, what it brings, and whether it can be trusted."""
    return [*advice_words.lines(analysis), *_trust(analysis)]


def _trust(analysis: Analysis) -> Iterator[str]:
    fit = analysis.fit
    off = fit.percent((fit.rss / fit.df_resid) ** 0.5) if fit.df_resid else 0.0
    lack, pure = fit.lack, fit.pure
    if pure is None:
        yield (
            "No cell was run twice, so noise cannot be separated from what the model lacks, and "
            "intervals hold only if the model does. Repeat runs to know."
        )
        if analysis.table.simulated:
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
        if analysis.table.simulated:
            yield f"Simulated: p values marked {AGAINST} are about a model's seeds, not a machine."
    failed = [check.what for check in analysis.checks if check.holds is False]
    if failed and not fit.misleading:
        hold = "does not hold" if len(failed) == 1 else "do not hold"
        yield f"Take intervals with care: {listed(failed)} {hold} (see below)."
    if not fit.balanced:
        yield (
            "Unbalanced: combinations of levels were not run equally often, so sums of squares "
            f"depend on their type, here {TYPES[analysis.kind]}."
        )
    if (moved := analysis.drift) is not None and moved.seen:
        how = (
            "blocks take out what changed between them, not within one"
            if moved.by == "blocks" or analysis.table.blocks
            else "no blocks take it out"
        )
        yield (
            f"The target drifted: {signed(moved.percent)} over the study "
            f"[{signed(moved.low)} to {signed(moved.high)}]; {how}."
        )


def configurations(analysis: Analysis) -> tuple[list[str], list[list[str]]]:
    """The best cells: headings and rows."""
    factors = list(analysis.table.factors)
    rows = [
        [
            str(at),
            *(str(cell.levels[factor]) for factor in factors),
            figure(cell.mean),
            NONE if cell.low is None else f"{figure(cell.low)} to {figure(cell.high)}",
            runs(cell.runs),
        ]
        for at, cell in enumerate(analysis.configurations, 1)
    ]
    return ["best cells", *factors, analysis.table.response, "95 % interval", "runs"], rows


COSTS = ["from the best cell", "next level", "changes by", "worst level", "changes by"]


def costs(analysis: Analysis) -> Iterator[list[str]]:
    """Yields the cost of each other level of a factor, from the best cell."""
    for cost in analysis.configurations[0].costs:
        yield [
            f"{cost.factor} = {analysis.configurations[0].levels[cost.factor]}",
            str(cost.level),
            signed(cost.least_pct),
            str(cost.worst),
            signed(cost.most_pct),
        ]


ANOVA = ["term", "df", "sum_sq", "mean_sq", "F", "PR(>F)", "partial η²", "partial ω²", "span"]


def anova(analysis: Analysis) -> Iterator[list[str]]:
    """The table of variances; `span` is what a term changes from its lowest to its highest."""
    mark = AGAINST if analysis.fit.misleading else ""
    spans = {model.name(term): analysis.span(term) for term in analysis.fit.terms}
    for row in analysis.anova:
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


def fit_lines(analysis: Analysis) -> Iterator[str]:
    """Yields the lines on how well the model fits."""
    fit = analysis.fit
    adjusted = NONE if fit.r2_adj is None else f"{fit.r2_adj:.4f}"
    chosen = "as asked for" if analysis.given else "chosen by F"
    yield (
        f"Model ({chosen}): {model.text(fit.terms)}; R² = {fit.r2:.4f}, adjusted {adjusted}; sums "
        f"of squares of type {TYPES[analysis.kind]}, levels coded to sum to zero."
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
            variances = "" if fit.own is None else ", each cell with a variance of its own"
            source = f"repeated runs, {free}{variances}"
        yield f"Intervals: 95 %, from {source}."
    if (power := analysis.boxcox) is not None:
        ends = interval(power.low, power.high, figure)
        has = [
            word for at, word in ((0.0, "the logarithm"), (1.0, "no transform")) if power.has(at)
        ]
        said = f"which has {' and '.join(has)}" if has else "neither the logarithm nor no transform"
        yield f"Box-Cox: λ = {power.power:.2f}, interval {ends}, {said}."
    leverage = analysis.leverage
    out = f"; {runs(leverage.runs)} stand out" if leverage.runs else "; no run stands out"
    yield f"Leverage: mean {leverage.mean:.3f}, greatest {leverage.most:.3f}{out}."
    if (moved := analysis.drift) is not None:
        by = "runs of the reference cell" if moved.by == "reference" else "blocks"
        yield (
            f"Drift: {signed(moved.percent)} [{signed(moved.low)} to {signed(moved.high)}] over "
            f"the study, by {moved.runs} {by}."
        )


EFFECTS = ["term", "level", "mean", "effect", "95 % interval"]


def effects(analysis: Analysis, *, order: int = 1) -> Iterator[list[str]]:
    """The effects of so many factors together, in per cent of the mean of all cells."""
    fit = analysis.fit
    means = {
        (entry.factor, level): mean for entry in analysis.advice for level, mean in entry.means
    }
    for effect in fit.effects:
        if len(effect.term) != order:
            continue
        ends = [None if end is None else fit.percent(end) for end in (effect.low, effect.high)]
        mean = means.get((effect.term[0], effect.levels[0])) if order == 1 else None
        yield [
            model.name(effect.term),
            ":".join(map(str, effect.levels)),
            NONE if mean is None else figure(mean),
            signed(fit.percent(effect.effect)),
            interval(ends[0], ends[1]),
        ]


CHECKS = ["check", "test", "statistic", "p", "holds", "what it says"]


def checks(analysis: Analysis) -> Iterator[list[str]]:
    """A row for each check."""
    for check in analysis.checks:
        yield [
            check.what,
            check.test,
            NONE if check.statistic is None else figure(check.statistic),
            NONE if check.p is None else p_figure(check.p),
            {True: "yes", False: "no", None: NONE}[check.holds],
            check.says,
        ]


def worst(analysis: Analysis) -> tuple[list[str], list[list[str]]]:
    """The cells that are predicted worst: headings and rows."""
    factors = list(analysis.table.factors)
    rows = [
        [
            str(at),
            *(str(cell.levels[factor]) for factor in factors),
            figure(cell.mean),
            figure(cell.predicted),
            signed(cell.off_pct),
        ]
        for at, cell in enumerate(analysis.worst, 1)
    ]
    return ["predicted worst", *factors, analysis.table.response, "predicted", "off by"], rows


PATH = ["terms", "R²", "error of unseen cells", "weakest", "F", "p", ""]


def path(analysis: Analysis) -> Iterator[list[str]]:
    """A row for each model on the way down, with the term that goes next."""
    for at, step in enumerate(analysis.path.steps):
        marks = [
            word
            for word, chosen in (("by F", analysis.path.by_f), ("by error", analysis.path.by_error))
            if chosen == at
        ]
        if set(step.terms) == set(analysis.terms):
            marks.append("analysed")
        yield [
            units.count(len(step.terms)),
            f"{step.r2:.4f}",
            NONE if step.rmse is None else size(analysis.fit.percent(step.rmse)),
            "" if step.drops is None else model.name(step.drops),
            "" if step.f is None else figure(step.f) if isfinite(step.f) else "∞",
            "" if step.p is None else p_figure(step.p),
            f"← {', '.join(marks)}" if marks else "",
        ]


def path_lines(analysis: Analysis) -> Iterator[str]:
    """Yields the lines on the models that the path chooses."""
    way = analysis.path
    yield f"By F at {LEVEL}: {model.text(way.chosen)}."
    if way.by_error is None:
        yield "By the error of unseen cells: not known, as there are too few cells."
    elif way.by_error != way.by_f:
        yield f"By the error of unseen cells: {model.text(way.steps[way.by_error].terms)}."
    else:
        yield "By the error of unseen cells: the same."
    if analysis.given and set(analysis.terms) != set(way.chosen):
        lacks = [term for term in way.chosen if term not in analysis.terms]
        more = [term for term in analysis.terms if term not in way.chosen]
        parts = [f"lacks {model.text(lacks)}"] if lacks else []
        parts += [f"has {model.text(more)} more"] if more else []
        yield f"The model of --model {' and '.join(parts)} than that by F."
