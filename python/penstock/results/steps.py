"""Steps of long work that the engine reports; a key that may be absent is `NotRequired`."""

from collections.abc import Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from penstock.results.json_types import Class, World


class Creating(TypedDict):
    """A step of long work: an owned file is being written."""

    step: Literal["creating"]
    path: str
    fraction: float


class ClassNow(TypedDict):
    """Current figures of a class: what is outstanding, totals, and figures of the last window.

    `queued` and `in_flight` are present if policies have its requests.
    """

    name: str
    iops: float
    bw_bytes: float
    p50_ns: int | None
    p99_ns: int | None
    share: float
    outstanding: int
    errors: int
    requests: NotRequired[int]
    bytes: NotRequired[int]
    latency_buckets: NotRequired[dict[str, Any]]
    queued: NotRequired[int]
    in_flight: NotRequired[int]


class Now(TypedDict):
    """A run at one moment; figures change when one of its `windows` ends."""

    at_s: float
    planned_s: float
    window_s: float
    windows: int
    classes: list[ClassNow]


class Running(TypedDict):
    """A step of long work: the run `number`, from 0, of `of` runs.

    `round`, from 0, is present if there are rounds, `now` if a person watches.
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
    """A step of long work: a policy's run has ended; `now` is present if a person watches."""

    step: Literal["finished"]
    policy: str
    round: NotRequired[int]
    number: int
    of: int
    device: str
    classes: list[Class]
    now: NotRequired[Now]


Step: TypeAlias = Creating | Running | Finished
"""A step of long work."""

Progress: TypeAlias = Callable[[str, float], object]
"""Called with a label of the work and its progress, from 0 to 1."""


def as_part(
    progress: Progress | None, label: str, begin: float, end: float
) -> Callable[[Step], None] | None:
    """Make a function that reports the steps of a session as the part from `begin` to `end`."""
    if progress is None:
        return None

    def step(now: Step) -> None:
        if now["step"] == "running":
            done = (now["number"] + now["fraction"]) / now["of"]
            progress(label, begin + (end - begin) * done)

    return step
