"""Lines of words, which may be longer than a terminal is wide."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.text import Text

HANGING = 2
"""What a line is continued with is indented by so much more."""


def fold(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` characters, all but the first indented.

    A line is broken between clauses if it can be, else between words; a longer word stays whole.
    """
    lines = []
    while len(text) > width:
        clause = max(text.rfind(end, width // 2, width) for end in ("; ", ", "))
        word = text.rfind(" ", HANGING, width)
        end = next((end for end in (clause, word, text.find(" ", width)) if end > HANGING), -1)
        if end < 0:
            break
        end += 0 if text[end] == " " else 1
        lines.append(text[:end])
        text = " " * HANGING + text[end:].lstrip()
    return [*lines, text]


def line(console: "Console", text: "Text") -> None:
    """Print a line: a terminal gets it broken between words, a file or a pipe whole."""
    if not console.is_terminal or text.cell_len <= console.width:
        console.print(text, soft_wrap=True)
        return
    from rich.text import Text

    indent = len(text.plain) - len(text.plain.lstrip()) + HANGING
    first, *rest = text.wrap(console, console.width - indent)
    for part in (first, *(Text(" " * indent) + one for one in rest)):
        part.rstrip()
        console.print(part, soft_wrap=True)


def lines(console: "Console", texts: "Iterable[str]") -> None:
    """Print lines of plain words."""
    from rich.text import Text

    for text in texts:
        line(console, Text(text))
