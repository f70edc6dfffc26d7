"""Tables of the block devices of a machine and their schedulers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from penstock import _native
from penstock.answer.table import NONE, Table
from penstock.answer.value import Part
from penstock.text import units

Disks: TypeAlias = dict[str, Any]
"""The JSON of `_native.disks`."""

HEADINGS = (
    *("device", "size", "schedulers", "turns", "requests", "depth", "made of"),
    "obstacle to a run",
)

TUNABLES = ("tunable", "value", "what it is")

UNITS = {
    "read_expire": "ms",
    "write_expire": "ms",
    "prio_aging_expire": "ms",
    "fifo_expire_sync": "ms",
    "fifo_expire_async": "ms",
    "slice_idle": "ms",
    "slice_idle_us": "µs",
    "timeout_sync": "ms",
    "back_seek_max": "KiB",
    "max_budget": "sectors",
    "read_lat_nsec": "ns",
    "write_lat_nsec": "ns",
}
"""Units of the kernel's tunables; the others are counts and switches."""

ALIASES = {"slice_idle_us": "slice_idle"}
"""Tunables that the kernel shows twice, by the name that the model has."""


def blocks(disks: Disks) -> Iterator[Sequence[Part]]:
    """Yield a table of all devices, and one of the tunables of those that have the same."""
    devices = disks["disks"]
    if not devices:
        yield ["no block device is listed in /sys/block: a container may hide them"]
        return
    yield [Table(HEADINGS, [_row(disk) for disk in devices], words=3, sentences=2)]
    alike: dict[str, list[str]] = {}
    for disk in devices:
        if disk["tunables"]:
            scheduler = in_use(disk["queue"].get("scheduler", ""))
            alike.setdefault(json.dumps([scheduler, disk["tunables"]]), []).append(disk["name"])
    for key, names in alike.items():
        scheduler, tunables = json.loads(key)
        rows = list(_tunables(scheduler, tunables))
        title = f"{scheduler} of {', '.join(names)}"
        yield [Table(TUNABLES, rows, words=1, sentences=1, title=title)]


def change(changed: Mapping[str, Any]) -> Iterator[Sequence[Part]]:
    """Yield what a disk has now, what it had, and the command that restores that."""
    now, before = (_settings(changed[when]) for when in ("now", "before"))
    undo = " ".join(["penstock", *changed["undo"]])
    yield [f"{changed['disk']} is now under {now}", f"before: {before}", f"undo:   {undo}"]


def _settings(settings: Mapping[str, Any]) -> str:
    values = [f"{key}={value}" for key, value in settings["settings"].items()]
    return " ".join([settings["scheduler"], *values])


def in_use(schedulers: str) -> str:
    """Return the scheduler in brackets, or the only one."""
    words = schedulers.split()
    marked = [word.strip("[]") for word in words if word.startswith("[")]
    return (marked or words or [""])[0]


def _row(disk: Mapping[str, Any]) -> Sequence[str]:
    queue = disk["queue"]
    turns = {"0": "no", "1": "yes"}.get(queue.get("rotational", ""), NONE)
    return (
        disk["name"],
        NONE if disk["bytes"] is None else units.size(disk["bytes"]),
        queue.get("scheduler", NONE),
        turns,
        queue.get("nr_requests", NONE),
        disk["queue_depth"] or NONE,
        disk["backing_file"] or NONE,
        NONE if disk["obstacle"] is None else f"found {disk['obstacle']}",
    )


def _tunables(scheduler: str, tunables: Mapping[str, str]) -> Iterator[Sequence[str]]:
    """Yield each tunable with its unit, and its meaning as the model of the scheduler has it."""
    known = {}
    policies = {policy["name"] for policy in json.loads(_native.policies())}
    if scheduler in policies:
        params = json.loads(_native.policy_named(scheduler))["params"]
        known = {param["name"]: param["doc"] for param in params}
    for name, value in tunables.items():
        unit = UNITS.get(name)
        meaning = known.get(ALIASES.get(name, name), "no parameter of the model")
        yield (name, f"{value} {unit}" if unit else value, meaning)
