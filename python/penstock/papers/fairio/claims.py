"""What the FAIRIO report says of its tables, held to our figures in paper mode."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from penstock.papers import files
from penstock.papers.claims import Claim, Numbers, Statement, decided
from penstock.papers.fairio.cells import mb
from penstock.papers.fairio.setting import NAME
from penstock.papers.published import Row
from penstock.papers.rows import select

Ours: TypeAlias = Mapping[str, Any]

NEAR = 2.0
"""Points within which an error is the report's."""

SHORT_MS, SHORT = 800, 11.0
"""Cycles up to this have errors above that in Illustration 2, says the report."""

LONG = 6.0
"""The others are below this."""

BEST_1_MS, BEST_2_MS = 2000, 900
"""The cycles of the report's smallest errors."""

SETTLED_MS = 1500
"""From here on errors of Illustration 1 are small in the report."""

EFFECT = 1.05
"""From the least to the most throughput, what counts as an effect. The report has 1.008 and 1.155
for its illustrations, and calls the first insignificant."""

EQUAL = 0.5
"""Points by which errors have to differ to count as different."""

CHANGED = 0.10
"""A class's service time "changes only negligibly" if by less than this."""


def claims(ours: Ours) -> list[Claim]:
    """Each sentence that our figures can decide."""
    return decided(STATEMENTS, ours)


def _rows(ours: Ours, table: int) -> list[Row]:
    """The rows in paper mode with the report's, if all of its cycle lengths are there."""
    rows = [row for row in select(ours[f"table{table}"], mode="paper") if row["published"]]
    return rows if len(rows) == len(files.published(NAME)[f"table{table}"]) else []


def _error(row: Row) -> float:
    error: float = row["error_pct"][0]
    return error


def _pairs(
    rows: Sequence[Row], ours: Callable[[Row], float], report: Callable[[Row], float]
) -> Numbers:
    """A figure of our rows, and of the report's."""
    return {
        "ours": [ours(row) for row in rows],
        "report": [report(row["published"]) for row in rows],
    }


def _errors(
    table: int, which: Callable[[float], bool] = lambda _: True
) -> Callable[[Ours], Numbers]:
    """The errors of the first class by cycle length, and the report's."""

    def numbers(ours: Ours) -> Numbers:
        rows = [row for row in _rows(ours, table) if which(row["cycle_ms"])]
        return _pairs(rows, _error, _error)

    return numbers


def _throughput(table: int) -> Callable[[Ours], Numbers]:
    """Millions of bytes a second, if that is what the report's MB are."""

    def numbers(ours: Ours) -> Numbers:
        return _pairs(
            _rows(ours, table),
            lambda row: mb(row["throughput_mib_s"]),
            lambda row: row["throughput_mb_s"],
        )

    return numbers


def _from_best(ours: Ours) -> Numbers:
    """Errors of Illustration 1 from the report's best cycle on, and by how much seeds differ."""
    rows = [row for row in _rows(ours, 1) if row["cycle_ms"] >= BEST_1_MS]
    pairs = _pairs(rows, _error, _error)
    spread = [row["spread_pct"] for row in rows]
    return {"ours": pairs["ours"], "seeds differ by": spread, "report": pairs["report"]}


def _rises_from_best(numbers: Numbers) -> bool:
    best, *later = map(abs, numbers["ours"])
    return all(error - best > max(numbers["seeds differ by"]) for error in later)


def _best(ours: Ours) -> Numbers:
    """The shortest cycles that have as small an error as any, in milliseconds."""
    shortest = {}
    for number in (1, 2):
        errors = [(row["cycle_ms"], abs(_error(row))) for row in _rows(ours, number)]
        least = min((error for _, error in errors), default=0.0)
        best = [ms for ms, error in errors if error <= least + EQUAL]
        shortest[f"Illustration {number}"] = best[:1]
    return shortest


def _rises(ours: Ours) -> Numbers:
    """The smallest error, and those of the longest cycles."""
    errors_by_table = {}
    for number in (1, 2):
        long = select(ours["long_cycles"], illustration=number)
        errors = [abs(_error(row)) for row in _rows(ours, number)]
        errors_by_table[f"Illustration {number}"] = (
            [min(errors), *map(_error, long)] if errors else []
        )
    return errors_by_table


def _table5(figure: str) -> Callable[[Ours], Numbers]:
    return lambda ours: {row["workload"]: [row[figure]] for row in ours["table5"]}


def _cycles(ours: Ours) -> Numbers:
    return {row["workload"]: [row["cycle_ms"], row["published_cycle_ms"]] for row in ours["table5"]}


def _services(ours: Ours) -> Numbers:
    return {
        row["workload"]: [row["service_measured_ms"], row["service_under_it_ms"]]
        for row in ours["table5"]
    }


def _limited(ours: Ours) -> Numbers:
    """Returns each workload's error and its number of classes that ask for less than their part."""
    return {
        row["workload"]: [row["bound_pct"], len(row["limited_classes"])] for row in ours["table5"]
    }


def _only_madbench2(numbers: Numbers) -> bool:
    largest = max(numbers, key=lambda name: numbers[name][0])
    limited = [name for name, (_, classes) in numbers.items() if classes]
    return (largest, limited) == ("MADbench2", ["MADbench2"])


def _effect(rates: Sequence[float]) -> bool:
    return max(rates) / min(rates) > EFFECT


def _fall(numbers: Numbers) -> bool:
    ours = numbers["ours"]
    falls = sum(before > after for before, after in pairwise(ours))
    return ours[-1] < ours[0] / 2 and falls > len(ours) / 2


def _zigzag(numbers: Numbers) -> bool:
    """Up and down as in the report: four times up within the first ten."""
    ups = [
        [before < after for before, after in pairwise(numbers[whose])]
        for whose in ("ours", "report")
    ]
    return ups[0] == ups[1]


def _near(numbers: Numbers) -> bool:
    pairs = zip(numbers["ours"], numbers["report"], strict=True)
    return all(abs(ours - report) <= NEAR for ours, report in pairs)


def _statements() -> Iterator[Statement]:
    yield Statement(
        id="1-flat",
        text="in Illustration 1 the cycle length does not significantly affect the throughput",
        numbers=_throughput(1),
        holds=lambda figures: not _effect(figures["ours"]),
    )
    yield Statement(
        id="1-falls",
        text="in Illustration 1 errors mostly decrease as the cycle grows",
        numbers=_errors(1),
        holds=_fall,
    )
    yield Statement(
        id="1-settled",
        text=f"from {SETTLED_MS:,} ms on errors of Illustration 1 are within 1.2 points",
        numbers=_errors(1, lambda ms: ms >= SETTLED_MS),
        holds=lambda figures: all(abs(error) <= 1.2 for error in figures["ours"]),
    )
    yield Statement(
        id="1-best",
        text="the error of Illustration 1 is smallest at 2,000 ms and rises at 2,500 and 3,000 ms",
        numbers=_from_best,
        holds=_rises_from_best,
    )
    yield Statement(
        id="1-at-100",
        text="at 100 ms the error of Illustration 1 is 12 points",
        numbers=_errors(1, lambda ms: ms == 100),
        holds=_near,
    )
    yield Statement(
        id="1-zigzag",
        text="errors of Illustration 1 go up at 200, 400, 600 and 900 ms and down between",
        numbers=_errors(1, lambda ms: ms <= 1000),
        holds=_zigzag,
    )
    yield Statement(
        id="2-changes",
        text="in Illustration 2 the cycle length has an observable effect on the throughput",
        numbers=_throughput(2),
        holds=lambda figures: _effect(figures["ours"]),
    )
    yield Statement(
        id="2-falls",
        text="errors of Illustration 2 too have a downward trend as the cycle grows",
        numbers=_errors(2),
        holds=_fall,
    )
    yield Statement(
        id="2-short",
        text=f"errors of Illustration 2 are above {SHORT:g} points up to {SHORT_MS} ms",
        numbers=_errors(2, lambda ms: ms <= SHORT_MS),
        holds=lambda figures: min(figures["ours"]) > SHORT,
    )
    yield Statement(
        id="2-long",
        text=f"they are below {LONG:g} points for longer cycles",
        numbers=_errors(2, lambda ms: ms > SHORT_MS),
        holds=lambda figures: max(map(abs, figures["ours"])) < LONG,
    )
    yield Statement(
        id="2-residual",
        text="from 1,000 ms on 2.4 to 5.1 points of error remain in Illustration 2",
        numbers=_errors(2, lambda ms: ms >= 1000),
        holds=_near,
    )
    yield Statement(
        id="2-best",
        text="the error of Illustration 2 is smallest at 900 ms",
        numbers=_errors(2, lambda ms: ms >= BEST_2_MS),
        holds=lambda figures: abs(figures["ours"][0]) <= min(map(abs, figures["ours"])) + EQUAL,
    )
    yield Statement(
        id="sooner",
        text="the smallest error comes with a shorter cycle in Illustration 2 than in 1",
        numbers=_best,
        holds=lambda figures: figures["Illustration 2"][0] < figures["Illustration 1"][0],
    )
    yield Statement(
        id="rises",
        text="after its minimum the error begins to increase; here at 5, 10 and 20 s",
        numbers=_rises,
        holds=lambda figures: all(abs(errors[-1]) > errors[0] + 0.5 for errors in figures.values()),
    )
    yield Statement(
        id="5-cycles",
        text="the heuristic gives the cycle lengths of Table V, with weights 1:1:2:2",
        numbers=_cycles,
        holds=lambda figures: all(ours == report for ours, report in figures.values()),
    )
    yield Statement(
        id="5-service",
        text="the service time of a request changes only negligibly with FAIRIO",
        numbers=_services,
        holds=lambda figures: all(
            abs(with_ / fcfs - 1) < CHANGED for fcfs, with_ in figures.values()
        ),
    )
    yield Statement(
        id="5-bound",
        text="errors of the six workloads are bounded by 6.5 points",
        numbers=_table5("bound_pct"),
        holds=lambda figures: max(bound for (bound,) in figures.values()) <= 6.5,
    )
    yield Statement(
        id="5-fitting",
        text="where weights fit what classes ask for, errors are within 3.9 points",
        numbers=lambda ours: {
            row["workload"]: [row["bound_pct"]]
            for row in ours["table5"]
            if not row["limited_by_demand"]
        },
        holds=lambda figures: (
            max(bound for (bound,) in figures.values()) <= files.published(NAME)["bound_pct"]
        ),
    )
    yield Statement(
        id="5-demand",
        text="the largest error is MADbench2's, whose heavy classes ask for less than their part",
        numbers=_limited,
        holds=_only_madbench2,
    )


STATEMENTS: Sequence[Statement] = tuple(_statements())
