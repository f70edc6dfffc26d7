"""Charts of studies: interactions of two factors, effects with intervals, and residuals."""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import HEIGHT, OF_MARKS, WIDTH, Look, dressed

ROW = 18
"""Height of the row of an effect in pixels."""

MOST = 1500
"""Most points of a chart: more would hide each other."""


class Mean(NamedTuple):
    """Mean of the cells with one level of each of two factors."""

    x: str
    line: str
    mean: float


class Bar(NamedTuple):
    """An effect in per cent, with its interval."""

    name: str
    effect: float
    low: float
    high: float


def interaction(
    means: Sequence[Mean], *, x: str, line: str, response: str, logarithmic: bool
) -> alt.TopLevelMixin:
    """Draw a line for each level of one factor over another's; parallel without interaction."""
    levels = list(dict.fromkeys(entry.x for entry in means))
    lines = list(dict.fromkeys(entry.line for entry in means))
    look = Look(lines, column=line)
    frame = pl.DataFrame(
        [(entry.x, entry.line, entry.mean) for entry in means],
        schema=["x", line, "mean"],
        orient="row",
    )
    values = [entry.mean for entry in means]
    low, high = min(values), max(values)
    if logarithmic and low > 0:
        scale = alt.Scale(type="log", domain=[low / 1.1, high * 1.1], nice=False)
    else:
        room = 0.05 * (high - low or abs(high) or 1.0)
        scale = alt.Scale(domain=[low - room, high + room], nice=False)
    base = alt.Chart(frame).encode(
        x=alt.X("x:N", title=x, sort=None, scale=alt.Scale(domain=levels), axis=_LEVELS),
        y=alt.Y("mean:Q", title=response, scale=scale, axis=alt.Axis(tickCount=5, format="~s")),
    )
    legend = OF_MARKS.copy()
    legend.title = line
    drawn = base.mark_line(strokeWidth=2).encode(**look.lines(legend))
    points = base.mark_point(filled=True, size=45, opacity=1).encode(**look.marks(legend))
    return dressed(alt.LayerChart(layer=[drawn, points], width=WIDTH, height=HEIGHT))


_LEVELS = alt.Axis(labelAngle=0, grid=False)


def effects(bars: Sequence[Bar]) -> alt.TopLevelMixin:
    """Draw a mark for each level of each factor, and a line for its interval."""
    names = [bar.name for bar in bars]
    frame = pl.DataFrame(bars, schema=["name", "effect", "low", "high"], orient="row")
    side = alt.Axis(domain=False, ticks=False, minExtent=110, maxExtent=110, labelLimit=105)
    y = alt.Y("name:N", title=None, sort=None, scale=alt.Scale(domain=names), axis=side)
    title = "effect against the mean of all cells, %"
    zero = (
        alt.Chart(pl.DataFrame({"at": [0.0]}))
        .mark_rule(color=palette.AXIS.light)
        .encode(x=alt.X("at:Q", title=title))
    )
    base = alt.Chart(frame)
    ranges = base.mark_rule(strokeWidth=2, color=palette.FAINT.light).encode(
        x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"), y=y
    )
    points = base.mark_circle(size=50, opacity=1, color=palette.POLICIES[0].light).encode(
        x=alt.X("effect:Q", title=title), y=y
    )
    layers = [zero, ranges, points]
    return dressed(alt.LayerChart(layer=layers, width=WIDTH, height=max(ROW * len(names), 60)))


def residuals(pairs: Sequence[tuple[float, float]], *, x: str) -> alt.TopLevelMixin:
    """Draw the residual of each run against `x`."""
    frame = _points(pairs)
    zero = (
        alt.Chart(pl.DataFrame({"at": [0.0]}))
        .mark_rule(color=palette.AXIS.light)
        .encode(y=alt.Y("at:Q"))
    )
    points = (
        alt.Chart(frame)
        .mark_circle(size=18, opacity=0.6, color=palette.POLICIES[0].light)
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)),
            y=alt.Y("y:Q", title="residual, in standard deviations"),
        )
    )
    return dressed(alt.LayerChart(layer=[zero, points], width=WIDTH, height=HEIGHT))


def normal(pairs: Sequence[tuple[float, float]]) -> alt.TopLevelMixin:
    """Draw residuals against normal quantiles: normal residuals follow the line."""
    frame = _points(pairs)
    low = min(min(pair) for pair in pairs)
    high = max(max(pair) for pair in pairs)
    line = (
        alt.Chart(pl.DataFrame({"x": [low, high], "y": [low, high]}))
        .mark_line(color=palette.AXIS.light, strokeWidth=1.5)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    )
    points = (
        alt.Chart(frame)
        .mark_circle(size=18, opacity=0.6, color=palette.POLICIES[0].light)
        .encode(
            x=alt.X("x:Q", title="normal quantile"),
            y=alt.Y("y:Q", title="residual, in standard deviations"),
        )
    )
    return dressed(alt.LayerChart(layer=[line, points], width=WIDTH, height=HEIGHT))


def _points(pairs: Sequence[tuple[float, float]]) -> pl.DataFrame:
    """Return at most about `MOST` points, evenly spaced, with the last."""
    step = -(-len(pairs) // MOST)
    some = [*pairs[:-1:step], pairs[-1]]
    return pl.DataFrame(some, schema=["x", "y"], orient="row")
