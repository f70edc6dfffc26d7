"""A guard at work: it measures windows, sets what the search says, and puts everything back."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from penstock import _native, signals
from penstock.advise.goal import Goal
from penstock.errors import CANNOT_HERE, PenstockError, wrong
from penstock.guard.changes import Changes
from penstock.guard.dirty_limit import dirty_limits
from penstock.guard.feed import Feed, feed
from penstock.guard.flushes import QUANTILES, Flushing, FlushTimes
from penstock.guard.group_means import group_control
from penstock.guard.held_groups import HeldGroups
from penstock.guard.in_force import InForce
from penstock.guard.means import NOTHING, Means, possible
from penstock.guard.remembered import Remembered
from penstock.guard.search import GuardWindow, MeansStanding, Search
from penstock.guard.selectors import Selector
from penstock.guard.steps import ChangeLog, GuardStep
from penstock.guard.stolen import StolenTime
from penstock.guard.used_disks import UsedDisk, used_disks
from penstock.guard.who import BATCH, ONLINE, Members, Scan
from penstock.metering import ClassFigures, Meter, MeterWindow, RequestFigures, meter
from penstock.text import units
from penstock.tracing import disk

OTHERS = "others"
"""Threads of neither class, those of the kernel among them."""

WINDOW_S = 1.0

READ_S = 0.1
"""Seconds between two looks at the events: the kernel keeps those of about a second."""

FIGURES = (*QUANTILES, "iops", "bw")
"""Figures that a goal may be about."""

IDLE = 3
"""Windows in a row without online requests after which it is found out which disks they use."""


@dataclass(frozen=True, kw_only=True)
class GuardPlan:
    """The programs of a disk, and what they are to have."""

    disk: str
    """The disk's name, as `sda`."""
    online: Sequence[Selector]
    batch: Sequence[Selector]
    goals: Sequence[Goal]
    keep: float = 0.0
    """The share of its bytes that the batch keeps, from 0 to 1."""
    goal_from: str | None = None
    """A command that prints the online programs' own times, which the goals are then about."""
    seconds: float | None = None
    """Seconds until it ends; `None` for no end."""
    strict: bool = False
    """Whether nothing is kept that does not meet the goals."""
    start: Remembered | None = None
    """The answer of an earlier guard, to begin with."""
    note: str | None = None
    """How the disk lies below the device that was named, if that is another."""
    dirty_bytes: int | None = None
    """Bound of the machine's dirty pages for as long as it runs; `None` leaves theirs."""


@dataclass(frozen=True)
class GoalState:
    """How a goal stood in a window."""

    goal: Goal
    value: float
    """Its figure, in the unit of the limit."""

    @property
    def missed_by(self) -> float:
        """Ratio of the figure to the limit: 1 or less is met."""
        return self.goal.missed_by(self.value)


@dataclass(frozen=True)
class GuardStatus:
    """The last window, for those who watch."""

    at_s: float
    means: Means
    """The means that was in force in it."""
    decided: bool
    window: GuardWindow | None
    """`None` if the online programs asked for nothing in it."""
    scan: Scan
    measured: MeterWindow
    goals: Sequence[GoalState]
    """How each goal stood; none if the online programs asked for nothing."""
    so_far: "Guarded"
    """All until now; it goes on changing."""


@dataclass(kw_only=True)
class Guarded:
    """Everything that a guard did."""

    disk: str
    goals: Sequence[str]
    keep: float
    means: Sequence[str]
    """Means that the disk can have, in the order in which they are tried; the first is none."""
    left_out: Mapping[str, str]
    """Means that it cannot have, and why."""
    note: str | None = None
    """How the disk lies below the device that was named, if that is another."""
    remembered: bool = False
    """Whether the figures of nothing are those of an earlier guard."""
    steps: list[GuardStep] = field(default_factory=list)
    """The latest changes, the state at the beginning first."""
    changes: int = 0
    """Number of all changes."""
    standings: dict[str, MeansStanding] = field(default_factory=dict)
    unfair: dict[str, str] = field(default_factory=dict)
    """Means that are not kept whatever the goals say, and which class suffers."""
    kept: str = NOTHING.name
    met: bool = False
    decided: bool = False
    windows: int = 0
    idle_windows: int = 0
    """Windows in which the online programs asked for nothing."""
    used: list[UsedDisk] = field(default_factory=list)
    """Disks of the online programs' open files, if they asked this one for nothing for a while."""
    unmatched: list[str] = field(default_factory=list)
    """Selectors that no process has matched."""
    unreadable: int = 0
    """Processes of other users of which it could not be known whether a selector matches."""
    written: dict[str, int] = field(default_factory=dict)
    """Bytes that each class wrote to the disk."""
    bytes: int = 0
    """Bytes that all classes read and wrote."""
    flushing: Flushing | None = None
    """Flushes of the disk's cache in the last windows; `None` if there was none."""
    stolen: float = 0.0
    """Share of the processors' time that the host of a virtual machine took in them."""
    interrupted: bool = False
    """Whether a signal ended it, as it ends a guard without a time."""
    lost: int = 0
    """Events that the kernel dropped."""
    seconds: float = 0.0


def check(goals: Sequence[Goal]) -> None:
    """Raise an error if a goal is about something that a guard cannot measure."""
    for goal in goals:
        if goal.figure.of != ONLINE:
            raise wrong(
                f"the goal `{goal.text}` is about {goal.figure.of}; expected {ONLINE}",
                f"as '{ONLINE}.p99 <= 2ms'; --keep is about the batch",
            )
        if goal.figure.what not in FIGURES:
            raise wrong(
                f"the goal `{goal.text}`: {goal.figure.what} is not measured",
                f"measured are {', '.join(FIGURES)}",
            )


def guard(
    plan: GuardPlan, *, command: str, show: Callable[[GuardStatus], object] = lambda _: None
) -> Guarded:
    """Guard a disk until its time is over or the process is interrupted; then put everything back.

    # Errors
    If the disk has a guard, or the kernel refuses to trace or to be set.
    """
    check(plan.goals)
    check_root()
    (listed,) = json.loads(_native.disks(plan.disk))["disks"]
    members = Members({ONLINE: plan.online, BATCH: plan.batch})
    control = group_control(plan.disk, plan.goals, plan.online, plan.batch, members.scan())
    left_out, means = possible(listed["queue"], control.why_not)
    start = _start(plan, means, left_out)
    result = Guarded(
        disk=plan.disk,
        note=plan.note,
        goals=[goal.text for goal in plan.goals],
        keep=plan.keep,
        means=[possible.name for possible in means],
        left_out=left_out | control.never(),
        unmatched=[selector.text for selector in (*plan.online, *plan.batch)],
    )
    with (
        # A change and its note are made together, and what is taken back is taken back whole.
        signals.held_back(),
        Changes.of_disk(plan.disk, command) as changes,
        ExitStack() as stack,
    ):
        measured = stack.enter_context(meter(disk(Path("/dev", plan.disk))))
        if plan.dirty_bytes is not None:
            changes.make(*dirty_limits(plan.dirty_bytes))
        groups = HeldGroups(changes, control, batch=BATCH, keep=plan.keep)
        in_force = InForce(plan.disk, listed["queue"], changes, groups, batch=BATCH)
        stack.enter_context(in_force)
        printed = None if plan.goal_from is None else stack.enter_context(feed(plan.goal_from))
        try:
            senses = _Senses(members, measured, printed, FlushTimes(plan.goals))
            _run(plan, means, start, senses, in_force, result, show)
        except KeyboardInterrupt:
            result.interrupted = True
    return result


def check_root() -> None:
    """Raise an error unless root guards."""
    if os.geteuid() != 0:
        message = "error: a guard needs root: it traces the disk, and sets its queue and threads"
        hint = (
            "hint: without root, --dry-run shows what it would write, and `ionice -c 3 -p PID` "
            "holds back a process of yours under mq-deadline or bfq"
        )
        raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE)


def _start(plan: GuardPlan, means: Sequence[Means], left_out: Mapping[str, str]) -> int:
    """Return the number of the means to begin with.

    # Errors
    The disk has no means of the name that the plan's file has.
    """
    if plan.start is None:
        return 0
    name, names = plan.start.means, [tried.name for tried in means]
    if name in names:
        return names.index(name)
    why = f", because {left_out[name]}" if name in left_out else ""
    raise wrong(
        f"the plan of {plan.disk} has the means '{name}', which the disk cannot have{why}; "
        f"expected one of {', '.join(map(repr, names))}",
        "remove the file: the guard then searches",
    )


def _run(
    plan: GuardPlan,
    means: Sequence[Means],
    start: int,
    senses: "_Senses",
    in_force: InForce,
    result: Guarded,
    show: Callable[[GuardStatus], object],
) -> None:
    remembered = plan.start.window() if plan.start is not None and start else None
    trials = {number: tried.trial for number, tried in enumerate(means)}
    search = Search(
        len(means) - 1, keep=plan.keep, trials=trials, start=start, remembered=remembered
    )
    log, number, began = ChangeLog(), start, time.monotonic()
    result.steps = log.steps
    log.begin(means[start].name, "the plan's file has it" if start else _FIRST)
    if start:
        in_force.set(means[start], _alone(search))
    senses.window(in_force, result)
    while plan.seconds is None or time.monotonic() - began < plan.seconds:
        scan, window = senses.window(in_force, result)
        result.seconds = time.monotonic() - began
        goals = _goals(plan, window, senses.times())
        figures = _judged(goals, window, senses.sent)
        decided, met = search.decided, search.meets(search.number)
        if figures is None:
            result.idle_windows += 1
        else:
            log.take(figures)
            search.take(figures)
        senses.look_for_disks(scan, result, idle=figures is None)
        _note(search, means, result)
        show(
            GuardStatus(
                result.seconds, means[number], search.decided, figures, scan, window, goals, result
            )
        )
        if plan.strict and search.decided and not search.meets(search.number):
            return
        if search.number != number:
            number = search.number
            log.change(result.seconds, means[number].name, _reason(search, decided, met))
            result.changes = log.count
            in_force.set(means[number], _alone(search))
        elif figures is not None:
            in_force.regulate(missed=figures.missed_by > 1, batch=figures.batch)


def _alone(search: Search) -> float:
    """Return the bytes of the batch in a second when nothing is set, as far as they are known."""
    alone = search.standing(0)
    return 0.0 if alone is None else alone.batch


_FIRST = "to see what the programs do without a guard"


def _reason(search: Search, was_decided: bool, had_met: bool) -> str:
    """Return why the means has changed, from one that was kept or had met the goals."""
    if was_decided and had_met and search.number == search.kept_first:
        return "it was kept before, and may do again"
    if search.decided:
        return "it is the best of all" if not search.meets(search.number) else "it meets the goals"
    if was_decided and had_met:
        return "the goals are missed again"
    if search.number == 0:
        return "the means of the plan's file does not do any more"
    before = search.standing(search.number - 1)
    if was_decided or before is None:
        return "no means met the goals, and they are tried again"
    if before.missed_by > 1:
        return f"the one before misses a goal by {units.ratio(before.missed_by)} times"
    nothing = search.standing(0)
    if nothing is not None and before.batch < search.keep * nothing.batch:
        return f"the one before leaves the batch {units.percent(before.batch / nothing.batch)}"
    return "fewer requests of the online programs complete under the one before"


def _note(search: Search, means: Sequence[Means], result: Guarded) -> None:
    """Write what is known so far into the result."""
    for number, tried in enumerate(means):
        standing = search.standing(number)
        if standing is not None:
            result.standings[tried.name] = standing
            unfair = search.unfair(number)
            if unfair is None:
                result.unfair.pop(tried.name, None)
            else:
                result.unfair[tried.name] = unfair
    result.remembered = search.remembers
    result.decided, result.kept = search.decided, means[search.number].name
    result.met = search.meets(search.number)


class _Senses:
    """The sources of what is known of the programs."""

    def __init__(
        self, members: Members, measured: Meter, printed: Feed | None, flushes: FlushTimes
    ) -> None:
        self._members, self._measured, self._printed = members, measured, printed
        self._flushes = flushes
        self._stolen = StolenTime()
        self._idle = 0
        self.sent: int | None = None
        """Bytes that a throttle let through in the last window, if there was one."""

    def times(self) -> list[float] | None:
        """Return what the online programs printed of themselves; `None` if they are not asked."""
        return None if self._printed is None else self._printed.take()

    def look_for_disks(self, scan: Scan, result: Guarded, *, idle: bool) -> None:
        """Find out which disks the online programs use if they ask this one for nothing."""
        self._idle = self._idle + 1 if idle else 0
        if not self._idle:
            result.used = []
        elif self._idle % IDLE == 0:
            result.used = used_disks(scan, ONLINE)

    def window(self, in_force: InForce, result: Guarded) -> tuple[Scan, MeterWindow]:
        """Let a window pass, and return who was there and what they did."""
        scan = self._members.scan()
        in_force.follow(scan)
        end = time.monotonic() + WINDOW_S
        while (left := end - time.monotonic()) > 0:
            with signals.let_in():
                time.sleep(min(left, READ_S))
            # What has started since queues requests too, and many commands live for a second.
            self._measured.assign(scan.class_of())
            self._measured.read()
        window = self._measured.window()
        self.sent = in_force.sent()
        waiting = {selector.text for selector in scan.waiting}
        result.unmatched = [text for text in result.unmatched if text in waiting]
        result.unreadable = scan.unreadable
        result.windows += 1
        result.lost += window.lost
        result.flushing = self._flushes.take(window)
        result.stolen = self._stolen.take()
        # Threads of the kernel have queued what a throttle let through.
        for name, figures in window.classes.items() if self.sent is None else ():
            result.written[name] = result.written.get(name, 0) + figures.write.bytes
            result.bytes += figures.read.bytes + figures.write.bytes
        return scan, window


def _goals(plan: GuardPlan, window: MeterWindow, times: list[float] | None) -> list[GoalState]:
    """Return how each goal stood in a window; none if nothing online is known of it."""
    directions, seconds = _active(window), _seconds(window)
    if not directions or times == []:
        return []
    return [
        GoalState(goal, median(times) if times else _value(goal, directions, seconds))
        for goal in plan.goals
    ]


def _active(window: MeterWindow) -> list[RequestFigures]:
    """Return the figures of the directions in which the online programs asked for something."""
    online = window.classes.get(ONLINE)
    both = [] if online is None else [online.read, online.write]
    return [figures for figures in both if figures.count or figures.waiting]


def _seconds(window: MeterWindow) -> float:
    return (window.to_ns - window.from_ns) / 1e9


def _judged(
    goals: Sequence[GoalState], window: MeterWindow, sent: int | None
) -> GuardWindow | None:
    """Return how a window stands to the goals; `None` if nothing online is known of it.

    `sent` are the bytes of a batch that has a throttle.
    """
    if not goals:
        return None
    directions, seconds, batch = _active(window), _seconds(window), window.classes.get(BATCH)
    return GuardWindow(
        seconds=seconds,
        missed_by=max(goal.missed_by for goal in goals),
        online=sum(figures.count for figures in directions) / seconds,
        waiting=sum(figures.waiting for figures in directions),
        batch=(_bytes(batch) if sent is None else sent) / seconds,
    )


def _bytes(figures: ClassFigures | None) -> float:
    return 0 if figures is None else figures.read.bytes + figures.write.bytes


def _value(goal: Goal, directions: Sequence[RequestFigures], seconds: float) -> float:
    """Return the figure of a goal: of latencies the worse of reads and writes."""
    figure = goal.figure.what
    if figure == "iops":
        return sum(figures.count for figures in directions) / seconds
    if figure == "bw":
        return sum(figures.bytes for figures in directions) / seconds
    known: list[Any] = [figures.latency_ns for figures in directions if figures.latency_ns]
    return float(max(getattr(latencies, figure) for latencies in known))
