"""The command, timed: what it takes from its start to its last line, and its memory."""

import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple


class Timed(NamedTuple):
    """One call of the command; of several the least is the fastest."""

    seconds: float
    cpu_seconds: float
    """Of all its threads, in user mode and in the kernel."""
    megabytes: float
    """Its largest memory."""
    out: bytes
    """What it printed."""


def timed(*words: str) -> Timed:
    """Call `penstock` with these words."""
    with tempfile.TemporaryFile() as out:
        begun = time.perf_counter()
        command = subprocess.Popen(
            [sys.executable, "-m", "penstock", *words], stdout=out, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(command.pid, 0)
        took = time.perf_counter() - begun
        command.returncode = os.waitstatus_to_exitcode(status)
        if command.returncode:
            raise SystemExit(f"penstock {' '.join(words)} failed")
        out.seek(0)
        return Timed(took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, out.read())
