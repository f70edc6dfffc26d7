"""The entry point of the command, which does as little as possible before Ctrl-C is handled.

While modules are imported there is nothing to save, so an interrupt ends the process at once,
without a message. Afterwards Python handles interrupts, and the running command decides.
"""

import atexit
import gc
import os
import signal
import sys
from typing import TextIO

OUTPUT_LOST = 1
"""Exit code if the output cannot be written."""

COLLECT_AFTER = 100_000
"""New objects between two garbage collections. Importing makes tens of thousands that stay, and
collecting during the import and again at the end took a tenth of the time of a short command."""


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
    from penstock.cli import output

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if sys.argv[1:] == ["--version"]:
            # The verbs and their options take three times as long to load as all else here.
            output.say_version()
            return
        from penstock.cli import app

        app.main()
    except SystemExit:
        # `python -m` dies of an interrupt that came while a text was evaluated, as that of a
        # dataclass, although it was caught since. Evaluating another one makes it forget.
        eval("None")
        raise
    except OSError as error:
        # Errors of files are reported where they are used, so this is an output stream.
        output.forget()
        output.talk(f"error: the output cannot be written: {error.strerror}")
        sys.exit(OUTPUT_LOST)


def _nowhere() -> TextIO:
    """Return a stream that discards its output, in place of one that is closed."""
    return open(os.devnull, "w", encoding="utf-8")
