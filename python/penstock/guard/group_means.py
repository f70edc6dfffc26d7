"""Means that control groups have on this machine, and the values that they write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.advise.goal import Goal
from penstock.guard.groups import V1_IO, BatchGroups, GroupTree, batch_groups, trees
from penstock.guard.means import Means
from penstock.guard.selectors import Selector
from penstock.guard.who import Scan

LATENCIES = ("p50", "p95", "p99")

WEIGHTS = {1: "blkio.bfq.weight", 2: "io.bfq.weight"}
"""Files of weights under bfq, by version."""

RATES = {
    1: ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"),
    2: ("io.max",),
}
"""Files of rates, by version."""

SENT = {1: "blkio.throttle.io_service_bytes", 2: "io.stat"}
"""Files with the bytes that went to each disk, by version."""

EVERYWHERE = {WEIGHTS[1]: "blkio.bfq.io_service_bytes"}
"""Files that the topmost group has too, where it lacks the file of the same controller."""

DIRECTIONS = ("read", "write", "rbytes", "wbytes")
"""Names of the bytes of reads and writes in these files."""

COST = "io.cost.qos"


@dataclass(frozen=True, kw_only=True)
class GroupControl:
    """Control over the groups of the batch and of the online programs."""

    io: BatchGroups | str
    """The groups in the hierarchy with the I/O controller, or why there are none."""
    memory: BatchGroups | str
    device: str
    """Number of the disk, as `8:0`."""
    target_us: int | None
    """The smallest limit of a latency among the goals, in microseconds."""

    def groups(self, means: Means) -> BatchGroups | str:
        """Return the groups that a means changes, or why it has none."""
        return self.io if means.memory is None else self.memory

    def why_not(self, means: Means) -> str | None:
        """Return why the groups cannot have a means, if they cannot."""
        groups = self.groups(means)
        if isinstance(groups, str):
            return groups
        version = groups.tree.version
        if means.latency and version == 1:
            return _no_tree("I/O", 2)
        if means.latency and self.target_us is None:
            return "no goal is a latency"
        if means.latency and not groups.online:
            return "the online programs have no control group of their own"
        if (means.weight is not None or means.latency) and not groups.peers:
            return "the kernel weighs the batch's control group against others than the online ones"
        for path, _ in self.settings(means, rate=0):
            known = path
            if groups.made:
                known = path.parent.parent / EVERYWHERE.get(path.name, path.name)
            if not known.exists():
                return f"the kernel has no {path.name} for {path.parent}"
        return None

    def settings(self, means: Means, *, rate: float | None) -> Iterator[tuple[Path, str]]:
        """Yield the files that a means writes, with their values.

        `rate` are the bytes a second of a throttle.
        """
        groups = self.groups(means)
        if isinstance(groups, str):
            return
        version = groups.tree.version
        if means.latency:
            for folder in groups.online:
                yield folder / "io.latency", f"{self.device} target={self.target_us}"
        for folder in groups.folders:
            if means.weight is not None:
                default = "default " if version == 2 else ""
                yield folder / WEIGHTS[version], f"{default}{means.weight}"
            if means.memory is not None:
                yield folder / "memory.high", str(_own_memory(folder) + means.memory)
            if means.throttle and rate is not None:
                share = int(rate / len(groups.folders))
                value = str(share) if version == 1 else f"rbps={share} wbps={share}"
                for name in RATES[version]:
                    yield folder / name, f"{self.device} {value}"

    def sent(self) -> int:
        """Return the bytes that the batch's groups have sent to the disk so far."""
        if isinstance(self.io, str):
            return 0
        name = SENT[self.io.tree.version]
        return sum(_sent(folder / name, self.device) for folder in self.io.folders)

    def never(self) -> dict[str, str]:
        """Return what the kernel has, and is never tried, with the reason."""
        if isinstance(self.io, str) or not (self.io.tree.at / COST).exists():
            return {}
        return {COST: "a disk that had no settings of it would not be without them again"}


def group_control(
    disk: str,
    goals: Sequence[Goal],
    online: Sequence[Selector],
    batch: Sequence[Selector],
    scan: Scan,
) -> GroupControl:
    """Return the control that this machine gives over the groups of the programs."""
    known = trees()

    def groups(tree: GroupTree | None, missing: str) -> BatchGroups | str:
        return missing if tree is None else batch_groups(tree, disk, online, batch, scan)

    io = _tree(known, 1, V1_IO) or _tree(known, 2, "io")
    limits = [goal.limit for goal in goals if goal.figure.what in LATENCIES]
    return GroupControl(
        io=groups(io, "no control group of version 1 or 2 has the I/O controller here"),
        memory=groups(_tree(known, 2, "memory"), _no_tree("memory", 2)),
        device=Path("/sys/block", disk, "dev").read_text().strip(),
        target_us=int(min(limits) / 1000) if limits else None,
    )


def _no_tree(controller: str, version: int) -> str:
    return f"no control group of version {version} has the {controller} controller here"


def _tree(known: Sequence[GroupTree], version: int, controller: str) -> GroupTree | None:
    """Return the hierarchy of a version that has a controller."""
    trees = (tree for tree in known if tree.version == version and controller in tree.controllers)
    return next(trees, None)


def _sent(path: Path, device: str) -> int:
    """Return the bytes of reads and writes to a disk: a line for each in version 1, or one line."""
    try:
        lines = [line.replace("=", " ").split() for line in path.read_text().splitlines()]
    except OSError:
        return 0
    words = [word for line in lines if line[:1] == [device] for word in line[1:]]
    pairs = zip(words[::2], words[1::2], strict=False)
    return sum(int(count) for name, count in pairs if name.lower() in DIRECTIONS)


def _own_memory(folder: Path) -> int:
    """Return the bytes of a group's memory that are no page cache."""
    try:
        text = (folder / "memory.stat").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("anon ")), 0)
