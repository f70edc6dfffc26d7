"""A job as a verb takes it: the path of its file, or `-` for one on stdin."""

import sys
from pathlib import Path

from penstock import _native
from penstock.errors import wrong

STDIN = "-"
"""A job that is read from there."""

BYTES = 4 << 20
"""A longer one is no job."""


def read(job: str) -> tuple[str, str | None]:
    """Returns the name of a job, and its text if it comes on stdin or from another pipe.

    What comes from a pipe comes once, and a job may be read again.
    """
    if job == STDIN:
        return "stdin", _on_stdin()
    if Path(job).is_fifo():
        return job, _native.text_file(job, "job file", "a job file is a TOML file")
    return job, None


def _on_stdin() -> str:
    """Returns the job that comes on stdin; it may be as long as a job's file."""
    written = b"" if sys.stdin is None else sys.stdin.buffer.read(BYTES + 1)
    hint = "a job is TOML, written by hand"
    if len(written) > BYTES:
        raise wrong("the job on stdin is larger than 4MiB", hint)
    try:
        return written.decode()
    except UnicodeDecodeError:
        raise wrong("the job on stdin is not UTF-8", hint) from None
