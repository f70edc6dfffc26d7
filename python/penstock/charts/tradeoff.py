"""The trade-off chart: a point for each policy or setting, and a line along the frontier.

Points that another beats in both figures are grey. With rounds, a point is the median and thin
lines show the range.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.figure_axis import FigureAxis, scaled
from penstock.charts.style import dressed
from penstock.results.tradeoff import Tradeoff

WIDTH = 480
"""Width of the plot in pixels: there is only one, and its points have names."""

HEIGHT = 300


LETTER = 6.1
"""Width of a letter of a name in pixels."""

LINE = 15
"""Height of a line of names in pixels."""

DISTANCES = (0.7 * LINE, 0.0, -0.7 * LINE, 1.4 * LINE, -1.4 * LINE)
"""Distances of a name above its point in pixels; the first that leaves room is taken."""

MARK = 6
"""Pixels that a mark takes on each side of its point."""


def tradeoff(candidates: Tradeoff) -> alt.TopLevelMixin:
    """Draw two figures of each candidate."""
    rows = []
    for point in candidates.placed():
        assert point.x is not None
        assert point.y is not None
        figures = (*scaled(candidates.x, point.x), *scaled(candidates.y, point.y))
        rows.append((point.label, point.on_frontier, *figures))
    columns = ["label", "frontier", "x", "x_low", "x_high", "y", "y_low", "y_high"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    across, up = (
        FigureAxis.of(candidates.x, frame, "x", WIDTH),
        FigureAxis.of(candidates.y, frame, "y", HEIGHT),
    )
    x = alt.X("x:Q", **across.encoding())
    y = alt.Y("y:Q", **up.encoding())
    base = alt.Chart(frame)
    best = palette.POLICIES[0].light
    line = (
        alt.Chart(frame.filter(pl.col("frontier")).sort("x"))
        .mark_line(
            strokeWidth=1.5,
            color=best,
            # Points below and behind the steps are beaten.
            interpolate="step-before" if candidates.x.kind.more_is_better else "step-after",
        )
        .encode(x=x, y=y)
    )
    ranges = base.mark_rule(strokeWidth=1.2, color=palette.AXIS.light)
    marks = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x,
        y=y,
        color=alt.condition("datum.frontier", alt.value(best), alt.value(palette.AXIS.light)),
        shape=alt.condition("datum.frontier", alt.value("circle"), alt.value("square")),
        tooltip=[alt.Tooltip("label:N"), alt.Tooltip("x:Q"), alt.Tooltip("y:Q")],
    )
    names = (
        alt.Chart(_names(frame, across, up))
        .mark_text(align="left", baseline="middle", fontSize=12, color=palette.INK.light)
        .encode(x=x, y=y, text=alt.Text("label:N"))
    )
    layers = [
        line,
        ranges.encode(x=alt.X("x_low:Q"), x2=alt.X2("x_high:Q"), y=y),
        ranges.encode(x=x, y=alt.Y("y_low:Q"), y2=alt.Y2("y_high:Q")),
        marks,
        names,
    ]
    return dressed(alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT))


def _names(frame: pl.DataFrame, across: FigureAxis, up: FigureAxis) -> pl.DataFrame:
    """Place names clear of marks and other names, frontier first; the rest have no name."""
    at = [
        (label, front, across.pixel(x), up.pixel(y))
        for label, front, x, y in frame.select("label", "frontier", "x", "y").iter_rows()
    ]
    taken = [_Box(x - MARK, y - MARK, x + MARK, y + MARK) for _, _, x, y in at]
    taken += _steps(sorted((x, y) for _, front, x, y in at if front), after=not across.more)
    rows, named = [], set[tuple[int, int]]()
    for label, _, x, y in sorted(at, key=lambda point: not point[1]):
        # Only the first of equal settings is named.
        if (round(x), round(y)) in named:
            continue
        wide = LETTER * len(label)
        right, left = x + MARK + 3, x - MARK - 3 - wide
        places = [(side, y + dy) for dy in DISTANCES for side in (right, left)]
        for begin, middle in places:
            box = _Box(begin, middle - LINE / 2, begin + wide, middle + LINE / 2)
            inside = box.left >= 0 and box.right <= WIDTH and box.low >= 0 and box.high <= HEIGHT
            if inside and not any(map(box.meets, taken)):
                taken.append(box)
                named.add((round(x), round(y)))
                rows.append((label, across.value(begin), up.value(middle)))
                break
    schema = {"label": pl.String, "x": pl.Float64, "y": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _steps(frontier: list[tuple[float, float]], *, after: bool) -> Iterator["_Box"]:
    """Yield the boxes that the line along the frontier covers."""
    for (x, y), (next_x, next_y) in pairwise(frontier):
        level, turn = (y, next_x) if after else (next_y, x)
        low, high = sorted((y, next_y))
        yield _Box(x, level - 1, next_x, level + 1)
        yield _Box(turn - 1, low, turn + 1, high)


class _Box(NamedTuple):
    left: float
    low: float
    right: float
    high: float

    def meets(self, box: "_Box") -> bool:
        return (
            self.left < box.right
            and box.left < self.right
            and self.low < box.high
            and box.low < self.high
        )
