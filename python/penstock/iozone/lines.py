"""The lines of a run, as IOzone prints them: scripts read them, so each blank and tab counts.

The source is outputs that were published. Settings that none of them shows have words of ours.
"""

from collections.abc import Iterator, Sequence

from penstock import __version__
from penstock.iozone.figures import UNITS, figures
from penstock.iozone.flags import KIB
from penstock.iozone.options import AUTOMATIC, IozoneOptions
from penstock.iozone.phases import MIX, IozoneTest, columns
from penstock.iozone.plan import points, tests_of
from penstock.iozone.result import RunFacts
from penstock.iozone.runner import IozonePoint, MeasuredTest
from penstock.text import units

COMPLETE = "iozone test complete.\n"
"""The line below the results."""

_TAB = 8
"""Columns from one tab stop to the next."""

_EQUALS = 7 * _TAB
"""The column of the equals signs."""

_SIZES = (("kB", 16), ("reclen", 8))
"""Headings of the first columns of the wide table, with their widths."""


def header(options: IozoneOptions, facts: RunFacts) -> str:
    """Return the facts above the results."""
    blocks = (
        _program(facts),
        _place(facts),
        (*_settings(options), *_conditions(options, facts)),
    )
    text = "\n".join("".join(f"\t{line}\n" for line in block) for block in blocks)
    if options.several:
        return text + _throughput_test(points(options)[0])
    return text + _headings(columns(options.phases))


def _program(facts: RunFacts) -> Iterator[str]:
    yield "Penstock: Performance Test of File I/O"
    yield f"        Version {__version__}"
    yield f"\tBuild: {facts.machine.architecture}"


def _place(facts: RunFacts) -> Iterator[str]:
    machine = facts.machine
    yield f"{facts.world.upper()} on {facts.subject}"
    if facts.disk is not None:
        yield f"Disk = {facts.disk} under {facts.scheduler}"
    yield (
        f"Machine = {machine.kernel} {machine.architecture}, {machine.cpus} CPUs, "
        f"{units.size(machine.memory_bytes)} of memory"
    )
    if facts.began is not None:
        yield f"Run began: {facts.began.ctime()}"


def _settings(options: IozoneOptions) -> Iterator[str]:
    """Yield the sizes, and a line for each setting that is not the usual one."""
    if options.mode == "automatic":
        yield "Auto Mode"
    if options.record is not None:
        yield f"Record Size {options.record // KIB} kB"
    if options.size is not None:
        yield f"File size set to {options.size // KIB} kB"
    bounds = (
        ("-n", options.sizes[0], "minimum file size of {} kilobytes."),
        ("-g", options.sizes[1], "maximum file size of {} kilobytes."),
        ("-y", options.records[0], "Minimum Record Size {} kB"),
        ("-q", options.records[1], "Maximum Record Size {} kB"),
    )
    for name, bound, words in bounds:
        if bound != AUTOMATIC[name]:
            yield f"Using {words.format(bound // KIB)}"
    if options.aio is not None:
        kind = "" if options.aio_copies else " (no bcopy)"
        yield f"POSIX Async I/O{kind}. Depth {options.aio}"
    if options.drop is not None:
        yield f"Pages of the files dropped before each test, for {options.drop}"
    if MIX in options.phases:
        yield f"Mixed workload of {options.mix_reads} percent readers"
    switches = (
        (options.all_records, "Cross over of record size disabled."),
        (options.keep, "Setting no_unlink"),
        (options.close, "Include close in write timing"),
        (options.flush, "Include fsync in write timing"),
        (options.direct, "O_DIRECT feature enabled"),
        (options.sync, "O_SYNC feature enabled"),
        (options.mmap, "mmap feature enabled"),
        (not options.again, "No retest option selected"),
        (not options.stonewall, "Stonewalling disabled"),
        (options.verify, ">>> I/O Diagnostic mode enabled. <<<"),
        (options.report, "Excel chart generation enabled"),
    )
    yield from (words for chosen, words in switches if chosen)


def _conditions(options: IozoneOptions, facts: RunFacts) -> Iterator[str]:
    """Yield the lines that every output has."""
    machine = facts.machine
    yield f"Command line used: {facts.command}"
    yield f"Output is in {UNITS[options.unit].output}"
    yield f"Time Resolution = {facts.resolution_s:.9f} seconds."
    if machine.cache_kib is not None:
        yield f"Processor cache size set to {machine.cache_kib} kBytes."
    if machine.cache_line_bytes is not None:
        yield f"Processor cache line size set to {machine.cache_line_bytes} bytes."
    yield f"File stride size set to {options.stride} * record size."
    if len(options.threads) > 1:
        # Here, and behind the least throughput, published lines end with a blank.
        yield f"Min process = {options.threads[0]} "
        yield f"Max process = {options.threads[-1]} "


class IozoneLines:
    """Makes the lines of the tests, one after another as they end."""

    def __init__(self, options: IozoneOptions) -> None:
        """Begin below the header."""
        self._options = options
        self._threads = options.threads[0]
        self._last = tests_of(options)[-1]
        self._row: dict[IozoneTest, int] = {}

    def add(self, measured: MeasuredTest) -> str:
        """Return the text of a test that has ended."""
        return self._of_several(measured) if self._options.several else self._of_one(measured)

    def _of_several(self, measured: MeasuredTest) -> str:
        text = "\n" + "".join(self._throughput(measured))
        if measured.point.threads == self._threads:
            return text
        self._threads = measured.point.threads
        return f"\n{_throughput_test(measured.point)}{text}"

    def _throughput(self, measured: MeasuredTest) -> Iterator[str]:
        """Yield the lines about the throughput of a test."""
        unit = UNITS[self._options.unit]
        values = figures(measured, self._options.unit)
        number = f"{measured.point.threads:{2 if measured.test.wide else 1}}"
        workers = f"{number} {measured.test.workers}"
        yield _line(f"Children see throughput for {workers}", values.children, unit.line)
        yield _line(f"Parent sees throughput for {workers}", values.parent, unit.line)
        yield _line("Min throughput per process", values.least, f"{unit.line} ")
        yield _line("Max throughput per process", values.greatest, unit.line)
        yield _line("Avg throughput per process", values.average, unit.line)
        yield _line("Min xfer", values.least_amount, unit.amount)
        if self._options.per_worker:
            for child, (amount, rate) in enumerate(values.workers):
                yield (
                    f"\tChild[{child}] xfer count = {amount:10.2f} {unit.amount}, "
                    f"Throughput = {rate:10.2f} {unit.line}\n"
                )

    def _of_one(self, measured: MeasuredTest) -> str:
        """Return the row of the wide table with the last of its tests, and nothing before."""
        self._row[measured.test] = whole(measured, self._options.unit)
        if measured.test != self._last:
            return ""
        sizes = (measured.point.size // KIB, measured.point.record // KIB)
        cells = [
            *(_cell(size, width) for size, (_, width) in zip(sizes, _SIZES, strict=True)),
            *(_cell(self._row.get(test), _width(test)) for test in columns(self._options.phases)),
        ]
        self._row.clear()
        return "".join(cells) + "\n"


def whole(measured: MeasuredTest, unit: str) -> int:
    """Return the figure of tables, which have whole numbers."""
    return round(figures(measured, unit).children)


def _throughput_test(point: IozonePoint) -> str:
    """Return the lines above the tests with a number of threads."""
    return (
        f"\tThroughput test with {point.threads} process{'' if point.threads == 1 else 'es'}\n"
        f"\tEach process writes a {point.size // KIB} kByte file in "
        f"{point.record // KIB} kByte records\n"
    )


def _line(words: str, value: float, unit: str) -> str:
    """Return words, tabs up to the common column, a figure and its unit."""
    # The line begins behind a tab.
    end = _TAB + len(words) + 1
    tabs = "\t" * max(1, (_EQUALS - end + _TAB - 1) // _TAB)
    return f"\t{words} {tabs}= {value:10.2f} {unit}\n"


def _headings(tests: Sequence[IozoneTest]) -> str:
    """Return the two lines above the wide table."""
    sizes = "".join(f"{heading:>{width}}" for heading, width in _SIZES)
    above = " " * len(sizes) + "".join(test.heading[0] for test in tests)
    below = sizes + "".join(test.heading[1] for test in tests)
    return f"{above}\n{below}\n"


def _cell(value: int | None, width: int) -> str:
    """Return a column of a row; however large its number is, a blank is before it."""
    return " " * width if value is None else f" {value:{width - 1}}"


def _width(test: IozoneTest) -> int:
    return len(test.heading[1])
