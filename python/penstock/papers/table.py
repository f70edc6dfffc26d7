"""Tables of texts, in a terminal and in Markdown. The template of the report draws them in HTML."""

from typing import NamedTuple

from rich import table
from rich.box import SIMPLE_HEAD
from rich.text import Text


class Table(NamedTuple):
    """Rows of cells below headings."""

    headings: list[str]
    rows: list[list[str]]
    words: int = 1
    """So many of the first columns hold words; the others hold figures, and are aligned right."""


def drawn(of: Table, *, ruled: bool = True) -> table.Table:
    """A table for a terminal, with a rule below its headings or with bold ones."""
    box, style = (SIMPLE_HEAD, "") if ruled else (None, "bold")
    found = table.Table(box=box, show_edge=False, pad_edge=False, header_style=style)
    for number, heading in enumerate(of.headings):
        justify = "left" if number < of.words else "right"
        found.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for row in of.rows:
        found.add_row(*map(Text, row))
    return found


def markdown(of: Table) -> str:
    """A table of Markdown."""
    lines = [of.headings, ["---"] * len(of.headings), *of.rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("*", "\\*") for cells in lines)
