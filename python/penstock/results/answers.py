"""Types of the `--json` output of commands other than `run` and `compare`."""

from typing import Literal, TypedDict


class DecisionDifference(TypedDict):
    """The first decision in which a replay differs; a decision that one side lacks is null."""

    decision: int
    recorded: str | None
    replayed: str | None


class Replay(TypedDict):
    """Output of `replay-decisions`."""

    penstock: str
    recorded_by: str
    policy: str
    decisions: int
    alike: int
    requests: int
    first_difference: DecisionDifference | None


class Param(TypedDict):
    """A parameter of a policy; members of a group follow it with dotted names."""

    name: str
    kind: str
    default: str | int | bool
    doc: str
    source: str


class ListedPolicy(TypedDict):
    """An entry of `list policies`."""

    name: str
    summary: str
    text: str
    """Its behaviour, use, guarantees and origin, in paragraphs."""
    usual: bool
    """Whether it is compared if no policies are named."""
    weights: bool
    """Whether it divides the device by the weights of the classes."""
    io_priorities: bool
    """Whether it uses the I/O priorities of the classes."""
    linux: str | None
    """The versions of Linux that have it; null if none has."""
    params: list[Param]


class Device(TypedDict):
    """An entry of `list devices`."""

    name: str
    summary: str
    machine: bool
    """Whether it is a machine of several devices with files."""


class DoctorCheck(TypedDict):
    """A finding of `doctor`, with its figures again in `facts`."""

    group: Literal["machine", "engines", "path", "kernel", "time", "leftovers", "extras"]
    name: str
    state: Literal["ok", "limited", "no"]
    found: str
    advice: str | None
    facts: dict[str, str | int | bool | list[str] | None]


class Diagnosis(TypedDict):
    """Output of `doctor`; `able` says whether runs are possible on this machine."""

    penstock: str
    path: str
    able: bool
    checks: list[DoctorCheck]
