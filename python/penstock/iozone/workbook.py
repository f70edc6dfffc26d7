"""The workbook of `-b`: a sheet and a chart for each test, and a sheet about the run.

Figures are numbers in the unit of the command. Equal results give equal bytes: the file is as old
as its run, and as spreadsheets can be if that was simulated.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import TypeAlias

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from penstock import __version__
from penstock.charts import palette
from penstock.iozone.figures import UNITS, figures
from penstock.iozone.flags import KIB
from penstock.iozone.options import IozoneOptions
from penstock.iozone.result import RunFacts
from penstock.iozone.runner import MeasuredTest
from penstock.iozone.sheets import by_test
from penstock.text import units
from penstock.text.names import shown

HEAD = 2
"""The row of the headings; above it stands what the sheet is about."""

FIGURES = ("children", "parent", "min", "max", "avg", "min xfer")
"""Columns of a sheet about throughput."""

CHARTED = FIGURES[:2]

Series: TypeAlias = tuple[str, tuple[int, int, int, int], tuple[int, int, int, int]]
"""The name of a line, and the cells of its values and of the values below them."""


def workbook(
    options: IozoneOptions,
    facts: RunFacts,
    results: Sequence[MeasuredTest],
    remarks: Sequence[str],
) -> bytes:
    """Return the workbook."""
    into = BytesIO()
    # A command may hold anything: text is never a formula or an address.
    settings = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(into, settings) as book:
        # An aware time would be written as if it were local.
        began = datetime(1980, 1, 1) if facts.began is None else facts.began.astimezone(UTC)
        book.set_properties(
            {
                "title": "Penstock",
                "keywords": "penstock report",
                "created": began.replace(tzinfo=None),
            }
        )
        bold = book.add_format({"bold": True})
        unit = UNITS[options.unit].output
        charts: list[tuple[str, str, list[Series]]] = []
        for test, measured in by_test(results).items():
            sheet = book.add_worksheet(test.label)
            sheet.write(0, 0, f"{facts.world.upper()}  {test.label}, {unit}", bold)
            if options.several:
                charts.append((test.label, "threads", _threads(sheet, measured, options, bold)))
            else:
                charts.append((test.label, "record, kB", _sizes(sheet, measured, options, bold)))
        for label, axis, series in charts:
            _chart(book, label, axis, unit, series)
        _run(book.add_worksheet("Run"), facts, remarks, bold)
    return into.getvalue()


def _threads(
    sheet: Worksheet, results: Sequence[MeasuredTest], options: IozoneOptions, bold: Format
) -> list[Series]:
    """Write a row for each number of threads, and return the lines of the chart."""
    record = results[0].point.record // KIB
    sheet.write_row(HEAD, 0, ("threads", "record kB", *FIGURES), bold)
    for row, measured in enumerate(results, start=HEAD + 1):
        values = figures(measured, options.unit)
        sheet.write_row(
            *(row, 0),
            (
                *(measured.point.threads, record, values.children, values.parent),
                *(values.least, values.greatest, values.average, values.least_amount),
            ),
        )
    last = HEAD + len(results)
    sheet.set_column(0, len(FIGURES) + 1, 13)
    sheet.freeze_panes(HEAD + 1, 2)
    return [
        (name, (HEAD + 1, column, last, column), (HEAD + 1, 0, last, 0))
        for column, name in enumerate(CHARTED, start=2)
    ]


def _sizes(
    sheet: Worksheet, results: Sequence[MeasuredTest], options: IozoneOptions, bold: Format
) -> list[Series]:
    """Write a row for each size of a file and a column for each record; return the lines."""
    values = {
        (measured.point.size, measured.point.record): figures(measured, options.unit).children
        for measured in results
    }
    records = sorted({record for _, record in values})
    sizes = sorted({size for size, _ in values})
    sheet.write_row(HEAD, 0, ("file kB", *(record // KIB for record in records)), bold)
    for row, size in enumerate(sizes, start=HEAD + 1):
        sheet.write(row, 0, size // KIB, bold)
        sheet.write_row(row, 1, [values.get((size, record)) for record in records])
    sheet.set_column(0, len(records), 11)
    sheet.freeze_panes(HEAD + 1, 1)
    return [
        (f"file of {size // KIB} kB", (row, 1, row, len(records)), (HEAD, 1, HEAD, len(records)))
        for row, size in enumerate(sizes, start=HEAD + 1)
    ]


def _chart(
    book: xlsxwriter.Workbook, label: str, axis: str, unit: str, series: Sequence[Series]
) -> None:
    """Add a sheet with the chart of a test."""
    chart = book.add_chart({"type": "line"})
    for number, (name, values, below) in enumerate(series):
        colour = palette.POLICIES[number % len(palette.POLICIES)].light
        chart.add_series(
            {
                "name": name,
                "values": [label, *values],
                "categories": [label, *below],
                "line": {"color": colour, "width": 1.5},
                # A line of one point would not be seen.
                "marker": {
                    "type": "circle",
                    "size": 6,
                    "fill": {"color": colour},
                    "border": {"color": colour},
                },
            }
        )
    chart.set_title({"name": label})
    chart.set_x_axis({"name": axis})
    chart.set_y_axis({"name": unit, "min": 0})
    chart.set_legend({"position": "bottom"})
    book.add_chartsheet(f"{label} chart").set_chart(chart)


def _run(sheet: Worksheet, facts: RunFacts, remarks: Sequence[str], bold: Format) -> None:
    """Write the command, its place and its time."""
    rows = [
        ("command", facts.command),
        ("world", facts.world),
        ("target", facts.subject),
        ("disk", facts.disk or ""),
        ("scheduler", facts.scheduler or ""),
        ("date", "" if facts.began is None else f"{facts.began:%Y-%m-%d %H:%M:%S %z}"),
        ("kernel", facts.machine.kernel),
        (
            "machine",
            f"{facts.machine.architecture}, {facts.machine.cpus} CPUs, "
            f"{units.size(facts.machine.memory_bytes)} of memory",
        ),
        ("penstock", __version__),
        *(("remark", remark) for remark in remarks),
    ]
    for row, (name, fact) in enumerate(rows):
        sheet.write(row, 0, name, bold)
        sheet.write(row, 1, shown(fact))
    sheet.set_column(0, 0, 12)
    sheet.set_column(1, 1, 100)
