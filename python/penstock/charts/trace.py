"""Altair charts of a trace: its requests by time, address and size.

- `rate-CLASS`, `addresses-CLASS`, `sizes-CLASS`: charts of one class.
- `mix`, `gaps`, `runs`, `latency`: charts of all classes.

They are drawn from the series that the engine aggregates (`drawn` of `trace_describe`).
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeVar

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import HEIGHT, OF_LINES, UNIT, WIDTH, Look, dressed, log_ticks, span_of
from penstock.text.units import digits

Description = dict[str, Any]
"""Report of the engine on a trace, with its series."""

OPERATIONS = ("reads", "writes", "flushes", "discards")

BYTES = (
    "datum.value < 1024 ? datum.value + ' B' : "
    "datum.value < 1048576 ? format(datum.value / 1024, '~r') + ' KiB' : "
    "datum.value < 1073741824 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "format(datum.value / 1073741824, '~r') + ' GiB'"
)
"""Vega expression that formats bytes with their unit."""

PERCENT = alt.Axis(format="~%")
QUARTERS = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1])

SIDE_BY_SIDE = 4
"""Most charts in a row of the picture of all charts."""


Several = TypeVar("Several", alt.HConcatChart, alt.VConcatChart)


class NamedChart(NamedTuple):
    """A chart with its kind and its class; an empty class stands for all."""

    kind: str
    class_: str
    chart: alt.LayerChart

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"{self.kind}-{self.class_}" if self.class_ else self.kind


def all_of(trace: Description) -> list[NamedChart]:
    """Draw every chart, grouped by kind."""
    return list(_charts(trace))


def picture(trace: Description, titles: Mapping[str, str]) -> alt.TopLevelMixin:
    """Draw all charts in one picture, with the title of their kind; each kind begins a row."""
    drawn = all_of(trace)
    several = [[entry for entry in drawn if entry.kind == kind and entry.class_] for kind in titles]
    rows: list[alt.HConcatChart] = []
    for group in [*several, [entry for entry in drawn if not entry.class_]]:
        for first in range(0, len(group), SIDE_BY_SIDE):
            charts = [_titled(entry, titles) for entry in group[first : first + SIDE_BY_SIDE]]
            rows.append(_apart(alt.hconcat(*charts, spacing=30)))
    return dressed(_apart(alt.vconcat(*rows, spacing=30)))


def _titled(entry: NamedChart, titles: Mapping[str, str]) -> alt.LayerChart:
    title = titles[entry.kind]
    titled: alt.LayerChart = entry.chart.properties(
        title=f"{title}: {entry.class_}" if entry.class_ else title
    )
    return titled


def _apart(charts: Several) -> Several:
    """Give each chart its own colours and legend."""
    separate: Several = charts.resolve_scale(
        color="independent", opacity="independent", strokeDash="independent"
    )
    return separate


def _charts(trace: Description) -> Iterator[NamedChart]:
    classes = trace["classes"]
    for kind, draw in (("rate", _rate), ("addresses", _addresses), ("sizes", _sizes)):
        for class_ in classes:
            if kind == "rate" or class_["series"]["size_bytes"]:
                yield NamedChart(kind, class_["name"], draw(trace, class_))
    look = Look([class_["name"] for class_ in classes], column="class")
    yield NamedChart("mix", "", _mix(classes))
    if any(class_["series"]["gap_ns"] for class_ in classes):
        yield NamedChart("gaps", "", _gaps(look, classes))
    if any(class_["series"]["run_requests"] for class_ in classes):
        yield NamedChart("runs", "", _runs(look, classes))
    if any(class_["series"]["latency_ns"] for class_ in classes):
        yield NamedChart("latency", "", _latency(look, classes))


def _operations() -> alt.Color:
    colours = [palette.POLICIES[n].light for n in range(len(OPERATIONS))]
    return alt.Color(
        "operation:N",
        sort=None,
        scale=alt.Scale(domain=list(OPERATIONS), range=colours),
        legend=alt.Legend(title=None, orient="top", columns=4, symbolType="square"),
    )


def _time(trace: Description) -> alt.X:
    end = max(trace["duration_s"], 1e-9)
    scale = alt.Scale(domain=[0, end], nice=False)
    return alt.X("at:Q", title="time, s", scale=scale, axis=alt.Axis(tickCount=6, format="~r"))


def _rate(trace: Description, class_: Description) -> alt.LayerChart:
    """Draw the requests a second of each operation in each window, stacked."""
    window_s = trace["frame"]["window_s"]
    rows = []
    for window, *counts in class_["series"]["arrivals"]:
        ends = list(accumulate(counts))
        for operation, count, end in zip(OPERATIONS, counts, ends, strict=True):
            if count:
                at = (window * window_s, (window + 1) * window_s)
                rates = ((end - count) / window_s, end / window_s)
                rows.append((operation, *at, *rates))
    columns = {"operation": pl.String} | dict.fromkeys(("at", "until", "from", "to"), pl.Float64)
    bars = (
        alt.Chart(pl.DataFrame(rows, schema=columns, orient="row"))
        .mark_rect(clip=True)
        .encode(
            x=_time(trace),
            x2=alt.X2("until:Q"),
            y=alt.Y("from:Q", title="requests a second", axis=alt.Axis(tickCount=5)),
            y2=alt.Y2("to:Q"),
            color=_operations(),
        )
    )
    return alt.LayerChart(layer=[bars], width=WIDTH, height=HEIGHT)


def _addresses(trace: Description, class_: Description) -> alt.LayerChart:
    """Draw the number of requests by time and address, darker for more, on a log scale."""
    window_s, bands = trace["frame"]["window_s"], trace["frame"]["band_bytes"]
    places = class_["series"]["places"]
    rows = [
        (window * window_s, (window + 1) * window_s, band, band + 1, n)
        for window, band, n in places
    ]
    columns = {"at": pl.Float64, "until": pl.Float64, "from": pl.Int64, "to": pl.Int64}
    cells = pl.DataFrame(rows, schema=columns | {"requests": pl.Int64}, orient="row")
    # Bands are not evenly spaced, so each label has the address at which its band begins.
    step = -(-len(bands) // 8)
    labels = [_address(begins) for begins in bands[::step]]
    label_expr = f"{labels}[datum.value / {step}]"
    y = alt.Y(
        "from:Q",
        title="address, only what is used",
        scale=alt.Scale(domain=[0, len(bands)], nice=False),
        axis=alt.Axis(values=list(range(0, len(bands), step)), labelExpr=label_expr),
    )
    opacity = alt.Opacity(
        "requests:Q",
        scale=alt.Scale(type="log", domain=[1, max(2, *(n for *_, n in places))], range=[0.25, 1]),
        legend=alt.Legend(title=None, orient="top", tickCount=4, format="~s", symbolType="square"),
    )
    rects = (
        alt.Chart(cells)
        .mark_rect(color=palette.POLICIES[0].light, clip=True)
        .encode(x=_time(trace), x2=alt.X2("until:Q"), y=y, y2=alt.Y2("to:Q"), opacity=opacity)
    )
    return alt.LayerChart(layer=[rects], width=WIDTH, height=HEIGHT)


def _address(begins: int) -> str:
    """Format an address to three digits."""
    for unit, length in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if begins >= length:
            return f"{digits(begins / length)} {unit}"
    return f"{begins} B"


def _sizes(_: Description, class_: Description) -> alt.LayerChart:
    """Draw the shares of the requests with data, by size in half octaves."""
    buckets = class_["series"]["size_bytes"]
    total = sum(sum(counts) for _, *counts in buckets)
    rows = []
    for begins, *counts in buckets:
        ends = list(accumulate(counts))
        for operation, count, end in zip(OPERATIONS, counts, ends, strict=True):
            if count:
                until = begins * (1.5 if begins & (begins - 1) == 0 else 4 / 3)
                rows.append((operation, begins, until, (end - count) / total, end / total))
    columns = {"operation": pl.String} | dict.fromkeys(("at", "until", "from", "to"), pl.Float64)
    low, high = min(row[1] for row in rows), max(row[2] for row in rows)
    ticks = [1 << n for n in range(63) if low / 1.01 <= 1 << n <= high]
    bars = (
        alt.Chart(pl.DataFrame(rows, schema=columns, orient="row"))
        .mark_rect(stroke=palette.GROUND.light, strokeWidth=1)
        .encode(
            x=alt.X(
                "at:Q",
                title="size, half octaves",
                scale=alt.Scale(type="log", base=2, domain=[low, high], nice=False),
                axis=alt.Axis(values=ticks[:: -(-len(ticks) // 6)], labelExpr=BYTES, grid=False),
            ),
            x2=alt.X2("until:Q"),
            y=alt.Y("from:Q", title="share of the requests", axis=PERCENT),
            y2=alt.Y2("to:Q"),
            color=_operations(),
        )
    )
    return alt.LayerChart(layer=[bars], width=WIDTH, height=HEIGHT)


def _mix(classes: list[Description]) -> alt.LayerChart:
    """Draw a bar for each class, divided among the operations by their requests."""
    rows = []
    for class_ in classes:
        flushes = {"flushes": {"requests": class_["flushes"]}}
        so_far = 0.0
        for operation in OPERATIONS:
            count = (class_ | flushes)[operation]["requests"]
            share = count / class_["requests"] if class_["requests"] else 0.0
            rows.append((class_["name"], operation, so_far, so_far + share))
            so_far += share
    columns = {"class": pl.String, "operation": pl.String, "from": pl.Float64, "to": pl.Float64}
    side = alt.Axis(domain=False, ticks=False, labelLimit=97)
    bars = (
        alt.Chart(pl.DataFrame(rows, schema=columns, orient="row"))
        .mark_bar(stroke=palette.GROUND.light, strokeWidth=1)
        .encode(
            y=alt.Y("class:N", title=None, sort=None, axis=side),
            x=alt.X("from:Q", title="share of the requests", axis=QUARTERS),
            x2=alt.X2("to:Q"),
            color=_operations(),
        )
    )
    return alt.LayerChart(layer=[bars], width=WIDTH, height=max(44 * len(classes), 60))


def _gaps(look: Look, classes: list[Description]) -> alt.LayerChart:
    """Draw the share of the gaps up to each length."""
    buckets = {class_["name"]: class_["series"]["gap_ns"] for class_ in classes}
    return _up_to(look, buckets, "gap to the request before", "share of the gaps")


def _latency(look: Look, classes: list[Description]) -> alt.LayerChart:
    """Draw the share of the requests up to each recorded latency."""
    buckets = {
        class_["name"]: [(at, sum(counts)) for at, *counts in class_["series"]["latency_ns"]]
        for class_ in classes
    }
    return _up_to(look, buckets, "recorded latency", "share of the requests")


def _up_to(
    look: Look, buckets: Mapping[str, list[tuple[int, int]]], title: str, share: str
) -> alt.LayerChart:
    """Draw a line for each class: the share at or below each time in nanoseconds."""
    rows: list[tuple[str, float, float]] = []
    # A trace has a time resolution, so 0 is drawn at the shortest other time.
    known = [at for pairs in buckets.values() for at, _ in pairs if at]
    low, high = span_of([min(known, default=1), 2 * max(known, default=1)])
    for name, pairs in buckets.items():
        total = sum(count for _, count in pairs)
        if not total:
            continue
        so_far = 0
        rows.append((name, low, 0.0))
        for at, count in pairs:
            so_far += count
            # A bucket extends to the beginning of the next.
            until = at * (1.5 if at & (at - 1) == 0 else 4 / 3)
            rows.append((name, max(until, low), so_far / total))
        rows.append((name, high, 1.0))
    columns = {"class": pl.String, "ns": pl.Float64, "share": pl.Float64}
    axis = alt.Axis(values=log_ticks(low, high), labelExpr=UNIT)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    x = alt.X("ns:Q", title=title, scale=scale, axis=axis)
    y = alt.Y("share:Q", title=f"{share} up to it", scale=alt.Scale(domain=[0, 1]), axis=PERCENT)
    return _lines(look, pl.DataFrame(rows, schema=columns, orient="row"), x, y, "linear")


def _runs(look: Look, classes: list[Description]) -> alt.LayerChart:
    """Draw the share of the requests in sequential runs of at least each length."""
    rows: list[tuple[str, float, float]] = []
    longest = 2
    for class_ in classes:
        pairs = class_["series"]["run_requests"]
        total = left = sum(count for _, count in pairs)
        for begins, count in pairs:
            rows.append((class_["name"], begins, left / total))
            left -= count
            longest = max(longest, 2 * begins)
        if pairs:
            rows.append((class_["name"], 2 * pairs[-1][0], 0.0))
    columns = {"class": pl.String, "requests": pl.Float64, "share": pl.Float64}
    ticks = [1 << n for n in range(40) if 1 << n <= longest]
    scale = alt.Scale(type="log", base=2, domain=[1, longest], nice=False)
    axis = alt.Axis(values=ticks[:: -(-len(ticks) // 8)], format="~s")
    x = alt.X("requests:Q", title="requests in a sequential run, at least", scale=scale, axis=axis)
    y = alt.Y(
        "share:Q", title="share of the requests", scale=alt.Scale(domain=[0, 1]), axis=PERCENT
    )
    return _lines(look, pl.DataFrame(rows, schema=columns, orient="row"), x, y, "step-after")


def _lines(
    look: Look, values: pl.DataFrame, x: alt.X, y: alt.Y, between: Literal["linear", "step-after"]
) -> alt.LayerChart:
    lines = (
        alt.Chart(values)
        .mark_line(strokeWidth=1.8, clip=True, interpolate=between)
        .encode(x=x, y=y, **look.lines(OF_LINES))
    )
    return alt.LayerChart(layer=[lines], width=WIDTH, height=HEIGHT)
