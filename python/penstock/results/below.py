"""Classes that wait below the policy: in the queue of the drive, where no policy orders requests.

Nothing measures that queue directly. Two times of a request are measured: until its first piece was
sent (`wait_ns`), which it spends in the policy's queue, and from then on until it was done. In the
second it is served or waits in the drive. The service is taken as the longer of its mean device
time, which divides a time equally among the requests that the device has at once, and the least
latency of the class in any run, which a drive that works on many requests at once needs for each.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.results.json_types import Class, Comparison, Run
from penstock.results.judge import FEW, mostly_failed
from penstock.results.rounds import KERNEL, SERVED, Rounds, Spread, class_names

_LARGER = 0.6
"""Least share of its latency that a class spends in the drive's queue, if that is reported."""

_SEVERAL = 3.0
"""Least mean number of requests that a disk holds, if its queue is reported."""

_WHOLE = 128 << 10
"""Mean length in bytes up to which requests are taken as sent whole: pieces of longer ones may
have waited for each other in the policy."""

_BUFFERED = 'cache = "buffered"'
"""Line of a job whose requests may wait in a page cache, which is above the drive too."""


class WaitsBelow(NamedTuple):
    """A class under a policy, in means over its requests."""

    label: str
    """The policy."""
    name: str
    """The class."""
    queued_ns: float
    """Time in the drive's queue."""
    latency_ns: float


def waits_below(
    comparison: Comparison, policies: Sequence[Rounds], by_throughput: Mapping[str, bool]
) -> list[WaitsBelow]:
    """Return the classes whose latency is for the larger part time in the drive's queue.

    A class that is judged by its throughput is left out, as it keeps requests waiting in any case,
    and a scheduler of the kernel, as its queue is below too.
    """
    if _BUFFERED in comparison["job"]["text"]:
        return []
    policies = [policy for policy in policies if not policy.label.startswith((KERNEL, SERVED))]
    entries = []
    for name in class_names([run for policy in policies for run in policy.runs]):
        least = _least([class_ for policy in policies for class_ in policy.of(name)])
        for policy in policies:
            entry = _entry(policy, name, least)
            if entry is not None and not by_throughput.get(name, False):
                entries.append(entry)
    return entries


def _least(classes: Sequence[Class]) -> float:
    return min((class_["lat_ns"]["min"] for class_ in classes if class_["requests"]), default=0)


def _entry(policy: Rounds, name: str, least: float) -> WaitsBelow | None:
    """Return the wait of a class in the drive's queue, if it is clearly the larger part."""
    runs, classes = policy.whole(), policy.of(name)
    if not classes or mostly_failed(*classes):
        return None
    for class_ in classes:
        if class_["requests"] < FEW or class_["bytes"] > _WHOLE * class_["requests"]:
            return None
    if Spread.of(map(_held, runs)).median < _SEVERAL:
        return None
    disks = max(map(_disks, runs))
    latency = Spread.of(class_["lat_ns"]["mean"] for class_ in classes).median
    queued = Spread.of(
        _below(class_) - max(disks * class_["service_ns"]["mean"], least) for class_ in classes
    ).median
    return WaitsBelow(policy.label, name, queued, latency) if queued > _LARGER * latency else None


def _below(class_: Class) -> float:
    return class_["lat_ns"]["mean"] - class_["wait_ns"]["mean"]


def _held(run: Run) -> float:
    """Return how many requests a disk held in the mean: arrivals a second times their stay."""
    return sum(class_["iops"] * _below(class_) / 1e9 for class_ in run["classes"]) / _disks(run)


def _disks(run: Run) -> int:
    disks = run["device_stats"].get("disks", []) if "device_stats" in run else []
    apart = {file.get("shared", file["name"]) for file in run["files"]}
    return max(len(disks), len(apart), 1)
