"""A page of HTML that needs nothing else, not even a script: the one template for all answers.

Pictures stand in it as SVG, in light colours; the style sheet puts dark ones in their place where
the reader prefers that. All figures stand in it once more as JSON, under the id `penstock-data`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape
from itertools import groupby
from os import environ
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from penstock.answer.picture import Picture
from penstock.answer.table import Table
from penstock.charts import palette
from penstock.report.files import PAGE_MARK
from penstock.text.names import shown, shown_json

if TYPE_CHECKING:
    from jinja2 import Environment


class Paragraph(NamedTuple):
    """Words, in a style of the style sheet, with a beginning that stands out."""

    text: str
    style: str = ""
    lead: str = ""


class Bullets(NamedTuple):
    """A list of lines."""

    lines: Sequence[str]
    style: str = ""


class Titled(NamedTuple):
    """Lines below a title."""

    title: str
    lines: Sequence[str]


class Details(NamedTuple):
    """Paragraphs that a reader unfolds."""

    title: str
    lines: Sequence[str]


class Source(NamedTuple):
    """A text as it was written."""

    text: str


class Pictures(NamedTuple):
    """Pictures next to each other."""

    pictures: Sequence[Picture]
    prefix: str = ""
    """Makes names of pictures different from those of another part of the page."""


Part: TypeAlias = Paragraph | Bullets | Titled | Details | Source | Pictures | Table


@dataclass(frozen=True)
class Section:
    """An answer to one question: its name in the page, its title, its parts, and what they show."""

    name: str
    title: str
    parts: Sequence[Part]
    about: str = ""

    @classmethod
    def of_table(cls, table: Table, *more: Part, prefix: str = "") -> "Section":
        """Returns a section of a table."""
        return cls(f"{prefix}table-{table.name}", table.title, [table, *more])


@dataclass(frozen=True, kw_only=True)
class Page:
    """The contents of a page."""

    world: str
    """The world of its figures, or what they are of."""
    title: str
    facts: Sequence[tuple[str, str]]
    """Facts about the run, for the head of the page."""
    sections: Sequence[Section]
    data: object
    """All figures, as JSON has them."""

    def html(self) -> str:
        """Returns the page as a text."""
        page = _environment().get_template("page.html.jinja")
        text = page.render(
            page=self,
            data=shown_json(as_data(self.data)),
            mark=PAGE_MARK.decode(),
            dark=palette.dark("svg.chart"),
            ground=palette.GROUND,
            ink=palette.INK,
            faint=palette.FAINT,
            grid=palette.GRID,
            link=palette.POLICIES[0],
        )
        return shown(text)


def fragment(parts: Sequence[Part]) -> str:
    """Returns parts of a page, for a notebook."""
    return _environment().get_template("fragment.html.jinja").render(parts=parts)


def of_pictures(
    pictures: Sequence[Picture], kinds: Sequence[tuple[str, str, str]], *, prefix: str = ""
) -> Iterator[Section]:
    """Yields a section for each kind of pictures there are, with its title and what it shows."""
    for kind, title, about in kinds:
        if of_kind := [picture for picture in pictures if picture.kind == kind]:
            yield Section(f"{prefix}{kind}", title, [Pictures(of_kind, prefix)], about)


def as_data(data: object) -> str:
    """Returns figures as JSON that may stand in a page."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # No text of a job may end the element.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def date(began_unix_s: float | None = None) -> str:
    """Returns the day of a run in real time, or today; `SOURCE_DATE_EPOCH` is another today."""
    today = environ.get("SOURCE_DATE_EPOCH", "")
    if began_unix_s is None and today.isdecimal():
        began_unix_s = int(today)
    now = datetime.now(UTC) if began_unix_s is None else datetime.fromtimestamp(began_unix_s, UTC)
    return f"{now:%Y-%m-%d}"


@cache
def _environment() -> "Environment":
    """The templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("penstock.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "groups": _groups,
        "kind": lambda part: type(part).__name__,
        "svg": _svg,
    }
    return environment


def _groups(table: Table) -> Iterator[tuple[str, list[Sequence[str]]]]:
    """Yields the rows of each group of a table without the first cell, which names the group."""
    if not table.grouped:
        yield "", list(table.rows)
        return
    for name, rows in groupby(table.rows, lambda row: row[0]):
        yield name, [row[1:] for row in rows]


def _svg(picture: Picture, prefix: str) -> str:
    from penstock.report import pictures

    said = escape(f"{picture.title}; the figures are in the page's data")
    return pictures.svg(picture.chart, name=f"{prefix}{picture.name}", title=said)
