"""Accuracy of shares in words: what holds, at what price, and what to write into a job."""

from collections.abc import Iterator

from penstock.advise.shares import BY_LAW, BY_TIME, PLAIN, Shares, SharesRow


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
    yield f'for a job: policy.fairio.charge = "law", policy.fairio.law = {shares.law.text()}'


def _off(row: SharesRow) -> str:
    worst = max(map(abs, row.felt_error_pct))
    return f"{'within' if worst <= 2 else 'off by'} {worst:.1f}"
