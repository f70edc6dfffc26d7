"""Power of a design: the smallest effect that it finds 4 times of 5."""

from collections.abc import Mapping

from penstock.errors import needs

POWER = 0.8
"""Probability that an effect of the named size is found."""

LEVEL = 0.05
"""Probability that an effect is found where there is none."""


def detectable(
    levels: Mapping[str, int],
    *,
    runs: int,
    noise: float,
    coefficients: int | None = None,
    power: float = POWER,
    level: float = LEVEL,
) -> dict[str, float]:
    """The smallest effect of each factor, in per cent of the rate, that its F test shows.

    `levels` has the number of levels of each factor, and `runs` is how many runs there are of the
    whole design, spread evenly. `noise` is the standard deviation of the logarithm of the rate
    among runs of one cell, about its coefficient of variation. `coefficients` is how many the model
    has, with the constant; if not given, the main effects alone. The effect is the one between the
    best level and the worst, all others midway, where it is hardest to see.
    """
    needs("scipy", feature="the power of a design")
    from math import expm1, inf

    from scipy import optimize, stats

    coefficients = coefficients or 1 + sum(many - 1 for many in levels.values())
    free = runs - coefficients
    smallest = {}
    for factor, many in levels.items():
        if free < 1 or many < 2:
            smallest[factor] = inf
            continue
        if noise <= 0:
            smallest[factor] = 0.0
            continue
        limit = float(stats.f.ppf(1 - level, many - 1, free))

        def missing(noncentral: float, many: int = many, limit: float = limit) -> float:
            return float(stats.ncf.sf(limit, many - 1, free, noncentral)) - power

        high = 1.0
        while missing(high) < 0:
            high *= 2
        noncentral = float(optimize.brentq(missing, 1e-9, high))
        # Two levels are off by half of it each, in `runs / many` runs.
        difference = noise * (2 * noncentral * many / runs) ** 0.5
        smallest[factor] = 100 * expm1(difference)
    return smallest
