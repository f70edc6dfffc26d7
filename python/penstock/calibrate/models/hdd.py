"""The family `hdd`: an arm over platters that turn."""

from collections.abc import Sequence
from itertools import product
from math import sqrt
from typing import TypeAlias

from penstock.calibrate.models.model import (
    Guess,
    Known,
    Model,
    Table,
    nanoseconds,
    per_second,
    within,
)
from penstock.calibrate.probes import NEAR
from penstock.job import Plain

TURNS = (5_400, 7_200, 10_000, 15_000)
"""Turns a minute that drives are sold with."""

Queue: TypeAlias = dict[str, Plain]

QUEUES: tuple[Queue, ...] = (
    {"policy": "fcfs", "depth": 1},
    {"policy": "sptf", "depth": 32, "overhead": "in-service"},
)
"""No queue, and the queue of SATA, which hides nothing of what a command costs."""

CACHES = ("none", "drive")

THIRD = 1 / 3
"""An average seek goes over so much of the disk."""

SEEK = (1e3, 4e8)
"""Nanoseconds that a seek may take."""

CYLINDERS = 200_000
"""Large disks have about as many; a part of one has one head, to have cylinders enough."""

HEADS = 64

LEAST = 256 << 20
"""On fewer bytes a short seek cannot be distinguished from a long one."""

FASTEST = 500e6
"""Bytes a second; no disk reads more."""


def _guesses(known: Known) -> list[Guess]:
    if known.capacity < LEAST:
        return []
    small, large = known.sizes("read")

    def took(**kind: object) -> float:
        """Nanoseconds of a random read, one at a time."""
        (figures,) = known.of("read", pattern="random", depth=1, **kind)  # type: ignore[arg-type]
        return 1e9 / figures.iops

    far, near = took(size=small), took(size=small, region=NEAR)
    rate = (large - small) / max(took(size=large) - far, 1.0) * 1e9
    if rate > FASTEST:
        return []
    (stream,) = known.of("read", pattern="sequential", size=small, depth=1)
    overhead = min(300e3, stream.p50_ns / 2)

    def guess(turns: int, queue: Queue, cache: str) -> Guess:
        fixed_ns = overhead + 30e9 / turns
        # a + b·√part through both, where a mean distance is a third of what is covered.
        root = max(far - near, 1e4) / (sqrt(THIRD) - sqrt(THIRD / 100))
        single = max(far - fixed_ns - root * sqrt(THIRD), 1e5)
        values = [overhead, single, root * 0.9, root * 0.1, rate * 1.35, rate * 0.65]

        tracks = known.capacity / (rate * 60 / turns)
        fixed: Table = {
            "capacity": f"{known.capacity}B",
            "rpm": turns,
            "heads": round(within(tracks / CYLINDERS, 1, HEADS)),
        }

        def device(values: Sequence[float]) -> Table:
            return _device(fixed, queue, cache, values)

        return Guess.at(values, device)

    return [guess(*choice) for choice in product(TURNS, QUEUES, CACHES)]


def _device(fixed: Table, queue: Queue, cache: str, values: Sequence[float]) -> Table:
    overhead, single, root, line, outer, inner = values

    def seek(ns: float) -> str:
        return nanoseconds(within(ns, *SEEK))

    return {
        "model": "hdd",
        "drive": {
            **fixed,
            "single_seek": seek(single),
            "average_seek": seek(single + root * sqrt(THIRD) + line * THIRD),
            "full_seek": seek(single + root + line),
            "outer_rate": per_second(min(outer, FASTEST)),
            "inner_rate": per_second(min(inner, FASTEST)),
        },
        "overheads": seek(overhead),
        "bus": "none",
        "cache": cache,
        "queue": dict(queue),
    }


HDD = Model(
    "hdd",
    "an arm that seeks over platters that turn; tracks are longer outside",
    (
        "Not from the probes, but as drives of today have them: heads and their switch, the",
        "settling of writes, the size and the rules of a cache.",
    ),
    _guesses,
)
