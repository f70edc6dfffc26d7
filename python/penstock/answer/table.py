"""A table of texts, and the same in Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NONE = "–"
"""Stands where there is no figure."""


@dataclass(frozen=True)
class Table:
    """Rows of cells below headings."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    """How many of the first columns hold words; the others hold figures, and are aligned right."""
    sentences: int = 0
    """How many of the last columns hold sentences, which may take several lines."""
    grouped: bool = False
    """Whether rows with the same first cell, which follow each other, are a group of that name."""
    name: str = ""
    title: str = ""
    notes: Sequence[str] = ()
    """Remarks for its readers."""
    widths: Sequence[int] | None = None
    """How wide columns are, so that several tables align."""
    styles: Mapping[str, str] = field(default_factory=dict)
    """Styles that a terminal gives to cells of these texts."""


def markdown(table: Table) -> str:
    """Returns a table of Markdown."""
    lines = [table.headings, ["---"] * len(table.headings), *table.rows]
    return "\n".join(f"| {' | '.join(map(_cell, cells))} |" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("*", "\\*").replace("|", "\\|")
