"""What the IOAgent paper says, held to our figures.

Means over cells are those of the logarithm, as the paper's models have them: the geometric mean. A
sentence about levels is held to the means over all other factors.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import exp, fsum, log
from typing import Any, TypeAlias

from penstock.papers import files
from penstock.papers.claims import Claim, Numbers, Statement, decided
from penstock.papers.ioagent.setting import NAME, PATTERNS
from penstock.papers.published import Row

SEQUENTIAL_READ, SEQUENTIAL_WRITE, RANDOM_READ, RANDOM_WRITE = PATTERNS

Ours: TypeAlias = Mapping[str, Any]

Evidence: TypeAlias = Callable[[Ours], Numbers]
"""Picks the figures that decide a sentence; none if they did not run."""

MATTERS = 1.05
"""A rate that is so many times another is higher; less is no difference to set anything by."""

FALLS = 0.98
"""More of something may leave a rate at so much of it, and still raise it over all levels."""

REACHED = 0.95
"""A rate has come to its limit at so much of its highest."""

EXPLAINS = 0.01
"""A term that explains less of the variance may be left out."""

R2_NEAR = 0.005
"""An R² that is so much below the paper's is as high."""


def claims(ours: Ours) -> list[Claim]:
    """Each sentence that our figures can decide."""
    return decided(STATEMENTS, ours)


def means(cells: Sequence[Row], pattern: str, by: str, **only: Any) -> list[float]:  # noqa: ANN401
    """The mean rate at each level of a factor, in MB/s, of cells that have these levels."""
    logs: dict[Any, list[float]] = {}
    for name, level in {"pattern": pattern, **only}.items():
        cells = [cell for cell in cells if cell[name] == level]
    for cell in cells:
        logs.setdefault(cell[by], []).append(log(cell["bw_bytes"] / 1e6))
    return [exp(fsum(logs[level]) / len(logs[level])) for level in sorted(logs)]


def _levels(cells: Sequence[Row], pattern: str, factor: str) -> list[Any]:
    return sorted({cell[factor] for cell in cells if cell["pattern"] == pattern})


def _means_by(factor: str, patterns: Sequence[str]) -> Evidence:
    def numbers(ours: Ours) -> Numbers:
        rates = {pattern: means(ours["cells"], pattern, factor) for pattern in patterns}
        return rates if all(len(series) > 1 for series in rates.values()) else {}

    return numbers


def rises(rates: Sequence[float]) -> bool:
    """Whether they rise from the first to the last, and nowhere fall by much on the way."""
    steps = all(after >= FALLS * before for before, after in pairwise(rates))
    return steps and rates[-1] >= MATTERS * rates[0]


def _all_rise(figures: Numbers) -> bool:
    return all(rises(rates) for rates in figures.values())


def _all_fall(figures: Numbers) -> bool:
    return all(rises(rates[::-1]) for rates in figures.values())


def _interaction(cells: Sequence[Row], pattern: str, line: str, by: str) -> dict[str, list[float]]:
    """The means at each level of `by`, for each level of `line`."""
    rates = {
        f"{line} = {level}": means(cells, pattern, by, **{line: level})
        for level in _levels(cells, pattern, line)
    }
    return rates if all(len(series) > 1 for series in rates.values()) else {}


def _gain(rates: Sequence[float]) -> float:
    return rates[-1] / rates[0]


def limit_at(rates: Sequence[float]) -> int:
    """The place at which a rate comes to its limit."""
    return next(at for at, rate in enumerate(rates) if rate >= REACHED * max(rates))


def _reads_buffered(figures: Numbers) -> bool:
    return all(
        buffered > MATTERS * direct
        for pair in ("by S", "by B")
        for buffered, direct in zip(
            figures[f"buffered {pair}"], figures[f"direct {pair}"], strict=True
        )
    )


def _reads_numbers(ours: Ours) -> Numbers:
    cells = ours["cells"]
    rates = {
        f"{level} by {by}": means(cells, SEQUENTIAL_READ, by, O=level)
        for level in ("buffered", "direct")
        for by in ("S", "B")
    }
    return rates if all(len(series) > 1 for series in rates.values()) else {}


def _direct_gains(figures: Numbers) -> bool:
    return all(
        _gain(figures[f"direct by {by}"]) > MATTERS * _gain(figures[f"buffered by {by}"])
        for by in ("S", "B")
    )


def _two_agents(figures: Numbers) -> bool:
    first, *more = figures["buffered"]
    return first > MATTERS * more[0] and min(more) >= REACHED * max(more)


def _writes_by_agents(ours: Ours) -> Numbers:
    rates = means(ours["cells"], SEQUENTIAL_WRITE, "A", O="buffered")
    return {"buffered": rates} if len(rates) > 2 else {}


def _saturates(figures: Numbers) -> bool:
    places = [limit_at(rates) for rates in figures.values()]
    first = len(next(iter(figures.values()))) - 1
    return places[0] < first and all(after >= before for before, after in pairwise(places))


def _asymptote(figures: Numbers) -> bool:
    places = [limit_at(rates) for rates in figures.values()]
    slows = all(rates[-1] / rates[-2] < rates[1] / rates[0] for rates in figures.values())
    return slows and all(after <= before for before, after in pairwise(places))


def _by_agents_and_buffers(pattern: str) -> Evidence:
    def numbers(ours: Ours) -> Numbers:
        rates = _interaction(ours["cells"], pattern, "A", "B")
        return rates if all(len(series) > 2 for series in rates.values()) else {}

    return numbers


def _of_size(ours: Ours) -> Numbers:
    for fit in ours["fits"]:
        if fit["pattern"] == RANDOM_READ and fit["of_size"]:
            return {"A:S and S:B add to R²": fit["of_size"]}
    return {}


def _r2(ours: Ours) -> Numbers:
    paper: Mapping[str, float] = files.published(NAME)["r2"]
    return {fit["pattern"]: [fit["r2"], paper[fit["pattern"]]] for fit in ours["fits"]}


def _residuals(ours: Ours) -> Numbers:
    """The p of each test of a pattern's residuals that could be made."""
    return {
        analysed["pattern"]: [
            check["p"] for check in analysed["analysis"]["checks"] if check["p"] is not None
        ]
        for analysed in ours["patterns"]
    }


def _statements() -> Iterator[Statement]:
    yield Statement(
        id="4.1-r2",
        text="the models explain 81, 95, 99 and 99 % of the variance",
        holds=lambda figures: all(ours >= paper - R2_NEAR for ours, paper in figures.values()),
        numbers=_r2,
    )
    yield Statement(
        id="4.1-errors",
        text="the errors of the models are independent, normal and of constant variance",
        holds=lambda figures: all(p >= 0.05 for pattern in figures.values() for p in pattern),
        numbers=_residuals,
    )
    yield Statement(
        id="5.1-read",
        text="buffered access is faster for sequential reads",
        holds=lambda figures: figures[SEQUENTIAL_READ][0] > MATTERS * figures[SEQUENTIAL_READ][1],
        numbers=_means_by("O", [SEQUENTIAL_READ]),
    )
    others = [SEQUENTIAL_WRITE, RANDOM_READ, RANDOM_WRITE]
    yield Statement(
        id="5.1-direct",
        text="direct access is faster for all other patterns",
        holds=lambda figures: all(
            direct > MATTERS * buffered for buffered, direct in figures.values()
        ),
        numbers=_means_by("O", others),
    )
    yield Statement(
        id="5.1-random",
        text="random access is faster with more agents",
        holds=_all_rise,
        numbers=_means_by("A", [RANDOM_READ, RANDOM_WRITE]),
    )
    yield Statement(
        id="5.1-agents",
        text="sequential access is faster with fewer agents",
        holds=_all_fall,
        numbers=_means_by("A", [SEQUENTIAL_READ, SEQUENTIAL_WRITE]),
    )
    for name, text, factor in (
        ("5.1-disks", "more disks raise the rate", "D"),
        ("5.1-size", "larger buffers raise the rate", "S"),
        ("5.1-buffers", "more buffers raise the rate", "B"),
    ):
        numbers = _means_by(factor, PATTERNS)
        yield Statement(id=name, text=text, holds=_all_rise, numbers=numbers)
    yield Statement(
        id="5.2-read",
        text="buffered sequential reads are faster than direct ones, whatever S and B",
        holds=_reads_buffered,
        numbers=_reads_numbers,
    )
    yield Statement(
        id="5.2-gain",
        text="S and B raise direct sequential reads more than buffered ones",
        holds=_direct_gains,
        numbers=_reads_numbers,
    )
    yield Statement(
        id="5.2-two",
        text="two agents write sequentially more slowly than one, more agents like two",
        holds=_two_agents,
        numbers=_writes_by_agents,
    )
    yield Statement(
        id="5.2-write",
        text="sequential writes saturate with B, one agent first and more agents later",
        holds=_saturates,
        numbers=_by_agents_and_buffers(SEQUENTIAL_WRITE),
    )
    yield Statement(
        id="5.2-random",
        text="random reads go to a limit with B, sooner with more agents",
        holds=_asymptote,
        numbers=_by_agents_and_buffers(RANDOM_READ),
    )
    yield Statement(
        id="5.2-size",
        text="S interacts with neither A nor B in random reads",
        holds=lambda figures: all(added < EXPLAINS for added in figures["A:S and S:B add to R²"]),
        numbers=_of_size,
    )


STATEMENTS = tuple(_statements())
