"""The figures that decide what the merge-placement paper says.

Each function takes them out of our rows; of what did not run it has none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from penstock.papers import files
from penstock.papers.claims import Numbers
from penstock.papers.merge_placement import race
from penstock.papers.merge_placement.rings import READ_MS, THREE_READ, THREE_WRITE
from penstock.papers.merge_placement.setting import NAME, Buffer
from penstock.papers.published import Row
from penstock.papers.rows import select

Ours: TypeAlias = Mapping[str, Any]

BELOW, ABOVE = 0.9, 1.2
"""Factors that are clearly below and above the threshold of the race."""

SHORT_F = 0.5
"""Below this the rate curves of three disks do not cross, and queues are short."""


def _rows(
    ours: Ours, case: int, *, disks: int = 5, policy: str = "fcfs", buffer: Buffer = None
) -> dict[int, Row]:
    """The rows of a case that have ended, by the number of jobs."""
    rows = select(ours["rows"], disks=disks, case=case, policy=policy, buffer=buffer)
    return {row["jobs"]: row for row in rows if row["time_s"] is not None}


def _ratios(
    above: Mapping[int, Row], below: Mapping[int, Row], jobs: Callable[[int], bool]
) -> list[float]:
    """The time of the one over that of the other, for the numbers of jobs that both have."""
    both = sorted(many for many in above.keys() & below.keys() if jobs(many))
    return [above[many]["time_s"] / below[many]["time_s"] for many in both]


def _several(jobs: int) -> bool:
    return jobs > 1


def alone(ours: Ours) -> Numbers:
    """The times of one job in each case, and how far its writes are behind."""
    rows = [_rows(ours, case).get(1) for case in (1, 2, 3, 4)]
    there = [row for row in rows if row is not None]
    if len(there) < len(rows):
        return {}
    return {
        "cases 1 to 4, s": [row["time_s"] for row in there],
        "writes queued in case 2": [there[1]["max_queued_writes"]],
    }


def dedicated(which: Callable[[int, int], bool]) -> Callable[[Ours], Numbers]:
    """Case 1 over case 3, for the numbers of jobs that `which` wants of jobs and disks."""

    def numbers(ours: Ours) -> Numbers:
        return {
            f"{disks} disks": _ratios(
                _rows(ours, 1, disks=disks),
                _rows(ours, 3, disks=disks),
                lambda jobs, disks=disks: which(jobs, disks),  # type: ignore[misc]
            )
            for disks in (5, 10)
        }

    return numbers


def load(ours: Ours) -> Numbers:
    """By how much two jobs take longer than one, and how busy the disks are."""
    rows = _rows(ours, 2)
    if not {1, 2} <= rows.keys():
        return {}
    return {
        "2 jobs over 1": [rows[2]["time_s"] / rows[1]["time_s"]],
        "disks busy": [rows[2]["utilisation"]],
    }


def serial(ours: Ours) -> Numbers:
    """When the first of several jobs ends, and how far they are apart."""
    rows = _rows(ours, 2)
    several = [row for jobs, row in rows.items() if _several(jobs)]
    if 1 not in rows:
        return {}
    return {
        "alone, s": [rows[1]["time_s"]],
        "first to finish, s": [row["first_finisher_s"] for row in several],
        "apart": [row["divergence"] for row in several],
    }


def apart(*cases: int) -> Callable[[Ours], Numbers]:
    """How far several jobs are apart at most in these cases."""
    return lambda ours: {
        f"case {case}": [
            row["divergence"] for jobs, row in _rows(ours, case).items() if _several(jobs)
        ]
        for case in cases
    }


def shared(ours: Ours) -> Numbers:
    """Case 2 over case 3."""
    return {"case 2 over case 3": _ratios(_rows(ours, 2), _rows(ours, 3), _several)}


def geometry(ours: Ours) -> Numbers:
    """Case 2 over case 3 where all but the seeks is the same."""
    rows = [row for row in ours["variants"] if row["variant"].endswith("in a cylinder")]
    ratios: dict[str, list[float]] = {}
    for separate, shared in zip(rows[::2], rows[1::2], strict=True):
        blocks = separate["variant"].split()[0]
        ratios.setdefault(f"{blocks} blocks", []).append(separate["time_s"] / shared["time_s"])
    return ratios


def suboptimal(ours: Ours) -> Numbers:
    """Case 4 over case 3, and how far its jobs are apart."""
    ratios = _ratios(_rows(ours, 4), _rows(ours, 3), lambda _: True)
    return {"case 4 over case 3": ratios, **apart(4)(ours)}


def policies(ours: Ours) -> Numbers:
    """The time under other policies over that under `fcfs`."""
    usual = _rows(ours, 2)
    return {
        f"{policy} over fcfs": _ratios(_rows(ours, 2, policy=policy), usual, _several)
        for policy in ("round-robin", "read-first")
    }


def insensitive(ours: Ours) -> Numbers:
    """Returns the time with a small buffer over that with a large one, under each other policy."""
    return {
        f"{policy}, 480 over 1,500": _ratios(
            _rows(ours, 2, policy=policy, buffer=480),
            _rows(ours, 2, policy=policy, buffer=1500),
            _several,
        )
        for policy in ("round-robin", "read-first")
    }


def buffers(ours: Ours, jobs: int, disks: int = 5) -> dict[Buffer, Row]:
    """The rows of case 2 that have ended in all seeds, by the blocks of each job."""
    rows = select(ours["rows"], disks=disks, jobs=jobs, case=2, policy="fcfs", deadlocks=0)
    return {row["buffer"]: row for row in rows}


def degrades(ours: Ours) -> Numbers:
    """The best buffer, and by how much others are slower."""
    numbers = {}
    for jobs in (2, 5):
        times = {buffer: row["time_s"] for buffer, row in buffers(ours, jobs).items()}
        if not {720, None} < times.keys():
            return {}
        best = min(times, key=lambda buffer, times=times: times[buffer])  # type: ignore[misc]
        more = [times[720] / times[best], times[None] / times[best]]
        numbers[f"{jobs} jobs: best, 720 and unlimited over it"] = [float(best or 0), *more]
    return numbers


def single(ours: Ours) -> Numbers:
    """The time of one job by its buffer."""
    rows = buffers(ours, 1)
    limited = sorted(buffer for buffer in rows if buffer is not None)
    return (
        {"by the buffer, unlimited last, s": [rows[at]["time_s"] for at in (*limited, None)]}
        if limited and None in rows
        else {}
    )


def difference(ours: Ours) -> Numbers:
    """How far two jobs are apart well below the threshold, and well above."""
    rows = [row for row in select(ours["threshold"], jobs=2) if row["f_eff"] is not None]
    below = [row["divergence"] for row in rows if row["f_eff"] < BELOW]
    above = [row["divergence"] for row in rows if row["f_eff"] > ABOVE]
    return {f"apart with f below {BELOW}": below, f"above {ABOVE}": above}


def _sequence(ours: Ours, which: Callable[[float, float], bool]) -> Row | None:
    """The first sequence of two disks with such an f and N_0, in the work that a read makes."""
    rows = ours["two_disk"]
    matching = (row for row in rows if which(row["f"], row["n0_ms"] / (row["f"] * READ_MS)))
    return next(matching, None)


def recurrence(ours: Ours) -> Numbers:
    """Returns the work queued on two disks with f above 1, and each predicted from the last."""
    row = _sequence(ours, lambda f, n0: f > 1 and n0 >= 1)
    if row is None:
        return {}
    sequence = row["sequence_ms"]
    predicted = [race.next_of_two(n, f=row["f"], read=READ_MS) for n in sequence[:-1]]
    return {"found, ms": sequence[1:], "predicted, ms": predicted}


def settles(ours: Ours) -> Numbers:
    """Returns the work queued on two disks with f below 1, and N_0 above the work of a read."""
    return _of_sequence(_sequence(ours, lambda f, n0: f < 1 < n0))


def unstable(ours: Ours) -> Numbers:
    """Returns the work queued on two disks with f above 1, and N_0 below the work of a read."""
    return _of_sequence(_sequence(ours, lambda f, n0: f > 1 > n0))


def _of_sequence(row: Row | None) -> Numbers:
    if row is None:
        return {}
    return {
        "N_0, ms": [row["n0_ms"]],
        "w b_r, ms": [row["f"] * READ_MS],
        "N, ms": row["sequence_ms"],
    }


def requests(_: Ours) -> Numbers:
    """Blocks that are written for each read, by the paper's number of requests."""
    model = files.published(NAME)["model"]
    read, write = model["read_blocks"], model["write_blocks"]
    return {
        "blocks read": [read],
        "blocks written by b_w/b_r requests": [write / read * write],
        "by b_r/b_w": [read / write * write],
    }


def cycle(_: Ours) -> Numbers:
    """Returns the work left on d_1, from 1,000 ms on d_2 and the f of the paper's picture."""
    n, f = 1000.0, published_figure("3.6")["f"]
    return {
        "(f - 1) N_0, ms": [(f - 1) * n],
        "when what d_0 began with is served, at most": [f * READ_MS],
        "when what d_2 began with is": [race.after(n, f=f, read=READ_MS)],
    }


def published_figure(number: str) -> Mapping[str, Any]:
    """Returns the values that the text gives of a figure."""
    figures: Sequence[Mapping[str, Any]] = files.published(NAME)["figure"]
    return next(figure for figure in figures if figure["number"] == number)


def growth(ours: Ours) -> Numbers:
    """The growth of peaks with three disks and f above that of Figure 3.5."""
    return {
        f"f {row['f']:g}, predicted and found": [row["predicted_growth"], row["simulated_growth"]]
        for row in ours["three_disk"]
        if row["f"] > published_figure("3.5")["above_f"] and row["simulated_growth"]
    }


def figure36(ours: Ours) -> Numbers:
    """The growth in Figure 3.6."""
    published = published_figure("3.6")
    growths = [row["simulated_growth"] for row in select(ours["three_disk"], f=published["f"])]
    return {"the paper's": [published["growth"]], "found": growths}


def steady(ours: Ours) -> Numbers:
    """The mean peaks, and where the map comes to rest."""
    peaks = {}
    for row in ours["three_disk"]:
        rest = race.steady(f=row["f"], read=READ_MS)
        if rest is not None and row["steady_ms"] is not None:
            peaks[f"f {row['f']:g}: found and predicted, ms"] = [row["steady_ms"], rest]
    return peaks


def short(ours: Ours) -> Numbers:
    """The most work that was queued where the rate curves do not cross."""
    rows = [row for row in ours["served"] if row["disks"] == 3 and row["f"] < SHORT_F]
    reads = THREE_WRITE / THREE_READ
    return {f"f {row['f']:g}: most work, in reads": [row["most_writes"] * reads] for row in rows}


def bound(_: Ours) -> Numbers:
    """Below which f queues are short, by the paper's bound and by its rate curves."""
    ratios = (0.25, 1.0, 4.0)
    return {
        "b_w/b_r": ratios,
        "f by the bound": [1 / (1 + ratio) for ratio in ratios],
        "by the curves": [SHORT_F for _ in ratios],
    }


def more(ours: Ours) -> Numbers:
    """Growth with an odd number of disks; with an even one, the reads of jobs that starve."""
    odd = {
        f"{_ring(row)}: predicted and found": [row["predicted"], row["simulated"]]
        for row in ours["ring"]
        if row["f"] > row["critical_f"] and row["simulated"] is not None
    }
    even = {
        f"{_ring(row)}: reads of a half over the other's": [_starved(row["reads"])]
        for row in ours["served"]
        if row["disks"] % 2 == 0 and row["f"] > 1
    }
    return {**odd, **even}


def _ring(row: Row) -> str:
    return f"{row['disks']} disks, f {row['f']:g}"


def _starved(reads: Sequence[int]) -> float:
    """The most reads of every second job over the least of the others."""
    few, many = sorted((reads[::2], reads[1::2]), key=sum)
    return max(few) / min(many)
