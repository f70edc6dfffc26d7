"""The writes that a guard might make, without making one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from penstock import _native
from penstock.guard.change import GroupSetting
from penstock.guard.dirty_limit import dirty_limits
from penstock.guard.group_changes import PROCESSES
from penstock.guard.group_means import GroupControl, group_control
from penstock.guard.means import QUEUE, Means, possible, scheduler, schedulers
from penstock.guard.session import GuardPlan, check
from penstock.guard.who import BATCH, ONLINE, Members, Scan


@dataclass(frozen=True)
class PlannedWrite:
    """A write that a means would make."""

    means: str
    subject: str
    """The file or folder below `/sys` or `/proc`, or the programs."""
    has: str
    gets: str


def planned(plan: GuardPlan) -> list[PlannedWrite]:
    """Return every write that a guard might make; nothing is changed.

    # Errors
    If there is no such disk.
    """
    check(plan.goals)
    (listed,) = json.loads(_native.disks(plan.disk))["disks"]
    scan = Members({ONLINE: plan.online, BATCH: plan.batch}).scan()
    control = group_control(plan.disk, plan.goals, plan.online, plan.batch, scan)
    has, known = schedulers(listed["queue"])
    attributes = {**listed["queue"], **(listed["tunables"] or {})}
    writes = [*_dirty(plan)]
    for means in possible(listed["queue"], control.why_not)[1]:
        name = scheduler(means, has, known)
        folder = f"/sys/block/{plan.disk}/queue"
        if name is not None:
            writes.append(PlannedWrite(means.name, f"{folder}/scheduler", has, name))
        for key, value in means.queue.items():
            file = f"{folder}/{key}" if key in QUEUE else f"{folder}/iosched/{key}"
            writes.append(PlannedWrite(means.name, file, attributes.get(key, ""), value))
        if means.idle:
            threads = f"{len(scan.threads[BATCH])} threads of the batch"
            writes.append(PlannedWrite(means.name, threads, "theirs", "idle"))
        if means.grouped:
            writes += _groups(means, control, scan)
    return writes


def _dirty(plan: GuardPlan) -> Iterator[PlannedWrite]:
    """Yield the writes that bound dirty pages."""
    if plan.dirty_bytes is not None:
        for change in dirty_limits(plan.dirty_bytes):
            has = change.had if change.back == change.path else "0"
            yield PlannedWrite("--dirty-bytes", change.path, has, change.gets)


def _groups(means: Means, control: GroupControl, scan: Scan) -> Iterator[PlannedWrite]:
    """Yield the writes of a means of control groups."""
    groups = control.groups(means)
    assert not isinstance(groups, str), groups
    if groups.made:
        pids = {thread.pid for thread in scan.threads[BATCH]}
        folder = groups.folders[0]
        yield PlannedWrite(means.name, str(folder), "", "a new folder")
        yield PlannedWrite(means.name, str(folder / PROCESSES), "", f"{len(pids)} processes")
    for path, value in control.settings(means, rate=0):
        has = "" if groups.made else GroupSetting.of(path, value).had
        gets = "a changing rate" if means.throttle else value
        yield PlannedWrite(means.name, str(path), has, gets)
