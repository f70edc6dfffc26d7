"""Measures how well shares by weight hold on a target, and what commands cost there.

Classes of unlike lengths read at random, each alone and all together, in interleaved rounds.
Together they run in order of arrival, with shares of device time, and with shares by the law; on a
disk also under the kernel's schedulers.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from penstock import _native
from penstock.advise.shares import (
    BY_LAW,
    BY_TIME,
    PLAIN,
    LawOfReads,
    Shares,
    WeighedClass,
    law,
    row,
)
from penstock.errors import wrong
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, whole
from penstock.job import Agent, Class, Job
from penstock.results.json_types import Class as ClassJson
from penstock.results.json_types import Comparison
from penstock.results.rounds import ALONE, KERNEL
from penstock.results.steps import Progress, as_part
from penstock.session import Variant
from penstock.target import BLOCK, Target

SIZES = (4096, 65536)
"""Bytes of the classes' requests, in turns."""

DEPTH = 32
"""Requests that each class has outstanding."""

DURATION = "3s"
"""Duration of each run."""

CYCLE = "200ms"
"""Shares hold over some cycles: a run has fifteen."""

ROUNDS = 5

SCHEDULERS = ("none", "mq-deadline", "bfq")
"""Schedulers of the kernel that are tried."""

WEIGHING = "bfq"
"""That one of them which divides by weights."""

STEADY = "low_latency=0"
"""Tunable without which it raises the weights of queues that have just begun."""

SERVED_DEPTH = "block.depth=4"
"""Requests that a served model takes at once: few, so that its scheduler has a choice."""


def classes_of(path: str) -> list[WeighedClass]:
    """The classes of the job in the file at `path`."""
    classes = json.loads(_native.job_amounts(path))["classes"]
    return [WeighedClass(class_["name"], class_["weight"], class_["ioprio"]) for class_ in classes]


def classes_with(weights: Sequence[int]) -> list[WeighedClass]:
    """Classes with these weights."""
    return [WeighedClass(f"class{at}", weight) for at, weight in enumerate(weights, start=1)]


def shares_on(
    target: Target,
    classes: Sequence[WeighedClass],
    *,
    rounds: int = ROUNDS,
    progress: Progress | None,
) -> Shares:
    """Measure how well shares of these classes hold."""
    if len(classes) < 2:
        message = f"weights: found {len(classes)}, expected two or more"
        raise wrong(message, "one for each class, as 1,2")
    weights = [class_.weight for class_ in classes]
    job, served = _job(classes), (target.on or "").startswith(BLOCK)

    def variant(policies: Sequence[str], *sets: str) -> Variant:
        sets = (SERVED_DEPTH, *sets) if served else sets
        return Variant(name=job.name, text=job.text, sets=sets, policies=policies)

    lone_names = [f"{ALONE}{class_.name}" for class_ in classes]
    alone = variant(lone_names)
    setup = Setup(target=target, reduce=whole)
    (first,) = run_all(setup, [alone], progress=as_part(progress, "each class alone", 0.0, 0.1))
    reads = law([run["classes"][0] for run in first["runs"]], _sizes(len(classes)))
    asked = [
        (PLAIN, variant([PLAIN])),
        (BY_TIME, variant(["fairio"], *_CYCLE)),
        (BY_LAW, variant(["fairio"], *_CYCLE, *_charged(reads))),
        *((label, variant([name], *sets)) for label, name, sets in _kernels(target)),
    ]
    lone, *others = run_all(
        replace(setup, repeat=rounds),
        [alone, *(together for _, together in asked)],
        progress=as_part(progress, "shares in rounds", 0.1, 1.0),
    )
    by_itself = [_of(lone, name) for name in lone_names]
    rows = [
        row(label, weights, [run["classes"] for run in together["runs"]], by_itself)
        for (label, _), together in zip(asked, others, strict=True)
    ]
    kernel_runs = (run for together in others for run in together["runs"])
    kernel_runs = (run for run in kernel_runs if run["policy"].startswith(KERNEL))
    remarks = {remark: None for run in kernel_runs for remark in run.get("remarks", [])}
    return Shares(first["world"], first["device"], rows, reads, list(remarks))


_CYCLE = (f"policy.fairio.cycle={CYCLE}",)


def _charged(reads: LawOfReads) -> list[str]:
    """Returns the changes of a job that charge by a law."""
    costs = [f"policy.fairio.law.read.{key}={cost}" for key, cost in reads.costs().items()]
    return ["policy.fairio.charge=law", *costs]


def _kernels(target: Target) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yields the label of each row under the kernel, its policy, and changes of the job."""
    for scheduler in _schedulers(target):
        name = f"{KERNEL}{scheduler}"
        yield name, name, ()
        if scheduler == WEIGHING:
            yield f"{name} {STEADY}", name, (f"{name}.{STEADY}",)


def _schedulers(target: Target) -> Iterator[str]:
    """Yields the schedulers of the kernel that can be tried on a target; only root may."""
    on = target.on or ""
    if os.geteuid() != 0 or not (on.startswith((BLOCK, "loop:")) or Path(on).is_block_device()):
        return
    disks = json.loads(_native.disks())["disks"]
    known = " ".join(disk["queue"].get("scheduler", "") for disk in disks)
    yield from (name for name in SCHEDULERS if name in known.translate(_UNMARKED).split())


_UNMARKED = str.maketrans("[]", "  ")
"""Removes the brackets around the scheduler in use."""


def _job(classes: Sequence[WeighedClass]) -> Job:
    """A job of these classes, each of which reads at random."""
    agents = [
        Agent(
            class_=class_.name,
            op="read",
            size=f"{size}B",
            pattern="random",
            arrivals={"kind": "closed", "depth": DEPTH},
        )
        for class_, size in zip(classes, _sizes(len(classes)), strict=True)
    ]
    described = [
        Class(name=class_.name, weight=class_.weight, ioprio=class_.ioprio) for class_ in classes
    ]
    return Job(name="shares", duration=DURATION, classes=described, agents=agents)


def _sizes(classes: int) -> list[int]:
    """Returns the length of the requests of each class."""
    return [SIZES[at % len(SIZES)] for at in range(classes)]


def _of(comparison: Comparison, policy: str) -> list[list[ClassJson]]:
    """The classes of each round under a policy."""
    return [run["classes"] for run in comparison["runs"] if run["policy"] == policy]
