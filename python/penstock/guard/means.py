"""The means of a guard: what may be set of a disk and of the threads of the batch.

They stand in the order in which they are tried: what touches the batch's threads alone comes before
what changes the disk for all, and what costs nothing before what costs throughput.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HONOUR_CLASSES = ("bfq", "mq-deadline")
"""Schedulers that serve the idle class after the others."""


@dataclass(frozen=True)
class Means:
    """A way to keep a batch from the disk, made of settings that go together."""

    name: str
    words: str
    """What it does, for a reader."""
    idle: bool = False
    """The batch's threads get the idle I/O class."""
    scheduler: str | None = None
    """The disk's scheduler; `None` keeps its own, or takes one that honours I/O classes."""
    queue: Mapping[str, str] = field(default_factory=dict)
    """Attributes of the disk's queue, and tunables of its scheduler."""


NOTHING = Means("nothing", "what the disk has")

READ_AHEAD = {"read_ahead_kb": "128"}
"""Comes last: the kernel sets it anew when the longest command changes."""

MEANS: Sequence[Means] = (
    Means("idle", "the batch in the idle I/O class", idle=True),
    Means(
        "idle, read-ahead 128 KiB",
        "the batch in the idle I/O class, and no more than 128 KiB read ahead for a stream",
        idle=True,
        queue=READ_AHEAD,
    ),
    *(
        Means(
            f"idle, {depth} x {piece} KiB",
            f"the batch in the idle I/O class, read-ahead of 128 KiB, {depth} commands of {piece} "
            "KiB at the disk",
            idle=True,
            queue={"max_sectors_kb": str(piece), "nr_requests": str(depth), **READ_AHEAD},
        )
        for depth, piece in ((8, 128), (4, 128), (4, 64))
    ),
    Means(
        "bfq, idle",
        "bfq, which shares the disk by programs, and the batch in the idle I/O class",
        idle=True,
        scheduler="bfq",
        queue={**READ_AHEAD, "low_latency": "1"},
    ),
)
"""All means, the least intrusive first."""


def schedulers(queue: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the scheduler that a disk has, and those that it may have."""
    words = queue.get("scheduler", "").split()
    has = next((word.strip("[]") for word in words if word.startswith("[")), "none")
    return has, [word.strip("[]") for word in words]


def scheduler(means: Means, has: str, known: Sequence[str]) -> str | None:
    """Return the scheduler that a means needs on a disk with another; `None` to keep that.

    The idle class does nothing under a scheduler that does not honour it.
    """
    if means.scheduler is not None:
        return means.scheduler
    if not means.idle or has in HONOUR_CLASSES:
        return None
    return next((name for name in ("mq-deadline", "bfq") if name in known), None)


def why_not(means: Means, known: Sequence[str], attributes: Sequence[str]) -> str | None:
    """Return why a disk with these schedulers and attributes cannot have a means, if it cannot."""
    if means.scheduler is not None and means.scheduler not in known:
        return f"the disk has no scheduler {means.scheduler}"
    if means.idle and not set(HONOUR_CLASSES) & set(known):
        return "no scheduler of the disk heeds I/O classes"
    missing = [key for key in means.queue if key in QUEUE and key not in attributes]
    return f"its queue has no {missing[0]}" if missing else None


QUEUE = ("read_ahead_kb", "max_sectors_kb", "nr_requests")
"""Attributes of a queue under every scheduler."""


def possible(queue: Mapping[str, str]) -> tuple[dict[str, str], list[Means]]:
    """Return the means that a disk cannot have, and those that it can, nothing first."""
    _, known = schedulers(queue)
    reasons = {means.name: why_not(means, known, list(queue)) for means in MEANS}
    left_out = {name: why for name, why in reasons.items() if why is not None}
    return left_out, [NOTHING, *(means for means in MEANS if means.name not in left_out)]
