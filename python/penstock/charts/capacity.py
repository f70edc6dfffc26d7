"""The chart of a capacity: a figure against the load of a class, a line for each policy.

A diamond is the largest load at which every goal holds, a ring the knee of the curve. Thin lines
are ranges over seeds, and a dashed line is the limit of a goal.
"""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.figure_axis import FigureAxis, scaled
from penstock.charts.style import OF_LINES, Look, dressed
from penstock.results.figure import Figure
from penstock.results.rounds import Spread

WIDTH = 480
"""Width of the plot in pixels: lines meet near their knees."""

HEIGHT = 300

MOST_TICKS = 10
"""Most loads with a tick each, if they are whole numbers: there is no half copy."""

REACH = 2.1
"""Multiple of the largest answer up to which curves are drawn."""


class CapacityCurve(NamedTuple):
    """A figure at the loads that a policy ran with."""

    name: str
    """The policy, with its answer in words: one name for each line."""
    points: Sequence[tuple[float, Spread]]
    """Each load with the figure, the least first."""
    answer: float
    """Largest load at which every goal holds; 0 if there is none."""
    knee: float | None


def capacity(
    curves: Sequence[CapacityCurve], *, load: str, figure: Figure, limits: Sequence[float]
) -> alt.TopLevelMixin:
    """Draw curves of a figure against a `load`, and the limits of its goals."""
    rows = [
        (curve.name, at, *scaled(figure, spread), at == curve.answer, at == curve.knee)
        for curve in curves
        for at, spread in curve.points
    ]
    columns = ["policy", "load", "y", "y_low", "y_high", "answer", "knee"]
    floats = {column: pl.Float64 for column in columns[1:5]}
    frame = pl.DataFrame(rows, schema=columns, schema_overrides=floats, orient="row")
    # A search that met no limit for long has tried loads far beyond all others.
    reach = REACH * max(curve.answer for curve in curves) or float("inf")
    frame = frame.filter(pl.col("load") <= reach)
    bounds = pl.DataFrame(
        [scaled(figure, Spread(limit, limit, limit)) for limit in limits],
        schema={column: pl.Float64 for column in columns[2:5]},
        orient="row",
    )
    axis = FigureAxis.of(figure, pl.concat([frame.select(bounds.columns), bounds]), "y", HEIGHT)
    most = max(frame["load"])
    few = most <= MOST_TICKS and frame["load"].round().equals(frame["load"])
    ticks = alt.Axis(values=[*range(round(most) + 1)]) if few else alt.Axis()
    scale = alt.Scale(domain=[0, most], nice=False)
    x = alt.X("load:Q", title=load, scale=scale, axis=ticks)
    y = alt.Y("y:Q", **axis.encoding())
    look = Look([curve.name for curve in curves])
    lines = look.lines(OF_LINES)
    # Every layer has the legend: one without would take it from the others.
    colour = lines["color"]
    base = alt.Chart(frame)
    layers = [
        alt.Chart(bounds).mark_rule(strokeDash=[3, 3], color=palette.FAINT.light).encode(y=y),
        base.mark_rule(strokeWidth=1).encode(
            x=x, y=alt.Y("y_low:Q"), y2=alt.Y2("y_high:Q"), color=colour
        ),
        base.mark_line(strokeWidth=1.8).encode(x=x, y=y, **lines),
        base.mark_circle(size=22, opacity=1).encode(x=x, y=y, color=colour),
        alt.Chart(frame.filter("knee"))
        .mark_point(size=190, strokeWidth=1.8, filled=False)
        .encode(x=x, y=y, color=colour),
        alt.Chart(frame.filter("answer"))
        .mark_point(filled=True, size=130, opacity=1, shape="diamond")
        .encode(x=x, y=y, color=colour),
    ]
    return dressed(alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT))
