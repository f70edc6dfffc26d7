"""A guard's answer and windows, made up."""

from collections.abc import Mapping, Sequence

from penstock.advise.goal import Goal
from penstock.guard.means import MEANS, NOTHING
from penstock.guard.processes import Thread
from penstock.guard.search import GuardWindow, MeansStanding
from penstock.guard.selectors import Selector
from penstock.guard.session import GoalState, Guarded, GuardStatus
from penstock.guard.steps import GuardStep
from penstock.guard.who import Scan
from penstock.metering import ClassFigures, Latencies, MeterWindow, RequestFigures
from penstock.results.buckets import LatencyBuckets

MS = 1_000_000

GOAL = "online.p99 <= 2ms"

GOOD = MeansStanding(missed_by=0.5, online=200.0, batch=8e8)

WITHOUT = MeansStanding(missed_by=50.0, online=20.0, batch=1e9)


def decided(
    *,
    kept: str = "idle",
    met: bool = True,
    is_decided: bool = True,
    goals: Sequence[str] = (GOAL,),
    keep: float = 0.0,
    figures: MeansStanding = GOOD,
) -> Guarded:
    """What a guard did until it decided on a means."""
    return Guarded(
        disk="sda",
        goals=list(goals),
        keep=keep,
        means=["nothing", *(means.name for means in MEANS)],
        left_out={},
        standings={"nothing": WITHOUT} | {kept: figures},
        kept=kept,
        met=met,
        decided=is_decided,
        windows=9,
        steps=[
            GuardStep(0.0, "nothing", "to see", after=WITHOUT),
            GuardStep(4.0, kept, "it misses", before=WITHOUT, after=figures),
        ],
        changes=1,
    )


def buckets(count: int, latency_ns: int) -> LatencyBuckets:
    """So many latencies of one length."""
    bounds = [1 * MS, 2 * MS, 5 * MS]
    upto = [(bound, count if latency_ns <= bound else 0) for bound in bounds]
    return LatencyBuckets(count=count, sum_ns=count * latency_ns, upto_ns=upto)


def requests(count: int, *, waiting: int = 0, p99: int = 2 * MS) -> RequestFigures:
    """Requests of 4 KiB."""
    latency = Latencies(p50=p99 // 4, p95=p99 // 2, p99=p99, max=2 * p99)
    some = count or waiting
    return RequestFigures(
        count=count,
        bytes=4096 * count,
        latency_ns=latency if some else None,
        waiting=waiting,
        oldest_ns=p99 if waiting else None,
        latency_buckets=buckets(count, p99),
    )


def measured(reads: Mapping[str, RequestFigures]) -> MeterWindow:
    """A window of a second in which classes read."""
    none = requests(0)
    classes = {
        name: ClassFigures(read=read, write=none, flush=none, discard=none)
        for name, read in reads.items()
    }
    return MeterWindow(from_ns=0, to_ns=10**9, lost=0, untracked=0, classes=classes)


def scan(*threads: Thread, waiting: Sequence[Selector] = ()) -> Scan:
    """A scan with these threads online."""
    return Scan(
        threads={"online": threads, "batch": ()}, waiting=waiting, unreadable=0, selectors={}
    )


def status(
    so_far: Guarded,
    *,
    p99: int | None = 3 * MS,
    waiting: Sequence[Selector] = (),
    is_running: bool = True,
) -> GuardStatus:
    """A window of this guard; without `p99` the online programs asked for nothing."""
    goals = [] if p99 is None else [GoalState(Goal.parse(text), p99) for text in so_far.goals]
    reads = {"batch": requests(800, waiting=8, p99=30 * MS)}
    if p99 is not None:
        reads["online"] = requests(200, waiting=1, p99=p99)
    window = GuardWindow(1.0, p99 / (2 * MS), 200.0, 1, 8e8) if p99 is not None else None
    means = next((means for means in MEANS if means.name == so_far.kept), NOTHING)
    return GuardStatus(
        at_s=9.0,
        means=means,
        decided=so_far.decided,
        window=window,
        scan=scan(*[Thread(1, 1, 1)] * is_running, waiting=waiting),
        measured=measured(reads),
        goals=goals,
        so_far=so_far,
    )
