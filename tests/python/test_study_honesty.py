"""Intervals and checks hold as often as they say, on tables that follow a known model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

import study_data
from penstock.study import model
from penstock.study.checks import checks
from penstock.study.fit import Fit, fit

MANY = 1000
"""Tables of each kind, always the same."""

FAULTY = 200
"""Tables with a fault that is to be found."""

LEVELS = {"A": [1, 2], "B": [1, 2, 3], "C": [1, 2, 3, 4]}


def known(
    levels: Mapping[str, Sequence[int]] = LEVELS, text: str = "A + B + C + A:B", replicates: int = 4
) -> Fit:
    """A fit whose response is to be replaced, its runs in random order."""
    frame = study_data.cells(levels, replicates)
    random = np.random.default_rng(11)
    order = random.permutation(frame.height)
    table = study_data.with_response(frame, random.normal(size=frame.height), order=order)
    return fit(table, model.parse(text, table.factors), transform="none")


@pytest.mark.parametrize(
    ("source", "spread"), [("residual", 1.0), ("replicates", 1.0), ("replicates", 8.0)]
)
def test_intervals_hold_the_truth_95_times_of_100(source: str, spread: float) -> None:
    """`spread`: so many times as far apart are runs of some cells as those of others."""
    of, random = known(), np.random.default_rng(2)
    truth = np.asarray(random.normal(size=of.x.shape[1]))
    mean = of.x @ truth
    if source == "replicates":
        # Cells differ by something that no main effect has, so their residual is no noise.
        mean = mean + 3 * spread * np.asarray(np.sin(7.0 * of.cell))
        truth = np.linalg.lstsq(of.x, mean, rcond=None)[0]
    held, used = Counter[model.Term](), set()
    for _ in range(MANY):
        noise = random.normal(size=len(mean)) * np.where(of.codes["C"] == 0, spread, 1.0)
        one = replace(of, y=mean + noise, shift=0.0)
        assert one.noise is not None
        used.add(one.noise.source)
        # One level of each term: others are the same again, with another sign or mixed.
        for term in one.terms:
            where = one.slices[term]
            _, codes = one.coded(term)[0]
            half = one.half_width(codes, where)
            held[term] += abs(float(codes @ (one.beta[where] - truth[where]))) <= half
    # By chance lack of fit shows in a few tables that have none.
    assert source in used
    assert source == "residual" or len(used) == 1
    shares = {term: held[term] / MANY for term in of.terms}
    assert shares == pytest.approx(dict.fromkeys(of.terms, 0.95), abs=0.02)


@pytest.mark.parametrize(
    ("levels", "text", "replicates", "tests"),
    [
        (LEVELS, "A + B + C + A:B", 4, {"Shapiro-Wilk", "Breusch-Pagan", "Durbin-Watson"}),
        ({"B": [1, 2, 3]}, "B", 30, {"Shapiro-Wilk", "Levene", "Durbin-Watson"}),
    ],
)
def test_each_check_fires_5_times_of_100_on_noise(
    levels: Mapping[str, Sequence[int]], text: str, replicates: int, tests: set[str]
) -> None:
    of, random = known(levels, text, replicates), np.random.default_rng(4)
    fired, lack = Counter[str](), 0
    for _ in range(MANY):
        one = replace(of, y=random.normal(size=len(of.y)), shift=0.0)
        fired.update(check.test for check in checks(one) if not check.holds)
        lack += one.lack is not None and one.lack.there
    rates = {test: fired[test] / MANY for test in tests}
    assert rates == pytest.approx(dict.fromkeys(tests, 0.05), abs=0.015)
    if of.lack is not None:
        assert lack / MANY == pytest.approx(0.05, abs=0.015)


def test_the_right_check_fires_on_what_is_no_noise() -> None:
    of, random = known(replicates=5), np.random.default_rng(6)
    place = of.table.frame["order"].to_numpy() / len(of.y)
    spread = np.array([0.5, 1.0, 2.0])[of.codes["B"]]
    fired = Counter[str]()
    for _ in range(FAULTY):
        noise = random.normal(size=len(of.y))
        for what, y in (
            ("normality", random.standard_t(2, size=len(of.y))),
            ("equal variance", noise * spread),
            ("independence", noise + 4 * place),
        ):
            found = {check.what: check for check in checks(replace(of, y=y, shift=0.0))}
            fired[what] += found[what].holds is False
    assert min(fired.values()) >= 0.9 * FAULTY
    assert len(fired) == 3


def test_the_mean_and_variance_of_durbin_and_watson_are_those_of_their_matrix() -> None:
    from penstock.study.checks import durbin_watson

    of = known()
    n, k = of.x.shape
    left = np.eye(n) - of.x @ np.linalg.inv(of.x.T @ of.x) @ of.x.T
    step = np.diff(np.eye(n), axis=0)
    both = left @ step.T @ step
    mean = float(np.trace(both)) / (n - k)
    # A run of residuals that has the mean exactly has a p of about 1: half of all lie below.
    random = np.random.default_rng(8)
    found = [durbin_watson(left @ random.normal(size=n), of.x) for _ in range(200)]
    assert np.mean([one for one, _ in found]) == pytest.approx(mean, abs=0.05)
    assert np.mean([p for _, p in found]) == pytest.approx(0.5, abs=0.06)
