"""The tables of the merge-placement paper's experiments, as a reader has them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.advise.merge import RACE
from penstock.answer.table import Table
from penstock.papers.merge_placement import race
from penstock.papers.merge_placement.rings import READ_MS, THREE_READ, THREE_WRITE
from penstock.papers.merge_placement.setting import POLICIES, UNLIMITED, Buffer
from penstock.papers.published import Row

NONE = "–"


def tables(ours: Mapping[str, Any]) -> list[Table]:
    """All tables, the main one first."""
    rows = ours["rows"]
    found = [
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
    return [block for block in found if block.rows]


def _time(row: Row | None) -> str:
    """The mean, its spread, and the seeds that came to no end."""
    if row is None:
        return NONE
    if row["time_s"] is None:
        return "deadlock"
    text = f"{row['time_s']:.1f} ± {row['sd_s']:.1f}"
    dead = row.get("deadlocks", 0)
    return f"{text} ({dead} of {row['seeds']} deadlock)" if dead else text


def _by(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], Row]:
    return {tuple(row[column] for column in columns): row for row in rows}


def _unique(rows: Iterable[Row], *columns: str) -> list[tuple[Any, ...]]:
    return list(_by(rows, *columns))


def _ratio(above: Row | None, below: Row | None) -> str:
    times = [None if row is None else row["time_s"] for row in (above, below)]
    return NONE if None in times else f"{times[0] / times[1]:.2f}"  # type: ignore[operator]


def _jobs(many: int) -> str:
    return f"{many} job{'s' if many > 1 else ''}"


def _figure(row: Row | None, figure: str, form: str) -> str:
    return NONE if row is None or row[figure] is None else f"{row[figure]:{form}}"


def _usual(rows: Sequence[Row]) -> list[Row]:
    """Rows first come first served, with memory without a limit."""
    return [row for row in rows if row["policy"] == POLICIES[0] and row["buffer"] is None]


def _completion(rows: Sequence[Row]) -> Table:
    of = _usual(rows)
    found = _by(of, "disks", "jobs", "case")
    cases = sorted({row["case"] for row in of})
    cells = [
        [
            f"{disks}",
            f"{jobs}",
            *(_time(found.get((disks, jobs, case))) for case in cases),
            _ratio(*(found.get((disks, jobs, case)) for case in (2, 3))),
        ]
        for disks, jobs in sorted(_unique(of, "disks", "jobs"))
    ]
    headings = ["disks", "jobs", *(f"case {case}, s" for case in cases), "2 over 3"]
    remarks = [
        "The time until all jobs have completed: the mean over the seeds ± the standard deviation.",
    ]
    title = "Figure 2.2: four placements"
    return Table(headings, cells, words=0, name="figure22", title=title, notes=remarks)


def _race(rows: Sequence[Row]) -> Table:
    of = _usual(rows)
    found = _by(of, "disks", "jobs", "case")
    cells = []
    for disks, jobs in sorted(_unique(of, "disks", "jobs")):
        each = {case: found.get((disks, jobs, case)) for case in (2, 3, 4)}
        cells.append(
            [
                f"{disks}",
                f"{jobs}",
                _figure(each[2], "first_finisher_s", ".1f"),
                *(_figure(each[case], "divergence", ".2f") for case in (2, 3, 4)),
                *(_figure(each[case], "utilisation", ".2f") for case in (2, 3)),
                *(_figure(each[case], "max_queued_writes", ".0f") for case in (2, 3)),
            ]
        )
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
    every = [row for row in rows if row["case"] == 2]
    others = {
        (row["disks"], row["jobs"], row["buffer"]) for row in every if row["policy"] != POLICIES[0]
    }
    found = _by(every, "disks", "jobs", "buffer", "policy")
    cells = []
    for disks, jobs, buffer in sorted(others, key=lambda one: (one[2] or 0, *one[:2])):
        each = [found.get((disks, jobs, buffer, policy)) for policy in POLICIES]
        cells.append(
            [
                f"{disks}",
                f"{jobs}",
                _blocks(buffer),
                *map(_time, each),
                *(_ratio(one, each[0]) for one in each[1:]),
            ]
        )
    headings = ["disks", "jobs", "buffer", *(f"{policy}, s" for policy in POLICIES)]
    headings += [f"{policy} / {POLICIES[0]}" for policy in POLICIES[1:]]
    title = "Figure 2.3: case 2 with other schedulers"
    return Table(headings, cells, words=0, name="figure23", title=title)


def _buffers(rows: Sequence[Row]) -> Table:
    of = [row for row in rows if row["policy"] == POLICIES[0] and row["case"] == 2]
    limited = [row for row in of if row["buffer"] is not None and row["jobs"] > 1]
    columns = sorted(_unique(limited, "disks", "jobs"))
    found = _by(of, "disks", "jobs", "buffer")
    cells = []
    for buffer in (*sorted({row["buffer"] for row in limited}), None) if limited else ():
        each = [found.get((*column, buffer)) for column in columns]
        texts = ([_time(row), _figure(row, "divergence", ".2f")] for row in each)
        cells.append([_blocks(buffer), *(text for pair in texts for text in pair)])
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
    of = [
        row
        for row in rows
        if row["policy"] == POLICIES[0] and (row["jobs"] == 1 or row["case"] != 2)
    ]
    limited = [row for row in of if row["buffer"] is not None]
    sizes = [*sorted({row["buffer"] for row in limited}), None]
    found = _by(of, "case", "disks", "jobs", "buffer")
    cells = [
        [
            *(f"{one}" for one in which),
            *(_time(found.get((*which, buffer))) for buffer in sizes),
        ]
        for which in sorted(_unique(limited, "case", "disks", "jobs"))
    ]
    headings = ["case", "disks", "jobs", *(f"{_blocks(buffer)}, s" for buffer in sizes)]
    return Table(headings, cells, words=0, name="flat", title="Where nothing races")


def _blocks(buffer: Buffer) -> str:
    return UNLIMITED if buffer is None else f"{buffer:,}"


def _threshold(rows: Sequence[Row]) -> Table:
    cells = [
        [
            *(f"{row[key]}" for key in ("disks", "jobs", "n", "m")),
            _figure(row, "f_eff", ".2f"),
            _figure(row, "divergence", ".2f"),
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
    found = _by(rows, "variant", "jobs", "case")
    cells = []
    for variant, jobs in _unique(rows, "variant", "jobs"):
        pair = [found.get((variant, jobs, case)) for case in (2, 3)]
        apart = (_figure(one, "divergence", ".2f") for one in pair)
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
        steady = row["steady_ms"]
        cells.append(
            [
                f"{row['f']:g}",
                f"{row['predicted_growth']:.2f}",
                _figure(row, "simulated_growth", ".2f"),
                NONE if rest is None else f"{rest:,.0f}",
                NONE if steady is None else f"{steady:,.0f}",
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
            _figure(row, "predicted", ".3f"),
            _figure(row, "simulated", ".3f"),
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
