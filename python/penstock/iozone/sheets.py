"""The report of `-R` for spreadsheets: throughput by threads, or a table of sizes for each test."""

from collections.abc import Iterator, Sequence

from penstock.iozone.figures import UNITS, figures
from penstock.iozone.flags import KIB
from penstock.iozone.lines import COMPLETE, whole
from penstock.iozone.options import IozoneOptions
from penstock.iozone.phases import IozoneTest
from penstock.iozone.runner import MeasuredTest

_LABEL = 15
"""Columns of the name of a test."""


def ending(options: IozoneOptions, results: Sequence[MeasuredTest]) -> str:
    """Return what stands below the lines of all tests, with the report if it was asked for."""
    if options.several:
        report = "".join(_of_several(options, results)) if options.report else ""
        return f"\n\n\n{report}{COMPLETE}"
    report = "".join(_of_one(options, results)) if options.report else ""
    return f"\n{COMPLETE}{report}"


def by_test(results: Sequence[MeasuredTest]) -> dict[IozoneTest, list[MeasuredTest]]:
    """Return the results of each test, both in the order in which they ran."""
    tests: dict[IozoneTest, list[MeasuredTest]] = {}
    for measured in results:
        tests.setdefault(measured.test, []).append(measured)
    return tests


def _of_several(options: IozoneOptions, results: Sequence[MeasuredTest]) -> Iterator[str]:
    yield '"Throughput report Y-axis is type of test X-axis is number of processes"\n'
    yield f'"Record size = {results[0].point.record // KIB} kBytes "\n'
    yield f'"Output is in {UNITS[options.unit].output}"\n\n'
    for test, measured in by_test(results).items():
        values = "".join(f" {figures(result, options.unit).children:10.2f} " for result in measured)
        yield f'"{test.label:>{_LABEL}} "{values}\n\n'
    yield "\n"


def _of_one(options: IozoneOptions, results: Sequence[MeasuredTest]) -> Iterator[str]:
    yield "Excel output is below:\n"
    for test, measured in by_test(results).items():
        values = {
            (result.point.size, result.point.record): whole(result, options.unit)
            for result in measured
        }
        records = sorted({record for _, record in values})
        yield f'\n"{test.table} report"\n       '
        yield "".join(f' "{record // KIB}" ' for record in records) + "\n"
        for size in sorted({size for size, _ in values}):
            # Columns are counted from the left, so a record that was left out needs its place.
            row = "".join(
                f" {values.get((size, record), 0)} " for record in records if record <= size
            )
            yield f'"{size // KIB}"  {row}\n'
