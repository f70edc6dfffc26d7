"""The fit: the engine that will predict runs every guess, and least squares choose the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from penstock.api import compare
from penstock.calibrate.models import Model
from penstock.calibrate.probes import POLICY, Figures, Probe
from penstock.errors import needs
from penstock.job import Plain

REQUESTS = 400
"""A modelled probe lasts so many requests."""

STEP = 0.02
"""How far a parameter is moved to see what it does: some percent, as a simulation is not smooth."""

EVALUATIONS = 12
"""Steps of the fit at most; it settles sooner."""


@dataclass(frozen=True)
class Fit:
    """A model with its best parameters."""

    model: Model
    device: dict[str, Plain]
    error: float
    """The root mean square of the logarithms of predicted over measured: 0.1 is about 10 %."""


def predict(device: Mapping[str, Plain], probe: Probe, seen: Figures) -> Figures:
    """What a modelled device gives for `probe`, which runs about as long as `seen` took for it."""
    seconds = max(REQUESTS, 20 * probe.depth) / seen.iops * 1.25
    result = compare(probe.job(seconds, dict(device)), policies=[POLICY], detail=False)
    (one,) = result.runs[0].classes
    # Of a model that finishes nothing in the time of hundreds nothing is right.
    return Figures.of(one) if one.requests else Figures(1e-9, 1e18)


def off(predicted: Figures, seen: Figures) -> tuple[float, float]:
    """By which factors throughput and median are off, as logarithms."""
    return log(predicted.iops / seen.iops), log(predicted.p50_ns / seen.p50_ns)


def fit(model: Model, figures: Mapping[Probe, Figures], capacity: int) -> Fit:
    """The parameters of `model` that explain `figures` best."""
    needs("scipy", extra="stats", what="calibrate")
    from scipy.optimize import least_squares

    def device(x: Sequence[float]) -> dict[str, Plain]:
        return {**model.device(x), "capacity": f"{capacity}B"}

    def residuals(x: Sequence[float]) -> list[float]:
        table = device(x)
        return [
            value
            for probe, seen in figures.items()
            for value in off(predict(table, probe, seen), seen)
        ]

    def slopes(x: Sequence[float]) -> list[list[float]]:
        here = residuals(x)
        moved = [residuals([*x[:at], x[at] + STEP, *x[at + 1 :]]) for at in range(len(x))]
        return [[(one[row] - here[row]) / STEP for one in moved] for row in range(len(here))]

    # A probe that no parameter explains must not bend all the others.
    found = least_squares(
        residuals,
        model.begin(figures),
        jac=slopes,
        loss="soft_l1",
        f_scale=0.1,
        max_nfev=EVALUATIONS,
    )
    rest = found.fun
    return Fit(model, device(found.x), sqrt(sum(value * value for value in rest) / len(rest)))


def percent(logarithm: float) -> float:
    """A factor's logarithm as a deviation in percent."""
    return 100 * (exp(logarithm) - 1)
