"""The chart `arm` of the position of a disk's arm, with a panel for each policy.

A line follows the arm from cylinder to cylinder, a mark shows the end of each access, and the
background is shaded while the policy held the disk idle although requests were queued. All panels
have the same axes. If there are more accesses than `MOST`, every second is drawn, or every third,
and so on.
"""

from collections.abc import Sequence
from math import ceil

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import dressed, time_axis
from penstock.results import rounds
from penstock.results.json_types import Arm, Comparison

WIDTH = 620
"""Width of a panel in pixels, for an arm that moves about a hundred times a second."""

PANEL = 96
"""Height of the panel of one policy."""

MOST = 1_500
"""Most accesses in a panel: lines of more could not be told apart."""

READ, WRITE, HELD = "read", "write", "held idle, requests queued"

_COLOURS = {READ: palette.POLICIES[0], WRITE: palette.POLICIES[1], HELD: palette.CLASSES[4]}


def arm(comparison: Comparison) -> alt.TopLevelMixin | None:
    """Draw the chart; `None` for devices without an arm."""
    runs = comparison["runs"]
    arms = [
        (label, run["detail"]["arm"])
        for label, run in zip(rounds.labels(runs), runs, strict=True)
        if "arm" in run["detail"]
    ]
    if not arms:
        return None
    begins = min(arm["from_ns"] for _, arm in arms) / 1e9
    ends = max(arm["until_ns"] for _, arm in arms) / 1e9
    length, x = time_axis(ends)
    x = x.scale(alt.Scale(domain=[begins / length, ends / length], nice=False))
    highest = max(
        max(access["start"], access["first"]) for _, arm in arms for access in arm["accesses"]
    )
    y = alt.Y(
        "cylinder:Q",
        title=None,
        # The margins hold the marks at both ends.
        scale=alt.Scale(domain=[-highest / 25, highest * 26 / 25 + 1], nice=False),
        axis=alt.Axis(tickCount=3, labelExpr="format(datum.value, '~s')"),
    )
    panels = []
    for number, (label, disk_arm) in enumerate(arms):
        below = number == len(arms) - 1
        across = x if below else x.title(None).axis(alt.Axis(labels=False, tickCount=6))
        title = alt.TitleParams(label, fontSize=12, fontWeight="normal", offset=2)
        layers = _panel(disk_arm, across, y, 1e9 * length)
        panels.append(alt.LayerChart(layer=layers, width=WIDTH, height=PANEL, title=title))
    return dressed(alt.vconcat(*panels, spacing=6))


def _panel(arm: Arm, x: alt.X, y: alt.Y, unit_ns: float) -> Sequence[alt.Chart]:
    """Make the layers of the panel of one arm, with time in units of `unit_ns`."""
    accesses = arm["accesses"][:: ceil(len(arm["accesses"]) / MOST)]
    way = [
        (at / unit_ns, cylinder)
        for access in accesses
        for at, cylinder in (
            (access["begins_ns"], access["start"]),
            (access["arrives_ns"], access["first"]),
            (access["ends_ns"], access["last"]),
        )
    ]
    marks = [
        (access["ends_ns"] / unit_ns, access["last"], WRITE if access["write"] else READ)
        for access in accesses
    ]
    held = [
        (stretch["from_ns"] / unit_ns, stretch["until_ns"] / unit_ns, HELD)
        for stretch in arm["held"][:: ceil(len(arm["held"]) / MOST) or 1]
    ]
    scale = alt.Scale(domain=list(_COLOURS), range=[pair.light for pair in _COLOURS.values()])
    legend = alt.Legend(title=None, orient="top", symbolType="square", symbolOpacity=1)
    colour = alt.Color("what:N", scale=scale, legend=legend)
    shape = alt.Shape(
        "what:N",
        scale=alt.Scale(domain=list(_COLOURS), range=["circle", "triangle-up", "square"]),
        legend=None,
    )
    number, text = pl.Float64, pl.String
    rests = pl.DataFrame(held, {"at": number, "until": number, "what": text}, orient="row")
    points = pl.DataFrame(marks, {"at": number, "cylinder": number, "what": text}, orient="row")
    line = pl.DataFrame(way, {"at": number, "cylinder": number}, orient="row")
    return (
        alt.Chart(rests)
        .mark_rect(opacity=1, clip=True)
        .encode(x=x, x2=alt.X2("until:Q"), color=colour),
        alt.Chart(line)
        .mark_line(strokeWidth=0.7, clip=True, color=palette.AXIS.light)
        .encode(x=x, y=y, order=alt.Order("at:Q")),
        alt.Chart(points)
        .mark_point(filled=True, size=14, opacity=1, clip=True)
        .encode(x=x, y=y, color=colour, shape=shape),
    )
