"""The command, timed: what it takes from its start to its last line, and its memory."""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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


class Aim(NamedTuple):
    """The most that a command is to take; without a limit where none is set."""

    seconds: float = math.inf
    cpu_seconds: float = math.inf
    megabytes: float = math.inf

    def judge(self, calls: Sequence[Timed]) -> str:
        """Return the medians of some calls, and whether they hold."""
        words = []
        for name, unit in UNITS.items():
            value = statistics.median(getattr(call, name) for call in calls)
            most = getattr(self, name)
            holds = "holds" if value <= most else "over"
            aim = "" if most == math.inf else f" ({holds} {most:g})"
            words.append(f"{value:.0f} {unit}{aim}" if value >= 100 else f"{value:.3g} {unit}{aim}")
        return ", ".join(words)


UNITS = {"seconds": "s", "cpu_seconds": "s of processors", "megabytes": "MB"}
"""The figures of a call, with their units."""


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
