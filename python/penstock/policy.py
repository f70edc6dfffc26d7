"""Policies written in Python, and the types that the engine passes to them.

A policy decides which request goes next, and how much of it. It is a state machine: the engine
calls it with arrivals and completions, and asks what to send, always with the time. Times are whole
nanoseconds since the run began; offsets and lengths are bytes. The policy runs on a modelled
device.

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

The names are those of the engine's own policies, so that a good policy can be translated to Rust
line by line.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from inspect import isabstract
from typing import Literal, NamedTuple, Protocol, TypeAlias

from penstock.errors import wrong

Op: TypeAlias = Literal["read", "write", "discard"]
"""Operation of a request. Flushes bypass policies."""


class Request(NamedTuple):
    """A request. It never changes, and every call gets the same object for it."""

    id: int
    """Number in order of arrival, from 0."""
    op: Op
    start: int
    """First byte."""
    len: int
    """Length in bytes."""
    due: int
    """Intended time of arrival, from which latency counts."""
    class_: str
    """Name of its class of work."""
    prio: int
    """Priority of its class, from 0 to 7; the lower goes first."""
    stream: int
    """Number of the agent or process that sent it, from 0."""
    sync: bool
    """Whether a program waits for it: a read, a flush, a durable write or a direct one."""
    fua: bool
    """Durable when it completes (forced unit access). Never merged."""

    @property
    def end(self) -> int:
        """The first byte after the request."""
        return self.start + self.len


class Part(NamedTuple):
    """A finished piece of a request, or a whole request."""

    at: int
    """Time at which it finished."""
    service: int
    """Device time in nanoseconds."""
    len: int
    """Bytes of this piece."""
    last: bool
    """Whether this completes its request."""
    error: int | None
    """The `errno` of a failure."""


class Go(NamedTuple):
    """A command to send, for a request or a part of it."""

    id: int
    """Number of the request."""
    len: int = 0
    """Bytes to send, from the start of what is left; 0 for all that is left."""
    chain: Sequence[int] = ()
    """Requests to send in the same command: ids of whole requests with the same op, each of which
    begins where the one before ends."""


class Below(Protocol):
    """Queries about the device; valid during `dispatch` only."""

    def room(self) -> int:
        """Return how many more commands it accepts now."""

    def admits(self, op: Op, start: int, len: int) -> bool:
        """Return whether it accepts a command for this range of at least one byte now."""

    def position(self, op: Op, start: int) -> int:
        """Return the nanoseconds to reach `start`; 0 if positioning costs nothing."""


class ClassInfo(NamedTuple):
    """A class of work."""

    name: str
    weight: int
    """Its share of the device relative to the other classes: 1 to 10,000."""
    prio: int
    """From 0 to 7; the lower goes first."""
    ioprio: str = "be:4"
    """The I/O priority of its processes: "rt:0" to "rt:7", "be:0" to "be:7", or "idle"."""


class Served(NamedTuple):
    """The classes and disks of a run."""

    classes: Sequence[ClassInfo]
    """Classes in the order of the job."""
    disks: int
    """Number of disks that work in parallel: those of an array, otherwise 1."""


class Policy(ABC):
    """A scheduling policy. `penstock.compare` makes one for each run and calls it from one thread.

    Its decisions must depend only on the arguments of these calls, not on a clock, on randomness
    or on the order of a set. Only then do equal seeds give equal results.
    """

    name: str
    """Name in results; by default the name of the class."""

    def begin(self, served: Served) -> None:  # noqa: B027 - may be left
        """Receive the classes and disks of the run, before any other call."""

    @abstractmethod
    def enqueue(self, now: int, request: Request) -> None:
        """Receive a request that has arrived."""

    @abstractmethod
    def dispatch(self, now: int, below: Below) -> Request | Go | None:
        """Choose what to send next; the device has room.

        A request stands for all that is left of it. `None` while something is queued is allowed
        only if something is in flight or `wakeup` names a time.
        """

    def complete(self, now: int, request: Request, part: Part) -> None:  # noqa: B027 - may be left
        """Receive a finished piece of a request, or a whole request."""

    def wakeup(self) -> int | None:
        """Return when to call `dispatch` again, if it has just held a request back.

        That call may come late, never early.
        """
        return None

    def counters(self) -> dict[str, int]:
        """Return the policy's own counters, which the result has as `policy_stats`.

        It is called when the run has ended and, if time series are requested, about a hundred times
        during the run, for the chart of the counters over time.
        """
        return {}


def made(policies: str | Sequence[str | Callable[[], Policy]]) -> list[str | tuple[str, Policy]]:
    """Return policies for the engine: names, and new objects with their names."""
    if isinstance(policies, str):
        return [*policies.split(",")]
    return [policy if isinstance(policy, str) else _made(policy) for policy in policies]


def _made(make: Callable[[], Policy]) -> tuple[str, Policy]:
    """Make a policy, and return it with its name in results."""
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
