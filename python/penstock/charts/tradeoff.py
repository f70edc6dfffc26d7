"""The trade-off: a point for each policy or setting, and a line along those that none other beats.

What another one beats in both figures is grey. Of rounds a point is the median, and thin lines go
from the least to the greatest.
"""

from typing import Literal

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import UNIT, dressed, log_ticks, span_of
from penstock.results.figure import Figure
from penstock.results.rounds import Spread
from penstock.results.tradeoff import Tradeoff

WIDTH = 620
"""Of the plot in pixels: there is one of it, and its points have names."""

HEIGHT = 340

NAMED = 12
"""Of more points than these only those on the frontier have their names."""


def tradeoff(of: Tradeoff) -> alt.TopLevelMixin:
    """Two figures of each candidate."""
    points = of.placed()
    rows = []
    for point in points:
        assert point.x is not None
        assert point.y is not None
        said = point.label if point.on_frontier or len(points) <= NAMED else ""
        figures = (*_scaled(of.x, point.x), *_scaled(of.y, point.y))
        rows.append((point.label, said, point.on_frontier, *figures))
    columns = ["label", "said", "frontier", "x", "x_low", "x_high", "y", "y_low", "y_high"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    x, y = _axis(alt.X, "x", of.x, frame), _axis(alt.Y, "y", of.y, frame)
    front = frame.filter(pl.col("frontier")).sort("x")
    base = alt.Chart(frame)
    colour = alt.condition(
        "datum.frontier", alt.value(palette.POLICIES[0].light), alt.value(palette.AXIS.light)
    )
    line = alt.Chart(front).mark_line(strokeWidth=1.5, color=palette.POLICIES[0].light)
    ranges = base.mark_rule(strokeWidth=1.2, color=palette.AXIS.light)
    across = ranges.encode(x="x_low:Q", x2="x_high:Q", y=y)
    up = ranges.encode(x=x, y="y_low:Q", y2="y_high:Q")
    marks = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        shape=alt.condition("datum.frontier", alt.value("circle"), alt.value("square")),
        tooltip=["label:N", "x:Q", "y:Q"],
    )
    # Names go to the left in the right half of the picture, where they would leave it.
    low, high = _span(of.x, frame, "x")
    middle = (low * high) ** 0.5 if of.x.is_latency else (low + high) / 2
    named = alt.Chart(frame.filter(pl.col("said") != ""))

    def names(align: Literal["left", "right"], where: str, dx: int) -> alt.Chart:
        text: alt.Chart = named.transform_filter(where).mark_text(
            align=align, dx=dx, dy=-9, fontSize=12, color=palette.INK.light
        )
        return text.encode(x=x, y=y, text="said:N")

    left, right = (
        names("right", f"datum.x > {middle}", -4),
        names("left", f"datum.x <= {middle}", 4),
    )
    layers = [line.encode(x=x, y=y), across, up, marks, left, right]
    return dressed(alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT))


def _scaled(of: Figure, spread: Spread) -> Spread:
    """In the unit of the axis: nanoseconds, megabytes a second, requests a second."""
    return spread.map(lambda value: value / 1e6) if of.what == "bw" else spread


def _span(of: Figure, frame: pl.DataFrame, column: str) -> tuple[float, float]:
    values = [one for end in ("low", "high") for one in frame[f"{column}_{end}"].to_list()]
    if of.is_latency:
        return span_of(values or [1e6])
    return 0.0, 1.05 * max([*values, 1e-9])


def _axis(
    channel: type[alt.X] | type[alt.Y], column: str, of: Figure, frame: pl.DataFrame
) -> alt.X | alt.Y:
    low, high = _span(of, frame, column)
    unit = {"bw": ", MB/s", "iops": ", 1/s"}.get(of.what, "")
    better = "more is better" if of.kind.more_is_better else "less is better"
    title = f"{of.title}{unit} ({better})"
    if of.is_latency:
        scale = alt.Scale(type="log", domain=[low, high], nice=False)
        axis = alt.Axis(values=log_ticks(low, high), labelExpr=UNIT)
        return channel(f"{column}:Q", title=title, scale=scale, axis=axis)
    scale = alt.Scale(domain=[low, high], nice=True)
    return channel(f"{column}:Q", title=title, scale=scale)
