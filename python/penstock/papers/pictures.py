"""Pictures of a paper, and the one that most have: for each case a bar for each series."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.answer.picture import Picture
from penstock.papers.published import Row

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """The pictures of a paper."""

    title: str
    """Their title as a group."""
    about: str
    """An explanation of them, in a sentence or two."""
    titles: Mapping[str, str]
    """The title of each picture by its name."""
    charts: "Callable[[Any], Iterable[tuple[str, alt.TopLevelMixin]]]"
    """Draws, with their names, those that our figures of the paper are enough for."""
    figures: Sequence[str] = ()
    """The figures of rows that are drawn."""

    def pictures(self, ours: Any) -> Iterator[Picture]:  # noqa: ANN401 - a paper's own
        """Yields each picture of our figures."""
        for name, chart in self.charts(ours):
            title = self.titles[name]
            yield Picture(name=name, title=title, chart=chart, caption=title)


class Bars(NamedTuple):
    """A picture of bars: its name, its title, the unit of its figure, and that figure of a row."""

    name: str
    title: str
    unit: str
    figure: str


def of_bars(
    figures: Sequence[Bars],
    *,
    title: str,
    about: str,
    series: Sequence[str],
    place: Callable[[Row], tuple[str, str]],
) -> Gallery:
    """Returns pictures of rows, of which `place` says the series and the case."""

    def charts(ours: Sequence[Row]) -> "Iterator[tuple[str, alt.TopLevelMixin]]":
        import polars as pl

        for figure in figures:
            values = [row[figure.figure] for row in ours]
            places = [place(row) for row in ours]
            frame = pl.DataFrame(
                {
                    "series": [name for name, _ in places],
                    "case": [case for _, case in places],
                    "value": values,
                    "label": [f"{value:.3g}" for value in values],
                }
            )
            yield figure.name, _bars(frame, figure.unit, series)

    return Gallery(
        title=title,
        about=about,
        titles={figure.name: figure.title for figure in figures},
        charts=charts,
        figures=[figure.figure for figure in figures],
    )


def _bars(frame: "pl.DataFrame", unit: str, series: Sequence[str]) -> "alt.TopLevelMixin":
    import altair as alt

    from penstock.charts import palette
    from penstock.charts.style import HEIGHT, WIDTH, dressed

    colours = [colour.light for colour in palette.POLICIES[: len(series)]]
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
        .encode(x=x, xOffset=side, y=y, text=alt.Text("label:N"))
    )
    return dressed(alt.LayerChart(layer=[bars, words], width=WIDTH, height=HEIGHT))
