"""The figures as a workbook: a summary, a sheet for each class, and the job.

Times are in milliseconds and throughput in MB/s, as numbers to reckon with; each sheet of a class
has charts of its own, which a spreadsheet draws. Where there are rounds the summary has them all,
one more sheet their medians and ranges, and the sheets of classes the round in the middle.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from penstock.charts import palette
from penstock.results import rounds
from penstock.results.json_types import Class, Comparison, Row, Schedule
from penstock.results.percentile import percentile
from penstock.text import places, ranges, schedule, table
from penstock.text.verdict import verdict

NAME_LENGTH = 31
"""Letters that the name of a sheet may have."""

PERCENTS = (50.0, 95.0, 99.0, 99.9)

SERIES = ("requests", "MB/s", "p50 ms", "p99 ms", "outstanding", "device s")
"""Columns of a policy in a sheet of a class."""

ROUNDS: tuple[tuple[str, Callable[[Class], float]], ...] = (
    ("p50 ms", lambda class_: percentile(class_["lat_ns"], 50) / 1e6),
    ("p99 ms", lambda class_: percentile(class_["lat_ns"], 99) / 1e6),
    ("p99.9 ms", lambda class_: percentile(class_["lat_ns"], 99.9) / 1e6),
    ("MB/s", lambda class_: class_["bw_bytes"] / 1e6),
)
"""Figures of a class whose median and range are written."""

CHARTED = {"p99 ms": "p99, ms", "MB/s": "throughput, MB/s"}
"""Which of these have a chart, and its title."""


def workbook(comparison: Comparison) -> bytes:
    """The whole workbook. The comparison must have its detail."""
    into = BytesIO()
    # What a job says is text, never a formula or an address.
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(into, options) as book:
        properties = {"title": "Penstock", "keywords": "penstock report"}
        # Equal results give equal bytes: it is as old as its run, and as spreadsheets can be if
        # that was simulated.
        began = comparison["machine"].get("began_unix_s")
        made = datetime.fromtimestamp(began, UTC) if began else datetime(1980, 1, 1, tzinfo=UTC)
        book.set_properties({**properties, "created": made.replace(tzinfo=None)})
        bold = book.add_format({"bold": True})
        _summary(book.add_worksheet("Summary"), comparison, bold)
        taken = {"summary", "rounds", "job", "history"}
        if rounds.repeated(comparison):
            _rounds(book.add_worksheet("Rounds"), comparison, bold)
        drawn = rounds.middle(comparison)
        for number, name in enumerate(rounds.class_names(drawn["runs"])):
            _class(book, _sheet(name, number, taken), drawn, name, bold)
        _job(book.add_worksheet("Job"), comparison, bold)
    return into.getvalue()


def _sheet(name: str, number: int, taken: set[str]) -> str:
    """A name for a class's sheet that no other has: letters' case makes no difference."""
    short = name[:NAME_LENGTH]
    if short.lower() in taken:
        short = f"{name[: NAME_LENGTH - 6]} {number + 1}"
    taken.add(short.lower())
    return short


def _summary(sheet: Worksheet, comparison: Comparison, bold: Format) -> None:
    job = comparison["job"]
    sheet.write_row(0, 0, [comparison["world"].upper(), f"{job['file']} on {comparison['device']}"])
    repeated = rounds.repeated(comparison)
    columns = (
        *(
            "policy",
            *(("round", "seed") if repeated else ()),
            "class",
            "requests",
            "IOPS",
            "MB/s",
            "mean ms",
            "p50 ms",
            "p95 ms",
            "p99 ms",
        ),
        *("p99.9 ms", "max ms", "wait ms", "share of busy", "device s", "errors", "unfinished"),
        *("scheduled", "made", "within 100 µs", "within 1 ms", "within 10 ms", "late p99 ms"),
    )
    sheet.write_row(2, 0, columns, bold)
    row = 3
    for label, run in zip(rounds.labels(comparison["runs"]), comparison["runs"], strict=True):
        for class_ in run["classes"]:
            figures = (
                class_["requests"],
                class_["iops"],
                class_["bw_bytes"] / 1e6,
                *_spread(class_),
            )
            wait = class_["wait_ns"]["mean"] / 1e6 if class_["requests"] else None
            rest = (
                class_["share"],
                class_["device_time_s"],
                class_["errors"],
                class_["unfinished"],
            )
            held = _held(class_["schedule"])
            which = (run["round"], str(run["seed"])) if "round" in run else ()
            sheet.write_row(row, 0, (label, *which, class_["name"], *figures, wait, *rest, *held))
            row += 1
    said = [*places.explained(comparison), *verdict(comparison)]
    for policy in rounds.by_policy(comparison):
        runs = policy.whole()
        words = (schedule.over_rounds(comparison, runs), places.emulation(runs))
        said += [f"{policy.label}: {remark}" for remark in words if remark is not None]
    for number, line in enumerate(said):
        sheet.write(row + 1 + number, 0, line)
    sheet.freeze_panes(3, columns.index("requests"))
    sheet.set_column(0, columns.index("class"), 15)
    sheet.set_column(columns.index("requests"), len(columns), 11)


def _rounds(sheet: Worksheet, comparison: Comparison, bold: Format) -> None:
    """Medians and ranges, a row for each policy and class."""
    sheet.write(0, 0, table.of_rounds(comparison))
    names = [name for name, _ in ROUNDS]
    headings = [
        f"{name} {statistic}" for name in names for statistic in ("median", "least", "greatest")
    ]
    sheet.write_row(2, 0, ["policy", "class", "rounds", *headings], bold)
    row = 3
    for name in rounds.class_names(comparison["runs"]):
        for policy in rounds.by_policy(comparison):
            classes = policy.of(name)
            if not classes:
                continue
            spreads = [policy.spread(name, figure) for _, figure in ROUNDS]
            values = [value for spread in spreads for value in spread or (None,) * 3]
            sheet.write_row(row, 0, (policy.label, name, len(classes), *values))
            row += 1
    sheet.freeze_panes(3, 3)
    sheet.set_column(0, 1, 18)
    sheet.set_column(2, len(headings) + 3, 13)


def _held(figures: Schedule | None) -> tuple[float, ...]:
    """How much of a class's schedule was played, and how late; nothing if it has none."""
    if figures is None:
        return ()
    held, late = figures["held"], percentile(figures["lateness_ns"], 99) / 1e6
    shares = (held["within_100us"], held["within_1ms"], held["within_10ms"])
    return (figures["scheduled"], figures["made"], *shares, late)


def _spread(figures: Class) -> tuple[float | None, ...]:
    """Mean, percentiles and maximum in milliseconds; nothing where no request finished."""
    if not figures["requests"]:
        return (None,) * (len(PERCENTS) + 2)
    spread = figures["lat_ns"]
    percentiles = [spread["percentile"][f"{percent:.6f}"] for percent in PERCENTS]
    return tuple(ns / 1e6 for ns in (spread["mean"], *percentiles, spread["max"]))


def _class(
    book: xlsxwriter.Workbook, sheet_name: str, comparison: Comparison, name: str, bold: Format
) -> None:
    """Percentiles of each policy; below them the course, all policies side by side."""
    sheet = book.add_worksheet(sheet_name)
    runs = [
        (label, class_, detail, run["detail"]["window_s"])
        for label, run in zip(rounds.labels(comparison["runs"]), comparison["runs"], strict=True)
        for class_, detail in zip(run["classes"], run["detail"]["classes"], strict=True)
        if class_["name"] == name
    ]
    percents = [f"p{percent:g} ms" for percent in PERCENTS]
    sheet.write_row(0, 0, ["policy", "mean ms", *percents, "max ms"], bold)
    for at, (label, class_, _, _) in enumerate(runs, start=1):
        sheet.write_row(at, 0, (label, *_spread(class_)))
    head = len(runs) + 2
    first = head + 2
    ends: list[int] = []
    for at, (label, _, detail, window_s) in enumerate(runs):
        # Windows differ in length where a run took longer: each policy has its own times.
        column = at * (len(SERIES) + 1)
        rows = detail["series"]
        sheet.write(head, column, label, bold)
        sheet.write_row(head + 1, column, ("time s", *SERIES), bold)
        for below, row in enumerate(rows):
            whole = below + 1 < len(rows)
            sheet.write_row(first + below, column, _figures(row, window_s if whole else None))
        ends.append(first + len(rows) - 1)
    sheet.set_column(0, 0, 15)
    for place, (column_name, title) in enumerate(CHARTED.items()):
        chart = book.add_chart({"type": "scatter", "subtype": "straight"})
        for at, (label, *_) in enumerate(runs):
            column = at * (len(SERIES) + 1)
            value = column + 1 + SERIES.index(column_name)
            colour = palette.POLICIES[at % len(palette.POLICIES)].light
            chart.add_series(
                {
                    "name": label,
                    "categories": [sheet_name, first, column, ends[at], column],
                    "values": [sheet_name, first, value, ends[at], value],
                    "line": {"color": colour, "width": 1.25, "dash_type": DASHES[at % len(DASHES)]},
                }
            )
        chart.set_title({"name": title})
        chart.set_x_axis({"name": "time, s", "min": 0})
        chart.set_legend({"position": "bottom"})
        right = len(runs) * (len(SERIES) + 1) + 1
        sheet.insert_chart(1 + 16 * place, right, chart)


DASHES = ("solid", "dash", "round_dot", "dash_dot", "square_dot", "long_dash")
"""Of lines, as in the pictures, so far as a spreadsheet has them."""


def _figures(row: Row, window_s: float | None) -> tuple[float | None, ...]:
    """A window's figures; the last, which the run's end cuts off, has no rate."""
    p50, p99 = row["p50_ns"], row["p99_ns"]
    return (
        row["at_s"],
        row["requests"],
        None if window_s is None else row["bytes"] / window_s / 1e6,
        None if p50 is None else p50 / 1e6,
        None if p99 is None else p99 / 1e6,
        row["outstanding"],
        row["device_time_s"],
    )


def _job(sheet: Worksheet, comparison: Comparison, bold: Format) -> None:
    """Write what ran, where and how, and the job's text line by line."""
    machine, job = comparison["machine"], comparison["job"]
    facts = [
        ("job", job["file"]),
        *(("changed", change) for change in job["set"]),
        ("device", comparison["device"]),
        ("world", comparison["world"]),
        ("seed", str(comparison["seed"])),
        *((("rounds", ranges.seeds(comparison)),) if rounds.repeated(comparison) else ()),
        ("machine", f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}"),
        ("engine", machine.get("engine", "")),
        ("disks", places.schedulers(comparison["runs"]) or ""),
        ("penstock", comparison["penstock"]),
    ]
    for at, (name, fact) in enumerate(facts):
        sheet.write(at, 0, name, bold)
        sheet.write(at, 1, fact)
    for at, line in enumerate(job["text"].splitlines(), start=len(facts) + 1):
        sheet.write_string(at, 0, line)
    sheet.set_column(0, 0, 15)
