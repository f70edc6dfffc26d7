"""The lines of a run, as IOzone prints them: scripts read them, so each blank and tab counts."""

from collections.abc import Iterator, Sequence

from penstock import __version__
from penstock.iozone.figures import UNITS, figures
from penstock.iozone.flags import KIB
from penstock.iozone.options import IozoneOptions
from penstock.iozone.phases import IozoneTest, columns
from penstock.iozone.plan import tests_of
from penstock.iozone.result import RunFacts
from penstock.iozone.runner import MeasuredTest
from penstock.text.names import shown

_TAB = 8

_EQUALS = 7 * _TAB
"""The column of the equals signs."""

COMPLETE = "iozone test complete.\n"


def header(options: IozoneOptions, facts: RunFacts) -> str:
    """Return the facts above the results."""
    lines = [
        "\tPenstock: the tests and lines of IOzone, without its program",
        f"\t        Version {__version__}",
        f"\t\tBuild: {facts.machine.kernel} {facts.machine.architecture}",
        "",
        f"\t{facts.world.upper()} on {facts.subject}",
        "",
    ]
    if facts.began is not None:
        lines += [f"\tRun began: {facts.began:%a %b %d %H:%M:%S %Y}", ""]
    lines += [f"\t{line}" for line in _settings(options)]
    lines += [
        f"\tCommand line used: {facts.command}",
        f"\tOutput is in {UNITS[options.unit].output}",
        f"\tTime Resolution = {facts.resolution_s:.9f} seconds.",
    ]
    if (cache := facts.machine.cache_kib) is not None:
        lines.append(f"\tProcessor cache size set to {cache} kBytes.")
    if (line := facts.machine.cache_line_bytes) is not None:
        lines.append(f"\tProcessor cache line size set to {line} bytes.")
    lines.append(f"\tFile stride size set to {options.stride} * record size.")
    return shown("\n".join(lines) + "\n")


def _settings(options: IozoneOptions) -> Iterator[str]:
    """Yield a line for each setting that is not the usual one."""
    if options.direct:
        yield "O_DIRECT feature enabled"
    if options.sync:
        yield "SYNC Mode."
    if options.flush:
        yield "Include fsync in write timing"
    if options.close:
        yield "Include close in write timing"
    if options.keep:
        yield "Setting no_unlink"
    if not options.again:
        yield "No retest option selected"
    if options.mode == "automatic":
        yield "Auto Mode"
        if options.size is None:
            least, most = options.sizes
            yield f"Using minimum file size of {least // KIB} kilobytes."
            yield f"Using maximum file size of {most // KIB} kilobytes."
        if options.record is None:
            least, most = options.records
            yield f"Using Minimum Record Size {least // KIB} kB"
            yield f"Using Maximum Record Size {most // KIB} kB"
    if options.record is not None:
        yield f"Record Size {options.record // KIB} kB"
    if options.size is not None:
        yield f"File size set to {options.size // KIB} kB"
    if options.report:
        yield "Excel chart generation enabled"
    if len(options.threads) > 1:
        yield f"Min process = {options.threads[0]} "
        yield f"Max process = {options.threads[-1]} "


class IozoneLines:
    """Makes the lines of the tests, one after another as they end."""

    def __init__(self, options: IozoneOptions) -> None:
        """Begin below the header."""
        self._options = options
        self._tests = tests_of(options)
        self._threads = 0
        self._column = 0
        self._columns = [] if options.several else columns(options.phases)
        self._begun = False

    def add(self, measured: MeasuredTest) -> str:
        """Return the text of a test that has ended."""
        if self._options.several:
            return self._of_several(measured)
        return self._of_one(measured)

    def _of_several(self, measured: MeasuredTest) -> str:
        text = ""
        point = measured.point
        if point.threads != self._threads:
            processes = "process" if point.threads == 1 else "processes"
            text = "\n" if self._threads else ""
            text += f"\tThroughput test with {point.threads} {processes}\n"
            text += (
                f"\tEach process writes a {point.size // KIB} kByte file in "
                f"{point.record // KIB} kByte records\n"
            )
            self._threads = point.threads
        return text + "\n" + "".join(f"\t{line}\n" for line in self._throughput(measured))

    def _throughput(self, measured: MeasuredTest) -> Iterator[str]:
        """Yield the lines about the throughput of a test."""
        values = figures(measured, self._options.unit)
        unit = UNITS[self._options.unit]
        test = measured.test
        number = f"{len(measured.workers):>{2 if test.wide else 1}}"
        yield _line(
            f"Children see throughput for {number} {test.workers}", values.children, unit.line
        )
        yield _line(f"Parent sees throughput for {number} {test.workers}", values.parent, unit.line)
        yield _line("Min throughput per process", values.least, unit.line) + " "
        yield _line("Max throughput per process", values.greatest, unit.line)
        yield _line("Avg throughput per process", values.average, unit.line)
        yield _line("Min xfer", values.least_amount, unit.amount)
        if self._options.per_worker:
            for worker, (amount, rate) in enumerate(values.workers):
                yield (
                    f"Child[{worker}] xfer count = {amount:10.2f} {unit.amount}, "
                    f"Throughput = {rate:10.2f} {unit.line}"
                )

    def _of_one(self, measured: MeasuredTest) -> str:
        text = "" if self._begun else _headings(self._columns)
        self._begun = True
        if measured.test == self._tests[0]:
            point = measured.point
            text += f"{point.size // KIB:>16}{point.record // KIB:>8}"
            self._column = 0
        at = self._columns.index(measured.test)
        text += "".join(" " * _width(test) for test in self._columns[self._column : at])
        self._column = at + 1
        value = whole(measured, self._options.unit)
        # A figure that is wider than its column must not touch the one before.
        text += f" {value:>{_width(measured.test) - 1}}"
        return text + ("\n" if measured.test == self._tests[-1] else "")


def whole(measured: MeasuredTest, unit: str) -> int:
    """Return the figure of tables, which have whole numbers."""
    return round(figures(measured, unit).children)


def _line(words: str, value: float, unit: str) -> str:
    """Return words, tabs up to the common column, a figure and its unit."""
    # The line begins behind a tab.
    end = _TAB + len(words) + 1
    tabs = max(-(-(_EQUALS - end) // _TAB), 1)
    return f"{words} {chr(9) * tabs}= {value:10.2f} {unit}"


def _headings(tests: Sequence[IozoneTest]) -> str:
    """Return the two lines above the wide table."""
    above, below = ("".join(test.heading[number] for test in tests) for number in range(2))
    return f"{'':24}{above}\n{'kB':>16}{'reclen':>8}{below}\n"


def _width(test: IozoneTest) -> int:
    return len(test.heading[1])
