"""Files about an analysis, or one for each level of a factor: a page and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from penstock import __version__
from penstock.answer.picture import Picture
from penstock.report.outputs import Contents
from penstock.report.page import (
    Bullets,
    Details,
    Page,
    Paragraph,
    Section,
    date,
    of_pictures,
)
from penstock.study import advice_words, pictures, tables, words
from penstock.study.analysis import Analysis
from penstock.study.json_types import AnalysisRow, ByRow

Found: TypeAlias = Sequence[tuple[Any, Analysis]]
"""Each level of `by` with its analysis; without `by` one analysis, of the level None."""


def plain(by: str | None, analyses: Found) -> AnalysisRow | ByRow:
    """Returns the analyses as JSON has them."""
    if by is None:
        return analyses[0][1].plain()
    return {
        "by": by,
        "levels": [{"level": level, "analysis": analysis.plain()} for level, analysis in analyses],
    }


def contents(by: str | None, analyses: Found) -> Contents:
    """Returns what can be written of analyses."""
    return Contents(
        page=lambda command: page(by, analyses, command=command),
        pictures=lambda: list(_pictures(by, analyses)),
    )


def _pictures(by: str | None, analyses: Found) -> Iterator[Picture]:
    for level, analysis in analyses:
        before = "" if by is None else f"{pictures.plain(level, '-')}-"
        about = [f"{words.title(analysis)[1]}, {date()}"]
        for picture in pictures.all_of(analysis):
            yield replace(picture, name=f"{before}{picture.name}", about=about)


def page(by: str | None, analyses: Found, *, command: str | None = None) -> Page:
    """Returns the page of an analysis, or of one for each level of `by`."""
    first, first_analysis = analyses[0]
    source = first_analysis.table.source.removesuffix(f", {by} = {first}")
    facts = [("Table", source), ("Response", first_analysis.table.response), ("Date", date())]
    if command is not None:
        facts.append(("Command", command))
    return Page(
        world=words.title(first_analysis)[0],
        title=source,
        facts=[*facts, ("Penstock", __version__)],
        sections=[
            section
            for at, (level, analysis) in enumerate(analyses)
            for section in (
                _sections(analysis, "What to set", "")
                if by is None
                else _sections(analysis, f"{by} = {level}", f"p{at}-")
            )
        ],
        data=plain(by, analyses),
    )


def _sections(analysis: Analysis, title: str, prefix: str) -> Iterator[Section]:
    yield Section(
        f"{prefix}summary",
        title,
        [
            Paragraph(words.title(analysis)[1]),
            *(Paragraph(remark, "faint") for remark in analysis.remarks),
            Bullets(words.lines(analysis), "verdict"),
        ],
    )
    for table in tables.all_of(analysis):
        entries = advice_words.entries(analysis) if table.name == "advice" else ()
        details = (Details(name, lines) for name, lines in entries)
        yield Section.of_table(table, *details, prefix=prefix)
    yield from of_pictures(pictures.all_of(analysis), pictures.SECTIONS, prefix=prefix)
