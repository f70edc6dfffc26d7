"""What only a model can tell of a run, typed: its disks, and how near it is to a measured drive."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.results import schema


@dataclass(frozen=True, kw_only=True)
class Milliseconds:
    """A distribution of `n` lengths of time in milliseconds; all zero if there were none."""

    n: int
    mean: float
    stddev: float
    min: float
    max: float
    percentiles: Mapping[float, float]
    """The 50th, 95th, 99th and 99.9th by their percents."""


@dataclass(frozen=True, kw_only=True)
class DiskStats:
    """What a modelled disk did, or all of an array: accesses that ended after the warm-up.

    With its cache on, accesses are those to the platter, up to the end of what was asked for; some
    are nobody's request (written back, or read ahead after a hit), and a hit is a request without
    one.
    """

    seek_ms: Milliseconds | None
    """Arm, head switch and settling; none of a device without an arm, as the next two."""
    rotation_ms: Milliseconds | None
    """Until the first wanted sector came round."""
    transfer_ms: Milliseconds | None
    """From there until the last wanted sector had passed."""
    service_ms: Milliseconds
    """The whole access; with a cache, and without an arm, what each request took."""
    utilisation: float
    """The share of the measured time in which it was busy; of several disks, the mean."""
    disks: tuple["DiskStats", ...]
    """Each disk of an array; empty if there is one."""


@dataclass(frozen=True, kw_only=True)
class AgainstMeasured:
    """How far a run is from response times that were measured on a drive."""

    rms_ms: float
    """Root mean square of the horizontal distance between the two distribution functions."""
    rms_relative: float
    """The same as a share of the mean that was measured."""
    mean_ms: float
    """Mean response time here."""
    measured_mean_ms: float


def _milliseconds(one: schema.Milliseconds) -> Milliseconds:
    return Milliseconds(
        n=one["n"],
        mean=one["mean"],
        stddev=one["stddev"],
        min=one["min"],
        max=one["max"],
        percentiles={float(percent): ms for percent, ms in one["percentile"].items()},
    )


def _disk(one: schema.Disk, disks: Iterable[schema.Disk] = ()) -> DiskStats:
    return DiskStats(
        seek_ms=_milliseconds(one["seek_ms"]) if "seek_ms" in one else None,
        rotation_ms=_milliseconds(one["rotation_ms"]) if "rotation_ms" in one else None,
        transfer_ms=_milliseconds(one["transfer_ms"]) if "transfer_ms" in one else None,
        service_ms=_milliseconds(one["service_ms"]),
        utilisation=one["utilisation"],
        disks=tuple(_disk(disk) for disk in disks),
    )


def device_stats(run: schema.Run) -> DiskStats | None:
    """What the disks of a run did; none if they were not modelled."""
    stats = run.get("device_stats")
    return None if stats is None else _disk(stats, stats.get("disks", []))


def against_measured(run: schema.Run) -> AgainstMeasured | None:
    """How far a run is from what was measured; none if nothing was."""
    if "rms_ms" not in run:
        return None
    return AgainstMeasured(
        rms_ms=run["rms_ms"],
        rms_relative=run["rms_relative"],
        mean_ms=run["mean_ms"],
        measured_mean_ms=run["measured_mean_ms"],
    )
