"""Measures how well shares by weight hold on a target, and what commands cost there.

Classes of unlike lengths read at random, each alone and all together, in interleaved rounds.
Together they run in order of arrival, with shares of device time, and with shares by the law.
"""

from collections.abc import Sequence
from dataclasses import replace

from penstock.advise.shares import BY_LAW, BY_TIME, PLAIN, Shares, law, row
from penstock.errors import wrong
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, whole
from penstock.job import Agent, Class, Job
from penstock.results.json_types import Class as ClassJson
from penstock.results.json_types import Run
from penstock.results.rounds import ALONE
from penstock.results.steps import Progress, as_part
from penstock.session import Variant
from penstock.target import Target

SIZES = (4096, 65536)
"""Bytes of the classes' requests, in turns."""

DEPTH = 32
"""Requests that each class has outstanding."""

DURATION = "3s"
"""Duration of each run."""

CYCLE = "200ms"
"""Shares hold over some cycles: a run has fifteen."""

ROUNDS = 5


def shares_on(
    target: Target, weights: Sequence[int], *, rounds: int = ROUNDS, progress: Progress | None
) -> Shares:
    """Measure how well shares of these weights hold."""
    if len(weights) < 2:
        message = f"weights: found {len(weights)}, expected two or more"
        raise wrong(message, "one for each class, as 1,2")
    job, names = _job(weights)
    alone = Variant(name=job.name, text=job.text, policies=[f"{ALONE}{name}" for name in names])
    setup = Setup(target=target, reduce=whole)
    (first,) = run_all(setup, [alone], progress=as_part(progress, "each class alone", 0.0, 0.1))
    reads = law([run["classes"][0] for run in first["runs"]], _sizes(len(names)))
    cycle = f"policy.fairio.cycle={CYCLE}"
    policies = [*alone.policies, PLAIN, "fairio"]
    plain = Variant(name=job.name, text=job.text, sets=[cycle], policies=policies)
    law_keys = (f"policy.fairio.law.read.{key}={cost}" for key, cost in reads.costs().items())
    sets = (cycle, "policy.fairio.charge=law", *law_keys)
    by_law = Variant(name=job.name, text=job.text, sets=sets, policies=["fairio"])
    both = run_all(
        replace(setup, repeat=rounds),
        [plain, by_law],
        progress=as_part(progress, "shares in rounds", 0.1, 1.0),
    )
    times, laws = (comparison["runs"] for comparison in both)
    lone = [_of(times, f"{ALONE}{name}") for name in names]
    rows = [
        row(PLAIN, weights, _of(times, PLAIN), lone),
        row(BY_TIME, weights, _of(times, "fairio"), lone),
        row(BY_LAW, weights, _of(laws, "fairio"), lone),
    ]
    return Shares(first["world"], first["device"], rows, reads)


def _job(weights: Sequence[int]) -> tuple[Job, Sequence[str]]:
    """A job of a class for each weight, which reads at random, and the classes' names."""
    sizes = _sizes(len(weights))
    names = [f"class{at + 1}" for at in range(len(weights))]
    agents = [
        Agent(
            class_=name,
            op="read",
            size=f"{size}B",
            pattern="random",
            arrivals={"kind": "closed", "depth": DEPTH},
        )
        for name, size in zip(names, sizes, strict=True)
    ]
    # Weights are relative; the least that the job takes is 1.
    classes = [Class(name=name, weight=weight) for name, weight in zip(names, weights, strict=True)]
    return Job(name="shares", duration=DURATION, classes=classes, agents=agents), names


def _sizes(classes: int) -> list[int]:
    """Returns the length of the requests of each class."""
    return [SIZES[at % len(SIZES)] for at in range(classes)]


def _of(runs: Sequence[Run], policy: str) -> list[list[ClassJson]]:
    """The classes of each round under a policy."""
    return [run["classes"] for run in runs if run["policy"] == policy]
