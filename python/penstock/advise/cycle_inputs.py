"""Inputs to the length of a cycle, measured: a job or a trace runs once under `fcfs`.

Each class gets a stability from how much size, rate, pattern, type and device time of its requests
differ between blocks of 100 requests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.advise.cycle import UNSTABLE, Cycle, Share, cycle, requests, stability
from penstock.errors import wrong
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run, whole
from penstock.results.json_types import Class, ClassStability, Comparison, Run
from penstock.results.steps import Step
from penstock.session import Variant
from penstock.target import Target

FEWEST_BLOCKS = 3
"""Least number of blocks for a statement about stability."""

DRIFT = 0.5
"""Correlation of each block with the next from which on a change is a drift."""

NOTABLE = 0.025
"""A smaller instability is none: neighbours on the disks cause as much."""

TYPE_1 = 0.25
"""Instability from which on a class is of the type that the report calls unstable."""

SATURATED = 0.8
"""Disks that are busy for a smaller part of the time have enough for all."""


class Instability(NamedTuple):
    """Instability of one characteristic of a class."""

    name: str
    instability: float
    drifts: bool


@dataclass(frozen=True, kw_only=True)
class ClassFound:
    """Measurements of one class."""

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
    characteristics: Sequence[Instability]

    @property
    def worst(self) -> Instability | None:
        """The characteristic that decides; nothing if too little is known."""
        if self.blocks < FEWEST_BLOCKS:
            return None
        return max(self.characteristics, key=lambda item: item.instability)

    @property
    def stability(self) -> float:
        """Stability from 0 to 1; 0 too if too little is known."""
        if self.worst is None:
            return 0.0
        return stability(self.worst.instability) if self.worst.instability >= NOTABLE else 1.0

    @property
    def requests(self) -> int:
        """Number of its requests in a cycle."""
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
    """Measurements, and the cycle that follows from them."""

    job: str
    world: str
    device: str
    remarks: Sequence[str]
    classes: Sequence[ClassFound]
    """Classes that got something."""
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
        return [class_ for class_ in self.classes if class_.limited_by_demand]


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
    variant = Variant(name=job, text=text, sets=sets, policies=["fcfs"])
    (comparison,) = surveyed([variant], target, load=load, progress=progress)
    return of_survey(comparison, name or job, points=points)


def surveyed(
    jobs: Sequence[Variant],
    target: Target,
    *,
    load: int | None = None,
    progress: Callable[[Step], object] | None = None,
) -> list[Comparison]:
    """Run each job once, and look how stable the requests of its classes are."""
    setup = Setup(target=target, reduce=whole, survey=True, load=load)
    return run_all(setup, jobs, progress=progress)


def of_survey(comparison: Comparison, name: str, *, points: float = 1.0) -> Found:
    """Returns the length of a cycle for the job of a survey; messages call it `name`."""
    run = only_run(comparison)
    survey = run["survey"]
    every = [_class(*pair) for pair in zip(run["classes"], survey["classes"], strict=True)]
    _check(name, every)
    classes = [class_ for class_ in every if class_.service_ns]
    shares = [
        Share(class_.name, class_.weight, class_.service_ns, class_.requests)
        for class_ in classes
        if class_.service_ns
    ]
    return Found(
        job=name,
        world=comparison["world"],
        device=comparison["device"],
        remarks=[*comparison.get("remarks", []), *run.get("remarks", [])],
        classes=classes,
        silent=[class_.name for class_ in every if not class_.service_ns],
        cycle=cycle(
            shares,
            disks=survey["disks"],
            load=survey["load"],
            busy=_busy(run, survey["disks"]),
            target=points,
        ),
    )


def _busy(run: Run, disks: int) -> float:
    """Part of the time of all disks that was device time of requests."""
    used = sum(class_["device_time_s"] for class_ in run["classes"])
    time = run["duration_s"] * disks
    return min(used / time, 1.0) if time > 0 else 0.0


def _check(name: str, classes: Sequence[ClassFound]) -> None:
    """Checks that there is a block of requests, and device time."""
    block = max((class_.block for class_ in classes), default=1)
    most = max((class_.asked for class_ in classes), default=0)
    if most < block:
        few = f"found at most {most} requests of a class"
        raise wrong(
            f"{name}: {few}; expected {block} or more, a block by which stability is judged",
            "name a longer trace, or let the job run for longer: --set duration=10min",
        )
    if not any(class_.service_ns for class_ in classes):
        raise wrong(
            f"{name}: found no request that took device time; expected a device that works",
            "name a model or a real target with --on, as in --on hdd-7200",
        )


def _class(class_: Class, stability: ClassStability) -> ClassFound:
    return ClassFound(
        name=class_["name"],
        weight=class_["weight"],
        asked=stability["requests"],
        blocks=stability["blocks"],
        block=stability["block"],
        service_ns=stability["service_ns"],
        share=class_["share"],
        ideal_share=class_["ideal_share"],
        limited_by_demand=class_["limited_by_demand"],
        characteristics=[
            Instability(figure["name"], figure["instability"], (figure["lag1"] or 0.0) >= DRIFT)
            for figure in stability["characteristics"]
        ],
    )
