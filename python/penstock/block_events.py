r"""Converts the kernel's block events to the lines that `blkparse` prints.

    dd-549  [001] ..... 16358.390794: block_bio_queue: 7,0 WS 8 + 16 [dd]
    dd-549  [001] ..... 16358.390801: block_rq_issue: 7,0 WS 8192 () 8 + 16 be,0,4 [dd]
    <idle>-0  [000] ..s.. 16358.391148: block_rq_complete: 7,0 WS () 8 + 16 be,0,4 [0]

become a `Q`, a `D` and a `C` event, with times from the first event. Times are whole microseconds,
as the kernel prints them. Requests to partitions become requests of the disk. Requests of this
process, which writes the file, and commands to the device itself are left out. Source: the format
of each event in tracefs.
"""

import os
import re
import signal
from dataclasses import dataclass

ACTIONS = {
    "block_bio_queue": "Q",
    "block_bio_backmerge": "M",
    "block_bio_frontmerge": "F",
    "block_rq_insert": "I",
    "block_rq_issue": "D",
    "block_rq_requeue": "R",
    "block_rq_complete": "C",
    "block_bio_complete": "C",
}
"""The kernel's events, and their names in `blkparse`.

Devices without a request queue, such as LVM volumes, send `block_bio_complete`; others complete
requests only.
"""

SECTOR = 512
"""Bytes of a sector in the kernel's events and counters."""

_EVENT = re.compile(
    r"\s*.*-(?P<pid>\d+)\s+(?:\([\s\d-]+\)\s+)?\[(?P<cpu>\d+)\]\s+(?:\S+\s+)?"
    r"(?P<s>\d+)\.(?P<us>\d{6}): (?P<event>block_\w+): (?P<what>.*)"
)
_WHAT = re.compile(
    r"(?P<device>\d+,\d+) (?P<letters>\S+) (?:(?:\d+ )?\((?P<command>[^)]*)\) )?"
    r"(?P<sector>\d+) \+ (?P<sectors>\d+) (?:[^\s\[]+ )?\[(?P<name>.*)\]"
)
_LOST = re.compile(r"CPU:\d+ \[LOST (\d+) EVENTS\]")


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A disk, as the kernel numbers it."""

    name: str
    number: str
    """Device number, such as `8,0`."""
    numbers: frozenset[str]
    """Device numbers of the disk and its partitions."""


@dataclass(kw_only=True)
class Captured:
    """Counts of a capture."""

    requests: int = 0
    """Requests of programs: what was queued."""
    merges: int = 0
    """Requests that the kernel merged into others."""
    completions: int = 0
    """Commands that the disk completed."""
    completed_bytes: int = 0
    """Bytes of these commands."""
    lost: int = 0
    """Events that the kernel dropped because they were not read in time."""
    counted: int = 0
    """Commands that the kernel's own counters of the disk have for that time."""
    counted_bytes: int = 0
    """Bytes of those commands."""
    seconds: float = 0.0
    command: int | None = None
    """Exit code of the command that was run meanwhile, if one was given."""
    asked_by: signal.Signals | None = None
    """The signal that ended it early."""


class Formatter:
    """Converts the kernel's lines to lines of `blkparse`."""

    def __init__(self, disk: Disk) -> None:
        """Create a formatter for the events of a disk and its partitions."""
        self.disk = disk
        self.captured = Captured()
        self._own = str(os.getpid())
        self._origin: int | None = None
        self._number = 0

    def line(self, text: str) -> str | None:
        """Return the line of an event; `None` if it is not about a request to the disk."""
        lost = _LOST.search(text)
        if lost:
            self.captured.lost += int(lost[1])
        event = _EVENT.fullmatch(text)
        details = event and _WHAT.fullmatch(event["what"])
        if (
            not event
            or not details
            or details["device"] not in self.disk.numbers
            or details["command"]
        ):
            return None
        action = ACTIONS.get(event["event"])
        by_recorder = action == "Q" and event["pid"] == self._own
        if action is None or by_recorder or details["letters"].startswith("N"):
            return None
        now = int(event["s"]) * 1_000_000 + int(event["us"])
        if self._origin is None:
            self._origin = now
        since = max(now - self._origin, 0)
        self._count(action, int(details["sectors"]))
        self._number += 1
        # A flush has no address: the kernel prints an arbitrary sector.
        sector = details["sector"] if details["sectors"] != "0" else "0"
        return (
            f"{self.disk.number:>6} {int(event['cpu']):>4} {self._number:>8} "
            f"{since // 1_000_000:>5}.{since % 1_000_000:06}000 {event['pid']:>5}  {action} "
            f"{details['letters']:>3} {sector} + {details['sectors']} [{details['name']}]\n"
        )

    def _count(self, action: str, sectors: int) -> None:
        captured = self.captured
        captured.requests += action == "Q"
        captured.merges += action in "MF"
        if action == "C" and sectors:
            captured.completions += 1
            captured.completed_bytes += sectors * SECTOR
