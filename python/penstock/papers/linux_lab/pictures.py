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


def _by_scheduler(bars: Bars, case: str | None) -> Gallery:
    """Return a picture with a bar for each scheduler, of one case or of each part of the disk."""

    def place(row: Row) -> tuple[str, str]:
        return row["scheduler"], row["place"] if case is None else case

    return of_bars([bars], title="", about="", series=LECTURE, place=place)


READERS = _by_scheduler(
    Bars("readers", "32 readers at random, by the part of the disk", "requests/s", "requests_s"),
    None,
)

THINKING = _by_scheduler(
    Bars("thinking", "Two programs that think for 1 ms", "MB/s", "mb_s"), "both"
)

WAITS = _by_scheduler(
    Bars("flood", "The longest read during a flood of writes", "ms", "single_max_ms"), "reads"
)


def _charts(rows: Rows) -> "Iterator[tuple[str, alt.TopLevelMixin]]":
    yield from READERS.charts(select(rows["readers"], threads=THREADS[-1]))
    yield from THINKING.charts(rows["thinking"])
    yield from WAITS.charts(select(rows["flood"], flood="write"))


PICTURES = Gallery(
    title="What schedulers change",
    about="All on the modelled disk.",
    titles={**READERS.titles, **THINKING.titles, **WAITS.titles},
    charts=_charts,
)
