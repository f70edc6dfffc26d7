"""Figures 7 and 8 of the online-batch paper, drawn of our figures."""

from collections.abc import Iterator, Sequence

import altair as alt
import polars as pl

from penstock.charts import palette
from penstock.charts.style import HEIGHT, WIDTH, dressed
from penstock.papers.online_batch.simulation import CONTROLS, Row
from penstock.papers.online_batch.tables import FIGURES, NAMES


def figures_7_and_8(ours: Sequence[Row]) -> Iterator[tuple[str, str, alt.TopLevelMixin]]:
    """Name, title and picture of each."""
    for name, title, unit, figure in FIGURES:
        values = [row[figure] for row in ours]  # type: ignore[literal-required]
        frame = pl.DataFrame(
            {
                "control": [NAMES[row["control"]] for row in ours],
                "case": [f"case {row['case']}" for row in ours],
                "value": values,
                "told": [f"{value:.3g}" for value in values],
            }
        )
        yield name, title, _bars(frame, unit)


def _bars(frame: pl.DataFrame, unit: str) -> alt.TopLevelMixin:
    controls = [NAMES[control] for control in CONTROLS]
    colours = [one.light for one in palette.POLICIES[: len(controls)]]
    x = alt.X("case:N", title=None, axis=alt.Axis(labelAngle=0))
    side = alt.XOffset("control:N", sort=controls)
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(zero=True))
    color = alt.Color(
        "control:N",
        sort=controls,
        scale=alt.Scale(domain=controls, range=colours),
        legend=alt.Legend(title=None, orient="top", columns=3, symbolType="square"),
    )
    bars = alt.Chart(frame).mark_bar().encode(x=x, xOffset=side, y=y, color=color)
    words = (
        alt.Chart(frame)
        .mark_text(dy=-6, fontSize=10, color=palette.INK.light)
        .encode(x=x, xOffset=side, y=y, text="told:N")
    )
    return dressed(alt.LayerChart(layer=[bars, words], width=WIDTH, height=HEIGHT))
