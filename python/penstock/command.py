"""The command's entry: as little as possible before Ctrl-C is in order.

While modules are read there is nothing to save, so an interrupt ends the process at once and
quietly. From then on it is Python's, and what runs decides.
"""

import atexit
import gc
import os
import signal
import sys
from typing import TextIO

OUTPUT_LOST = 1
"""What the command exits with when its output cannot be written."""

COLLECT_AFTER = 100_000
"""So many new objects before garbage is looked for. Modules are tens of thousands that stay, and
looking through them as they are read, and again at the end, took a tenth of a short command."""


def main() -> None:
    """Run the command `penstock` and exit."""
    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stderr = sys.stderr or _nowhere()
    if sys.stdout is None:
        print("error: stdout is closed, and results go there", file=sys.stderr)
        print("hint: write `> /dev/null` if they are not wanted", file=sys.stderr)
        sys.exit(OUTPUT_LOST)
    from penstock.cli import app, output

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app.main()
    except OSError as error:
        # Whatever reads or writes files says so itself: what is left are the streams.
        output.forget()
        output.talk(f"error: the output cannot be written: {error.strerror}")
        sys.exit(OUTPUT_LOST)


def _nowhere() -> TextIO:
    """In the place of a stream that is closed."""
    return open(os.devnull, "w", encoding="utf-8")
