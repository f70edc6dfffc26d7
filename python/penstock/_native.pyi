"""The compiled engine: paths and text in, JSON out."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Final

from penstock.schema import Creating, Running

__all__ = [
    "Failure",
    "__version__",
    "compare",
    "devices",
    "policies",
    "replay_decisions",
    "trace_convert",
    "trace_describe",
    "trace_formats",
]

__version__: Final[str]

class Failure(Exception):
    """A command failed; the message says why, `exit_code` what the command exits with."""

    exit_code: int

def compare(
    job: str | PathLike[str],
    *,
    policies: Sequence[str],
    on: str | None = None,
    create: str | None = None,
    engine: str | None = None,
    sets: Sequence[str] = ...,
    record: str | PathLike[str] | None = None,
    detail: bool = False,
    text: str | None = None,
    progress: Callable[[Creating | Running], object] | None = None,
) -> str:
    """Run a job under each policy and return the comparison as JSON.

    With `text` that is the job, and `job` only what it is called.

    An interrupt, or anything that `progress` raises, ends the run: after an interrupt the result so
    far is returned, if there is one.
    """

def replay_decisions(path: str | PathLike[str], *, sets: Sequence[str] = ...) -> str:
    """Feed a record to its policy and return the comparison of decisions as JSON."""

def policies() -> str:
    """Every policy with its parameters, as JSON."""

def devices() -> str:
    """Every named device, as JSON."""

def trace_formats() -> str:
    """Every format of traces, as JSON."""

def trace_describe(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    classes: str | PathLike[str] | None = None,
    drawn: bool = False,
) -> str:
    """Tell what a trace holds and asks for, as JSON; per class by the rules of a job.

    With `drawn` by time, place and size too, in few enough figures to be drawn.
    """

def trace_convert(
    path: str | PathLike[str],
    to: str | PathLike[str],
    *,
    into: str,
    format: str | None = None,
) -> str:
    """Write a trace in another format and return what became of it as JSON."""
