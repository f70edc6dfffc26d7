"""Probes are measured: in rounds of all of them, on a target that is open meanwhile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from penstock.calibrate.probes import POLICY, Probe, ProbeFigures
from penstock.errors import RUN_FAILED, UNSAFE_TARGET, PenstockError
from penstock.experiment import plan
from penstock.experiment.bench import Bench
from penstock.experiment.trial import Setup, only_run
from penstock.results.json_types import Class, Run
from penstock.results.steps import Progress, Step
from penstock.target import Target

ENOUGH = 200
"""Number of requests that give a median."""

SECONDS = (0.4, 4.0)
"""Seconds that a probe lasts, and a longer one if the first does not bring enough."""

LOOK = Probe("read", "random", 4 << 10, 1).job(0.001)
"""The shortest run: it says what lies below a target."""


@dataclass(frozen=True)
class Subject:
    """A target that is open, and what a run on it says of what lies below."""

    bench: Bench[Run]
    target: Target
    schedulers: Mapping[str, str | None]
    remarks: Sequence[str]


@contextmanager
def opened(target: Target) -> Iterator[Subject]:
    """Open a target; it is only read if it is not ours and no option allows writing."""
    try:
        bench = on_bench(target)
    except PenstockError as error:
        options = target.options
        may_write = options.get("create") is not None or bool(options.get("i_will_lose_data"))
        if error.exit_code != UNSAFE_TARGET or may_write:
            raise
        target = replace(target, options={**options, "read_only": True})
        bench = on_bench(target)
    with bench:
        (run,) = bench.run([LOOK])
        yield Subject(bench, target, run.get("schedulers", {}), run.get("remarks", []))


def on_bench(target: Target) -> Bench[Run]:
    """Opens a target for probes."""
    return Bench(Setup(target=target, reduce=only_run, policies=[POLICY]), [LOOK])


class Turn(NamedTuple):
    """Run of a probe."""

    number: int
    """Number from 1, over all rounds: its seed too."""
    probe: Probe


def in_rounds(
    subject: Subject, probes: Sequence[Probe], rounds: int, say: Progress
) -> dict[Probe, list[ProbeFigures]]:
    """Every probe `rounds` times, in rounds of all of them: a mood of the machine meets each.

    No two runs go to the same addresses, as what was read before may be in a cache.
    """
    figures: list[ProbeFigures] = []
    total = rounds * len(probes)
    for first in range(1, total + 1, len(probes)):
        turns = [Turn(number, probe) for number, probe in enumerate(probes, first)]
        figures += _round(subject, turns, lambda turn: say(f"{turn.probe}", turn.number / total))
    return dict(plan.by_cell(probes, figures))


def _round(
    subject: Subject, turns: Sequence[Turn], done: Callable[[Turn], object]
) -> list[ProbeFigures]:
    """Returns the figures of each turn; those that were too short run longer behind the others."""
    results: dict[Turn, Class] = {}
    short = list(turns)
    for seconds in SECONDS:

        def on_step(step: Step, running: Sequence[Turn] = short) -> None:
            if step["step"] == "finished" and len(running) == len(turns):
                done(running[step["number"]])

        jobs = [turn.probe.job(seconds, seed=turn.number) for turn in short]
        for turn, run in zip(short, subject.bench.run(jobs, progress=on_step), strict=True):
            (results[turn],) = run["classes"]
        short = [turn for turn in short if results[turn]["requests"] < ENOUGH]
        if not short:
            break
    for turn in short:
        if not results[turn]["requests"]:
            raise PenstockError(
                f"error: {subject.target.on}: {turn.probe} finished none in {SECONDS[-1]} s\n"
                "hint: what is that slow is not calibrated",
                exit_code=RUN_FAILED,
            )
    return [ProbeFigures.of(results[turn]) for turn in turns]
