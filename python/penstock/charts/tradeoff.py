"""The trade-off chart: a point for each policy or setting, and a line along the frontier.

Points that another beats in both figures are grey. With rounds, a point is the median and thin
lines show the range.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import log
from typing import Any, NamedTuple, Self

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import UNIT, dressed, log_ticks, span_of
from penstock.results.figure import Figure
from penstock.results.rounds import Spread
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
        figures = (*_scaled(candidates.x, point.x), *_scaled(candidates.y, point.y))
        rows.append((point.label, point.on_frontier, *figures))
    columns = ["label", "frontier", "x", "x_low", "x_high", "y", "y_low", "y_high"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    across, up = (
        _Axis.of(candidates.x, frame, "x", WIDTH),
        _Axis.of(candidates.y, frame, "y", HEIGHT),
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
        tooltip=["label:N", "x:Q", "y:Q"],
    )
    names = (
        alt.Chart(_names(frame, across, up))
        .mark_text(align="left", baseline="middle", fontSize=12, color=palette.INK.light)
        .encode(x=x, y=y, text="label:N")
    )
    layers = [
        line,
        ranges.encode(x="x_low:Q", x2="x_high:Q", y=y),
        ranges.encode(x=x, y="y_low:Q", y2="y_high:Q"),
        marks,
        names,
    ]
    return dressed(alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT))


class _Axis(NamedTuple):
    """The axis of a figure."""

    figure: Figure
    low: float
    high: float
    pixels: int

    @classmethod
    def of(cls, figure: Figure, frame: pl.DataFrame, column: str, pixels: int) -> Self:
        """Create an axis for a column with its ranges; that of a throughput begins at 0."""
        values = [value for end in ("low", "high") for value in frame[f"{column}_{end}"].to_list()]
        if figure.is_latency:
            return cls(figure, *span_of(values or [1e6]), pixels)
        return cls(figure, 0.0, 1.08 * max([*values, 1e-9]), pixels)

    @property
    def more(self) -> bool:
        """Whether more is better."""
        return self.figure.kind.more_is_better

    def encoding(self) -> dict[str, Any]:
        """Return its title, scale and ticks."""
        unit = {"bw": ", MB/s", "iops": ", 1/s"}.get(self.figure.what, "")
        better = "more is better" if self.more else "less is better"
        title = f"{self.figure.title}{unit} ({better})"
        domain = [self.low, self.high]
        if not self.figure.is_latency:
            return {"title": title, "scale": alt.Scale(domain=domain, nice=False)}
        return {
            "title": title,
            "scale": alt.Scale(type="log", domain=domain, nice=False),
            "axis": alt.Axis(values=log_ticks(self.low, self.high), labelExpr=UNIT),
        }

    def pixel(self, value: float) -> float:
        """Return the pixel of a value, from the low end."""
        if self.figure.is_latency:
            return self.pixels * log(value / self.low) / log(self.high / self.low)
        return self.pixels * (value - self.low) / (self.high - self.low)

    def value(self, pixel: float) -> float:
        """Return the value at a pixel."""
        share = pixel / self.pixels
        if self.figure.is_latency:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)


def _names(frame: pl.DataFrame, across: _Axis, up: _Axis) -> pl.DataFrame:
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


def _scaled(figure: Figure, spread: Spread) -> Spread:
    """Convert to the unit of the axis: nanoseconds, megabytes a second, requests a second."""
    return spread.map(lambda value: value / 1e6) if figure.what == "bw" else spread
