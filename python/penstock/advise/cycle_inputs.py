"""What the length of a cycle depends on, measured: a job or a trace runs once under `fcfs`.

Each class gets a stability from how much size, rate, pattern, type and device time of its requests
differ between blocks of 100 requests.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock import _native
from penstock.advise.cycle import UNSTABLE, Cycle, Share, cycle, requests, stability
from penstock.errors import translated, wrong
from penstock.results.steps import Step
from penstock.target import Target

FEWEST_BLOCKS = 3
"""Of fewer blocks nothing is said about stability."""

DRIFT = 0.5
"""From this correlation of each block with the next on, a change is a drift."""

NOTABLE = 0.025
"""A smaller instability is none: neighbours on the disks cause as much."""

TYPE_1 = 0.25
"""From this instability on a class is of the type that the report calls unstable."""

SATURATED = 0.8
"""Disks that are busy for a smaller part of the time have enough for all."""


class Characteristic(NamedTuple):
    """How unstable one characteristic of a class is."""

    name: str
    instability: float
    drifts: bool


@dataclass(frozen=True, kw_only=True)
class ClassFound:
    """What was measured of one class."""

    name: str
    weight: int
    asked: int
    """Requests."""
    blocks: int
    block: int
    """Requests of a block."""
    service_ns: int | None
    share: float
    """Its part of the device time of all classes."""
    ideal_share: float | None
    """The part that its weight promises; nothing if it asked for nothing."""
    limited_by_demand: bool
    """It asked for less than that."""
    characteristics: Sequence[Characteristic]

    @property
    def worst(self) -> Characteristic | None:
        """The characteristic that decides; nothing if too little is known."""
        if self.blocks < FEWEST_BLOCKS:
            return None
        return max(self.characteristics, key=lambda one: one.instability)

    @property
    def stability(self) -> float:
        """From 0 to 1; 0 too if too little is known."""
        if self.worst is None:
            return 0.0
        return stability(self.worst.instability) if self.worst.instability >= NOTABLE else 1.0

    @property
    def requests(self) -> int:
        """How many requests a cycle is to have of it."""
        return requests(self.stability) if self.worst else UNSTABLE

    @property
    def reason(self) -> str:
        """Why it is as stable as it is."""
        worst = self.worst
        if worst is None:
            few = f"only {self.asked} of the {FEWEST_BLOCKS * self.block} requests"
            return f"{few} that a judgement needs: counts as unstable"
        if worst.instability < NOTABLE:
            return "nothing varies"
        return f"{worst.name}: {'a drift' if worst.drifts else 'bursts'}"

    @property
    def kind(self) -> int:
        """The type of the report: 1 unstable, 2 stable."""
        return 1 if self.worst is None or self.worst.instability >= TYPE_1 else 2


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was measured, and the cycle that follows from it."""

    job: str
    world: str
    device: str
    remarks: Sequence[str]
    classes: Sequence[ClassFound]
    """Those that got something."""
    silent: Sequence[str]
    """Names of the classes that got nothing."""
    cycle: Cycle

    @property
    def saturated(self) -> bool:
        """Whether the disks have less than all classes want."""
        return (self.cycle.busy or 0.0) >= SATURATED

    @property
    def limited_by_demand(self) -> Sequence[ClassFound]:
        """The classes that ask for less than their part: no cycle lets them have it."""
        return [one for one in self.classes if one.limited_by_demand]


def measured(
    job: str,
    target: Target,
    *,
    text: str | None = None,
    sets: Sequence[str] = (),
    load: int | None = None,
    points: float = 1.0,
    progress: Callable[[Step], object] | None = None,
    name: str | None = None,
) -> Found:
    """Run a job once, and say how long a cycle should be for it; messages call it `name`."""
    with translated():
        raw: Mapping[str, Any] = json.loads(
            _native.cycle_inputs(
                job, target=target, sets=sets, text=text, load=load, progress=progress
            )
        )
    name = name or job
    every = [_class(one) for one in raw["classes"]]
    _check(name, every)
    classes = [one for one in every if one.service_ns]
    shares = [
        Share(one.name, one.weight, one.service_ns, one.requests)
        for one in classes
        if one.service_ns
    ]
    return Found(
        job=name,
        world=raw["world"],
        device=raw["device"],
        remarks=raw["remarks"],
        classes=classes,
        silent=[one.name for one in every if not one.service_ns],
        cycle=cycle(shares, disks=raw["disks"], load=raw["load"], busy=raw["busy"], target=points),
    )


def _check(name: str, classes: Sequence[ClassFound]) -> None:
    """That there is a block of requests, and device time."""
    block = max((one.block for one in classes), default=1)
    most = max((one.asked for one in classes), default=0)
    if most < block:
        few = f"found at most {most} requests of a class"
        raise wrong(
            f"{name}: {few}; expected {block} or more, a block by which stability is judged",
            "name a longer trace, or let the job run for longer: --set duration=10min",
        )
    if not any(one.service_ns for one in classes):
        raise wrong(
            f"{name}: found no request that took device time; expected a device that works",
            "name a model or a real target with --on, as in --on hdd-7200",
        )


def _class(raw: Mapping[str, Any]) -> ClassFound:
    return ClassFound(
        name=raw["name"],
        weight=raw["weight"],
        asked=raw["requests"],
        blocks=raw["blocks"],
        block=raw["block"],
        service_ns=raw["service_ns"],
        share=raw["share"],
        ideal_share=raw["ideal_share"],
        limited_by_demand=raw["limited_by_demand"],
        characteristics=[
            Characteristic(one["name"], one["instability"], (one["lag1"] or 0.0) >= DRIFT)
            for one in raw["characteristics"]
        ],
    )
