"""What other commands than `run` and `compare` print with `--json`, as types."""

from typing import Literal, TypedDict


class Difference(TypedDict):
    """Where a replay went another way; what one side lacks is null."""

    decision: int
    recorded: str | None
    replayed: str | None


class Replay(TypedDict):
    """What `replay-decisions` prints."""

    penstock: str
    recorded_by: str
    policy: str
    decisions: int
    alike: int
    requests: int
    first_difference: Difference | None


class Param(TypedDict):
    """A parameter of a policy; the members of a group follow it by their dotted names."""

    name: str
    kind: str
    default: str | int | bool
    doc: str
    source: str


class Policy(TypedDict):
    """An entry of `list policies`."""

    name: str
    summary: str
    text: str
    """What it does, when to use it, what it promises, and where it comes from; in paragraphs."""
    usual: bool
    """Whether it is compared if none are named."""
    weights: bool
    """Whether it divides the device by the weights of the classes."""
    io_priorities: bool
    """Whether it goes by the I/O priorities of the classes."""
    linux: str | None
    """The versions of Linux that have it; null if it is of no kernel."""
    params: list[Param]


class Device(TypedDict):
    """An entry of `list devices`."""

    name: str
    summary: str
    machine: bool
    """Whether it is a machine of several devices, on which files lie."""


class Check(TypedDict):
    """A finding of `doctor`: its figures stand in `facts` once more."""

    group: Literal["machine", "engines", "path", "kernel", "time", "leftovers", "extras"]
    name: str
    state: Literal["ok", "limited", "no"]
    found: str
    advice: str | None
    facts: dict[str, str | int | bool | list[str] | None]


class Diagnosis(TypedDict):
    """What `doctor` prints; `able` says whether there is anything to run with."""

    penstock: str
    path: str
    able: bool
    checks: list[Check]
