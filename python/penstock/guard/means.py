"""The means of a guard: what may be set of a disk, of the batch's threads and of control groups.

They stand in the order in which they are tried: what touches the batch's threads alone comes before
what changes the disk for all, and what costs nothing before what costs throughput.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.guard.search import USUAL, TrialLength

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
    weight: int | None = None
    """Weight of the batch's control group under bfq, of 1 to 1000; the default is 100."""
    latency: bool = False
    """The kernel holds back the groups next to that of the online programs, which has a target."""
    memory: int | None = None
    """Bytes that the batch's control group may have in the page cache."""
    throttle: bool = False
    """The batch's control group has a rate, which follows the goals."""
    trial: TrialLength = USUAL

    @property
    def grouped(self) -> bool:
        """Whether it needs control groups."""
        return self.weight is not None or self.latency or self.memory is not None or self.throttle


NOTHING = Means("nothing", "what the disk has")

READ_AHEAD = "read_ahead_kb"
"""Comes last in a queue: the kernel sets it anew when the longest command changes."""

SHORT_AHEAD = {READ_AHEAD: "128"}

MEANS: Sequence[Means] = (
    Means("idle", "the batch in the idle I/O class", idle=True),
    *(
        Means(
            f"idle, read-ahead {size} KiB",
            f"the batch in the idle I/O class, and no more than {size} KiB read ahead for a stream",
            idle=True,
            queue={READ_AHEAD: str(size)},
        )
        for size in (512, 128)
    ),
    *(
        Means(
            f"idle, {depth} x {piece} KiB",
            f"the batch in the idle I/O class, read-ahead of 1 MiB, {depth} commands of {piece} "
            "KiB at the disk",
            idle=True,
            # The scheduler cuts it. Below 1 MiB each piece costs the programs a wait and a call.
            queue={"max_sectors_kb": str(piece), "nr_requests": str(depth), READ_AHEAD: "1024"},
        )
        for depth, piece in ((8, 128), (4, 128), (4, 64))
    ),
    Means(
        "bfq, idle",
        "bfq, which shares the disk by programs, and the batch in the idle I/O class",
        idle=True,
        scheduler="bfq",
        queue={**SHORT_AHEAD, "low_latency": "1"},
    ),
)
"""Means that need no control groups, the least intrusive first."""

GROUP_MEANS: Sequence[Means] = (
    Means(
        "bfq, weight 10",
        "bfq, and the batch in a control group with a tenth of the default weight",
        scheduler="bfq",
        queue={**SHORT_AHEAD, "low_latency": "0"},
        weight=10,
    ),
    Means(
        "io.latency",
        "the control group of the online programs with the goal as its latency target",
        latency=True,
    ),
    Means(
        "memory.high",
        "the batch's control group with no more than 64 MiB of page cache",
        memory=64 << 20,
    ),
    Means(
        "throttle",
        "the batch in a control group with a rate that follows the goals",
        throttle=True,
        # The rate needs time to come down, and then swings.
        trial=TrialLength(windows=10, settling=10),
    ),
)
"""Means that control groups have; they are tried after the others."""


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


def why_not(means: Means, known: Sequence[str], queue: Mapping[str, str]) -> str | None:
    """Return why a disk with these schedulers and attributes cannot have a means, if it cannot."""
    if means.scheduler is not None and means.scheduler not in known:
        return f"the disk has no scheduler {means.scheduler}"
    if means.idle and not set(HONOUR_CLASSES) & set(known):
        return "no scheduler of the disk heeds I/O classes"
    missing = [key for key in means.queue if key in QUEUE and key not in queue]
    if missing:
        return f"its queue has no {missing[0]}"
    if means.queue == {READ_AHEAD: queue.get(READ_AHEAD)}:
        return f"the disk reads no more than {queue[READ_AHEAD]} KiB ahead"
    return None


QUEUE = (READ_AHEAD, "max_sectors_kb", "nr_requests")
"""Attributes of a queue under every scheduler."""


def never_longer(means: Means, queue: Mapping[str, str]) -> Means:
    """Return a means that reads no further ahead than a disk with these attributes does."""
    if READ_AHEAD not in means.queue or READ_AHEAD not in queue:
        return means
    ahead = min(means.queue[READ_AHEAD], queue[READ_AHEAD], key=int)
    return replace(means, queue={**means.queue, READ_AHEAD: ahead})


def possible(
    queue: Mapping[str, str], groups_lack: Callable[[Means], str | None]
) -> tuple[dict[str, str], list[Means]]:
    """Return the means that a disk cannot have, and those that it can, nothing first.

    `groups_lack` says why the control groups cannot have a means, if they cannot.
    """
    _, known = schedulers(queue)
    every = [never_longer(means, queue) for means in (*MEANS, *GROUP_MEANS)]
    reasons = {
        means.name: why_not(means, known, queue) or (groups_lack(means) if means.grouped else None)
        for means in every
    }
    left_out = {name: why for name, why in reasons.items() if why is not None}
    return left_out, [NOTHING, *(means for means in every if means.name not in left_out)]
