"""The tables of the FAIRIO report as a reader has them: ours next to the published figures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.papers.fairio.cells import mb
from penstock.papers.fairio.workloads import WEIGHTS
from penstock.papers.published import Row, percent
from penstock.papers.rows import Key, interleaved, levels, number, pivot, select


def tables(ours: Mapping[str, Any]) -> list[Table]:
    """All tables, the main one first."""
    every = [
        _table(ours, 1, "both classes have fixed characteristics"),
        _table(ours, 2, "the requests of class 1 and their distances grow"),
        _table5(ours["table5"]),
        _weights(ours["weights"]),
        _baselines(ours["baselines"]),
        _ablations(ours["ablations"]),
        _windows(ours["windows"]),
    ]
    if ours["long_cycles"]:
        every.append(_long_cycles(ours["long_cycles"]))
    if ours["drives"]:
        every.append(_drives(ours["drives"]))
    return [*every, _costs(ours)]


def _table(ours: Mapping[str, Any], table: int, about: str) -> Table:
    """A row for each cycle length, the modes side by side."""
    rows = ours[f"table{table}"]
    modes = levels(rows, "mode")
    cells = []
    for cycle_ms, of_cycle in pivot(rows, "cycle_ms", "mode").items():
        of_modes = of_cycle.values()
        published = of_cycle[modes[0]]["published"]
        cells.append(
            [
                f"{cycle_ms:,}",
                _signed(published["error_pct"][0]) if published else NONE,
                *map(_spread, of_modes),
                number(published and published["throughput_mb_s"], ".2f"),
                *map(_throughput, of_modes),
            ]
        )
    headings = [
        "cycle, ms",
        "error 1, report",
        *(f"error 1, {mode}" for mode in modes),
        "MB/s, report",
        *(f"MB/s (MiB/s), {mode}" for mode in modes),
    ]
    fcfs = ours["fcfs"][table - 1]
    remarks = [
        "Error 1 is the part of the disk time that class 1 got less the part that its weight says, "
        "in percentage points; that of class 2 is its negative. The report does not say which "
        "million its MB is.",
        f"Without shares, under fcfs, it is {_signed(fcfs['error_pct'][0])} points at "
        f"{_throughput(fcfs)}.",
    ]
    if any(row["spread_pct"] for row in rows):
        remarks.insert(1, "± is half of the range over the seeds.")
    title = "Table I" if table == 1 else "Table II"
    return Table(
        headings, cells, words=0, name=f"table{table}", title=f"{title}: {about}", notes=remarks
    )


def _spread(row: Row) -> str:
    error = _signed(row["error_pct"][0])
    return f"{error} ± {row['spread_pct'] / 2:.2f}" if row["spread_pct"] else error


def _throughput(row: Row) -> str:
    mib = row["throughput_mib_s"]
    return f"{mb(mib):.2f} ({mib:.2f})"


def _signed(points: float) -> str:
    # Nothing has no sign.
    return f"{points:+.2f}" if abs(points) >= 0.005 else "0.00"


def _table5(rows: Sequence[Row]) -> Table:
    cells = [
        [
            row["workload"],
            f"{row['cycle_ms']:,} / {row['published_cycle_ms']:,}",
            f"{row['service_measured_ms']:.1f} / {row['service_ms']:.2f} "
            f"({percent(row['service_measured_ms'], row['service_ms']):+.1f} %)",
            f"{row['requests_measured']} / {row['requests']}",
            f"{row['fcfs_bound_pct']:.2f}",
            f"{row['bound_pct']:.2f} / {row['published_bound_pct']:.2f}",
            number(row["plus_bound_pct"], ".2f"),
            ", ".join(map(str, row["limited_classes"])) or NONE,
        ]
        for row in rows
    ]
    mode = rows[0]["mode"]
    headings = ["workload", "cycle, ms", "service, ms", "requests"]
    headings += [f"{name}, points" for name in ("fcfs", mode, "plus")]
    remarks = [
        "Ours / the report's. Cycle lengths are those of the report's equation (3), of its own "
        f"figures and weights {':'.join(map(str, WEIGHTS))}. All else is of workloads made here "
        "of the report's description of them: the device time of a request under fcfs, how many "
        "requests of a class a cycle is to have by its measured stability, and the largest error "
        "of a class under each policy, at one seed. Short are the classes that ask for less than "
        "their part.",
    ]
    return Table(
        [*headings, "short"], cells, name="table5", title="Table V: six workloads", notes=remarks
    )


def _weights(implied: Mapping[str, Any]) -> Table:
    cells = [
        [row["workload"], f"{row['above']:.3f}", f"{row['up_to']:.3f}"] for row in implied["rows"]
    ]
    possible = ", ".join(":".join(map(str, weights)) for weights in implied["possible"])
    remarks = [
        "The report does not publish the weights. All six cycle lengths come out only if all "
        f"weights over the least are above {implied['above']:.3f} and at most "
        f"{implied['up_to']:.3f}. Of four small weights that leaves {possible}; the report "
        f"speaks of two classes with higher ones, so {':'.join(map(str, implied['used']))} is "
        "used.",
    ]
    table = Table(["workload", "sum of weights / least weight, above", "at most"], cells)
    return replace(table, name="weights", title="Weights that Table V implies", notes=remarks)


def _params(row: Row) -> str:
    words = (f"{key}={value}" for key, value in row["params"].items())
    return " ".join((row["policy"], *words))


def _baselines(rows: Sequence[Row]) -> Table:
    cells = []
    for name, of_illustration in pivot(rows, _params, "illustration").items():
        texts = (
            [_signed(row["error_pct"][0]), _throughput(row)] for row in of_illustration.values()
        )
        cells.append([name, *interleaved(texts)])
    figures = [
        f"{figure}, Ill. {which}" for which in (1, 2) for figure in ("error 1", "MB/s (MiB/s)")
    ]
    table = Table(["policy", *figures], cells)
    remarks = ["sfq is start-time fair queueing that charges a running mean of device time."]
    return replace(
        table, name="baselines", title="Other policies on the same requests", notes=remarks
    )


def _matrix(rows: Sequence[Row], name: Key, heading: str) -> Table:
    """The error of class 1 by a name and the cycle length."""
    cycles = levels(rows, "cycle_ms")
    cells = [
        [f"{label}", *(_signed(by_cycle[ms]["error_pct"][0]) for ms in cycles)]
        for label, by_cycle in pivot(rows, name, "cycle_ms").items()
    ]
    return Table([heading, *(f"{ms:,} ms" for ms in cycles)], cells)


def _ablations(rows: Sequence[Row]) -> Table:
    remarks = [
        "Error 1 of Illustration 1 in paper mode with one thing changed, on disks without a "
        "turnaround, one seed.",
    ]
    table = _matrix(rows, "name", "changed")
    return replace(table, name="ablations", title="Where the error comes from", notes=remarks)


def _windows(rows: Sequence[Row]) -> Table:
    table = _matrix(rows, "window", "window")
    remarks = ["Error 1 of Illustration 1 in paper mode by the cycles that are looked back on."]
    return replace(table, name="windows", title="The window of observation", notes=remarks)


def _long_cycles(rows: Sequence[Row]) -> Table:
    table = _matrix(rows, "illustration", "Illustration")
    remarks = ["Error 1 in paper mode with cycles longer than the report's."]
    return replace(table, name="long_cycles", title="Longer cycles", notes=remarks)


def _drives(rows: Sequence[Row]) -> Table:
    table = _matrix(
        select(rows, policy="fairio"),
        lambda row: f"{row['illustration']}, {row['params']['mode']}",
        "Illustration, mode",
    )
    fcfs = [_signed(row["error_pct"][0]) for row in rows if not row["params"]]
    remarks = [
        "Error 1 on the same array of eight `ibm18es`: geometry, seek times, overheads and bus as "
        "they were measured of the real drive, without its cache and with the same turnaround. One "
        f"seed. Under fcfs it is {' and '.join(fcfs)} points.",
    ]
    return replace(table, name="drives", title="On the real drive's own geometry", notes=remarks)


def _costs(ours: Mapping[str, Any]) -> Table:
    rows = ours["table1"]
    modes = levels(rows, "mode")
    figures = ("cycles", "cycles_ended_early", "filled")
    cells = []
    for cycle_ms, of_cycle in pivot(rows, "cycle_ms", "mode").items():
        counts = [
            f"{100 * row['policy_stats'][figure] / row['requests']:.1f}"
            for figure in figures
            for row in of_cycle.values()
        ]
        cells.append([f"{cycle_ms:,}", *counts])
    names = ("cycles", "early", "filled")
    headings = ["cycle, ms", *(f"{name}, {mode}" for name in names for mode in modes)]
    remarks = [
        "Of Illustration 1, for each 100 requests: cycles, those of them that ended early, and "
        "requests that were sent to fill an under-loaded array. At each end of a cycle the shares "
        "of all classes are made anew.",
    ]
    return Table(
        headings, cells, words=0, name="costs", title="What short cycles cost", notes=remarks
    )
