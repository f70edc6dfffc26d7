"""Altair charts of a comparison, for each question and class.

- `tradeoff`: the gain of one class against the loss of another, a point for each policy.
- `latency-CLASS`: the share of requests above each latency. Both axes are logarithmic, so that one
  chart shows the median and the slowest thousandth.
- `percentiles-CLASS`, `throughput-CLASS`, `queue-CLASS`: time series. If there are more than three
  policies, each has its own panel. The queue of a closed loop with a constant number of requests is
  not drawn.
- `share-CLASS`: the share of a class over time, next to the share that its weight promises, if
  weights matter.
- `shares`: the share of each class in the device's busy time.
- `arm`: the position of a disk's arm in a part of the run.
- `policy-LABEL`: the counters of a policy over time, if it has any.
- `rounds-CLASS`: the p99 of each round, if there are rounds. The other charts then show the median
  round of each policy.

A chart has at most 5,000 rows. If windows must be joined for that, throughput and queues are
averaged and the worst percentile is taken: percentiles are never averaged.
"""

from collections.abc import Iterator, Mapping
from math import ceil, floor, log10

import altair as alt
import polars as pl

from penstock.charts import arm, palette, tradeoff
from penstock.charts import policy as policy_charts
from penstock.charts import rounds as rounds_chart
from penstock.charts.style import (
    HEIGHT,
    OF_LINES,
    OF_MARKS,
    UNIT,
    WIDTH,
    Look,
    dressed,
    log_ticks,
    span_of,
    time_axis,
    unchecked,
)
from penstock.results import frames, rounds
from penstock.results.json_types import Class, Comparison
from penstock.results.shares import at_stake
from penstock.results.tradeoff import weigh

TOGETHER = 3
"""Most policies in one panel: more lines cannot be told apart."""

PANEL = 56
"""Height of the panel of one policy."""

CONSTANT = 0.01
"""A queue is constant if its median is within this share of its greatest."""

ROWS = 5_000
"""Most rows of a chart: more take long to draw, and show no more."""

WIDTH_BARS = 300
"""Width of bars in pixels, next to the names."""

LETTER = 5.6
"""Width of a letter on a bar in pixels."""

RAREST = 1e-5
"""Smallest share of requests that is drawn."""

STEP = 1 / 250
"""Least distance of the points of a curve, as a share of the chart; nearer points are joined."""

MARKED = (50.0, 95.0, 99.0, 99.9)
"""Percentiles that are marked on a curve."""


def all_of(comparison: Comparison) -> Mapping[str, alt.TopLevelMixin]:
    """Draw every chart, by its name."""
    with unchecked():
        return dict(_charts(comparison))


def _charts(comparison: Comparison) -> Iterator[tuple[str, alt.TopLevelMixin]]:
    if not comparison["runs"]:
        return
    if (weighed := weigh(comparison)) is not None:
        yield "tradeoff", tradeoff.tradeoff(weighed)
    if rounds.repeated(comparison):
        for name in rounds.class_names(comparison["runs"]):
            yield f"rounds-{name}", rounds_chart.p99(rounds.by_policy(comparison), name)
    comparison = rounds.middle(comparison)
    runs = comparison["runs"]
    look = Look(rounds.labels(runs))
    courses = frames.series(comparison)
    spreads = frames.distribution(comparison).filter(pl.col("measure") == "lat_ns")
    spans = _latency_span(comparison)
    names = rounds.class_names(runs)
    for name in names:
        marks = _marks(comparison, name)
        yield (
            f"latency-{name}",
            latency(look, spreads.filter(pl.col("class") == name), marks, spans),
        )
    for kind, draw in (("percentiles", percentiles), ("throughput", throughput), ("queue", queue)):
        for name in names:
            course = courses.filter(pl.col("class") == name)
            if kind != "queue" or not _constant(comparison, name, course):
                yield f"{kind}-{name}", draw(look, course)
    if at_stake(comparison):
        for name in names:
            yield f"share-{name}", share(look, courses, name, _ideal(comparison, name))
    yield "shares", shares(comparison)
    if (drawn := arm.arm(comparison)) is not None:
        yield "arm", drawn
    yield from policy_charts.all_of(comparison, rows=ROWS)


def latency(
    look: Look, spread: pl.DataFrame, marks: pl.DataFrame, span: tuple[float, float]
) -> alt.TopLevelMixin:
    """Draw the share of requests above each latency, with marks at the table's percentiles."""
    rarest = max(_rarest(spread), RAREST)
    curves = _curves(look, spread, span, rarest)
    ticks = [1.0, 0.5, *(10.0**-n for n in range(1, floor(-log10(rarest)) + 1))]
    x = alt.X(
        "latency_ns:Q",
        title="latency",
        scale=alt.Scale(type="log", domain=list(span), nice=False),
        axis=alt.Axis(values=log_ticks(*span), labelExpr=UNIT),
    )
    y = alt.Y(
        "slower:Q",
        title="requests that were faster",
        scale=alt.Scale(type="log", domain=[1, rarest], nice=False, reverse=False),
        axis=alt.Axis(values=ticks, labelExpr="format(100 - 100 * datum.value, '~r') + ' %'"),
    )
    lines = (
        alt.Chart(curves)
        .mark_line(interpolate="step-after", clip=True, strokeWidth=1.8)
        .encode(x=x, y=y, **look.lines(OF_MARKS))
    )
    points = (
        alt.Chart(marks.filter(pl.col("slower") >= rarest))
        .mark_point(filled=True, size=55, opacity=1)
        .encode(
            x=x,
            y=y,
            **look.marks(OF_MARKS),
            tooltip=[
                alt.Tooltip("policy:N"),
                alt.Tooltip("percentile:Q"),
                alt.Tooltip("latency_ns:Q"),
            ],
        )
    )
    return dressed(alt.LayerChart(layer=[lines, points], width=WIDTH, height=HEIGHT))


def _constant(comparison: Comparison, name: str, course: pl.DataFrame) -> bool:
    """Return whether a class is a closed loop with a mostly constant queue."""
    classes = [
        class_ for run in comparison["runs"] for class_ in run["classes"] if class_["name"] == name
    ]
    if any(class_["open_loop"] for class_ in classes):
        return False
    queues = course.group_by("policy").agg(
        pl.col("outstanding").median().alias("usual"), pl.col("outstanding").max().alias("most")
    )
    return bool((queues["usual"] >= (1 - CONSTANT) * queues["most"]).all())


def percentiles(look: Look, course: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the median and the 99th percentile of each window."""
    course, x = _joined(_whole(course), rows_each=2)
    known = [ns for name in ("p50_ns", "p99_ns") for ns in course[name].drop_nulls().to_list()]
    span = span_of(known or [1e6])
    if len(look.policies) > TOGETHER:
        y = alt.Y(
            "p99_ns:Q",
            title=None,
            scale=alt.Scale(type="log", domain=list(span), nice=False),
            axis=alt.Axis(values=log_ticks(*span)[::2], labelExpr=UNIT),
        )
        values = course.select(
            "policy", "at", "run", pl.col("p50_ns").clip(1), pl.col("p99_ns").clip(1)
        )
        return dressed(_panels(look, values, x, y, below="p50_ns"))
    panels = []
    for name, title in (("p99_ns", "p99"), ("p50_ns", "p50")):
        y = alt.Y(
            "ns:Q",
            title=title,
            scale=alt.Scale(type="log", domain=list(span), nice=False),
            axis=alt.Axis(values=log_ticks(*span), labelExpr=UNIT),
        )
        values = course.select("policy", "at", "run", pl.col(name).clip(1).alias("ns"))
        panels.append(_lines(look, values, x if name == "p50_ns" else x.title(None), y, 120))
    return dressed(alt.vconcat(*panels, spacing=8))


def throughput(look: Look, course: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the megabytes a second of each window."""
    course, x = _joined(course, rows_each=1)
    values = course.with_columns(pl.col("bw_bytes") / 1e6).rename({"bw_bytes": "mb_s"})
    y = alt.Y("mb_s:Q", title="MB/s", scale=alt.Scale(zero=True))
    return dressed(_course(look, values.select("policy", "at", "run", "mb_s"), x, y))


def queue(look: Look, course: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the mean number of outstanding requests of each window."""
    course, x = _joined(course, rows_each=1)
    y = alt.Y("outstanding:Q", title="requests outstanding", scale=alt.Scale(zero=True))
    values = course.select("policy", "at", "run", "outstanding")
    return dressed(_course(look, values, x, y))


def share(look: Look, courses: pl.DataFrame, name: str, ideal: float | None) -> alt.TopLevelMixin:
    """Draw the share of a class in each window, with a line at `ideal`."""
    used = pl.col("device_time_s")
    course = courses.with_columns(
        percent=100 * used / used.sum().over("policy", "round", "at_s"),
    ).filter(pl.col("class") == name, pl.col("percent").is_not_nan())
    course, x = _joined(course, rows_each=1)
    y = alt.Y(
        "percent:Q", title="share of the device's busy time, %", scale=alt.Scale(domain=[0, 100])
    )
    values = course.select("policy", "at", "run", "percent")
    drawn = _course(look, values, x, y)
    if ideal is not None and isinstance(drawn, alt.LayerChart):
        promised = alt.Chart(pl.DataFrame({"ideal": [100 * ideal]}))
        rule = promised.mark_rule(strokeDash=[4, 4], color=palette.INK.light)
        layers = [*drawn.layer, rule.encode(y=alt.Y("ideal:Q"))]
        drawn = alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)
    return dressed(drawn)


def _ideal(comparison: Comparison, name: str) -> float | None:
    """Return the least share that its weight promised a class: that with most classes present."""
    known = [
        class_["ideal_share"]
        for run in comparison["runs"]
        for class_ in run["classes"]
        if class_["name"] == name and class_["ideal_share"] is not None
    ]
    return min(known, default=None)


def shares(comparison: Comparison) -> alt.TopLevelMixin:
    """Draw a bar for each policy, divided among the classes, with labelled parts."""
    runs = comparison["runs"]
    names = rounds.class_names(runs)
    rows = []
    for label, run in zip(rounds.labels(runs), runs, strict=True):
        so_far = 0.0
        for number, class_ in enumerate(run["classes"]):
            share = 100 * class_["share"]
            rows.append((label, class_["name"], number, share, so_far, so_far + share))
            so_far += share
    columns = ["policy", "class", "number", "percent", "begins", "ends"]
    frame = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        middle=(pl.col("begins") + pl.col("ends")) / 2,
        label=pl.format("{} %", pl.col("percent").round(1)),
    )
    letters = pl.max_horizontal(pl.col("class").str.len_chars(), pl.col("label").str.len_chars())
    room = pl.col("percent") * WIDTH_BARS / 100 / LETTER
    frame = frame.with_columns(
        named=room > letters, label_fits=room > pl.col("label").str.len_chars()
    )
    frame = frame.with_columns(alone=pl.col("label_fits") & ~pl.col("named")).drop("label_fits")
    colours = [palette.CLASSES[n % len(palette.CLASSES)].light for n in range(len(names))]
    side = alt.Axis(domain=False, ticks=False, minExtent=100, maxExtent=100, labelLimit=97)
    y = alt.Y("policy:N", title=None, sort=None, axis=side)
    x = alt.X(
        "begins:Q",
        title="share of the device's busy time, %",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 20, 40, 60, 80, 100]),
    )
    base = alt.Chart(frame)
    bars = base.mark_bar(stroke=palette.GROUND.light, strokeWidth=2).encode(
        x=x,
        x2=alt.X2("ends:Q"),
        y=y,
        color=alt.Color(
            "class:N",
            sort=None,
            scale=alt.Scale(domain=names, range=colours),
            legend=alt.Legend(title=None, orient="top", columns=4, symbolType="square"),
        ),
        tooltip=[alt.Tooltip("policy:N"), alt.Tooltip("class:N"), alt.Tooltip("percent:Q")],
    )

    # A label that does not fit on its part is in the legend and in the table.
    def words(column: str, which: str, dy: int) -> alt.Chart:
        text: alt.Chart = base.transform_filter(which).mark_text(
            color=palette.INSIDE.light, fontSize=11, dy=dy
        )
        return text.encode(x=alt.X("middle:Q"), y=y, text=alt.Text(f"{column}:N"))

    named = words("class", "datum.named", -6)
    below = words("label", "datum.named", 7)
    alone = words("label", "datum.alone", 0)
    return dressed(
        alt.LayerChart(layer=[bars, named, below, alone], width=WIDTH_BARS, height=44 * len(runs))
    )


def _course(
    look: Look, values: pl.DataFrame, x: alt.X, y: alt.Y
) -> alt.LayerChart | alt.VConcatChart:
    """Draw all policies in one panel if they are few, else each in its own."""
    if len(look.policies) <= TOGETHER:
        return _lines(look, values, x, y, HEIGHT)
    most = max([*values[values.columns[-1]].drop_nulls().to_list(), 1e-9])
    scale = alt.Scale(domain=[0, 1.05 * most], nice=False)
    return _panels(look, values, x, y.scale(scale).title(None).axis(alt.Axis(tickCount=3)))


def _panels(
    look: Look, values: pl.DataFrame, x: alt.X, y: alt.Y, *, below: str | None = None
) -> alt.VConcatChart:
    """Draw a panel for each policy, all on one scale, with a band down to the column `below`."""
    panels: list[alt.LayerChart] = []
    measure = values.columns[-1]
    policies = [policy for policy in look.policies if policy in set(values["policy"])]
    for number, policy in enumerate(policies):
        of_policy = values.filter(pl.col("policy") == policy)
        colour = look.colour(policy)
        last = number == len(policies) - 1
        across = x if last else x.title(None).axis(alt.Axis(labels=False, tickCount=6))
        base = alt.Chart(of_policy.select(pl.exclude("run")))
        line = base.mark_line(
            strokeWidth=1.5, clip=True, color=colour, invalid="break-paths-show-domains"
        )
        layers = [line.encode(x=across, y=y)]
        if below is not None:
            band = base.mark_area(
                color=colour, opacity=0.25, clip=True, invalid="break-paths-show-domains"
            )
            layers = [band.encode(x=across, y=y, y2=alt.Y2(f"{below}:Q")), *layers]
        # A single value makes no line.
        known = of_policy.filter(pl.col(measure).is_not_null())
        if len(known) == 1:
            point = alt.Chart(known).mark_point(filled=True, size=26, opacity=1, color=colour)
            layers.append(point.encode(x=across, y=y))
        title = alt.TitleParams(policy, fontSize=12, fontWeight="normal", offset=2)
        panels.append(alt.LayerChart(layer=layers, width=WIDTH, height=PANEL, title=title))
    return alt.vconcat(*panels, spacing=6)


def _lines(look: Look, values: pl.DataFrame, x: alt.X, y: alt.Y, height: int) -> alt.LayerChart:
    """Draw a line for each policy, with gaps for missing values and points for single ones."""
    measure = values.columns[-1]
    known = values.filter(pl.col(measure).is_not_null())
    # Consecutive windows without a gap form one stretch, which is one line.
    follows = (pl.col("run").diff() == 1).over("policy").fill_null(False)
    known = known.with_columns(stretch=(~follows).cum_sum())
    alone = known.filter(pl.len().over("stretch") == 1)
    lines = (
        alt.Chart(known.select("policy", "at", measure, "stretch"))
        .mark_line(strokeWidth=1.5, clip=True)
        .encode(x=x, y=y, **look.lines(OF_LINES), detail=alt.Detail("stretch:N"))
    )
    marks = (
        alt.Chart(alone.select("policy", "at", measure))
        .mark_point(filled=True, size=26, opacity=1)
        .encode(x=x, y=y, color=look.color.legend(OF_LINES))
    )
    return alt.LayerChart(layer=[lines, marks], width=WIDTH, height=height)


def _whole(course: pl.DataFrame) -> pl.DataFrame:
    """Remove each policy's last window, which the run's end cuts off, unless it is the only one."""
    return course.filter(pl.col("iops").is_not_null() | (pl.len().over("policy") == 1))


def _joined(course: pl.DataFrame, *, rows_each: int) -> tuple[pl.DataFrame, alt.X]:
    """Join windows until few enough are left; return them, numbered by `run`, and the time axis."""
    course = course.with_columns(run=pl.int_range(pl.len()).over("policy"))
    n = ceil(len(course) * rows_each / ROWS)
    if n > 1:
        course = (
            course.with_columns(pl.col("run") // n)
            .group_by("policy", "run", maintain_order=True)
            .agg(
                pl.col("at_s").first(),
                pl.col("p50_ns", "p99_ns").max(),
                pl.col("^(outstanding|bw_bytes|percent)$").mean(),
            )
        )
    end = course["at_s"].max()
    length, x = time_axis(end if isinstance(end, float) else 0.0)
    return course.with_columns(at=pl.col("at_s") / length), x


def _curves(
    look: Look, spread: pl.DataFrame, span: tuple[float, float], rarest: float
) -> pl.DataFrame:
    """Return for each policy the share of slower requests at each visibly different latency."""
    # With a single request, the chart is as high as for ten.
    wide, high = log10(span[1] / span[0]), max(-log10(rarest), 1.0)
    rows: list[tuple[str, float, float]] = []
    step = max(STEP, 2 * len(look.policies) / ROWS)
    for policy in look.policies:
        of_policy = spread.filter(pl.col("policy") == policy)
        uppers, below = of_policy["upper_ns"].to_list(), of_policy["at_or_below"].to_list()
        if not uppers:
            continue
        kept = [(float(max(uppers[0], 1)), 1.0)]
        for upper, share in zip(uppers, below, strict=True):
            point = (float(max(upper, 1)), max(1 - share, rarest))
            across = log10(point[0] / kept[-1][0]) / wide
            down = log10(kept[-1][1] / point[1]) / high
            if across + down >= step or upper == uppers[-1]:
                kept.append(point)
        rows += [(policy, *point) for point in kept]
    return pl.DataFrame(rows, schema=["policy", "latency_ns", "slower"], orient="row")


def _marks(comparison: Comparison, name: str) -> pl.DataFrame:
    """Return the percentiles of one class that the table has."""
    rows = []
    for label, run in zip(rounds.labels(comparison["runs"]), comparison["runs"], strict=True):
        for class_ in _finished(run["classes"]):
            if class_["name"] == name:
                for percent in MARKED:
                    ns = class_["lat_ns"]["percentile"][f"{percent:.6f}"]
                    rows.append((label, percent, max(ns, 1), 1 - percent / 100))
    schema = {"policy": pl.String, "percentile": pl.Float64, "latency_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema | {"slower": pl.Float64}, orient="row")


def _finished(classes: list[Class]) -> Iterator[Class]:
    return (class_ for class_ in classes if class_["requests"] > 0)


def _rarest(spread: pl.DataFrame) -> float:
    """Return the share of one request under the policy that finished the most."""
    most = spread.group_by("policy").agg(pl.col("count").sum())["count"].max()
    return 1 / most if isinstance(most, int) else 0.1


def _latency_span(comparison: Comparison) -> tuple[float, float]:
    """Return the least and the greatest latency of all classes, for a common axis."""
    finished = [class_ for run in comparison["runs"] for class_ in _finished(run["classes"])]
    ends = [
        end for class_ in finished for end in (class_["lat_ns"]["min"], class_["lat_ns"]["max"])
    ]
    return span_of(ends or [1e6])
