"""The charts `policy-LABEL` of the counters of policies over time.

A chart has a panel for each counter that changed. A total is drawn as its increase in each window,
a level as its value at the window's end, with a line for each class or disk of the counter.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from math import ceil

import altair as alt
import polars as pl

from penstock.charts.style import OF_LINES, UNIT, WIDTH, Look, dressed, time_axis
from penstock.results import rounds
from penstock.results.json_types import Comparison, CounterSeries, Detail

PANEL = 64
"""Height of the panel of one counter."""

ONE = ""
"""Name of the only line of a counter."""


def all_of(comparison: Comparison, *, rows: int) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    """Yield the chart of each policy with counters, with at most `rows` rows."""
    runs = comparison["runs"]
    for label, run in zip(rounds.labels(runs), runs, strict=True):
        detail = run["detail"]
        panels = dict(_panels(detail))
        if panels:
            yield f"policy-{label}", _chart(detail, panels, rows)


def _panels(detail: Detail) -> Iterator[tuple[str, list[CounterSeries]]]:
    """Yield the lines of each counter with a value other than zero."""
    by_counter = sorted(detail.get("policy", []), key=lambda series: series["counter"])
    by_name = {
        name: list(lines) for name, lines in groupby(by_counter, lambda series: series["counter"])
    }
    # In the order of the policy, which puts the most important counters first.
    for name in dict.fromkeys(series["counter"] for series in detail.get("policy", [])):
        if any(any(series["values"]) for series in by_name[name]):
            yield name, by_name[name]


def _line(series: CounterSeries) -> str:
    """Return the class or disk of a series, which identifies it within its counter."""
    disk = series["disk"]
    return series["of_class"] or (ONE if disk is None else f"disk {disk}")


def _chart(
    detail: Detail, panels: Mapping[str, list[CounterSeries]], rows: int
) -> alt.TopLevelMixin:
    every = sum(len(series["values"]) for lines in panels.values() for series in lines)
    step = ceil(every / rows)
    look = Look(
        list(dict.fromkeys(_line(series) for lines in panels.values() for series in lines)),
        column="line",
    )
    last = max(len(series["values"]) for lines in panels.values() for series in lines)
    length_s, x = time_axis(detail["window_s"] * (last - 1))
    # One legend for all panels: Vega-Lite joins those with the same scale.
    named = [name for name in look.policies if name]
    legend = alt.Legend(**{**OF_LINES.to_dict(), "values": named}) if named else None
    drawn = []
    for number, (name, lines) in enumerate(panels.items()):
        points = [
            (_line(series), detail["window_s"] * step * at / length_s, value)
            for series in lines
            for at, value in enumerate(_joined(series, step))
        ]
        schema = {"line": pl.String, "at": pl.Float64, "value": pl.Float64}
        below = number == len(panels) - 1
        drawn.append(
            alt.Chart(pl.DataFrame(points, schema=schema, orient="row"), width=WIDTH, height=PANEL)
            .mark_line(strokeWidth=1.5, clip=True, invalid="break-paths-show-domains")
            .encode(
                x=x if below else x.title(None).axis(alt.Axis(labels=False, tickCount=6)),
                y=alt.Y("value:Q", title=None, axis=_axis(name)),
                **look.lines(legend),
            )
            .properties(title=alt.TitleParams(_title(lines[0]), fontSize=12, offset=2))
        )
    return dressed(alt.vconcat(*(alt.layer(panel) for panel in drawn), spacing=6))


def _axis(name: str) -> alt.Axis:
    """Make the axis of a counter: times with their unit, counts in whole numbers."""
    if name.endswith("_ns"):
        return alt.Axis(tickCount=3, labelExpr=UNIT)
    return alt.Axis(tickCount=3, format="~s", tickMinStep=1)


def _title(series: CounterSeries) -> str:
    """Return the title of a panel."""
    title = series["counter"].removesuffix("_ns").replace("_", " ")
    return f"{title} in each window" if series["kind"] == "total" else title


def _joined(series: CounterSeries, step: int) -> list[int | None]:
    """Join every `step` windows: the sum of a total, the last value of a level."""
    stretches = [series["values"][at : at + step] for at in range(0, len(series["values"]), step)]
    if series["kind"] == "level":
        return [stretch[-1] for stretch in stretches]
    known = ([value for value in stretch if value is not None] for stretch in stretches)
    return [sum(values) if values else None for values in known]
