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
    by_counter = sorted(detail.get("policy", []), key=lambda one: one["counter"])
    found = {name: list(lines) for name, lines in groupby(by_counter, lambda one: one["counter"])}
    # In the order of the policy, which counts first what matters most.
    for name in dict.fromkeys(one["counter"] for one in detail.get("policy", [])):
        if any(any(one["values"]) for one in found[name]):
            yield name, found[name]


def _line(one: CounterSeries) -> str:
    """What distinguishes a series from the others of its counter."""
    disk = one["disk"]
    return one["of_class"] or (ONE if disk is None else f"disk {disk}")


def _chart(
    detail: Detail, panels: Mapping[str, list[CounterSeries]], rows: int
) -> alt.TopLevelMixin:
    every = sum(len(one["values"]) for lines in panels.values() for one in lines)
    step = ceil(every / rows)
    look = Look(
        list(dict.fromkeys(_line(one) for lines in panels.values() for one in lines)), of="line"
    )
    last = max(len(one["values"]) for lines in panels.values() for one in lines)
    length_s, x = time_axis(detail["window_s"] * (last - 1))
    # One for all panels: Vega-Lite joins those of the same scale.
    named = [name for name in look.policies if name]
    legend = alt.Legend(**{**OF_LINES.to_dict(), "values": named}) if named else None
    drawn = []
    for number, (name, lines) in enumerate(panels.items()):
        points = [
            (_line(one), detail["window_s"] * step * at / length_s, value)
            for one in lines
            for at, value in enumerate(_joined(one, step))
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
    return dressed(alt.vconcat(*(alt.layer(one) for one in drawn), spacing=6))


def _axis(name: str) -> alt.Axis:
    """Of a counter's values: times with their unit, counts in whole numbers."""
    if name.endswith("_ns"):
        return alt.Axis(tickCount=3, labelExpr=UNIT)
    return alt.Axis(tickCount=3, format="~s", tickMinStep=1)


def _title(one: CounterSeries) -> str:
    """What a panel shows, in words."""
    words = one["counter"].removesuffix("_ns").replace("_", " ")
    return f"{words} in each window" if one["kind"] == "total" else words


def _joined(one: CounterSeries, step: int) -> list[int | None]:
    """The values of every `step` windows together: the sum of a total, the last of a level."""
    stretches = [one["values"][at : at + step] for at in range(0, len(one["values"]), step)]
    if one["kind"] == "level":
        return [stretch[-1] for stretch in stretches]
    known = ([value for value in stretch if value is not None] for stretch in stretches)
    return [sum(values) if values else None for values in known]
