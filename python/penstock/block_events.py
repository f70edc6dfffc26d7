r"""Converts the kernel's block events to the lines of a file.

    dd-549  [001] ..... 16358.390794: block_bio_queue: 7,0 WS 8 + 16 [dd]
    dd-549  [001] ..... 16358.390801: block_rq_issue: 7,0 WS 8192 () 8 + 16 be,0,4 [dd]
    <idle>-0  [000] ..s.. 16358.391148: block_rq_complete: 7,0 WS () 8 + 16 be,0,4 [0]

become a `Q`, a `D` and a `C` event, as `blkparse` prints them or as the decisions of a scheduler.
Times are whole microseconds, as the kernel prints them. Requests to partitions become requests of
the disk. Requests of this process, which writes the file, and commands to the device itself are
left out. Source: the format of each event in tracefs.
"""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

ACTIONS = {
    "block_bio_queue": "Q",
    "block_getrq": "G",
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
    r"(?P<sector>\d+) \+ (?P<sectors>\d+) (?:(?P<ioprio>[^\s\[]+) )?\[(?P<name>.*)\]"
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


class BlockEvent(NamedTuple):
    """An event of a request to a disk."""

    disk: Disk
    number: int
    """Number of the event in the file, from 1."""
    us: int
    """Microseconds since the first event."""
    cpu: int
    pid: str
    action: str
    """One of the values of `ACTIONS`."""
    letters: str
    """The operation and its flags."""
    sector: int
    sectors: int
    ioprio: str
    """The I/O priority, as `be,0,4`; empty where the kernel does not print it."""
    name: str
    """Name of the process."""


def blkparse(event: BlockEvent) -> str:
    """Return the line that `blkparse` prints for the event."""
    return (
        f"{event.disk.number:>6} {event.cpu:>4} {event.number:>8} "
        f"{event.us // 1_000_000:>5}.{event.us % 1_000_000:06}000 {event.pid:>5}  {event.action} "
        f"{event.letters:>3} {event.sector} + {event.sectors} [{event.name}]\n"
    )


OPERATIONS = {"R": 0, "W": 1, "D": 2}
"""Numbers of the operations in the lines of decisions, by their letter."""

CLASSES = {"rt": 0, "idle": 2}
"""Numbers of the classes of I/O priority there; the others are best-effort, 1."""


def decision(event: BlockEvent, inserted: str = "I") -> str | None:
    """Return the line of the event for the decisions of a scheduler: `I 1000 0 2048 8 1`.

    Action, nanoseconds, operation, first sector, sectors, class of I/O priority. `inserted` is the
    action by which the scheduler gets a request. Commands without data are no decisions.
    """
    action = {inserted: "I", "M": "M", "F": "F", "D": "D", "C": "C"}.get(event.action)
    letters = event.letters
    # A leading F asks for a flush before the data.
    op = OPERATIONS.get(letters[1:2] if letters.startswith("F") else letters[:1])
    if action is None or op is None or not event.sectors:
        return None
    prio = CLASSES.get(event.ioprio.split(",")[0], 1)
    return f"{action} {event.us}000 {op} {event.sector} {event.sectors} {prio}\n"


Form = Callable[[BlockEvent], str | None]
"""Returns the line of an event, or `None` to leave it out."""


class Formatter:
    """Converts the kernel's lines to the lines of a file."""

    def __init__(self, disk: Disk, form: Form = blkparse) -> None:
        """Create a formatter for the events of a disk and its partitions."""
        self.disk = disk
        self.captured = Captured()
        self._form = form
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
        sectors = int(details["sectors"])
        self._count(action, sectors)
        self._number += 1
        return self._form(
            BlockEvent(
                disk=self.disk,
                number=self._number,
                us=max(now - self._origin, 0),
                cpu=int(event["cpu"]),
                pid=event["pid"],
                action=action,
                letters=details["letters"],
                # A flush has no address: the kernel prints an arbitrary sector.
                sector=int(details["sector"]) if sectors else 0,
                sectors=sectors,
                ioprio=details["ioprio"] or "",
                name=details["name"],
            )
        )

    def _count(self, action: str, sectors: int) -> None:
        captured = self.captured
        captured.requests += action == "Q"
        captured.merges += action in "MF"
        if action == "C" and sectors:
            captured.completions += 1
            captured.completed_bytes += sectors * SECTOR
