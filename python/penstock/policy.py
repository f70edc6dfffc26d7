"""Policies written in Python, and what the engine hands to them.

A policy decides who goes next, and how much of it. It is a state machine: it is called with what
arrives and what comes back, and asked what goes, always with the time. Nothing else moves it. Times
are whole nanoseconds since the run began; offsets and lengths are bytes. The policy runs over a
modelled device.

    class ShortestFirst(penstock.Policy):
        def __init__(self) -> None:
            self.queue: list[penstock.Request] = []

        def enqueue(self, now, request):
            self.queue.append(request)

        def dispatch(self, now, below):
            best = min(self.queue, key=lambda request: (request.len, request.id), default=None)
            if best is not None:
                self.queue.remove(best)
            return best

The vocabulary is that of the engine's own policies, so that an idea that holds can be written in
Rust line by line.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from inspect import isabstract
from typing import Literal, NamedTuple, Protocol, TypeAlias

from penstock.errors import wrong

Op: TypeAlias = Literal["read", "write", "discard"]
"""What a request asks for. Flushes pass every policy by."""


class Request(NamedTuple):
    """What is asked. It never changes, and every call is given the same object for it."""

    id: int
    """Its number, in order of arrival from 0."""
    op: Op
    start: int
    """Its first byte."""
    len: int
    """Its bytes."""
    due: int
    """When it should have arrived: latency counts from here."""
    class_: str
    """Name of its class of work."""
    prio: int
    """Priority of its class, from 0 to 7; the lower goes first."""
    stream: int
    """The agent or the process that asks; from 0."""
    sync: bool
    """Whether a program waits for it, as for every read."""
    fua: bool
    """Durable when it completes (forced unit access). Never merged."""

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.start + self.len


class Part(NamedTuple):
    """A piece of a request that has finished, or all of it."""

    at: int
    """When it finished."""
    service: int
    """Device time that it cost, in nanoseconds."""
    len: int
    """Bytes that it carried."""
    last: bool
    """Whether its request is finished now."""
    error: int | None
    """The error's number, as in `errno`, if it failed."""


class Go(NamedTuple):
    """Send this much of a request."""

    id: int
    """Which."""
    len: int = 0
    """Bytes of it; 0 means all that is left. What is sent goes from the request's start on."""
    chain: Sequence[int] = ()
    """Neighbours that go in the same command: ids of whole requests, of the same op, each beginning
    where the one before ends."""


class Below(Protocol):
    """The device below, as far as a policy may ask. It answers during `dispatch` only."""

    def room(self) -> int:
        """How many more commands it takes now."""

    def admits(self, op: Op, start: int, len: int) -> bool:
        """Whether it takes a command of this range, of one byte at least, now."""

    def position(self, op: Op, start: int) -> int:
        """Nanoseconds that it would take to reach `start`; 0 where position costs nothing."""


class ClassInfo(NamedTuple):
    """A class of work."""

    name: str
    weight: int
    """Its part of the device, relative to the other classes' weights: 1 to 10,000."""
    prio: int
    """From 0 to 7; the lower goes first."""
    ioprio: str = "be:4"
    """The I/O priority of its processes: "rt:0" to "rt:7", "be:0" to "be:7", or "idle"."""


class Served(NamedTuple):
    """What a policy serves."""

    classes: Sequence[ClassInfo]
    """In the order of the job."""
    disks: int
    """Disks that work side by side below: those of an array, 1 of anything else."""


class Policy(ABC):
    """A scheduling policy. `penstock.compare` makes one for each run and calls it from one thread.

    It must decide by what these calls pass to it alone: no clock, no randomness of its own, no
    order of a set. Only then do equal seeds give equal results.
    """

    name: str
    """What results call it; the name of the class if there is none."""

    def begin(self, served: Served) -> None:  # noqa: B027 - may be left
        """Receive what it serves, before anything else."""

    @abstractmethod
    def enqueue(self, now: int, request: Request) -> None:
        """Receive a request that has arrived."""

    @abstractmethod
    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        """Say what goes next; the device has room.

        A request stands for all that is left of it. `None` while something is queued is allowed
        only if something is in flight or `wakeup` names a time.
        """

    def complete(self, now: int, request: Request, part: Part) -> None:  # noqa: B027 - may be left
        """Receive a piece of a request, or all of it, that has finished."""

    def wakeup(self) -> int | None:
        """Say when to be asked again, if `dispatch` has just kept something back.

        The call that follows may come late, never early.
        """
        return None

    def counters(self) -> dict[str, int]:
        """Give counters of its own, which the result has as `policy_stats`.

        It is called when the run has ended, and if the course over time is asked for, some hundred
        times before: each value is then drawn as it was.
        """
        return {}


def made(policies: str | Sequence[str | Callable[[], Policy]]) -> list[str | tuple[str, Policy]]:
    """The policies as the engine takes them: names, and new objects with theirs."""
    if isinstance(policies, str):
        return [*policies.split(",")]
    return [policy if isinstance(policy, str) else _made(policy) for policy in policies]


def _made(make: Callable[[], Policy]) -> tuple[str, Policy]:
    """What `make` gives, with the name that results call it by."""
    hint = "name a policy, or give a class of penstock.Policy or what makes one without arguments"
    if isinstance(make, Policy):
        maker = type(make).__name__
        raise wrong(f"policies has an object of {maker}, which serves one run", f"write {maker}")
    if not callable(make):
        raise wrong(f"policies has {make!r}", hint)
    try:
        policy = make()
    except Exception as error:
        maker = getattr(make, "__name__", repr(make))
        message = f"policy {maker} cannot be made: {type(error).__name__}: {error}"
        lacking = "define the methods that it lacks"
        needs = "give what it needs by functools.partial"
        raise wrong(message, lacking if isabstract(make) else needs) from error
    if not isinstance(policy, Policy):
        raise wrong(f"policies has {make!r}, which gives {policy!r}", hint)
    name: object = getattr(policy, "name", type(policy).__name__)
    if not isinstance(name, str):
        raise wrong(f"a policy's name is {name!r}", "a name is text")
    return name, policy
