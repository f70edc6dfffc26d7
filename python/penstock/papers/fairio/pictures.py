"""The pictures of the FAIRIO report: errors and throughput against the length of a cycle."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.papers.fairio.cells import mb
from penstock.papers.pictures import Gallery

if TYPE_CHECKING:
    import altair as alt


TITLES = {
    "error-1": "Table I: error of class 1",
    "error-2": "Table II: error of class 1",
    "throughput-1": "Table I: throughput",
    "throughput-2": "Table II: throughput",
}


def _charts(ours: Mapping[str, Any]) -> "Iterator[tuple[str, alt.TopLevelMixin]]":
    for name in TITLES:
        kind, _, number = name.partition("-")
        errors = kind == "error"
        points = list(_points(ours[f"table{number}"], errors=errors))
        yield name, _lines(points, "points" if errors else "MB/s")


PICTURES = Gallery(
    title="Errors and throughput by the length of a cycle",
    about=(
        "The error of class 1 and the throughput of both classes, as the report has them and in "
        "both modes here, over cycles of 0.1 to 3 s."
    ),
    titles=TITLES,
    charts=_charts,
)


def _points(
    rows: Sequence[Mapping[str, Any]], *, errors: bool
) -> Iterator[tuple[str, float, float]]:
    """Series, length of the cycle and value."""
    for row in {row["cycle_ms"]: row for row in rows if row["published"]}.values():
        published = row["published"]
        yield (
            "report",
            row["cycle_ms"],
            published["error_pct"][0] if errors else published["throughput_mb_s"],
        )
    for row in rows:
        value = row["error_pct"][0] if errors else mb(row["throughput_mib_s"])
        yield row["mode"], row["cycle_ms"], value


def _lines(points: Sequence[tuple[str, float, float]], unit: str) -> "alt.TopLevelMixin":
    import altair as alt
    import polars as pl

    from penstock.charts.style import HEIGHT, OF_MARKS, WIDTH, Look, dressed

    frame = pl.DataFrame(points, schema=["series", "cycle", "value"], orient="row")
    look = Look(list(dict.fromkeys(series for series, *_ in points)), column="series")
    ticks = alt.Axis(values=[100, 200, 500, 1000, 2000])
    scale = alt.Scale(type="log", nice=False)
    x = alt.X("cycle:Q", title="cycle, ms", scale=scale, axis=ticks)
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(zero=True))
    base = alt.Chart(frame).encode(x=x, y=y)
    # One legend for both, which has the shapes too.
    marks_of_series = look.marks(OF_MARKS)
    lines = base.mark_line(strokeWidth=1.5).encode(color=marks_of_series["color"])
    marks = base.mark_point(filled=True, size=40).encode(**marks_of_series)
    return dressed(alt.LayerChart(layer=[lines, marks], width=WIDTH, height=HEIGHT))
