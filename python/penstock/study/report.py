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
from penstock.study import pictures, tables, words
from penstock.study.analysis import Analysis
from penstock.study.json_types import AnalysisRow, ByRow

Found: TypeAlias = Sequence[tuple[Any, Analysis]]
"""Each level of `by` with its analysis; without `by` one analysis, of the level None."""


def plain(by: str | None, found: Found) -> AnalysisRow | ByRow:
    """Returns the analyses as JSON has them."""
    if by is None:
        return found[0][1].plain()
    return {"by": by, "levels": [{"level": one, "analysis": of.plain()} for one, of in found]}


def contents(by: str | None, found: Found) -> Contents:
    """Returns what can be written of analyses."""
    return Contents(
        page=lambda command: page(by, found, command=command),
        pictures=lambda: list(_pictures(by, found)),
    )


def _pictures(by: str | None, found: Found) -> Iterator[Picture]:
    for level, of in found:
        before = "" if by is None else f"{pictures.plain(level, '-')}-"
        about = [f"{words.title(of)[1]}, {date()}"]
        for one in pictures.all_of(of):
            yield replace(one, name=f"{before}{one.name}", about=about)


def page(by: str | None, found: Found, *, command: str | None = None) -> Page:
    """Returns the page of an analysis, or of one for each level of `by`."""
    first, of = found[0]
    source = of.table.source.removesuffix(f", {by} = {first}")
    facts = [("Table", source), ("Response", of.table.response), ("Date", date())]
    if command is not None:
        facts.append(("Command", command))
    return Page(
        world=words.title(of)[0],
        title=source,
        facts=[*facts, ("Penstock", __version__)],
        sections=[
            section
            for at, (level, of) in enumerate(found)
            for section in (
                _sections(of, "What to set", "")
                if by is None
                else _sections(of, f"{by} = {level}", f"p{at}-")
            )
        ],
        data=plain(by, found),
    )


def _sections(of: Analysis, title: str, prefix: str) -> Iterator[Section]:
    yield Section(
        f"{prefix}summary",
        title,
        [
            Paragraph(words.title(of)[1]),
            *(Paragraph(remark, "faint") for remark in of.remarks),
            Bullets(words.lines(of), "verdict"),
        ],
    )
    for table in tables.all_of(of):
        entries = words.entries(of) if table.name == "advice" else ()
        details = (Details(name, lines) for name, lines in entries)
        yield Section.of_table(table, *details, prefix=prefix)
    yield from of_pictures(pictures.all_of(of), pictures.SECTIONS, prefix=prefix)
