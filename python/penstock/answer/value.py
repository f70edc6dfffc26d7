"""The answer of a verb, before anything of it is written."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a verb found, and what else there is to do and to say about it."""

    data: Callable[[], str]
    """Makes the text that `--json` prints."""
    show: "Callable[[Console], None]"
    """Prints it for a person."""
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
