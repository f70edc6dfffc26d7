"""The options of IOzone, each declared once: how it is written, read and explained.

Help, the manual page and the reference are made of this table. Options of IOzone that are not here
stand in a second table, each with the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import wrong
from penstock.iozone.phases import PHASES, meaning

KIB = 1024

LETTERS = {"k": KIB, "m": KIB**2, "g": KIB**3}
"""Units of sizes, by the letter behind the number."""

SIZE_MOST = 1 << 50
"""Bytes of the largest file that a size may name, as 1024g times 1024."""

COUNT_MOST = 1 << 20
"""Largest of the other numbers: more threads or records in flight than any machine has."""


@dataclass(frozen=True)
class IozoneFlag:
    """An option of IOzone."""

    name: str
    help: str
    metavar: str | None = None
    """The placeholder of its value; `None` for an option without one."""
    read: Callable[[str, str], int] | None = None
    """Reads a value that is a number; the first argument is its name, for messages."""
    several: bool = False
    """Whether it may be given again, or have several values."""


def size(name: str, text: str) -> int:
    """Return the bytes of a size; without a letter it counts KiB, as in IOzone."""
    number, unit = (text[:-1], text[-1:].lower()) if text[-1:].isalpha() else (text, "k")
    if not (number.isdecimal() and number.isascii() and unit in LETTERS):
        raise wrong(
            f"{name}: found {text!r}; expected a size in KiB, or with one of k, m and g",
            f"as {name} 512k",
        )
    value = int(number) * LETTERS[unit]
    if not 0 < value <= SIZE_MOST:
        raise wrong(
            f"{name}: found {text!r}; expected a size from 1k to {SIZE_MOST // KIB**3}g",
            f"as {name} 512k",
        )
    return value


def has_no_unit(text: str) -> bool:
    """Whether a size is a bare number."""
    return text.isdecimal()


def count(name: str, text: str) -> int:
    """Return a whole number from 1 on."""
    value = int(text) if text.isdecimal() and text.isascii() else 0
    if not 0 < value <= COUNT_MOST:
        raise wrong(
            f"{name}: found {text!r}; expected a whole number from 1 to {COUNT_MOST}",
            f"as {name} 4",
        )
    return value


def percent(name: str, text: str) -> int:
    """Return a whole number of percent."""
    if not (text.isdecimal() and text.isascii() and int(text) <= 100):
        raise wrong(f"{name}: found {text!r}; expected 0 to 100", f"as {name} 70")
    return int(text)


def phase(name: str, text: str) -> int:
    """Return the number of a phase."""
    if not (text.isdecimal() and text.isascii() and int(text) in PHASES):
        known = ", ".join(f"{number} {meaning(number)}" for number in PHASES)
        raise wrong(f"{name}: found {text!r}; expected a phase from 0 to {PHASES[-1]}", known)
    return int(text)


FLAGS = (
    IozoneFlag(
        "-i",
        "Run a phase: " + ", ".join(f"{number} {meaning(number)}" for number in PHASES) + ". May "
        "be given again. If not given, the usual ones.",
        "N",
        phase,
        several=True,
    ),
    IozoneFlag("-r", "Read and write records of this size; 4k if not given.", "SIZE", size),
    IozoneFlag("-s", "Make the file of each thread this large; 512k if not given.", "SIZE", size),
    IozoneFlag("-t", "Measure throughput with so many threads.", "N", count),
    IozoneFlag("-l", "Measure throughput with each number of threads from this on.", "N", count),
    IozoneFlag("-u", "Measure throughput up to this number of threads.", "N", count),
    IozoneFlag("-F", "Use these files, one for each thread.", "FILE…", several=True),
    IozoneFlag("-f", "Use this file, without -t.", "FILE"),
    IozoneFlag("-w", "Keep the files."),
    IozoneFlag("-I", "Bypass the page cache (O_DIRECT)."),
    IozoneFlag("-o", "Make each write durable before it returns (O_SYNC)."),
    IozoneFlag("-e", "Include fsync and fflush in the time."),
    IozoneFlag("-c", "Include close in the time."),
    IozoneFlag("-U", "Drop the pages of the files before each test.", "MOUNTPOINT"),
    IozoneFlag("-B", "Read and write through mmap."),
    IozoneFlag("-H", "Use POSIX AIO with N requests, and copy the data.", "N", count),
    IozoneFlag("-k", "Use POSIX AIO with N requests, without a copy.", "N", count),
    IozoneFlag("-j", "Read every Nth record in the stride test; 17 if not given.", "N", count),
    IozoneFlag("-x", "Let all threads finish: no stonewalling."),
    IozoneFlag("-C", "Show the bytes of each thread."),
    IozoneFlag("-a", "Test many records on many files: the automatic mode."),
    IozoneFlag("-n", "Begin with files of this size in the automatic mode; 64k.", "SIZE", size),
    IozoneFlag("-g", "End with files of this size in the automatic mode; 512m.", "SIZE", size),
    IozoneFlag("-y", "Begin with records of this size in the automatic mode; 4k.", "SIZE", size),
    IozoneFlag("-q", "End with records of this size in the automatic mode; 16m.", "SIZE", size),
    IozoneFlag("-z", "Test small records on large files too in the automatic mode."),
    IozoneFlag("-R", "Print the report for spreadsheets."),
    IozoneFlag("-b", "Write a workbook, as out.xlsx.", "FILE"),
    IozoneFlag("-O", "Give figures in operations per second."),
    IozoneFlag("-N", "Give figures in microseconds per operation."),
    IozoneFlag("-T", "Use threads, as is done anyway."),
    IozoneFlag("-M", "Name the machine, as is done anyway."),
    IozoneFlag("-+d", "Verify each byte that is read."),
    IozoneFlag("-+n", "Leave out the tests that only repeat one."),
    IozoneFlag("-+p", "Let so many percent of the mixed workload read; 50.", "PERCENT", percent),
)
"""Every option of IOzone that is here."""

BY_NAME = {flag.name: flag for flag in FLAGS}


@dataclass(frozen=True)
class AbsentFlag:
    """An option that IOzone has and penstock does not."""

    because: str
    instead: str = "leave it out"


_CPU = "the processor's cache is not purged between tests"
_TELEMETRY = "offsets from a file are a trace"
_PACE = "a test goes as fast as it can"

ABSENT = {
    "-A": AbsentFlag("IOzone gave it up itself", "use -a -z -i 0 -i 1"),
    "-d": AbsentFlag("all threads start at the same moment"),
    "-D": AbsentFlag("a mapping is flushed as a whole", "-B -e includes the flush in the time"),
    "-E": AbsentFlag("its tests are phases", "use -i 9 -i 10"),
    "-G": AbsentFlag("a mapping is flushed as a whole", "-B -e includes the flush in the time"),
    "-J": AbsentFlag(_PACE, "a job has think times: `penstock run`"),
    "-K": AbsentFlag("a test has one pattern", "use -i 2 for random records"),
    "-L": AbsentFlag(_CPU),
    "-m": AbsentFlag("each thread has one buffer for each record in flight"),
    "-p": AbsentFlag(_CPU),
    "-P": AbsentFlag("threads are not bound to processors", "start it with taskset"),
    "-Q": AbsentFlag("no latency is kept for each offset", "`penstock run --requests` keeps it"),
    "-S": AbsentFlag(_CPU),
    "-v": AbsentFlag("this is not IOzone's program", "`penstock --version` prints ours"),
    "-V": AbsentFlag("the data is a function of place, pass and seed", "use -+d"),
    "-W": AbsentFlag("files are not locked while they are read or written"),
    "-X": AbsentFlag(_TELEMETRY, "`penstock replay` plays one"),
    "-Y": AbsentFlag(_TELEMETRY, "`penstock replay` plays one"),
    "-Z": AbsentFlag("a test uses one kind of I/O", "run twice, with -B and without"),
    "-+A": AbsentFlag("mappings get no advice"),
    "-+D": AbsentFlag("O_DSYNC has no mode of its own", "use -o"),
    "-+h": AbsentFlag("it runs on one machine"),
    "-+l": AbsentFlag("files are not locked while they are read or written"),
    "-+L": AbsentFlag("files are not locked while they are read or written"),
    "-+m": AbsentFlag("it runs on one machine", "start it on each machine"),
    "-+N": AbsentFlag("the first write makes the file anew"),
    "-+r": AbsentFlag("O_RSYNC is O_SYNC in Linux", "use -o"),
    "-+t": AbsentFlag("networks are not tested"),
    "-+T": AbsentFlag("calls are not logged with times", "`penstock capture` records requests"),
    "-+u": AbsentFlag("processor time is not measured", "`time` in front of it shows it"),
    "-+w": AbsentFlag("the data does not repeat"),
}
"""Documented options of IOzone that are refused, with the reason and a way to the same end."""
