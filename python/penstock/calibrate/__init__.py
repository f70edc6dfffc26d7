"""`penstock.calibrate`: measures a file or a disk and finds the simplest model that explains it.

The model is fitted to some jobs and judged by others that the fit has not seen; how far it is off
there is what one may expect of a prediction.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from stat import S_ISBLK, S_ISREG
from statistics import median
from typing import Unpack

from penstock.calibrate import probes
from penstock.calibrate.fit import ModelFit, fit, off, percent, predict
from penstock.calibrate.measure import in_rounds, opened
from penstock.calibrate.models import MODELS, Known, Model
from penstock.calibrate.probes import MeasuredProbe, Op, Probe, ProbeFigures
from penstock.job import Plain, plain
from penstock.results.steps import Progress
from penstock.target import Target, TargetOptions, with_options
from penstock.text import places

ROUNDS = 5
"""Every probe runs so often."""

CLEARLY = 2 / 3
"""A richer model is kept only if its error is no larger a part of the simpler one's."""

WITHIN = 25.0
"""A prediction that is off by no more percent is a good one."""

UNEVEN = 1.5
"""Latencies whose mean is so many medians are of two kinds."""

LARGE = 1 << 40
"""Bytes of a model, if none are given."""

NOT_WRITTEN = "It was only read: of what writes take nothing is known."
"""Remark on a target that may not be written."""

MARK = "# Made by penstock calibrate"
"""The beginning of every file of ours."""


@dataclass(frozen=True)
class Compared:
    """A probe, what it gave, and what the model says."""

    measured: MeasuredProbe
    predicted: ProbeFigures

    @property
    def iops_off(self) -> float:
        """Error of the predicted throughput, in per cent."""
        return percent(off(self.predicted, self.measured.middle)[0])

    @property
    def p50_off(self) -> float:
        """Error of the predicted median latency, in per cent."""
        return percent(off(self.predicted, self.measured.middle)[1])

    @property
    def good(self) -> bool:
        """Whether both are within what is called good."""
        return max(abs(self.iops_off), abs(self.p50_off)) <= WITHIN


@dataclass(frozen=True)
class Calibration:
    """A target, the model that explains it, and how well."""

    target: str
    read_only: bool
    """Whether it is not ours, and so was only read."""
    model: Model
    device: Mapping[str, Plain]
    error: float
    """Root mean square of the logarithms of predicted over measured, of what was fitted on."""
    fitted: Sequence[Compared]
    unseen: Sequence[Compared]
    errors: Mapping[str, float]
    """Error of each model that was tried, by its name."""
    schedulers: Mapping[str, str | None] = field(default_factory=dict)
    """Schedulers as in the result of a run on the target."""
    remarks: Sequence[str] = ()
    """Likewise."""

    @property
    def restless(self) -> float:
        """Median of the factors by which the rounds of a job differ."""
        return median(job.measured.spread for job in (*self.fitted, *self.unseen))

    @property
    def notes(self) -> list[str]:
        """Notes on the target for reading the figures, a line each."""
        disks = places.below(self.schedulers)
        return [*([disks] if disks else []), *(f"note: {remark}" for remark in self.remarks)]

    def to_toml(self) -> str:
        """The device file."""
        good = sum(job.good for job in self.unseen)
        lines = [
            f"{MARK}: {self.target.replace(chr(10), ' ')}",
            f"# {self.model.needs}.",
            *(f"# {line}" for line in self.model.assumes),
            *([f"# {NOT_WRITTEN}"] if self.read_only else []),
            *(f"# {line}" for line in self.notes),
            f"# Of {len(self.unseen)} jobs that the fit did not see it predicts {good} "
            f"within {WITHIN:.0f} %.",
            "[device]",
            *(f"{key} = {plain(value)}" for key, value in self.device.items()),
        ]
        return "\n".join([*lines, ""])

    def why(self, job: Compared) -> str:
        """Why a prediction is not a good one, as far as the figures show."""
        spread = job.measured.spread
        if 100 * (spread - 1) > WITHIN:
            return f"its own rounds differ by a factor of {spread:.1f}"
        probe, middle = job.measured.probe, job.measured.middle
        mean = probe.depth * 1e9 / middle.iops
        if mean > UNEVEN * middle.p50_ns:
            return (
                f"a few take much longer: the mean is {mean / middle.p50_ns:.1f} times the median"
            )
        of_other_pattern = [
            near
            for near in (*self.fitted, *self.unseen)
            if (near.measured.probe.op, near.measured.probe.size) == (probe.op, probe.size)
            and near.measured.probe.depth == probe.depth
            and near.measured.probe.pattern != probe.pattern
        ]
        for near in of_other_pattern:
            ratio = middle.iops / near.measured.middle.iops
            if max(ratio, 1 / ratio) > 1.25:
                return f"{probe.pattern} ones are {ratio:.2f} times as many a second as others"
        return f"model {self.model.name} does not know what it depends on"


@with_options
def calibrate(
    target: str | PathLike[str],
    *,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    **options: Unpack[TargetOptions],
) -> Calibration:
    """Measure `target` and fit the simplest model that explains it.

    `target` is what `compare` takes for `on`, or any file or disk: one that is not ours is only
    read. With `create` an owned file is made if it is missing.
    """
    return calibrate_on(
        Target(on=fspath(target), options=options),
        rounds=rounds,
        progress=progress,
    )


def calibrate_on(
    target: Target, *, rounds: int = ROUNDS, progress: Progress | None = None
) -> Calibration:
    """Measure a target and fit a model, as `calibrate` does, with the target as one object."""
    on = target.on or ""
    say = progress or (lambda _what, _fraction: None)
    say(f"opening {on}", 0.0)
    with opened(target) as subject:
        read_only = subject.target.options.get("read_only", False)
        ops: tuple[Op, ...] = ("read",) if read_only else ("read", "write")
        capacity = _capacity(on)
        on_these, unseen = probes.plan(ops, capacity)
        rounds_by_probe = in_rounds(subject, [*on_these, *unseen], rounds, say)
    measured = {probe: MeasuredProbe(probe, figures) for probe, figures in rounds_by_probe.items()}
    known = Known({probe: measured[probe].middle for probe in on_these}, capacity)
    best, errors = simplest(known, say)

    def compared(some: Sequence[Probe]) -> list[Compared]:
        predicted = predict(best.device, {probe: measured[probe].middle for probe in some})
        return [
            Compared(measured[probe], figures)
            for probe, figures in zip(some, predicted, strict=True)
        ]

    return Calibration(
        on,
        read_only,
        best.model,
        best.device,
        best.error,
        compared(on_these),
        compared(unseen),
        errors,
        subject.schedulers,
        subject.remarks,
    )


def simplest(known: Known, say: Progress) -> tuple[ModelFit, dict[str, float]]:
    """The simplest model that explains what is known, and the error of each that was tried.

    A richer one is tried only if no simpler one explains it, and is kept only if its error is
    clearly less: more parameters come nearer to anything.
    """
    best: ModelFit | None = None
    errors: dict[str, float] = {}
    for model in MODELS:
        say(f"fitting model {model.name}", 1.0)
        fitted = fit(model, known)
        if fitted is None:
            continue
        errors[model.name] = fitted.error
        if best is None or fitted.error <= CLEARLY * best.error:
            best = fitted
        if best.explains:
            break
    assert best is not None, "the first model fits anything"
    return best, errors


def _capacity(on: str) -> int:
    """Bytes of a file or a disk, in whole MiB; of a model its own default."""
    path = Path(on.removeprefix("loop:"))
    if path.suffix == ".toml":
        return LARGE
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if S_ISREG(mode) or S_ISBLK(mode):
                return max(file.seek(0, os.SEEK_END) >> 20, 1) << 20
    except OSError:
        pass
    return LARGE


__all__ = [
    "MARK",
    "NOT_WRITTEN",
    "Calibration",
    "Compared",
    "calibrate",
    "calibrate_on",
    "simplest",
]
