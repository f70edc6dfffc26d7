"""The axis of a figure of a class: its title, its unit, and its ticks."""

from math import log
from typing import Any, NamedTuple, Self

import altair as alt
import polars as pl

from penstock.charts.style import UNIT, log_ticks, span_of
from penstock.results.figure import Figure
from penstock.results.rounds import Spread


class FigureAxis(NamedTuple):
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


def scaled(figure: Figure, spread: Spread) -> Spread:
    """Convert to the unit of the axis: nanoseconds, megabytes a second, requests a second."""
    return spread.map(lambda value: value / 1e6) if figure.what == "bw" else spread
