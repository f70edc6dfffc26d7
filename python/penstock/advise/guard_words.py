"""Sentences of `penstock advise guard`: what to set, how far to trust that, and the way back."""

from collections.abc import Iterator

from penstock.advise.guard import GuardAdvice, GuardQuestion, TriedMeans
from penstock.guard.means import NOTHING
from penstock.results.rounds import KERNEL
from penstock.text import units

DISK = "sdX"
"""Stands for the disk in commands."""


def verdict(tried: TriedMeans, question: GuardQuestion) -> str:
    """Return whether a means does, or what it lacks."""
    if tried.missed_by > 1:
        times = (
            "nothing completed" if tried.missed_by == float("inf") else f"{tried.missed_by:.3g} ×"
        )
        return f"misses a goal: {times}"
    return "meets the goals" if tried.meets(question.keep) else "takes too much of the batch"


def lines(advice: GuardAdvice) -> list[str]:
    """Return the recommendation, and what applies it and takes it back."""
    chosen = advice.chosen
    if chosen is None:
        nearest = advice.nearest
        return [
            f"no means meets the goals; the nearest is {nearest.means.name}, which misses one by "
            f"{nearest.missed_by:.3g} times",
            *_trust(advice),
        ]
    if chosen.means == NOTHING:
        return ["nothing has to be set: the goals are met as it is", *_trust(advice)]
    return [
        f"{chosen.means.words}: the goals are met, and the batch keeps "
        f"{units.percent(chosen.batch.median)}",
        *_trust(advice),
        *_applied(chosen),
    ]


def _trust(advice: GuardAdvice) -> Iterator[str]:
    """Yield how far the figures can be trusted."""
    world = advice.comparison["world"]
    if world == "simulated":
        yield (
            "on a model of the disk and of the kernel's schedulers: try it on the disk, or with "
            "--on block:DEVICE under the kernel itself"
        )
    elif world == "emulated":
        yield "the kernel's own schedulers on a modelled disk"
    for why in dict.fromkeys(advice.left_out.values()):
        names = [name for name, reason in advice.left_out.items() if reason == why]
        yield f"not tried: {'; '.join(names)}: {why}"
    if advice.question.rounds < 3:
        yield "of fewer than three rounds: a difference may be chance"


def _applied(chosen: TriedMeans) -> Iterator[str]:
    """Yield what sets it for good, and what takes it back."""
    scheduler = chosen.policy.removeprefix(KERNEL)
    keys = {
        f"queue/{key}": value for key, value in chosen.means.queue.items() if key != "low_latency"
    }
    attributes = {"queue/scheduler": scheduler, **keys}
    rule = ", ".join(f'ATTR{{{name}}}="{value}"' for name, value in attributes.items())
    yield f'udev rule for the disk: ACTION=="add|change", KERNEL=="{DISK}", {rule}'
    if chosen.means.idle:
        yield "in the batch's systemd unit: [Service] IOSchedulingClass=idle; by hand: ionice -c 3"
    yield f"the way back: remove both, and `penstock linux show {DISK}` before tells what it had"
