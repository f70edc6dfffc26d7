"""Policies written in Python for the tests: built-in ones line by line, and some of their own."""

from collections import deque
from typing import ClassVar

from penstock import Below, Go, Part, Policy, Request
from penstock.job import Plain


class Fifo(Policy):
    """`fcfs`."""

    def __init__(self) -> None:
        """Nothing is queued yet."""
        self.queue: deque[Request] = deque()

    def enqueue(self, now: int, request: Request) -> None:
        self.queue.append(request)

    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        return self.queue.popleft() if self.queue else None


class Nearest(Policy):
    """`sstf`."""

    def __init__(self) -> None:
        """Nothing is queued yet."""
        self.queue: list[Request] = []
        self.position = 0

    def enqueue(self, now: int, request: Request) -> None:
        self.queue.append(request)

    def cost(self, request: Request, below: Below) -> tuple[int, ...]:
        """The least goes first; of two equally near the one ahead."""
        distance = abs(request.start - self.position)
        return distance, request.start < self.position, request.id

    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        if not self.queue:
            return None
        best = min(self.queue, key=lambda request: self.cost(request, below))
        self.queue.remove(best)
        self.position = best.end
        return best


class Cheapest(Nearest):
    """`sptf`, exact."""

    def cost(self, request: Request, below: Below) -> tuple[int, ...]:
        assert below.room() > 0
        assert below.admits(request.op, request.start, request.len)
        return below.position(request.op, request.start), request.id


class InPieces(Policy):
    """`size-priority` without guard, long requests in turn and at most 128 KiB of them sent."""

    params: ClassVar[dict[str, Plain]] = {
        "size-priority.split": "64KiB",
        "size-priority.order": "rr",
        "size-priority.guard": "off",
        "size-priority.long_in_flight": "128KiB",
    }

    def __init__(self) -> None:
        """Nothing is queued yet."""
        self.short: deque[Request] = deque()
        self.long: deque[tuple[Request, int]] = deque()
        self.in_flight = 0

    def enqueue(self, now: int, request: Request) -> None:
        if request.len <= 64 << 10:
            self.short.append(request)
        else:
            self.long.append((request, request.len))

    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        if self.short:
            return Go(self.short.popleft().id)
        if not self.long:
            return None
        request, left = self.long[0]
        piece = min(64 << 10, left)
        if self.in_flight and self.in_flight + piece > 128 << 10:
            return None
        self.long.popleft()
        self.in_flight += piece
        if left > piece:
            self.long.append((request, left - piece))
        return Go(request.id, len=piece)

    def complete(self, now: int, request: Request, part: Part) -> None:
        if request.len > 64 << 10:
            self.in_flight -= part.len


class Chaining(Fifo):
    """The order of arrival, with whole chains of those that lie behind the first."""

    longest = 0
    """Requests in the longest chain that any run made."""

    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        if not self.queue:
            return None
        first = self.queue.popleft()
        chain, last = [], first
        by_start = {one.start: one for one in self.queue if one.op == first.op and not one.fua}
        while (after := by_start.get(last.end)) and not first.fua:
            self.queue.remove(after)
            chain.append(after.id)
            last = after
        Chaining.longest = max(Chaining.longest, len(chain))
        return Go(first.id, chain=chain)


class Batching(Fifo):
    """Sends every five milliseconds only, and asks to be woken for it."""

    tick = 5_000_000

    def __init__(self) -> None:
        """Nothing is queued yet."""
        super().__init__()
        self.gate = 0
        self.woken = 0

    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        if now < self.gate or not self.queue:
            return None
        self.gate = now + self.tick
        return super().dispatch(now, below)

    def wakeup(self) -> int | None:
        self.woken += 1
        return self.gate if self.queue else None


class Auditing(Fifo):
    """The last first, in pieces of 10,000 bytes, with books of all that it receives."""

    last: "Auditing"
    """The one that ran last."""

    def __init__(self) -> None:
        """Nothing is queued yet."""
        super().__init__()
        self.received: dict[int, Request] = {}
        self.sent: dict[int, int] = {}
        self.done: dict[int, int] = {}
        self.lasts: list[int] = []
        self.parts: list[Part] = []
        self.times: list[int] = []
        Auditing.last = self

    def enqueue(self, now: int, request: Request) -> None:
        assert request.id == len(self.received)
        self.times.append(now)
        self.received[request.id] = request
        self.sent[request.id] = self.done[request.id] = 0
        super().enqueue(now, request)

    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        self.times.append(now)
        if not self.queue:
            return None
        request = self.queue[-1]
        piece = min(10_000, request.len - self.sent[request.id])
        self.sent[request.id] += piece
        if self.sent[request.id] == request.len:
            self.queue.pop()
        return Go(request.id, piece)

    def complete(self, now: int, request: Request, part: Part) -> None:
        assert self.received[request.id] is request
        self.times.append(now)
        self.parts.append(part)
        self.done[request.id] += part.len
        if part.last:
            self.lasts.append(request.id)
