"""Answers and tables on a console: the one place that draws tables."""

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table as Drawn
from rich.text import Text

from penstock.answer.table import Table
from penstock.answer.value import Blocks, Line, Part
from penstock.text.prose import HANGING

GAP = 2
"""Columns of space between two cells."""


def show(console: Console, blocks: Blocks) -> None:
    """Prints blocks, with an empty line between two."""
    for number, block in enumerate(filter(None, blocks)):
        if number:
            console.print()
        for part in block:
            _show(console, part)


def _show(console: Console, part: Part) -> None:
    if isinstance(part, Table):
        if part.title:
            line(console, Text(part.title, style="bold"))
        if part.rows:
            draw(console, part)
        for note in part.notes:
            line(console, Text(note, style="dim"))
    elif isinstance(part, Line):
        line(console, Text.assemble(*part.spans, style=part.style))
    else:
        line(console, Text(part))


def draw(console: Console, table: Table) -> None:
    """Prints a table with a rule below its headings."""
    drawn = Drawn(
        box=SIMPLE_HEAD if table.headings else None,
        show_header=bool(table.headings),
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0) if table.headings else (0, GAP, 0, 0),
        header_style="",
    )
    headings = table.headings or [""] * len(table.rows[0])
    columns = zip(headings, *table.rows, strict=True)
    widths = table.widths or [max(map(_widest, column)) for column in columns]
    folded = len(headings) - table.sentences
    for number, (heading, width) in enumerate(zip(headings, widths, strict=True)):
        if number >= folded:
            drawn.add_column(heading, overflow="fold")
            continue
        justify: JustifyMethod = "left" if number < table.words else "right"
        drawn.add_column(heading, justify=justify, no_wrap=True, width=width)
    for row in table.rows:
        drawn.add_row(*(Text(cell, style=table.styles.get(cell, "")) for cell in row))
    if not table.sentences:
        # Set outright: otherwise a narrow terminal would cut the cells.
        drawn.width = sum(widths) + GAP * (len(widths) - 1)
    console.print(drawn, no_wrap=not table.sentences, crop=False)


def _widest(cell: str) -> int:
    """Returns the width of the widest line of a cell; a heading may have two."""
    return max(map(cell_len, cell.split("\n")))


def line(console: Console, text: Text) -> None:
    """Prints a line: a terminal gets it broken between words, a file or a pipe whole."""
    if not console.is_terminal or text.cell_len <= console.width:
        console.print(text, soft_wrap=True)
        return
    indent = len(text.plain) - len(text.plain.lstrip()) + HANGING
    first, *rest = text.wrap(console, console.width - indent)
    for part in (first, *(Text(" " * indent) + wrapped for wrapped in rest)):
        part.rstrip()
        console.print(part, soft_wrap=True)
