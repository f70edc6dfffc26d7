"""The answer of a verb, before anything of it is written."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.answer.table import Table

Span: TypeAlias = str | tuple[str, str]
"""Words, or words with a style of the terminal."""


class Line:
    """A line of words in a style, or of spans with styles of their own."""

    def __init__(self, *spans: Span, style: str = "") -> None:
        """Words from left to right."""
        self.spans, self.style = spans, style


Part: TypeAlias = str | Line | Table
"""A line of plain words, a line with styles, or a table."""

Blocks: TypeAlias = Iterable[Sequence[Part]]
"""Parts in blocks, with an empty line between two."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The result of a verb, and what else has to be written and said about it."""

    data: Callable[[], str]
    """Makes the text that `--json` prints."""
    blocks: Blocks = ()
    """The text for a person. As an iterator it is not made for `--json`."""
    notes: Sequence[str] = ()
    """Remarks for the person who reads the text, on stderr."""
    files: Iterable[str] = ()
    """Writes what was asked for, file by file, and yields the name of each once it is there."""
    messages: Sequence[str] = ()
    """Lines that end what stderr has."""
    exit_code: int = 0
    partial: bool = False
    """Whether a signal ended the work early: then the exit code is the signal's."""
    stuck: bool = False
    """Whether the process ends at once, as a target may never give back what it was given."""


def headline(world: str, subject: str) -> Line:
    """Returns the first line of an answer: the world of its figures, and what they are about."""
    return Line((world.upper(), "bold"), f"  {subject}")
