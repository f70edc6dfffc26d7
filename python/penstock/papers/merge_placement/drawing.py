"""How the pictures of the merge-placement paper are drawn."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import HEIGHT, OF_LINES, OF_MARKS, WIDTH, Look, dressed

Points: TypeAlias = Sequence[tuple[str, float, float, float]]
"""Of each the name of its series, where it is, what it is, and how far that differs."""

COLUMNS = ("series", "x", "y", "spread")


class Panel(NamedTuple):
    """A plot of some series."""

    points: Points
    x: alt.X
    y: alt.Y
    title: str = ""
    across: Sequence[tuple[str, float]] = ()
    """A value of a series that is drawn as a dashed line over the whole width."""
    rule: alt.Chart | None = None
    """A line that belongs to no series."""
    curves: Points = ()
    """Lines in the place of those from point to point."""


def marked(panels: Sequence[Panel], height: int = HEIGHT) -> alt.TopLevelMixin:
    """Lines with marks, and with the spread of each."""
    return _together(panels, height, with_marks=True)


def lines(panels: Sequence[Panel], height: int = HEIGHT) -> alt.TopLevelMixin:
    """Lines alone, for courses of many points."""
    return _together(panels, height, with_marks=False)


def _together(panels: Sequence[Panel], height: int, *, with_marks: bool) -> alt.TopLevelMixin:
    names = dict.fromkeys(name for panel in panels for name, *_ in panel.points)
    look = Look(list(names), column="series")
    charts = [_panel(panel, look, height, with_marks=with_marks) for panel in panels]
    return dressed(charts[0] if len(charts) == 1 else alt.VConcatChart(vconcat=charts))


def _panel(panel: Panel, look: Look, height: int, *, with_marks: bool) -> alt.LayerChart:
    frame = pl.DataFrame(panel.points, schema=COLUMNS, orient="row").with_columns(
        low=pl.col("y") - pl.col("spread"), high=pl.col("y") + pl.col("spread")
    )
    base = alt.Chart(frame).encode(x=panel.x, y=panel.y)
    curves = base
    if panel.curves:
        dense = pl.DataFrame(panel.curves, schema=COLUMNS, orient="row")
        curves = alt.Chart(dense).encode(x=panel.x, y=panel.y)
    layers: list[Any] = [] if panel.rule is None else [panel.rule]
    if with_marks:
        marks = look.marks(OF_MARKS)
        layers.append(curves.mark_line(strokeWidth=1.5).encode(color=marks["color"]))
        if any(spread for *_, spread in panel.points):
            layers.append(
                base.mark_rule(strokeWidth=1.2).encode(
                    y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=marks["color"]
                )
            )
        layers.append(base.mark_point(filled=True, size=40, opacity=1).encode(**marks))
    else:
        layers.append(base.mark_line(strokeWidth=1.5).encode(**look.lines(OF_LINES)))
    if panel.across:
        every = pl.DataFrame(panel.across, schema=["series", "y"], orient="row")
        dashed = alt.Chart(every).mark_rule(strokeWidth=1.2, strokeDash=[5, 3])
        layers.append(dashed.encode(y=alt.Y("y:Q"), color=look.color.legend(None)))
    title = alt.TitleParams(panel.title) if panel.title else alt.Undefined
    return alt.LayerChart(layer=layers, width=WIDTH, height=height, title=title)


def upright(at: float) -> alt.Chart:
    """A line at a value of the horizontal axis."""
    return _rule(pl.DataFrame({"x": [at]}), x=alt.X("x:Q"))


def level(at: float) -> alt.Chart:
    """A line at a value of the vertical axis."""
    return _rule(pl.DataFrame({"y": [at]}), y=alt.Y("y:Q"))


def _rule(frame: pl.DataFrame, **encoding: Any) -> alt.Chart:  # noqa: ANN401 - a channel of any kind
    rule: alt.Chart = alt.Chart(frame).mark_rule(strokeWidth=1.2, color=palette.INK.light)
    return rule.encode(**encoding)


def axis_x(
    title: str, *, ticks: Sequence[float] = (), log: bool = False, until: float | None = None
) -> alt.X:
    """The horizontal axis."""
    axis = alt.Axis(values=list(ticks), format="~r") if ticks else alt.Axis(tickCount=6)
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(nice=False, zero=False)
    if until is not None:
        scale = alt.Scale(domain=[0, until], nice=False)
    return alt.X("x:Q", title=title, axis=axis, scale=scale)


def axis_y(title: str, *, zero: bool = True, ends: Sequence[float] = ()) -> alt.Y:
    """The vertical axis."""
    scale = alt.Scale(domain=list(ends), nice=False) if ends else alt.Scale(zero=zero)
    return alt.Y("y:Q", title=title, scale=scale)


class Area(NamedTuple):
    """Blocks that lie on a disk next to one another."""

    of: str
    disk: str
    begins: int
    ends: int


def disks(panels: Sequence[tuple[str, Sequence[Area]]], kinds: Sequence[str]) -> alt.TopLevelMixin:
    """Draws the areas on each disk, in titled panels; each job has a colour, light and dark."""
    count = (len(kinds) + 1) // 2
    pairs = zip(palette.CLASSES * count, palette.POLICIES * count, strict=True)
    colours = [colour.light for pair in pairs for colour in pair][: len(kinds)]
    legend = alt.Legend(title=None, orient="top", columns=2, symbolType="square")
    color = alt.Color(
        "of:N", sort=list(kinds), scale=alt.Scale(domain=list(kinds), range=colours), legend=legend
    )
    charts, most = [], max(area.ends for _, areas in panels for area in areas)
    for title, areas in panels:
        frame = pl.DataFrame(areas, schema=["of", "disk", "begins", "ends"], orient="row")
        bars = alt.Chart(frame).mark_bar(stroke=palette.GROUND.light, strokeWidth=0.6)
        x = alt.X("disk:N", title="disk", axis=alt.Axis(labelAngle=0))
        y = alt.Y("begins:Q", title="blocks", scale=alt.Scale(domain=[0, most]))
        bars = bars.encode(x=x, y=y, y2=alt.Y2("ends:Q"), color=color)
        charts.append(alt.LayerChart(layer=[bars], width=WIDTH, height=HEIGHT // 2, title=title))
    return dressed(alt.VConcatChart(vconcat=charts))
