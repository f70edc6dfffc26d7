"""The charts of what policies count of themselves: `policy-LABEL`, one for each that counts.

A panel for each counter that had something to count. A total is drawn as what was added in each
window, a level as its value at the window's end; a line for each class, or for each disk, where a
counter has several.
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
"""The name of a line that is the only one."""


def all_of(comparison: Comparison, *, rows: int) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    """The chart of each policy that has counted something, of so many `rows` at most."""
    runs = comparison["runs"]
    for label, run in zip(rounds.labels(runs), runs, strict=True):
        detail = run["detail"]
        panels = dict(_panels(detail))
        if panels:
            yield f"policy-{label}", _chart(detail, panels, rows)


def _panels(detail: Detail) -> Iterator[tuple[str, list[CounterSeries]]]:
    """The lines of each counter that moved, or has a level."""
    by_counter = sorted(detail.get("policy", []), key=lambda series: series["counter"])
    by_name = {
        name: list(lines) for name, lines in groupby(by_counter, lambda series: series["counter"])
    }
    # In the order of the policy, which counts first what matters most.
    for name in dict.fromkeys(series["counter"] for series in detail.get("policy", [])):
        if any(any(series["values"]) for series in by_name[name]):
            yield name, by_name[name]


def _line(series: CounterSeries) -> str:
    """What distinguishes a series from the others of its counter."""
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
    # One for all panels: Vega-Lite joins those of the same scale.
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
    """Of a counter's values: times with their unit, counts in whole numbers."""
    if name.endswith("_ns"):
        return alt.Axis(tickCount=3, labelExpr=UNIT)
    return alt.Axis(tickCount=3, format="~s", tickMinStep=1)


def _title(series: CounterSeries) -> str:
    """What a panel shows, in words."""
    title = series["counter"].removesuffix("_ns").replace("_", " ")
    return f"{title} in each window" if series["kind"] == "total" else title


def _joined(series: CounterSeries, step: int) -> list[int | None]:
    """The values of every `step` windows together: the sum of a total, the last of a level."""
    stretches = [series["values"][at : at + step] for at in range(0, len(series["values"]), step)]
    if series["kind"] == "level":
        return [stretch[-1] for stretch in stretches]
    known = ([value for value in stretch if value is not None] for stretch in stretches)
    return [sum(values) if values else None for values in known]
