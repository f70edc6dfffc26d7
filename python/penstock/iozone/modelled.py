"""Tests on a modelled disk: each becomes a class of a job, whose agents come after those before.

All tests of a point are one run, so that a test meets the disk and the page cache as the tests
before it left them; with -U each is a run of its own. A worker is an agent with a file of its own,
and the first that ends stops the others of its test.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.errors import wrong
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run
from penstock.iozone.options import IozoneOptions
from penstock.iozone.phases import IozoneTest
from penstock.iozone.plan import Plan
from penstock.iozone.runner import IozonePoint, MeasuredTest, Report, Worker
from penstock.results.json_types import Run
from penstock.results.merge_types import World
from penstock.session import Variant
from penstock.target import Target

USUAL = "noop"
"""The scheduler of a modelled disk if none is named."""

BLOCK = 4096
"""Files begin at multiples of this many bytes."""

RANDOM = {"pattern": "random", "spread": "once"}

WITHOUT = {"-B": "mmap", "-+d": "verify"}
"""Options that need real data or memory, and the names of their values."""

PATTERNS = {
    "random_read": RANDOM,
    "random_write": RANDOM,
    "random_mix": RANDOM,
    "backward_read": {"pattern": "backwards"},
}
"""The order of the records of a test, as keys of an agent; else it is the order of the file."""

Place: TypeAlias = Callable[[int], int]
"""Gives the first byte of a worker's file."""


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The ways in which a test makes its calls."""

    direct: bool = True
    sync: bool = False
    flush: bool = False
    depth: int = 1
    stride: int = 17
    stonewall: bool = True
    mix_reads: int = 50


class ModelledRunner:
    """Runs the tests of a plan in virtual time, all of them at the first that is asked for."""

    world: World = "simulated"

    def __init__(self, options: IozoneOptions, plan: Plan) -> None:
        """Check what a model cannot do."""
        for flag, name in WITHOUT.items():
            if getattr(options, name):
                raise wrong(
                    f"{flag} does not go with a model: it has no data and no memory of a program",
                    f"leave out {flag}, or --on to run on real files",
                )
        self._options = options
        self._plan = plan
        self._measured: dict[tuple[str, IozonePoint], MeasuredTest] = {}

    def run(self, test: IozoneTest, point: IozonePoint, progress: Report) -> MeasuredTest:
        """Return the result of a test."""
        if not self._measured:
            self._run_all(progress)
        return self._measured[test.key, point]

    def remark(self) -> str | None:
        """Return nothing: virtual time is never late."""
        return None

    def close(self) -> None:
        """Do nothing: a model has no files."""

    def _run_all(self, progress: Report) -> None:
        """Run every point, or with -U every test of it, each as a job of its own."""
        options, plan = self._options, self._plan
        alone = options.drop is not None
        parts = dict.fromkeys((point, test if alone else None) for test, point in plan)
        jobs = [
            ([t for t, at in plan if at == point and only in (None, t)], point)
            for point, only in parts
        ]
        calls = Calls(
            direct=options.direct,
            sync=options.sync,
            flush=options.flush,
            depth=options.aio or 1,
            stride=options.stride,
            stonewall=options.stonewall,
            mix_reads=options.mix_reads,
        )
        setup = Setup(target=Target(on=options.on), reduce=only_run, detail=True)
        variants = [
            Variant(
                name="iozone.toml",
                text=job(tests, point, calls, seed=options.seed),
                sets=options.sets,
                policies=[options.scheduler or USUAL],
            )
            for tests, point in jobs
        ]
        for (tests, point), run in zip(jobs, run_all(setup, variants), strict=True):
            for measured in results(run, tests, point):
                self._measured[measured.test.key, point] = measured
        progress(1.0)


def job(
    tests: Sequence[IozoneTest],
    point: IozonePoint,
    calls: Calls,
    *,
    seed: int,
    start: Place | None = None,
) -> str:
    """Return the job of some tests at a point, one after another.

    Files lie one behind the other from the beginning of the disk, unless `start` places them.
    """
    step = -(-point.size // BLOCK) * BLOCK
    starts = [worker * step if start is None else start(worker) for worker in range(point.threads)]
    lines = [f"seed = {seed}", *(f"[class.{test.key}]" for test in tests)]
    before: str | None = None
    for test in tests:
        for worker, first in enumerate(starts):
            agent = {
                "class": test.key,
                **_agent(test, point, calls, worker),
                "region": [f"{first}B", f"{first + _span(test, point)}B"],
                **({} if before is None else {"after": before}),
            }
            lines += ["[[agent]]", *(f"{key} = {json.dumps(agent[key])}" for key in agent)]
        before = test.key
    return "\n".join(lines) + "\n"


def _span(test: IozoneTest, point: IozonePoint) -> int:
    """Return the bytes in which a worker's records lie."""
    return point.record * (1 if test.key == "record_rewrite" else point.records)


def _agent(test: IozoneTest, point: IozonePoint, calls: Calls, worker: int) -> dict[str, Any]:
    """Return what a worker does, as keys of an agent."""
    readers = (point.threads * calls.mix_reads + 50) // 100
    writes = worker >= readers if test.key == "random_mix" else test.writes
    agent: dict[str, Any] = {
        "op": "write" if writes else "read",
        "size": f"{point.record}B",
        "count": point.records,
        "cache": "direct" if calls.direct else "buffered",
        "ends_class": calls.stonewall,
        **({"call": "sync"} if calls.depth == 1 else {"buffers": calls.depth}),
        **PATTERNS.get(test.key, {"pattern": "sequential"}),
    }
    if writes:
        agent["sync"] = calls.sync
        if calls.flush:
            agent["flush"] = point.records
    if test.key == "stride_read" and 1 < calls.stride < point.records:
        agent |= {"stride": f"{calls.stride * point.record}B", "shift": f"{point.record}B"}
    return agent


def results(run: Run, tests: Sequence[IozoneTest], point: IozonePoint) -> Iterator[MeasuredTest]:
    """Yield the result of each test of a run with detail."""
    for test in tests:
        agents = [agent for agent in run["detail"]["agents"] if agent["of_class"] == test.key]
        begun = min(agent["began_s"] or 0.0 for agent in agents)
        ends = [agent["ended_s"] or begun for agent in agents]
        yield MeasuredTest(
            test,
            point,
            parent_ns=_ns(max(ends) - begun),
            workers=tuple(
                Worker(bytes=agent["bytes"], calls=agent["requests"], ns=_ns(end - begun))
                for agent, end in zip(agents, ends, strict=True)
            ),
        )


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
