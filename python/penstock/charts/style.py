"""The common style of charts: sizes, colours, legends, time axes."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import ceil, floor, log10

import altair as alt
from altair.utils import schemapi

from penstock.charts import palette

WIDTH = 340
"""Width of the plot in pixels: it fits on a phone, and two or three fit side by side."""

HEIGHT = 210

FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""Fonts with the same widths."""

UNIT = (
    "datum.value < 999.5 ? format(datum.value, '~g') + ' ns' : "
    "datum.value < 999.5e3 ? format(datum.value / 1e3, '~g') + ' µs' : "
    "datum.value < 999.5e6 ? format(datum.value / 1e6, '~g') + ' ms' : "
    "format(datum.value / 1e9, '~g') + ' s'"
)
"""Vega expression that formats nanoseconds with their unit."""


LONG_NAME = 14
"""Most letters of a name for three names to fit in a row of the legend."""


class Look:
    """Colour, dash and shape of each policy, or class of a trace; the same in every chart."""

    def __init__(self, policies: list[str], *, column: str = "policy") -> None:
        """Create the style of `policies`, whose names are in the column `column`."""
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
        """Return the colour of one policy."""
        return palette.POLICIES[self.policies.index(policy) % len(palette.POLICIES)].light

    def lines(self, legend: alt.Legend | None) -> dict[str, alt.Color | alt.StrokeDash]:
        """Return the encoding of lines."""
        legend = None if legend is None else self._fitting(legend)
        return {"color": self.color.legend(legend), "strokeDash": self.dash.legend(legend)}

    def marks(self, legend: alt.Legend) -> dict[str, alt.Color | alt.Shape]:
        """Return the encoding of marks."""
        legend = self._fitting(legend)
        return {"color": self.color.legend(legend), "shape": self.shape.legend(legend)}

    def _fitting(self, legend: alt.Legend) -> alt.Legend:
        """Put fewer names in a row of the legend if some are long."""
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
"""Legend of dashes."""

OF_MARKS = alt.Legend(
    title=None, orient="top", columns=3, labelLimit=150, symbolSize=70, symbolStrokeWidth=0
)
"""Legend of shapes."""


def unchecked() -> AbstractContextManager[None]:
    """Leave out Altair's checks, which take as long as all else; tests check the charts."""
    return schemapi.debug_mode(False)


def time_axis(longest_s: float) -> tuple[int, alt.X]:
    """Return the seconds in the unit of a time axis up to `longest_s`, and the axis of `at`."""
    length, unit = next(
        ((s, unit) for s, unit in ((3600, "h"), (60, "min")) if longest_s >= 2 * s), (1, "s")
    )
    axis = alt.Axis(tickCount=6, format="~r")
    scale = alt.Scale(domain=[0, max(longest_s / length, 1e-9)], nice=False)
    return length, alt.X("at:Q", title=f"time, {unit}", axis=axis, scale=scale)


def span_of(values: list[int] | list[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis for all values, in steps of a tenth of a decade."""
    low, high = max(min(values), 1), max(*values, 1)
    return 10 ** (floor(10 * log10(low)) / 10), 10 ** ((floor(10 * log10(high)) + 1) / 10)


def log_ticks(low: float, high: float) -> list[float]:
    """Return round values between: powers of ten, or multiples by 3, or by 2 and 5, if few."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5)):
        ticks = [f * 10.0**n for n in powers for f in factors if low <= f * 10.0**n <= high]
        if len(ticks) >= 3:
            break
    # A range without a round value has ticks at its ends.
    ticks = ticks or [low, high]
    return ticks[:: ceil(len(ticks) / 6)]


def dressed(chart: alt.LayerChart | alt.VConcatChart) -> alt.LayerChart | alt.VConcatChart:
    """Give a chart the common style, and return it."""
    ink, faint = palette.INK.light, palette.FAINT.light
    # In one piece: each of `configure_axis` and its like copies the whole chart.
    chart.config = alt.Config(
        font=FONT,
        background=palette.GROUND.light,
        padding=4,
        aria=False,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=faint,
            titleColor=faint,
            gridColor=palette.GRID.light,
            domainColor=palette.AXIS.light,
            tickColor=palette.AXIS.light,
            labelFontSize=13,
            titleFontSize=13,
            titleFontWeight="normal",
            labelOverlap="greedy",
        ),
        axisY=alt.AxisConfig(minExtent=62, maxExtent=62),
        legend=alt.LegendConfig(labelColor=ink, labelFontSize=13, rowPadding=3, titleColor=ink),
        title=alt.TitleConfig(color=ink, fontSize=14, anchor="start"),
    )
    return chart
