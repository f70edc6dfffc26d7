"""Accuracy of shares in words: what holds, at what price, and what to write into a job."""

from collections.abc import Iterator, Mapping

from penstock.advise.shares import BY_LAW, BY_TIME, PLAIN, Shares, SharesRow
from penstock.advise.shares_runs import STEADY, WEIGHING
from penstock.results.rounds import KERNEL

OFF_POINTS = 5.0
"""Error of a class in percentage points above which a policy is named as one that does not keep
the weights."""

REASONS = {
    PLAIN: "it serves in order of arrival and knows no weights",
    BY_TIME: "it divides device time, in which a short command pays as much as a long one that "
    "the device serves at the same time",
    BY_LAW: "it divides what commands cost alone, and together they cost otherwise here",
    f"{KERNEL}none": "it passes requests on in order of arrival and knows no weights",
    f"{KERNEL}mq-deadline": "it knows no weights: it serves by position and age, and I/O "
    "priorities above one another, without shares",
    f"{KERNEL}{WEIGHING}": "it divides bytes by weight and charges queues that it takes for "
    "slow by time, so shares are not those of what each class has alone",
}
"""Why a policy does not keep weights, by the name of its row without tunables."""

RAISED = f"low_latency raises the weights of queues that begin; with {STEADY} shares hold"
"""Why a row does not keep them although it does with `STEADY`."""

NOT_IN_FORCE = "the weights of its control groups were not in force"
"""Why a scheduler that divides by them did not."""


def lines(shares: Shares) -> list[str]:
    """The verdict."""
    return list(_lines(shares))


def _lines(shares: Shares) -> Iterator[str]:
    """Yields what holds, at what price, and what to write into a job."""
    rows = {row.policy: row for row in shares.rows}
    parts = ", ".join(f"{name} {_off(rows[name])}" for name in (BY_LAW, BY_TIME, PLAIN))
    yield f"throughput relative to each class alone, by weight: {parts} points"
    least = sum(rows[PLAIN].of_alone)
    for name in (BY_LAW, BY_TIME):
        kept = sum(rows[name].of_alone) / least if least else 0.0
        yield f"{name} serves {100 * kept:.0f} % of what {PLAIN} does, as the sum of these ratios"
    for row in rows.values():
        if _worst(row) > OFF_POINTS:
            yield f"{row.policy} gives {_ratio(row)}: {_why(row, rows)}"
    yield f'for a job: policy.fairio.charge = "law", policy.fairio.law = {shares.law.text()}'


def _ratio(row: SharesRow) -> str:
    """Returns what classes feel, in percent, and their weights."""
    whole = sum(row.of_alone) or 1.0
    felt = " : ".join(f"{100 * part / whole:.0f}" for part in row.of_alone)
    return f"{felt} for {' : '.join(map(str, row.weights))}"


def _why(row: SharesRow, rows: Mapping[str, SharesRow]) -> str:
    """Returns the reason for the shares of a row that does not keep the weights."""
    steady = rows.get(f"{row.policy} {STEADY}")
    if row.policy.startswith(f"{KERNEL}{WEIGHING}") and row.kernel_weights is None:
        return NOT_IN_FORCE
    if steady is not None and _worst(steady) <= OFF_POINTS:
        return RAISED
    return REASONS[row.policy.removesuffix(f" {STEADY}")]


def _worst(row: SharesRow) -> float:
    """Returns the error of the class that is off most, in percentage points."""
    return max(map(abs, row.felt_error_pct))


def _off(row: SharesRow) -> str:
    worst = _worst(row)
    return f"{'within' if worst <= 2 else 'off by'} {worst:.1f}"
