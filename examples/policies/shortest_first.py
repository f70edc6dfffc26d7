"""The shortest request first, until the oldest has waited long enough: a whole policy in Python.

    python examples/policies/shortest_first.py

Use it to see what length alone can do, and what patience costs. A long request goes in pieces, so
that a short one waits for a piece of it and not for its end.
"""

from functools import partial
from pathlib import Path

import penstock
from penstock import Below, Go, Policy, Request

JOB = Path(__file__).parents[1] / "bank-day.toml"

MS = 1_000_000
"""Nanoseconds in a millisecond: times are whole nanoseconds, lengths are bytes."""


class ShortestFirst(Policy):
    """Every request that is not sent whole, with when it came and what is left of it."""

    def __init__(self, *, patience: int = 500 * MS, piece: int = 256 << 10) -> None:
        """Take how long the oldest waits at most, and the length of a piece."""
        self.name = f"shortest-first-{patience // MS}ms"
        self.patience = patience
        self.piece = piece
        self.queue: dict[int, tuple[int, Request]] = {}
        self.left: dict[int, int] = {}

    def enqueue(self, now: int, request: Request) -> None:
        """Queue it: a dictionary keeps the order of arrival."""
        self.queue[request.id] = (now, request)
        self.left[request.id] = request.len

    def dispatch(self, now: int, below: Below) -> Go | None:
        """Send a piece of the oldest, if that is out of patience, else of the shortest."""
        if not self.queue:
            return None
        arrived, chosen = next(iter(self.queue.values()))
        if now - arrived < self.patience:
            _, chosen = min(self.queue.values(), key=lambda entry: (entry[1].len, entry[1].id))
        piece = min(self.piece, self.left[chosen.id])
        self.left[chosen.id] -= piece
        if not self.left[chosen.id]:
            del self.queue[chosen.id], self.left[chosen.id]
        return Go(chosen.id, len=piece)


if __name__ == "__main__":
    hasty = partial(ShortestFirst, patience=100 * MS)
    result = penstock.compare(
        JOB, policies=["noop", ShortestFirst, hasty], set={"duration": "1min"}
    )
    for run in result.runs:
        for class_ in run.classes:
            p99, rate = class_.lat_ns.p99 / MS, class_.bw_bytes / 1e6
            print(f"{run.policy:22}{class_.name:8}{p99:7.1f} ms p99{rate:8.2f} MB/s")
    print(*result.verdict(), sep="\n")
