"""How charts look, all of them: sizes, colours, legends, axes of time."""

from collections.abc import Sequence
from math import ceil, floor, log10

import altair as alt

from penstock.charts import palette

WIDTH = 340
"""Of the plot in pixels: with its axis it fits on a phone, and two or three stand side by side."""

HEIGHT = 210

FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""All have the same widths."""

UNIT = (
    "datum.value < 999.5 ? format(datum.value, '~g') + ' ns' : "
    "datum.value < 999.5e3 ? format(datum.value / 1e3, '~g') + ' µs' : "
    "datum.value < 999.5e6 ? format(datum.value / 1e6, '~g') + ' ms' : "
    "format(datum.value / 1e9, '~g') + ' s'"
)
"""A length of time in nanoseconds, written with its unit."""


LONG_NAME = 14
"""Letters of which three names stand next to one another."""


class Look:
    """How each policy, or class of a trace, is drawn: the same in every chart."""

    def __init__(self, policies: list[str], *, column: str = "policy") -> None:
        """For policies in this order; `of` is the column that names them."""
        self.policies = policies
        numbers = range(len(policies))

        def scale(among: Sequence[str] | Sequence[list[int]]) -> alt.Scale:
            return alt.Scale(domain=policies, range=[among[n % len(among)] for n in numbers])

        self.color = alt.Color(
            f"{column}:N", scale=scale([pair.light for pair in palette.POLICIES])
        )
        self.dash = alt.StrokeDash(f"{column}:N", scale=scale(palette.DASHES))
        self.shape = alt.Shape(f"{column}:N", scale=scale(palette.SHAPES))

    def colour(self, policy: str) -> str:
        """That of one policy."""
        return palette.POLICIES[self.policies.index(policy) % len(palette.POLICIES)].light

    def lines(self, legend: alt.Legend | None) -> dict[str, alt.Color | alt.StrokeDash]:
        """How lines differ."""
        legend = None if legend is None else self._fitting(legend)
        return {"color": self.color.legend(legend), "strokeDash": self.dash.legend(legend)}

    def marks(self, legend: alt.Legend) -> dict[str, alt.Color | alt.Shape]:
        """How marks differ."""
        legend = self._fitting(legend)
        return {"color": self.color.legend(legend), "shape": self.shape.legend(legend)}

    def _fitting(self, legend: alt.Legend) -> alt.Legend:
        """With fewer names next to one another where some are long."""
        if max(map(len, self.policies), default=0) <= LONG_NAME:
            return legend
        fitting = legend.copy()
        fitting.columns, fitting.columnPadding = 2, 24
        return fitting


OF_LINES = alt.Legend(
    title=None,
    orient="top",
    columns=3,
    labelLimit=150,
    symbolType="stroke",
    symbolSize=300,
    symbolStrokeWidth=2,
)
"""What each dash is."""

OF_MARKS = alt.Legend(
    title=None, orient="top", columns=3, labelLimit=150, symbolSize=70, symbolStrokeWidth=0
)
"""What each shape is."""


def time_axis(longest_s: float) -> tuple[int, alt.X]:
    """The axis of the column `at` up to so many seconds, and how many seconds its unit has."""
    length, unit = next(
        ((s, unit) for s, unit in ((3600, "h"), (60, "min")) if longest_s >= 2 * s), (1, "s")
    )
    axis = alt.Axis(tickCount=6, format="~r")
    scale = alt.Scale(domain=[0, max(longest_s / length, 1e-9)], nice=False)
    return length, alt.X("at:Q", title=f"time, {unit}", axis=axis, scale=scale)


def span_of(values: list[int] | list[float]) -> tuple[float, float]:
    """Ends of a logarithmic axis that holds all values: a tenth of a power of ten around them."""
    low, high = max(min(values), 1), max(*values, 1)
    return 10 ** (floor(10 * log10(low)) / 10), 10 ** ((floor(10 * log10(high)) + 1) / 10)


def log_ticks(low: float, high: float) -> list[float]:
    """Round values between: powers of ten, or 1, 2 and 5 of each where there are few."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5)):
        ticks = [f * 10.0**n for n in powers for f in factors if low <= f * 10.0**n <= high]
        if len(ticks) >= 3:
            break
    # A span between two round values has its ends.
    ticks = ticks or [low, high]
    return ticks[:: ceil(len(ticks) / 6)]


def dressed(chart: alt.LayerChart | alt.VConcatChart) -> alt.TopLevelMixin:
    """The same with the look that all charts have."""
    ink, faint = palette.INK.light, palette.FAINT.light
    configured: alt.TopLevelMixin = (
        chart.configure(font=FONT, background=palette.GROUND.light, padding=4, aria=False)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=faint,
            titleColor=faint,
            gridColor=palette.GRID.light,
            domainColor=palette.AXIS.light,
            tickColor=palette.AXIS.light,
            labelFontSize=13,
            titleFontSize=13,
            titleFontWeight="normal",
            labelOverlap="greedy",
        )
        .configure_axisY(minExtent=62, maxExtent=62)
        .configure_legend(labelColor=ink, labelFontSize=13, rowPadding=3, titleColor=ink)
        .configure_title(color=ink, fontSize=14, anchor="start")
    )
    return configured
