"""The fit: the engine that will predict runs every guess, and least squares choose the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log, sqrt

from penstock.calibrate.models import Guess, Known, Model
from penstock.calibrate.probes import POLICY, Probe, ProbeFigures
from penstock.errors import needs
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run
from penstock.job import Job, Plain
from penstock.results.json_types import Comparison
from penstock.target import Target

GOOD = 0.15
"""A model whose error is no larger explains a target."""

REQUESTS = 400
"""Requests that a modelled probe lasts."""

WRITTEN = 64 << 20
"""Least bytes a probe writes to a drive with a buffer: it is full long before."""

LONGEST = 4.0
"""Longest such probe in seconds: a measured one is no longer, so its buffer was not full."""

STEP = 0.02
"""Relative change of a parameter to see its effect: per cents, as simulations are not smooth."""

EVALUATIONS = 12
"""Steps of the fit at most; it settles sooner."""

FAR = log(100)
"""No parameter goes further from its guess: a device of no time at all would never be done."""

SETTLED = 1e-3
"""A step that makes the misfit less by a smaller part is the last."""

SOFT = 0.1
"""Residual above which an error counts by its size, and not by its square."""

TRIED = 2
"""Largest number of guesses that are fitted: those that are nearest as they are."""


@dataclass(frozen=True)
class ModelFit:
    """A model with its best parameters."""

    model: Model
    device: dict[str, Plain]
    error: float
    """The root mean square of the logarithms of predicted over measured: 0.1 is about 10 %."""

    @property
    def explains(self) -> bool:
        """Whether the model explains what it was fitted on."""
        return self.error <= GOOD


def predict(
    device: Mapping[str, Plain], measured: Mapping[Probe, ProbeFigures]
) -> list[ProbeFigures]:
    """Predicts the figures of each probe, which runs about as long as it was measured."""
    jobs = [_modelled(device, probe, figures) for probe, figures in measured.items()]
    return run_all(Setup(target=Target(), reduce=_figures, policies=[POLICY]), jobs)


def _figures(comparison: Comparison) -> ProbeFigures:
    """Keeps the figures of a probe; those of one that ends none in the time of hundreds are far."""
    (result,) = only_run(comparison)["classes"]
    return ProbeFigures.of(result) if result["requests"] else ProbeFigures(1e-9, 1e18)


def _modelled(device: Mapping[str, Plain], probe: Probe, measured: ProbeFigures) -> Job:
    """The job of a probe on a modelled device."""
    seconds = max(REQUESTS, 20 * probe.depth) / measured.iops * 1.25
    if probe.op == "write" and device["model"] != "fixed":
        seconds = max(seconds, min(WRITTEN / probe.size / measured.iops, LONGEST))
    return probe.job(seconds, dict(device))


def off(predicted: ProbeFigures, measured: ProbeFigures) -> tuple[float, float]:
    """Returns the errors of throughput and median, as logarithms of factors."""
    return log(predicted.iops / measured.iops), log(predicted.p50_ns / measured.p50_ns)


def fit(model: Model, known: Known) -> ModelFit | None:
    """The parameters of `model` that explain what is `known` best; none if that is unknown."""
    guesses = list(model.guesses(known))
    if len(guesses) > TRIED:
        guesses.sort(key=lambda guess: _cost(_residuals(known, guess, guess.x)))
    fits: list[ModelFit] = []
    for guess in guesses[:TRIED]:
        fits.append(_fitted(model, known, guess))
        if fits[-1].explains:
            break
    return min(fits, key=lambda fitted: fitted.error, default=None)


def _residuals(known: Known, guess: Guess, x: Sequence[float]) -> list[float]:
    """Returns the error of each figure."""
    predicted = predict(guess.device(x), known.figures)
    pairs = zip(predicted, known.figures.values(), strict=True)
    return [
        value for predicted_figures, measured in pairs for value in off(predicted_figures, measured)
    ]


def _cost(residuals: Sequence[float]) -> float:
    """Returns what the fit minimises: an unexplained probe must not bend all others."""
    return sum(sqrt(1 + (value / SOFT) ** 2) - 1 for value in residuals)


def _fitted(model: Model, known: Known, guess: Guess) -> ModelFit:
    needs("scipy", feature="calibrate")
    from scipy.optimize import least_squares

    @cache
    def at_point(x: tuple[float, ...]) -> list[float]:
        return _residuals(known, guess, x)

    def residuals(x: Sequence[float]) -> list[float]:
        return at_point(tuple(x))

    def slopes(x: Sequence[float]) -> list[list[float]]:
        here = residuals(x)
        moved = [residuals([*x[:at], x[at] + STEP, *x[at + 1 :]]) for at in range(len(x))]
        return [[(value[row] - here[row]) / STEP for value in moved] for row in range(len(here))]

    solution = least_squares(
        residuals,
        guess.x,
        jac=slopes,
        bounds=([value - FAR for value in guess.x], [value + FAR for value in guess.x]),
        loss="soft_l1",
        f_scale=SOFT,
        ftol=SETTLED,
        max_nfev=EVALUATIONS,
    )
    rest = solution.fun
    error = sqrt(sum(value * value for value in rest) / len(rest))
    return ModelFit(model, guess.device(solution.x), error)


def percent(logarithm: float) -> float:
    """A factor's logarithm as a deviation in percent."""
    return 100 * (exp(logarithm) - 1)
