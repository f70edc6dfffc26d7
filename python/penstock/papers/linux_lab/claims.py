"""Statements of the lecture on its schedulers, held to the figures of one kind of disk.

The kernel has no scheduler of the lecture any more. A statement on one of them is held to its
successor there, if it has one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from penstock.papers.claims import Claim, Numbers, Statement, decided
from penstock.papers.linux_lab.modelled import Rows
from penstock.papers.linux_lab.setting import PLACES, THREADS
from penstock.papers.published import Row
from penstock.papers.rows import levels, select

EQUAL = 1.02
"""Schedulers whose figures differ by less, as a ratio, do the same."""

SAME = 1.1
"""Programs whose shares differ by less, as a ratio, get the same."""

READ_MS = 500
"""The deadline of a read."""

WRITE_MS = 5_000
"""The deadline of a write."""

LATE = 1.1
"""A deadline is kept if the last request is late by less: a batch that has begun goes first."""

BY_READS = "read"
BY_WRITES = "write"

Names = Mapping[str, str]
"""The scheduler that stands for each of the lecture."""

OWN_NAMES: Names = {name: name for name in ("noop", "deadline", "anticipatory", "cfq", "elevator")}

KERNEL_NAMES: Names = {
    "noop": "none",
    "deadline": "mq-deadline",
    "anticipatory": "bfq",
    "cfq": "bfq",
}
"""Successors in today's kernel. `elevator` has none: mq-deadline inserts by position too."""


def claims(rows: Rows, names: Names = OWN_NAMES) -> list[Claim]:
    """Each statement that the rows can decide."""
    return decided(list(_statements(names)), rows)


def _figure(
    rows: Rows, experiment: str, scheduler: str | None, figure: str, **wanted: object
) -> list[float]:
    """Return a figure of the rows of a scheduler, none if it did not run."""
    of_scheduler = select(rows.get(experiment, ()), scheduler=scheduler, **wanted)
    return [row[figure] for row in of_scheduler if row[figure] is not None]


def _over(above: Sequence[float], below: Sequence[float]) -> list[float]:
    return [above[0] / below[0]] if above and below else []


def _spread(figures: Sequence[float]) -> float:
    return max(figures) / min(figures)


def _sorting(names: Names, place: str, scheduler: str) -> Callable[[Rows], Numbers]:
    """Return the throughput of 32 readers under a scheduler, over that without one."""

    def numbers(rows: Rows) -> Numbers:
        threads = {"place": place, "threads": THREADS[-1]}
        above = _figure(rows, "readers", names.get(scheduler), "requests_s", **threads)
        below = _figure(rows, "readers", names["noop"], "requests_s", **threads)
        return {f"{names.get(scheduler)} over {names['noop']}": _over(above, below)}

    return numbers


def _by_scheduler(rows: Sequence[Row], figure: str) -> Numbers:
    return {name: [row[figure]] for row in rows for name in [row["scheduler"]]}


def _all_equal(figures: Numbers) -> bool:
    return _spread([figure for (figure,) in figures.values()]) < EQUAL


def _merging(rows: Rows) -> Numbers:
    neighbours = rows.get("neighbours", ())
    kinds = ("front_merges", "back_merges")
    return {kind.replace("_", " "): [row[kind] for row in neighbours] for kind in kinds}


def _seeks(names: Names) -> Callable[[Rows], Numbers]:
    def numbers(rows: Rows) -> Numbers:
        threads = {"place": list(PLACES)[-1], "threads": THREADS[-1]}
        return {
            f"{name}, ms of a seek": _figure(rows, "readers", name, "seek_ms", **threads)
            for name in (names.get("elevator"), names["noop"])
        }

    return numbers


def _worst(names: Names, flood: str, figure: str) -> Callable[[Rows], Numbers]:
    def numbers(rows: Rows) -> Numbers:
        name = names["deadline"]
        return {f"{name}, ms": _figure(rows, "flood", name, figure, flood=flood)}

    return numbers


def _within(limit_ms: float) -> Callable[[Numbers], bool]:
    def holds(figures: Numbers) -> bool:
        return max(max(values) for values in figures.values()) < LATE * limit_ms

    return holds


def _crowd(names: Names) -> Callable[[Rows], Numbers]:
    def numbers(rows: Rows) -> Numbers:
        threads = {"place": list(PLACES)[-1], "threads": THREADS[-1]}
        name = names["deadline"]
        return {f"{name}, ms": _figure(rows, "readers", name, "max_ms", **threads)}

    return numbers


def _thinking(names: Names) -> Callable[[Rows], Numbers]:
    def numbers(rows: Rows) -> Numbers:
        above, below = names["anticipatory"], names["deadline"]
        figures = [_figure(rows, "thinking", name, "mb_s") for name in (above, below)]
        return {f"{above} over {below}": _over(*figures)}

    return numbers


def _wrong_guess(names: Names) -> Callable[[Rows], Numbers]:
    def numbers(rows: Rows) -> Numbers:
        above, below = names["anticipatory"], names["deadline"]
        figures = [
            _figure(rows, "flood", name, "flood_s", flood=BY_WRITES) for name in (above, below)
        ]
        return {f"the flood under {above}, over {below}": _over(*figures)}

    return numbers


def _processes(names: Names) -> Callable[[Rows], Numbers]:
    def numbers(rows: Rows) -> Numbers:
        shares = {
            name: _figure(rows, "processes", name, "requests_s")
            for name in (names["cfq"], names["deadline"])
        }
        return {
            f"{name}, most over least": [_spread(figures)] if len(figures) > 1 else []
            for name, figures in shares.items()
        }

    return numbers


def _turns(rows: Rows) -> Numbers:
    turns = rows.get("turns", ())
    return {"requests of a turn": [row["requests"] for row in turns]}


def _alone(rows: Rows) -> Numbers:
    """Return how far the schedulers differ in each test of the exercise."""
    exercise = select(rows.get("exercise", ()), run="exercise")
    return {
        test: [_spread([row["kb_s"] for row in select(exercise, test=test)])]
        for test in levels(exercise, "test")
    }


def _statements(names: Names) -> Iterator[Statement]:
    yield Statement(
        id="elevator-1",
        text="the elevator merges in front and behind",
        numbers=_merging,
        holds=lambda figures: all(count[0] > 0 for count in figures.values()),
    )
    yield Statement(
        id="elevator-2",
        text="it inserts a request where it lies: seeks are shorter than in order of arrival",
        numbers=_seeks(names),
        holds=lambda figures: _spread([seek for (seek,) in figures.values()]) > 2,
    )
    yield Statement(
        id="deadline-1",
        text="deadline serves a read within 500 ms, also during a flood of writes",
        numbers=_worst(names, BY_WRITES, "single_max_ms"),
        holds=_within(READ_MS),
    )
    yield Statement(
        id="deadline-2",
        text="it does so among 32 readers: their deadline only says from when on a read goes first",
        numbers=_crowd(names),
        holds=_within(READ_MS),
    )
    yield Statement(
        id="deadline-3",
        text="it starves no write: during a flood of reads a write is served within 5 s",
        numbers=_worst(names, BY_READS, "single_max_ms"),
        holds=_within(WRITE_MS),
    )
    yield Statement(
        id="antic-1",
        text="anticipatory gains where programs read one block after another: two of them get at "
        "least 5 times as much as under deadline",
        numbers=_thinking(names),
        holds=lambda figures: all(ratio[0] >= 5 for ratio in figures.values()),
    )
    yield Statement(
        id="antic-2",
        text="a wrong guess costs: next to random reads, a flood of writes gets less than under "
        "deadline",
        numbers=_wrong_guess(names),
        holds=lambda figures: all(ratio[0] < 1 for ratio in figures.values()),
    )
    yield Statement(
        id="cfq-1",
        text="cfq gives each process the same, however much it has queued",
        numbers=_processes(names),
        holds=lambda figures: next(iter(figures.values()))[0] < SAME,
    )
    yield Statement(
        id="cfq-2",
        text="it serves four requests of a process at a turn",
        numbers=_turns,
        holds=lambda figures: figures["requests of a turn"] == [4],
    )
    yield Statement(
        id="noop-1",
        text="noop suffices where position costs nothing: on flash all schedulers do the same",
        numbers=lambda rows: _by_scheduler(rows.get("flash", ()), "requests_s"),
        holds=_all_equal,
    )
    yield Statement(
        id="lab-1",
        text="with one program all schedulers do the same: with one request at a time there is "
        "nothing to schedule (greatest over least of each test)",
        numbers=_alone,
        holds=lambda figures: all(ratio < EQUAL for (ratio,) in figures.values()),
    )
    gib, tenth, disk = PLACES
    yield Statement(
        id="lab-2",
        text="with 32 programs in a file of 1 GiB deadline gains 10 % at most: the file spans a "
        "four-thousandth of the disk, and only the turn is left",
        numbers=_sorting(names, gib, "deadline"),
        holds=lambda figures: all(ratio[0] <= 1.1 for ratio in figures.values()),
    )
    yield Statement(
        id="lab-3",
        text="over a tenth of the disk it gains 15 % at least",
        numbers=_sorting(names, tenth, "deadline"),
        holds=lambda figures: all(ratio[0] >= 1.15 for ratio in figures.values()),
    )
    yield Statement(
        id="lab-4",
        text="over all of it 60 % at least",
        numbers=_sorting(names, disk, "deadline"),
        holds=lambda figures: all(ratio[0] >= 1.6 for ratio in figures.values()),
    )
    yield Statement(
        id="lab-5",
        text="cfq by requests gains nothing there: each program has one request, so there is "
        "nothing to sort",
        numbers=_sorting(names, disk, "cfq"),
        holds=lambda figures: all(1 / EQUAL < ratio[0] < EQUAL for ratio in figures.values()),
    )
