"""Parts of Markdown that the generated pages are made of."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path


def code(text: object) -> str:
    """A word of code, for a cell of a table too."""
    return f"`{text}`".replace("|", "\\|")


def cell(text: str) -> str:
    """A sentence as a cell of a table holds it."""
    return " ".join(text.split()).replace("|", "\\|")


def sentence(text: str) -> str:
    """A phrase with a capital letter and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing without rows."""
    cells = list(rows)
    if not cells:
        return ""
    lines = [headings, ["---"] * len(headings), *cells]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def page(*parts: str) -> str:
    """Parts of a page, with an empty line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def module_text(path: Path) -> str:
    """The text with which a file of Rust begins, without the brackets of links."""
    lines = takewhile(lambda line: line.startswith("//!"), path.read_text().splitlines())
    text = "\n".join(line[len("//! ") :] for line in lines)
    return text.replace("[`", "`").replace("`]", "`")
