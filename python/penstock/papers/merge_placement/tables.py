"""The tables of the merge-placement paper's experiments, as a reader has them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.advise.merge import RACE
from penstock.answer.table import NONE, Table
from penstock.papers.merge_placement import race
from penstock.papers.merge_placement.rings import READ_MS, THREE_READ, THREE_WRITE
from penstock.papers.merge_placement.setting import POLICIES, UNLIMITED, Buffer
from penstock.papers.published import Row
from penstock.papers.rows import interleaved, levels, number, pivot, select, text


def tables(ours: Mapping[str, Any]) -> list[Table]:
    """All tables, the main one first."""
    rows = ours["rows"]
    every = [
        _completion(rows),
        _race(rows),
        _policies(rows),
        _buffers(rows),
        _flat(rows),
        _threshold(ours["threshold"]),
        _variants(ours["variants"]),
        _two(ours["two_disk"]),
        _three(ours["three_disk"]),
        _rings(ours["ring"], ours["served"]),
    ]
    return [block for block in every if block.rows]


def _time(row: Row | None) -> str:
    """The mean, its spread, and the seeds that came to no end."""
    if row is None:
        return NONE
    if row["time_s"] is None:
        return "deadlock"
    mean = f"{row['time_s']:.1f} ± {row['sd_s']:.1f}"
    dead = row.get("deadlocks", 0)
    return f"{mean} ({dead} of {row['seeds']} deadlock)" if dead else mean


def _ratio(above: Row | None, below: Row | None) -> str:
    times = [None if row is None else row["time_s"] for row in (above, below)]
    return NONE if None in times else f"{times[0] / times[1]:.2f}"  # type: ignore[operator]


def _jobs(many: int) -> str:
    return f"{many} job{'s' if many > 1 else ''}"


def _usual(rows: Sequence[Row]) -> list[Row]:
    """Rows first come first served, with memory without a limit."""
    return select(rows, policy=POLICIES[0], buffer=None)


def _by_case(rows: Sequence[Row]) -> Iterable[tuple[tuple[int, int], dict[int, Row]]]:
    """Disks and jobs, with the rows of all cases."""
    return pivot(rows, ("disks", "jobs"), "case").items()


def _completion(rows: Sequence[Row]) -> Table:
    usual = _usual(rows)
    cases = sorted(levels(usual, "case"))
    cells = [
        [
            f"{disks}",
            f"{jobs}",
            *(_time(by_case.get(case)) for case in cases),
            _ratio(by_case.get(2), by_case.get(3)),
        ]
        for (disks, jobs), by_case in sorted(_by_case(usual))
    ]
    headings = ["disks", "jobs", *(f"case {case}, s" for case in cases), "2 over 3"]
    remarks = [
        "The time until all jobs have completed: the mean over the seeds ± the standard deviation.",
    ]
    title = "Figure 2.2: four placements"
    return Table(headings, cells, words=0, name="figure22", title=title, notes=remarks)


def _race(rows: Sequence[Row]) -> Table:
    cells = [
        [
            f"{disks}",
            f"{jobs}",
            text(by_case.get(2), "first_finisher_s", ".1f"),
            *(text(by_case.get(case), "divergence", ".2f") for case in (2, 3, 4)),
            *(text(by_case.get(case), "utilisation", ".2f") for case in (2, 3)),
            *(text(by_case.get(case), "max_queued_writes", ".0f") for case in (2, 3)),
        ]
        for (disks, jobs), by_case in sorted(_by_case(_usual(rows)))
    ]
    headings = [
        "disks",
        "jobs",
        "first in 2, s",
        *(f"apart in {case}" for case in (2, 3, 4)),
        *(f"busy in {case}" for case in (2, 3)),
        *(f"writes in {case}" for case in (2, 3)),
    ]
    remarks = [
        "Of cases 2 to 4: when the first job completes, how far jobs are apart at most as a part "
        "of a job, the part of the time that disks are busy, and the most writes that are at one "
        "disk at once. All are means over the seeds.",
    ]
    title = "The race in case 2"
    return Table(headings, cells, words=0, name="race", title=title, notes=remarks)


def _policies(rows: Sequence[Row]) -> Table:
    by_policy = pivot(select(rows, case=2), ("buffer", "disks", "jobs"), "policy")
    with_others = {
        which: of_policy
        for which, of_policy in by_policy.items()
        if of_policy.keys() != {POLICIES[0]}
    }
    cells = []
    for buffer, disks, jobs in sorted(with_others, key=lambda which: (which[0] or 0, *which[1:])):
        of_policies = [with_others[buffer, disks, jobs].get(policy) for policy in POLICIES]
        cells.append(
            [
                f"{disks}",
                f"{jobs}",
                _blocks(buffer),
                *map(_time, of_policies),
                *(_ratio(row, of_policies[0]) for row in of_policies[1:]),
            ]
        )
    headings = ["disks", "jobs", "buffer", *(f"{policy}, s" for policy in POLICIES)]
    headings += [f"{policy} / {POLICIES[0]}" for policy in POLICIES[1:]]
    title = "Figure 2.3: case 2 with other schedulers"
    return Table(headings, cells, words=0, name="figure23", title=title)


def _buffers(rows: Sequence[Row]) -> Table:
    usual = select(rows, policy=POLICIES[0], case=2)
    limited = [row for row in usual if row["buffer"] is not None and row["jobs"] > 1]
    columns = sorted(levels(limited, ("disks", "jobs")))
    by_buffer = pivot(usual, "buffer", ("disks", "jobs"))
    cells = []
    for buffer in (*sorted(levels(limited, "buffer")), None) if limited else ():
        of_columns = [by_buffer.get(buffer, {}).get(column) for column in columns]
        texts = ([_time(row), text(row, "divergence", ".2f")] for row in of_columns)
        cells.append([_blocks(buffer), *interleaved(texts)])
    headings = ["buffer, blocks"]
    for disks, jobs in columns:
        headings += [f"{disks} disks, {_jobs(jobs)}, s", "apart"]
    remarks = [
        "Blocks of each job: those that it has read or asked for, and those of its output until "
        "they are written. A run in which every job waits for blocks ends as a deadlock; "
        "the mean is that of the other seeds.",
    ]
    title = "Figure 2.4: case 2 by the buffer of each job"
    return Table(headings, cells, words=0, name="figure24", title=title, notes=remarks)


def _flat(rows: Sequence[Row]) -> Table:
    usual = select(rows, policy=POLICIES[0])
    flat = [row for row in usual if row["jobs"] == 1 or row["case"] != 2]
    limited = [row for row in flat if row["buffer"] is not None]
    sizes = [*sorted(levels(limited, "buffer")), None]
    which = ("case", "disks", "jobs")
    by_buffer = pivot(flat, which, "buffer")
    cells = [
        [*map(str, case), *(_time(by_buffer[case].get(buffer)) for buffer in sizes)]
        for case in sorted(levels(limited, which))
    ]
    headings = ["case", "disks", "jobs", *(f"{_blocks(buffer)}, s" for buffer in sizes)]
    return Table(headings, cells, words=0, name="flat", title="Where nothing races")


def _blocks(buffer: Buffer) -> str:
    return UNLIMITED if buffer is None else f"{buffer:,}"


def _threshold(rows: Sequence[Row]) -> Table:
    cells = [
        [
            *(f"{row[key]}" for key in ("disks", "jobs", "n", "m")),
            text(row, "f_eff", ".2f"),
            text(row, "divergence", ".2f"),
        ]
        for row in sorted(rows, key=lambda row: (row["jobs"] != 2, row["disks"], row["f_eff"] or 0))
    ]
    headings = ["disks", "jobs", "read, blocks", "write, blocks", "f", "apart"]
    remarks = [
        "Case 2. f is the time of writing a block over that of reading one from all other disks at "
        f"once; both are means of the run. Apart is as in Figure 2.2. Jobs race if f is above "
        f"{RACE:g}.",
    ]
    title = "Where the race begins"
    return Table(headings, cells, words=0, name="threshold", title=title, notes=remarks)


def _variants(rows: Sequence[Row]) -> Table:
    cells = []
    for (variant, jobs), by_case in pivot(rows, ("variant", "jobs"), "case").items():
        pair = [by_case.get(case) for case in (2, 3)]
        apart = (text(row, "divergence", ".2f") for row in pair)
        cells.append([variant, f"{jobs}", *map(_time, pair), _ratio(*pair), *apart])
    headings = ["changed", "jobs", "case 2, s", "case 3, s", "2 over 3", "apart in 2", "in 3"]
    title = "Geometry, depletion and what else is open"
    return Table(headings, cells, name="open", title=title)


def _two(rows: Sequence[Row]) -> Table:
    cells = [
        [
            f"{row['f']:g}",
            f"{row['n0_ms']:g}",
            f"{row['f'] * READ_MS:g}",
            ", ".join(f"{n:g}" for n in row["sequence_ms"][:10]),
        ]
        for row in rows
    ]
    remarks = [
        f"A read takes {READ_MS:g} ms, each time. The work is that of writes before each further "
        "read of the blocked job.",
    ]
    headings = ["f", "N_0, ms", "work of a read, ms", "work that is queued, ms"]
    return Table(headings, cells, words=0, name="two", title="Two disks", notes=remarks)


def _three(rows: Sequence[Row]) -> Table:
    cells = []
    for row in rows:
        rest = race.steady(f=row["f"], read=READ_MS)
        cells.append(
            [
                f"{row['f']:g}",
                f"{row['predicted_growth']:.2f}",
                text(row, "simulated_growth", ".2f"),
                number(rest, ",.0f"),
                number(row["steady_ms"], ",.0f"),
            ]
        )
    headings = ["f", "growth, predicted", "simulated", "rest, predicted, ms", "mean peak, ms"]
    remarks = [
        f"Reads of {THREE_READ} blocks take {READ_MS:g} ms in the mean, and bring "
        f"{THREE_READ // THREE_WRITE} writes of {THREE_WRITE} blocks; each time is as likely "
        "anything from nothing to twice its mean. Growth is that of the last four peaks of "
        "1,000 s, the geometric mean over the seeds; 1 is none. Rest is where the map of two "
        "neighbouring periods stays, and has no fluctuations.",
    ]
    return Table(headings, cells, words=0, name="three", title="Three disks", notes=remarks)


def _rings(rows: Sequence[Row], served: Sequence[Row]) -> Table:
    reads = {(row["disks"], row["f"]): row["reads"] for row in served}
    cells = [
        [
            f"{row['disks']}",
            f"{row['f']:g}",
            f"{row['critical_f']:.2f}",
            text(row, "predicted", ".3f"),
            text(row, "simulated", ".3f"),
            f"{min(reads[at]) / max(reads[at]):.4f}"
            if (at := (row["disks"], row["f"])) in reads
            else NONE,
        ]
        for row in rows
    ]
    headings = [
        "disks",
        "f",
        "critical f",
        "growth, predicted",
        "simulated",
        "reads, least over most",
    ]
    remarks = [
        "Reads and writes of 4 blocks; else as with three disks. With an even number of disks "
        "every second job starves as soon as f is above 1: the queues of its disks never empty, so "
        "that there are no peaks. Reads of jobs are those of the first seed.",
    ]
    title = "Rings of more disks, which are not in the paper"
    return Table(headings, cells, words=0, name="rings", title=title, notes=remarks)
