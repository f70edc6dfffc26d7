"""The writes that a guard might make, without making one."""

import json
from dataclasses import dataclass

from penstock import _native
from penstock.guard.means import QUEUE, possible, scheduler, schedulers
from penstock.guard.session import BATCH, ONLINE, GuardPlan, check
from penstock.guard.who import Members


@dataclass(frozen=True)
class PlannedWrite:
    """A write that a means would make."""

    means: str
    subject: str
    """The file below `/sys`, or the threads."""
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
    has, known = schedulers(listed["queue"])
    attributes = {**listed["queue"], **(listed["tunables"] or {})}
    writes = []
    for means in possible(listed["queue"])[1]:
        name = scheduler(means, has, known)
        folder = f"/sys/block/{plan.disk}/queue"
        if name is not None:
            writes.append(PlannedWrite(means.name, f"{folder}/scheduler", has, name))
        for key, value in means.queue.items():
            file = f"{folder}/{key}" if key in QUEUE else f"{folder}/iosched/{key}"
            writes.append(PlannedWrite(means.name, file, attributes.get(key, ""), value))
        if means.idle:
            threads = f"{len(scan.threads[BATCH])} threads of the batch"
            writes.append(PlannedWrite(means.name, threads, "their I/O priority", "idle"))
    return writes
