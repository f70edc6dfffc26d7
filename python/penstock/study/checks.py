"""Whether what a model leaves over is as its tests assume: normal, of equal variance, independent.

Each check is a test whose hypothesis is that all is well. On a simulator or with lack of fit it is
not noise that is tested but what the model lacks: then a rejection says that, and no more.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from penstock.study.coding import Vector
from penstock.study.fit import EXACT, Fit
from penstock.study.noise import SIGNIFICANT

SHAPIRO_MOST = 5000
"""Runs up to which the test of Shapiro and Wilk has exact p values."""

LEVENE_LEAST = 20
"""Runs a cell below which the test of Levene fires too seldom."""

FEWEST = 8
"""Runs below which no check can find anything."""


class Check(NamedTuple):
    """An assumption, its test, and what came of it."""

    what: str
    test: str
    statistic: float | None
    p: float | None
    holds: bool | None
    """`None` if it could not be tested."""
    says: str


def checks(fit: Fit) -> list[Check]:
    """All three."""
    if fit.df_resid < 2 or len(fit.y) < FEWEST or fit.rss <= EXACT * fit.tss:
        why = "the model leaves nothing over" if fit.df_resid else "no run is left to test with"
        if len(fit.y) < FEWEST:
            why = f"{len(fit.y)} runs are too few to test anything"
        names = ("normality", "equal variance", "independence")
        return [Check(name, "none", None, None, None, f"not tested: {why}") for name in names]
    return list(_checks(fit))


def _checks(fit: Fit) -> Iterator[Check]:
    yield _normality(fit)
    yield _equal_variance(fit)
    yield _independence(fit)


def _judged(
    fit: Fit, subject: str, test: str, statistic: float, p: float, words: tuple[str, str]
) -> Check:
    holds = p >= SIGNIFICANT
    says = words[0] if holds else words[1]
    if not holds and fit.misleading:
        says += "; this is what the model lacks, not noise"
    return Check(subject, test, statistic, p, holds, says)


def _normality(fit: Fit) -> Check:
    words = ("residuals are as normal as chance lets them be", "residuals are not normal")
    if len(fit.y) <= SHAPIRO_MOST:
        from scipy import stats

        shapiro = stats.shapiro(fit.residuals)
        return _judged(
            fit, "normality", "Shapiro-Wilk", float(shapiro[0]), float(shapiro[1]), words
        )
    from statsmodels.stats.diagnostic import normal_ad

    statistic, p = normal_ad(fit.residuals)
    return _judged(fit, "normality", "Anderson-Darling", float(statistic), float(p), words)


def _equal_variance(fit: Fit) -> Check:
    words = (
        "residuals spread equally everywhere, as far as can be seen",
        "residuals spread more in some cells than in others",
    )
    if fit.counts.min() >= LEVENE_LEAST and not fit.misleading:
        from scipy import stats

        cells = [fit.residuals[fit.cell == cell] for cell in range(len(fit.counts))]
        statistic, p = stats.levene(*cells, center="median")
        return _judged(fit, "equal variance", "Levene", float(statistic), float(p), words)
    if not fit.terms:
        said = "not tested: the model has no factor"
        return Check("equal variance", "Breusch-Pagan", None, None, None, said)
    from statsmodels.stats.diagnostic import het_breuschpagan

    main = [fit.x[:, fit.slices[term]] for term in fit.terms if len(term) == 1]
    statistic, p, *_ = het_breuschpagan(fit.residuals, np.hstack([fit.x[:, :1], *main]))
    return _judged(fit, "equal variance", "Breusch-Pagan", float(statistic), float(p), words)


def _independence(fit: Fit) -> Check:
    subject, test = "independence", "Durbin-Watson"
    if not fit.table.ordered:
        why = (
            "the order of simulated runs means nothing"
            if fit.table.simulated
            else "the table has no column `order`"
        )
        return Check(subject, test, None, None, None, f"not tested: {why}")
    by_order = np.argsort(fit.table.frame["order"].to_numpy(), kind="stable")
    statistic, p = durbin_watson(fit.residuals[by_order], fit.x[by_order])
    words = (
        "no run depends on the one before, as far as can be seen",
        "runs depend on those before them: something drifts"
        if statistic < 2
        else "runs alternate: each differs from the one before more than chance has it",
    )
    return _judged(fit, subject, test, statistic, p, words)


def durbin_watson(residuals: Vector, x: Vector) -> tuple[float, float]:
    """The statistic, and its p to both sides by a beta with its exact mean and variance.

    Of independent normal errors the mean and the variance of the statistic follow from the matrix
    alone (Durbin and Watson 1951, Biometrika 38, section 4, who also propose the beta).
    """
    from scipy import stats
    from statsmodels.stats.stattools import durbin_watson as statistic_of

    n, k = x.shape
    q, _ = np.linalg.qr(x)
    once = _second_difference(q)
    inner = q.T @ once
    trace = 2.0 * (n - 1) - float(np.trace(inner))
    # The trace of A² of the matrix of second differences.
    squares = 2.0 + 4.0 * (n - 2) + 2.0 * (n - 1) if n > 1 else 0.0
    of_two = squares - 2 * float(np.sum(once * once)) + float(np.sum(inner * inner.T))
    free = n - k
    mean = trace / free
    variance = 2 * (of_two - trace * mean) / (free * (free + 2))
    statistic = float(statistic_of(residuals))
    share = mean / 4
    strength = share * (1 - share) * 16 / variance - 1
    below = float(stats.beta.cdf(statistic / 4, share * strength, (1 - share) * strength))
    return statistic, min(2 * min(below, 1 - below), 1.0)


def _second_difference(q: Vector) -> Vector:
    """A times each column, where e'Ae is the sum of squared differences of neighbours."""
    difference = 2 * q
    difference[0] -= q[0]
    difference[-1] -= q[-1]
    difference[:-1] -= q[1:]
    difference[1:] -= q[:-1]
    return np.asarray(difference)
