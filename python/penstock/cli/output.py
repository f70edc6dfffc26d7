r"""The two streams: data on stdout, messages on stderr.

Names in traces, files and devices may hold control characters, which a terminal would obey: what is
written here shows them as `\u001b`, which is also how JSON writes them.
"""

import os
import sys
from typing import NoReturn

from penstock import __version__
from penstock.text.names import shown

CONTROLS = {
    code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"
}
"""Every control character that is not white space of ours, and how it is shown."""


def on_a_terminal() -> bool:
    """Whether a person sees what is written and may press keys."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def data(text: str) -> None:
    """Write to stdout. A reader that went away has had enough: no error."""
    write(text.translate(CONTROLS))


def write(text: str) -> None:
    """Write to stdout as it is, styles included."""
    try:
        sys.stdout.write(shown(text))
        sys.stdout.flush()
    except BrokenPipeError:
        forget()


def say_version() -> None:
    """Write which version this is."""
    data(f"penstock {__version__}\n")


def forget() -> None:
    """Let what is still buffered for stdout go nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def talk(text: str) -> None:
    """Write a line to stderr."""
    print(shown(text.translate(CONTROLS)), file=sys.stderr, flush=True)


def exit_at_once(code: int) -> NoReturn:
    """End the process at once: a silent target may never give back what it was given.

    Both streams are closed first, so that a reader knows that there is no more, however long the
    kernel takes.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nowhere, stream.fileno())
    os._exit(code)
