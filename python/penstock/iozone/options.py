"""The options of a command as values, checked before anything runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from penstock.errors import wrong
from penstock.iozone import command_line
from penstock.iozone.command_line import Values
from penstock.iozone.flags import BY_NAME, KIB, has_no_unit, phase
from penstock.iozone.phases import MIX, USUAL, USUAL_OF_SEVERAL

Mode: TypeAlias = Literal["single stream", "throughput", "automatic"]

AUTOMATIC = {"-n": 64 * KIB, "-g": 512 * KIB**2, "-y": 4 * KIB, "-q": 16 * KIB**2}
"""Options that bound the automatic mode, and their values if they are not given."""

WORKBOOK = ".xlsx"

SIZES = ("-r", "-s", *AUTOMATIC)

ALONE = {
    "automatic": ("-z", *AUTOMATIC),
    "throughput": ("-F", "-x", "-C", "-+p"),
}
"""Options that only one mode knows."""

ADDS = {"automatic": "add -a", "throughput": "add -t N"}


@dataclass(frozen=True, kw_only=True)
class IozoneOptions:
    """The options of a command."""

    mode: Mode
    phases: tuple[int, ...]
    record: int | None
    """Bytes of a record; in the automatic mode `None` stands for many."""
    size: int | None
    """Bytes of a file; in the automatic mode `None` stands for many."""
    threads: range
    """The numbers of threads that are tried, in their order."""
    files: tuple[str, ...]
    """A file for each thread of the largest number."""
    named: bool
    """Whether the files were named, and are not the usual ones."""
    keep: bool
    direct: bool
    sync: bool
    flush: bool
    """Whether fsync and fflush are in the time."""
    close: bool
    """Whether close is in the time."""
    drop: str | None
    """The mount point of -U: the pages of the files are dropped before each test."""
    mmap: bool
    aio: int | None
    """Requests in flight of POSIX AIO."""
    aio_copies: bool
    """Whether their data is copied between the buffer of a request and that of the program."""
    stride: int
    stonewall: bool
    """Whether a test ends for all workers when the first has ended."""
    per_worker: bool
    sizes: tuple[int, int]
    """Least and greatest file of the automatic mode."""
    records: tuple[int, int]
    """Least and greatest record of the automatic mode."""
    all_records: bool
    report: bool
    workbook: Path | None
    unit: str
    """A key of `figures.UNITS`."""
    verify: bool
    again: bool
    """Whether tests that only repeat one are run."""
    mix_reads: int
    """Percent of the mixed workload that read."""
    on: str | None
    """The model that they run on, or `None` for real files."""
    scheduler: str | None
    sets: tuple[str, ...]
    seed: int
    notes: tuple[str, ...]
    """What the reader of the options has to say about them."""

    @property
    def several(self) -> bool:
        """Whether it is about throughput, with any number of threads."""
        return self.mode == "throughput"


def options(
    line: Sequence[str],
    *,
    on: str | None = None,
    scheduler: str | None = None,
    sets: Sequence[str] = (),
    seed: int = 0,
) -> IozoneOptions:
    """Read a command line of IOzone, and our own options with it."""
    values = command_line.read(line)
    flags = values.keys()

    def number(name: str) -> int | None:
        """Return the number that an option has."""
        read = BY_NAME[name].read
        return None if read is None or name not in values else read(name, values[name][0])

    mode = _mode(values)
    _check_pairs(values, mode)
    threads = _threads(number)
    workbook = None if "-b" not in flags else Path(values["-b"][0])
    if on is None and (scheduler is not None or sets):
        raise wrong(
            f"{'--set' if scheduler is None else '--scheduler'} goes with a model, and the files "
            "are real",
            "add --on hdd-7200, or set the disk's scheduler with `penstock linux set`",
        )
    checked = IozoneOptions(
        mode=mode,
        phases=_phases(values, mode),
        record=number("-r") or (None if mode == "automatic" else 4 * KIB),
        size=number("-s") or (None if mode == "automatic" else 512 * KIB),
        threads=threads,
        files=_files(values, threads[-1], mode),
        named="-F" in flags or "-f" in flags,
        keep="-w" in flags,
        direct="-I" in flags,
        sync="-o" in flags,
        flush="-e" in flags,
        close="-c" in flags,
        drop=values["-U"][0] if "-U" in flags else None,
        mmap="-B" in flags,
        aio=number("-H") or number("-k"),
        aio_copies="-H" in flags,
        stride=number("-j") or 17,
        stonewall="-x" not in flags,
        per_worker="-C" in flags,
        sizes=(number("-n") or AUTOMATIC["-n"], number("-g") or AUTOMATIC["-g"]),
        records=(number("-y") or AUTOMATIC["-y"], number("-q") or AUTOMATIC["-q"]),
        all_records="-z" in flags,
        report="-R" in flags,
        workbook=None if workbook is None else workbook.with_suffix(WORKBOOK),
        unit="ops" if "-O" in flags else "us" if "-N" in flags else "kB",
        verify="-+d" in flags,
        again="-+n" not in flags,
        mix_reads=50 if (percent := number("-+p")) is None else percent,
        on=on,
        scheduler=scheduler,
        sets=tuple(sets),
        seed=seed,
        notes=tuple(_notes(values, workbook, threads[-1])),
    )
    _check_sizes(checked)
    return checked


def _mode(values: Values) -> Mode:
    """Return the mode; -t and -a exclude each other."""
    several = next((name for name in ("-t", "-l", "-u") if name in values), None)
    if several is None:
        return "automatic" if "-a" in values else "single stream"
    if "-a" in values:
        raise wrong(
            f"{several} does not go with -a",
            "-a tests records and files of many sizes with one thread: leave out one of them",
        )
    return "throughput"


EXCLUDING = (
    ("-H", "-k", "both are POSIX AIO, with a copy and without"),
    ("-B", "-H", "a mapping has no requests"),
    ("-B", "-k", "a mapping has no requests"),
    ("-B", "-I", "a mapping goes through the page cache"),
    ("-O", "-N", "a figure has one unit"),
    ("-F", "-f", "-f names the only file, -F one for each thread"),
    ("-t", "-l", "-l and -u give the numbers of threads"),
    ("-t", "-u", "-l and -u give the numbers of threads"),
)
"""Options that do not go together, and why."""


def _check_pairs(values: Values, mode: Mode) -> None:
    """Raise an error if an option does not go with the mode or with another option."""
    for first, second, because in EXCLUDING:
        if first in values and second in values:
            raise wrong(
                f"{first} does not go with {second}: {because}", f"leave out {first} or {second}"
            )
    for only, names in ALONE.items():
        for name in names:
            if name in values and mode != only:
                raise wrong(f"{name} has no meaning in the {mode} mode", ADDS[only])
    if "-f" in values and mode == "throughput":
        raise wrong("-f names one file, and -t takes one for each thread", "name them with -F")
    for name, fixed in (("-n", "-s"), ("-g", "-s"), ("-y", "-r"), ("-q", "-r")):
        if name in values and fixed in values:
            raise wrong(
                f"{name} does not go with {fixed}, which sets one size", f"leave out {name}"
            )


def _phases(values: Values, mode: Mode) -> tuple[int, ...]:
    """Return the phases in ascending order, each once."""
    phases = {phase("-i", text) for text in values.get("-i", ())}
    if not phases:
        return USUAL_OF_SEVERAL if mode == "throughput" else USUAL
    if MIX in phases and mode != "throughput":
        raise wrong(
            f"-i {MIX} has no meaning in the {mode} mode: some threads read, the others write",
            "add -t 2",
        )
    if "-+p" in values and MIX not in phases:
        raise wrong("-+p is about the mixed workload, which is not run", f"add -i {MIX}")
    return tuple(sorted(phases))


def _threads(number: Callable[[str], int | None]) -> range:
    """Return the numbers of threads."""
    least, most = number("-l"), number("-u")
    if least is None and most is None:
        threads = number("-t") or 1
        return range(threads, threads + 1)
    if least is None or most is None:
        name = "-u" if most is None else "-l"
        raise wrong(f"there is no {name}", "-l N -u M: from N to M threads")
    if least > most:
        raise wrong(f"-l {least} is more than -u {most}", f"as -l {most} -u {least}")
    return range(least, most + 1)


def _files(values: Values, threads: int, mode: Mode) -> tuple[str, ...]:
    """Return the file of each thread, by the names of IOzone if none were given."""
    files = values.get("-F", values.get("-f"))
    if files is None:
        if mode != "throughput":
            return ("iozone.tmp",)
        return tuple(f"iozone.DUMMY.{number}" for number in range(threads))
    if len(files) < threads:
        raise wrong(
            f"-F names {len(files)} file{'' if len(files) == 1 else 's'}, and {threads} threads "
            f"need {threads}",
            f"name {threads - len(files)} more: a thread has a file of its own",
        )
    for number, name in enumerate(files):
        if not name:
            raise wrong("a file has an empty name", "a variable of the shell may not be set")
        if name in files[:number]:
            raise wrong(f"-F names {name} twice", "a thread has a file of its own")
    return tuple(files[:threads])


def _notes(values: Values, workbook: Path | None, threads: int) -> Iterator[str]:
    """Yield what has to be said about single options."""
    for name in SIZES:
        for text in values.get(name, ()):
            if has_no_unit(text):
                yield f"{name} {text} has no unit and is {text} KiB, as in IOzone"
    if workbook is not None and workbook.suffix != WORKBOOK:
        yield f"-b {workbook}: the workbook is written as {workbook.with_suffix(WORKBOOK)}"
    if "-U" in values:
        yield (
            f"-U {values['-U'][0]}: nothing is unmounted; the pages of the files are dropped "
            "before each test"
        )
    extra = len(values.get("-F", ())) - threads
    if extra > 0:
        yield f"-F names more files than there are threads: the last {extra} are not used"


def _check_sizes(options: IozoneOptions) -> None:
    """Raise an error if a record does not fit in a file, or bounds are the wrong way round."""
    if options.record is not None and options.size is not None and options.record > options.size:
        raise wrong(
            f"-r {options.record // KIB}k is larger than -s {options.size // KIB}k",
            "a file has at least one record",
        )
    bounds = (("-n", "-g", options.sizes), ("-y", "-q", options.records))
    for low, high, (least, most) in bounds:
        if least > most:
            raise wrong(
                f"{low} {least // KIB}k is larger than {high} {most // KIB}k",
                f"as {low} {most // KIB}k {high} {least // KIB}k",
            )
