"""Steps of long work, as the engine reports them; a key that may be absent is `NotRequired`."""

from collections.abc import Callable
from typing import Literal, NotRequired, TypeAlias, TypedDict

from penstock.results.json_types import Class, World


class Creating(TypedDict):
    """A step of long work: an owned file is being written."""

    step: Literal["creating"]
    path: str
    fraction: float


class ClassNow(TypedDict):
    """What one class gets at the moment: in the last window, but for the queue and all errors."""

    name: str
    iops: float
    bw_bytes: float
    p50_ns: int | None
    p99_ns: int | None
    share: float
    outstanding: int
    errors: int


class Now(TypedDict):
    """A run at one moment; with each of its `windows` that has ended come new figures."""

    at_s: float
    planned_s: float
    window_s: float
    windows: int
    classes: list[ClassNow]


class Running(TypedDict):
    """A step of long work: a policy runs, the `number`-th run from 0, `of` so many.

    `round`, from 0, is there if rounds were asked for, `now` if a person watches.
    """

    step: Literal["running"]
    policy: str
    round: NotRequired[int]
    number: int
    of: int
    fraction: float
    device: str
    world: World
    now: NotRequired[Now]


class Finished(TypedDict):
    """A step of long work: a policy's run has ended."""

    step: Literal["finished"]
    policy: str
    round: NotRequired[int]
    number: int
    of: int
    classes: list[Class]


Step: TypeAlias = Creating | Running | Finished
"""How far long work has come."""

Progress: TypeAlias = Callable[[str, float], object]
"""Is called with what goes on and how far it has come, from 0 to 1."""


def as_part(
    progress: Progress | None, label: str, begin: float, end: float
) -> Callable[[Step], None] | None:
    """Reports the steps of a session as a part of the whole."""
    if progress is None:
        return None

    def step(now: Step) -> None:
        if now["step"] == "running":
            done = (now["number"] + now["fraction"]) / now["of"]
            progress(label, begin + (end - begin) * done)

    return step
