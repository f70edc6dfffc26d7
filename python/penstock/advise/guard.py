"""Which of the kernel's means protects the online classes of a job, tried before anyone suffers.

Each means is a run of the job: the batch's classes get an I/O class, the disk a scheduler and a
queue. On a disk, a loop device or a served model the kernel itself runs it; on a model its
schedulers' models do, with the requests that the kernel would have given the disk at once.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.advise.goal import Goal
from penstock.errors import wrong
from penstock.experiment.bench import Bench
from penstock.experiment.trial import Setup, whole
from penstock.guard.means import MEANS, NOTHING, Means
from penstock.results.json_types import Comparison
from penstock.results.rounds import KERNEL, Rounds, Spread, by_policy
from penstock.results.steps import Progress, as_part
from penstock.session import Variant
from penstock.target import BLOCK, Target

ROUNDS = 3

DEPTH = 4
"""Requests that the kernel gives a disk at once; one with a queue of its own takes more."""

AHEAD = 1
"""Requests that a scheduler of the kernel has sent before the disk has room for them, as
docs/linux-agreement.md shows: nothing goes before them any more."""

SCHEDULER = "mq-deadline"
"""The default scheduler of disks."""

DEPTH_KEY = "nr_requests"

LOW_LATENCY = "low_latency=0"
"""Tunable of bfq: without it new programs are raised for seconds, as long as a run."""


@dataclass(frozen=True, kw_only=True)
class GuardQuestion:
    """The programs, and what they are to have."""

    batch: Sequence[str]
    """Classes that may wait."""
    goals: Sequence[Goal]
    """What the others must keep."""
    keep: float
    """The share of its throughput that the batch keeps, from 0 to 1."""
    rounds: int = ROUNDS
    depth: int = DEPTH
    scheduler: str = SCHEDULER


@dataclass(frozen=True)
class TriedMeans:
    """A means, and what came of it."""

    means: Means
    policy: str
    sets: Sequence[str]
    figures: Mapping[str, Spread | None]
    """The figure of each goal; `None` if a class finished nothing."""
    batch: Spread
    """Bytes of the batch, as a share of what it has without any means."""
    missed_by: float
    """The largest ratio of a figure to its limit; 1 or less if all are met."""

    def meets(self, keep: float) -> bool:
        """Whether all goals are met, and the batch keeps its share."""
        return self.missed_by <= 1 and self.batch.median >= keep


@dataclass(frozen=True, kw_only=True)
class GuardAdvice:
    """The answer: every means, and the one to take."""

    comparison: Comparison
    question: GuardQuestion
    tried: Sequence[TriedMeans]
    left_out: Mapping[str, str]
    """Means that were not tried, and why."""

    @property
    def chosen(self) -> TriedMeans | None:
        """The least intrusive means that meets the goals, if one does."""
        return next((tried for tried in self.tried if tried.meets(self.question.keep)), None)

    @property
    def nearest(self) -> TriedMeans:
        """The means that misses the goals least, of those that leave the batch its share."""
        keep = self.question.keep
        return min(self.tried, key=lambda tried: (tried.batch.median < keep, tried.missed_by))


def advise(
    variant: Variant,
    target: Target,
    question: GuardQuestion,
    *,
    progress: Progress | None = None,
) -> GuardAdvice:
    """Run the job under each means that can be had on the target, in rounds."""
    left_out: dict[str, str] = {}
    asked = list(_asked(target, question, left_out))
    setup = Setup(target=target, reduce=whole, repeat=question.rounds)
    variants = [
        Variant(
            name=variant.name,
            text=variant.text,
            sets=[*variant.sets, *sets],
            policies=[policy],
        )
        for _, policy, sets in asked
    ]
    with Bench(setup) as bench:
        (known,) = bench.check(variants[:1])
        _check_classes(tomllib.loads(known["job"]["text"])["class"], question)
        words = as_part(progress, "each means in rounds", 0.0, 1.0)
        comparisons = bench.run(variants, progress=words)
    rounds = [next(iter(by_policy(comparison))) for comparison in comparisons]
    tried = [
        _tried(means, policy, sets, of_means, rounds[0], question)
        for (means, policy, sets), of_means in zip(asked, rounds, strict=True)
    ]
    return GuardAdvice(comparison=comparisons[0], question=question, tried=tried, left_out=left_out)


def is_real(target: Target) -> bool:
    """Whether the kernel's own schedulers run it."""
    return target.on is not None and target.on.startswith((BLOCK, "loop:", "/dev/"))


def _asked(
    target: Target, question: GuardQuestion, left_out: dict[str, str]
) -> Iterator[tuple[Means, str, Sequence[str]]]:
    """Yield each means with its policy and its changes of the job."""
    real = is_real(target)
    for means in (NOTHING, *MEANS):
        name = means.scheduler or question.scheduler
        policy = f"{KERNEL}{name}" if real else name
        if not real and means.queue and means.scheduler is None:
            left_out[means.name] = "models have no read-ahead of the kernel and cut no commands"
            continue
        depth = int(means.queue.get(DEPTH_KEY, question.depth))
        sets = [*_depth(target, depth)]
        if means.idle:
            sets += [f"class.{name}.ioprio=idle" for name in question.batch]
        if name == "bfq":
            sets.append(f"{policy}.{LOW_LATENCY if real else 'low_latency=false'}")
        if real:
            served = str(target.on).startswith(BLOCK)
            sets += [
                f"{policy}.{key}={value}"
                for key, value in means.queue.items()
                if not (served and key == DEPTH_KEY) and key != "low_latency"
            ]
        yield means, policy, sets


def _depth(target: Target, depth: int) -> Iterator[str]:
    """Yield what lets the kernel give the disk so many requests at once."""
    if target.on is not None and target.on.startswith(BLOCK):
        yield f"block.depth={depth}"
    elif not is_real(target):
        # They wait at the disk, in the order in which they came, and no policy overtakes them.
        yield f"device.queue.depth={depth + AHEAD}"
        yield "device.queue.overhead=in-service"


def _check_classes(names: Collection[str], question: GuardQuestion) -> None:
    """Raise an error if a goal is about a class that the job does not have, or about the batch."""
    for goal in question.goals:
        if goal.figure.of not in names:
            raise wrong(
                f"the goal `{goal.text}`: the job has no class {goal.figure.of}",
                f"it has {', '.join(names)}",
            )
        if goal.figure.of in question.batch:
            raise wrong(
                f"{goal.figure.of} is of the batch, and the goal `{goal.text}` is about it",
                "a goal is about online classes; --keep is about the batch",
            )


def _tried(
    means: Means,
    policy: str,
    sets: Sequence[str],
    of_means: Rounds,
    nothing: Rounds,
    question: GuardQuestion,
) -> TriedMeans:
    figures = {goal.text: goal.figure.over(of_means) for goal in question.goals}
    shares = [
        _bytes_s(of_means, question.batch, at) / max(_bytes_s(nothing, question.batch, at), 1.0)
        for at in range(len(of_means.whole()))
    ]
    missed = [
        float("inf") if spread is None else goal.missed_by(spread.median)
        for goal, spread in zip(question.goals, figures.values(), strict=True)
    ]
    batch = Spread.of(shares)
    return TriedMeans(means, policy, sets, figures, batch, max(missed, default=0.0))


def _bytes_s(rounds: Rounds, batch: Sequence[str], at: int) -> float:
    """Return the bytes a second of the batch in a round."""
    return sum(rounds.of(name)[at]["bw_bytes"] for name in batch)
