"""The rows of the Illustrations in real time as tables, and what they say."""

from collections.abc import Iterator, Sequence

from penstock.answer.table import NONE, Table
from penstock.papers.fairio.live import ILLUSTRATIONS, LAW, LiveRow
from penstock.text import units

HELD = 2.0
"""Within so many points weights are kept."""

REMARK = (
    "Error 1 is the share of class 1 less what its weight promises, in points, the median of the "
    "rounds; spread is how far these lie apart. Simulated is the error of the report's array in a "
    "minute, with a cycle as long: a faster target serves more requests in it. Throughput and "
    "latencies are those of this target, which is asked for more than it can serve: latencies grow "
    "with the length of a run, and nothing of them is the report's."
)
"""What has to be known to read a table."""


def named(row: LiveRow) -> str:
    """A policy, and what distinguishes it from the other rows of one."""
    words = [row.policy, row.mode, f"by {row.charge}" if row.charge else None]
    if row.cycle_ms is not None:
        words.append(f"{row.cycle_ms:g} ms")
    return " ".join(word for word in words if word)


def table(rows: Sequence[LiveRow], number: int) -> Table:
    """The rows of one Illustration."""
    headings = ["policy", "error 1", "spread", "simulated", "MiB/s", "p99 1", "p99 2"]
    cells = [
        [
            named(row),
            _signed(row.error_pct[0]),
            f"{row.spread_pct:.2f}",
            NONE if row.simulated_error_pct is None else _signed(row.simulated_error_pct[0]),
            f"{row.throughput_mib_s:.2f}",
            *(units.latency(1e6 * ms) for ms in row.p99_ms),
        ]
        for row in rows
        if row.illustration == number
    ]
    return Table(headings, cells)


def verdict(rows: Sequence[LiveRow]) -> Iterator[str]:
    """How far the policies are from the weights, a sentence for each Illustration."""
    for number in ILLUSTRATIONS:
        of_load = [row for row in rows if row.illustration == number]
        said = ", ".join(f"{named(row)} {_off(row)}" for row in of_load)
        yield f"Illustration {number}: {said} points"
        short = [named(row) for row in of_load if row.limited_by_demand]
        if short:
            less = f"Illustration {number}: a class asked for less than its share"
            yield f"{less}: {', '.join(short)}"
    if any(row.charge == LAW for row in rows):
        yield (
            "by law: a class gets its part of what it would have alone, so its share of device "
            "time may differ from its weight"
        )


def _off(row: LiveRow) -> str:
    worst = max(map(abs, row.error_pct))
    return f"{'within' if worst <= HELD else 'off by'} {worst:.1f}"


def _signed(error: float) -> str:
    return f"{error:+.2f}"
