"""Control groups of the batch, in the hierarchy that has a controller.

A group that `unit:` or `cgroup:` names is used as it is. In version 1 another group can be made,
with the batch's processes moved into it; in version 2 they stay in their units.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.guard.mounts import mounts
from penstock.guard.processes import GONE, Process
from penstock.guard.selectors import Selector
from penstock.guard.who import BATCH, ONLINE, Scan

V1_IO = "blkio"
"""Name of the I/O controller in version 1."""


@dataclass(frozen=True, kw_only=True)
class GroupTree:
    """A mounted hierarchy of control groups."""

    version: int
    at: Path
    root: str = "/"
    """The group that is mounted."""
    controllers: Collection[str]

    def folder(self, group: str) -> Path | None:
        """Return the folder of a group by its path in `/proc`; `None` if it is not mounted."""
        root = self.root.rstrip("/")
        if group != self.root and not group.startswith(f"{root}/"):
            return None
        return Path(os.path.normpath(f"{self.at}/{group.removeprefix(root)}"))

    def folder_of(self, pid: int) -> Path | None:
        """Return the folder of a process's group; `None` if it has ended or is elsewhere."""
        try:
            group = Process(pid).group_of.get(V1_IO if self.version == 1 else "")
        except GONE:
            return None
        return None if group is None else self.folder(group)

    def named(self, selector: Selector) -> Iterator[Path]:
        """Yield the folders of the groups that a selector names."""
        group = selector.group
        if group is None:
            return
        if not group.startswith("/"):
            yield from (path for path in self.at.rglob(group) if path.is_dir())
        elif (folder := self.folder(group)) is not None and folder.is_dir():
            yield folder

    def is_read_only(self) -> bool:
        """Whether no group can be changed."""
        return bool(os.statvfs(self.at).f_flag & os.ST_RDONLY)


def trees() -> list[GroupTree]:
    """Return the mounted hierarchies."""
    result = []
    for mount in mounts():
        at = Path(mount.at)
        try:
            if mount.kind == "cgroup":
                version, controllers = 1, mount.options.split(",")
            elif mount.kind == "cgroup2":
                version, controllers = 2, (at / "cgroup.controllers").read_text().split()
            else:
                continue
        except OSError:
            continue
        result.append(GroupTree(version=version, at=at, root=mount.root, controllers=controllers))
    return result


@dataclass(frozen=True, kw_only=True)
class BatchGroups:
    """The control groups with the batch."""

    tree: GroupTree
    folders: Sequence[Path]
    """Folders of groups with the batch alone."""
    made: bool = False
    """Whether there is a single one, which has to be made."""
    online: Sequence[Path] = ()
    """Folders of groups with the online programs alone."""
    peers: bool = True
    """Whether the kernel weighs these groups against the online programs."""


def batch_groups(
    tree: GroupTree, disk: str, online: Sequence[Selector], batch: Sequence[Selector], scan: Scan
) -> BatchGroups | str:
    """Return the groups in a hierarchy, or why the batch cannot have any."""
    if tree.is_read_only():
        return f"{tree.at} is read-only, as in a container"
    online_at, batch_at = _where(tree, scan, ONLINE), _where(tree, scan, BATCH)
    folders = _named(tree, batch)
    peers = all(
        folder.parent in (place, *place.parents) and folder not in (place, *place.parents)
        for folder in folders
        for place in online_at
    )
    if tree.version == 2:
        if not folders:
            return "the batch has no control group of its own; name it by unit: or cgroup:"
        return BatchGroups(tree=tree, folders=folders, online=_named(tree, online), peers=peers)
    # A rate of version 1 does not hold for the groups below.
    if folders and batch_at <= set(folders):
        return BatchGroups(tree=tree, folders=folders, peers=peers)
    # A process that leaves a named group would not be selected any more.
    if any(list(tree.named(selector)) for selector in batch):
        return "part of the batch is in other groups than unit: and cgroup: name"
    # Above both, where the kernel weighs the new group against the online programs.
    above = os.path.commonpath(online_at | batch_at) if online_at | batch_at else tree.at
    return BatchGroups(tree=tree, folders=[Path(above, f"penstock.{disk}")], made=True)


def _where(tree: GroupTree, scan: Scan, name: str) -> set[Path]:
    """Return the folders of the groups where the processes of a class are."""
    pids = {thread.pid for thread in scan.threads[name]}
    return {folder for pid in pids if (folder := tree.folder_of(pid)) is not None}


def _named(tree: GroupTree, selectors: Sequence[Selector]) -> list[Path]:
    """Return the groups that selectors name; none if one names no group, or the topmost."""
    named = [list(tree.named(selector)) for selector in selectors]
    folders = [folder for group in named for folder in group]
    return folders if all(named) and tree.at not in folders else []
