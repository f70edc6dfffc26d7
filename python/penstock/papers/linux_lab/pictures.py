"""The pictures of the lab."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.papers.linux_lab.modelled import Rows
from penstock.papers.linux_lab.setting import LECTURE, THREADS
from penstock.papers.pictures import Bars, Gallery, of_bars
from penstock.papers.published import Row
from penstock.papers.rows import select

if TYPE_CHECKING:
    import altair as alt

READERS = of_bars(
    [Bars("readers", "32 readers at random, by the part of the disk", "requests/s", "requests_s")],
    title="",
    about="",
    series=LECTURE,
    place=lambda row: (row["scheduler"], row["place"]),
)

THINKING = of_bars(
    [Bars("thinking", "Two programs that think for 1 ms", "MB/s", "mb_s")],
    title="",
    about="",
    series=LECTURE,
    place=lambda row: (row["scheduler"], "both"),
)

WAITS = of_bars(
    [Bars("flood", "The longest read beside a flood of writes", "ms", "single_max_ms")],
    title="",
    about="",
    series=LECTURE,
    place=lambda row: (row["scheduler"], "reads"),
)


def _charts(rows: Rows) -> "Iterator[tuple[str, alt.TopLevelMixin]]":
    of_each: list[tuple[Gallery, list[Row]]] = [
        (READERS, select(rows["readers"], threads=THREADS[-1])),
        (THINKING, rows["thinking"]),
        (WAITS, select(rows["flood"], flood="write")),
    ]
    for gallery, drawn in of_each:
        yield from gallery.charts(drawn)


PICTURES = Gallery(
    title="What schedulers change",
    about="All on the modelled disk.",
    titles={**READERS.titles, **THINKING.titles, **WAITS.titles},
    charts=_charts,
)
