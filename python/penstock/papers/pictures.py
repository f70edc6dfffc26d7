"""Pictures of a paper: for each case a bar for each series, as papers draw them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from penstock.papers.published import Row

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


class Picture(NamedTuple):
    """A figure of the rows that is drawn."""

    name: str
    title: str
    unit: str
    figure: str


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """The pictures of a paper."""

    title: str
    about: str
    """What they show, in a sentence or two."""
    figures: Sequence[Picture]
    series: Sequence[str]
    """The names of the series in their order."""
    place: Callable[[Row], tuple[str, str]]
    """The series that a row is of, and its case."""

    def drawn(self, ours: Sequence[Row]) -> Iterator[tuple[Picture, "alt.TopLevelMixin"]]:
        """Each picture, of these rows."""
        import polars as pl

        for picture in self.figures:
            values = [row[picture.figure] for row in ours]
            places = [self.place(row) for row in ours]
            frame = pl.DataFrame(
                {
                    "series": [series for series, _ in places],
                    "case": [case for _, case in places],
                    "value": values,
                    "label": [f"{value:.3g}" for value in values],
                }
            )
            yield picture, _bars(frame, picture.unit, self.series)


def _bars(frame: "pl.DataFrame", unit: str, series: Sequence[str]) -> "alt.TopLevelMixin":
    import altair as alt

    from penstock.charts import palette
    from penstock.charts.style import HEIGHT, WIDTH, dressed

    colours = [one.light for one in palette.POLICIES[: len(series)]]
    x = alt.X("case:N", title=None, axis=alt.Axis(labelAngle=0))
    side = alt.XOffset("series:N", sort=series)
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(zero=True))
    color = alt.Color(
        "series:N",
        sort=series,
        scale=alt.Scale(domain=series, range=colours),
        legend=alt.Legend(title=None, orient="top", columns=3, symbolType="square"),
    )
    bars = alt.Chart(frame).mark_bar().encode(x=x, xOffset=side, y=y, color=color)
    words = (
        alt.Chart(frame)
        .mark_text(dy=-6, fontSize=10, color=palette.INK.light)
        .encode(x=x, xOffset=side, y=y, text="label:N")
    )
    return dressed(alt.LayerChart(layer=[bars, words], width=WIDTH, height=HEIGHT))
