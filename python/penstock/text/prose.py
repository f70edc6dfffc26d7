"""Lines of words, which may be longer than a terminal is wide."""

from rich.console import Console
from rich.text import Text

HANGING = 2
"""What a line is continued with is indented by so much more."""


def line(console: Console, text: Text) -> None:
    """Print a line: a terminal gets it broken between words, a file or a pipe whole."""
    if not console.is_terminal or text.cell_len <= console.width:
        console.print(text, soft_wrap=True)
        return
    indent = len(text.plain) - len(text.plain.lstrip()) + HANGING
    first, *rest = text.wrap(console, console.width - indent)
    for part in (first, *(Text(" " * indent) + one for one in rest)):
        part.rstrip()
        console.print(part, soft_wrap=True)
