"""The chart of the rounds of each policy: the 99th percentile of a class in every round."""

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import UNIT, Look, dressed, log_ticks, span_of
from penstock.results.percentile import percentile
from penstock.results.rounds import Rounds

WIDTH = 270
"""Width of the plot in pixels, next to names."""

LABEL = 130
"""Width of the longest name in pixels."""

ROW = 30
"""Height of the row of a policy in pixels."""


def p99(policies: list[Rounds], name: str) -> alt.TopLevelMixin:
    """Draw a dot for each round, a bar over their range, and a tick at the median."""
    took_part = [(policy, policy.of(name)) for policy in policies if policy.of(name)]
    rows, ranges = [], []
    for policy, classes in took_part:
        known = [
            max(percentile(class_["lat_ns"], 99), 1) for class_ in classes if class_["requests"]
        ]
        rows += [(policy.label, ns) for ns in known]
        spread = policy.spread(name, lambda class_: max(percentile(class_["lat_ns"], 99), 1))
        if spread is not None:
            ranges.append((policy.label, *spread))
    span = span_of([ns for _, ns in rows] or [1e6])
    look = Look([policy.label for policy in policies])
    side = alt.Axis(
        domain=False, ticks=False, minExtent=140, maxExtent=140, labelLimit=130, labelPadding=8
    )
    labels = [policy.label for policy, _ in took_part]
    y = alt.Y("policy:N", title=None, sort=None, scale=alt.Scale(domain=labels), axis=side)
    scale = alt.Scale(type="log", domain=list(span), nice=False)
    axis = alt.Axis(values=log_ticks(*span), labelExpr=UNIT)

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", title="p99", scale=scale, axis=axis)

    dots = (
        alt.Chart(pl.DataFrame(rows, schema=["policy", "p99_ns"], orient="row"))
        .mark_circle(size=42, opacity=1)
        .encode(
            x=x("p99_ns"),
            y=y,
            color=look.color.legend(None),
            tooltip=[alt.Tooltip("policy:N"), alt.Tooltip("p99_ns:Q")],
        )
    )
    columns = ["policy", "median", "low", "high"]
    base = alt.Chart(pl.DataFrame(ranges, schema=columns, orient="row"))
    bars = base.mark_rule(strokeWidth=2, color=palette.AXIS.light).encode(
        x=x("low"), x2=alt.X2("high:Q"), y=y
    )
    medians = base.mark_tick(thickness=2.5, size=20, color=palette.INK.light).encode(
        x=x("median"), y=y
    )
    layers = [bars, medians, dots]
    return dressed(alt.LayerChart(layer=layers, width=WIDTH, height=ROW * len(labels)))
