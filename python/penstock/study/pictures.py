"""The pictures of an analysis: effects, interactions of every pair of factors, residuals."""

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from penstock.answer.picture import Picture
from penstock.charts import study as charts
from penstock.charts.study import Bar, Mean
from penstock.study import model
from penstock.study.analysis import Analysis
from penstock.study.fit import BLOCK, EXACT

if TYPE_CHECKING:
    import altair as alt

SECTIONS = (
    (
        "effects",
        "Effects",
        "Each level of each factor against the mean of all cells, with its 95 % interval.",
    ),
    (
        "interaction",
        "Interactions",
        "Means of the cells with a level of each of two factors. Lines that are not parallel: what "
        "one factor brings depends on the other.",
    ),
    (
        "residual",
        "Residuals",
        "What the model leaves over, in its standard deviations. A pattern is something that the "
        "model lacks.",
    ),
)
"""Each kind with its title and words, in the order of a page."""


_TITLES = {kind: title for kind, title, _ in SECTIONS}


def _picture(kind: str, name: str, subject: str, chart: "alt.TopLevelMixin") -> Picture:
    title = f"{_TITLES[kind]}: {subject}" if subject else _TITLES[kind]
    return Picture(name=name, title=title, chart=chart, kind=kind, caption=subject)


def all_of(analysis: Analysis) -> list[Picture]:
    """Every picture."""
    drawn = (
        [_picture("effects", "effects", "", charts.effects(_bars(analysis)))]
        if analysis.terms
        else []
    )
    for first, second in combinations(analysis.table.factors, 2):
        # The factor with more levels goes along the axis.
        x, line = sorted((first, second), key=lambda name: -len(analysis.fit.levels[name]))
        chart = charts.interaction(
            _means(analysis, x, line),
            x=x,
            line=line,
            response=analysis.table.response,
            logarithmic=analysis.fit.transform == "log",
        )
        name = f"interaction-{plain(first)}-{plain(second)}"
        drawn.append(_picture("interaction", name, f"{first} and {second}", chart))
    return drawn + _residuals(analysis)


def plain(name: object, between: str = "_") -> str:
    """Returns a name as a part of the name of a file."""
    return "".join(char if char.isalnum() else between for char in str(name))


def _bars(analysis: Analysis) -> list[Bar]:
    bars = []
    for level in analysis.fit.effects:
        if len(level.term) == 1 and level.term != (BLOCK,):
            effect = analysis.fit.percent(level.effect)
            low = effect if level.low is None else analysis.fit.percent(level.low)
            high = effect if level.high is None else analysis.fit.percent(level.high)
            bars.append(Bar(f"{model.name(level.term)} = {level.levels[0]}", effect, low, high))
    return bars


def _means(analysis: Analysis, x: str, line: str) -> list[Mean]:
    """Means over the cells, so that cells with more runs count no more."""
    fit = analysis.fit
    cells, means = fit.cells, fit.cell_means(fit.without_blocks)
    at_x, at_line = (list(analysis.table.factors).index(factor) for factor in (x, line))
    points = []
    for second, name in enumerate(fit.levels[line]):
        for first, level in enumerate(fit.levels[x]):
            both = (cells[:, at_x] == first) & (cells[:, at_line] == second)
            if both.any():
                points.append(Mean(str(level), str(name), fit.natural(float(means[both].mean()))))
    return points


def _residuals(analysis: Analysis) -> list[Picture]:
    from scipy import stats

    fit = analysis.fit
    if not fit.df_resid or fit.rss <= EXACT * fit.tss:
        return []
    scaled = fit.residuals / (fit.rss / fit.df_resid) ** 0.5
    unit = "logarithm of " if fit.transform == "log" else ""
    fitted = (fit.fitted + fit.shift).tolist()
    drawn = [
        _picture(
            "residual",
            "residual-fitted",
            "against what is fitted",
            charts.residuals(
                list(zip(fitted, scaled.tolist(), strict=True)),
                x=f"fitted {unit}{analysis.table.response}",
            ),
        )
    ]
    n = len(scaled)
    quantiles = stats.norm.ppf((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    pairs = list(zip(quantiles.tolist(), sorted(scaled.tolist()), strict=True))
    drawn.append(
        _picture("residual", "residual-normal", "against normal ones", charts.normal(pairs))
    )
    if analysis.table.ordered:
        orders = analysis.table.frame["order"].cast(float).to_list()
        pairs = sorted(zip(orders, scaled.tolist(), strict=True))
        chart = charts.residuals(pairs, x="place in the order of runs")
        drawn.append(_picture("residual", "residual-order", "in the order of runs", chart))
    return drawn
