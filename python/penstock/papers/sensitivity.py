"""How much of a paper's table hangs on what the paper does not say.

Each variant of the model runs at many points: with other values of something that is left open.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any, NamedTuple, TypeAlias

from penstock.answer.table import Table
from penstock.papers.claims import Claim
from penstock.papers.published import Away


class ModelVariant(NamedTuple):
    """A variant of the model, in words and as settings."""

    text: str
    changes: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """Variants, and the points at which each runs."""

    variants: Mapping[str, ModelVariant]
    points: Sequence[Mapping[str, str]]
    """What is set at each point."""
    noun: str
    """What the points are called."""
    about: str
    """What the points are, as a sentence."""
    help: str
    """What the option does."""

    distances: bool = True
    """Whether there are published cells to be away from."""

    def legend(self, away: Away) -> str:
        """Returns the text that explains the figures of the table."""
        held = f"{self.about} Each number says at how many of them a claim held"
        if not self.distances:
            return f"{held}."
        return f"{held}; the last two, how far the farthest cell was, in {away.words}."


Found: TypeAlias = Mapping[str, Any]
"""Of one variant over all points: how often each claim held (`holds`), and the farthest cell.

`farthest_pp` or `farthest_pct` has the median and the 90th percentile of that, if there are any.
"""

Judged: TypeAlias = tuple[Sequence[Claim], float | None]
"""The claims under some settings, and how far the farthest cell is, if one was published."""

Judge: TypeAlias = Callable[[Sequence[Mapping[str, str]]], Iterable[Judged]]
"""Judges each of several settings; it shares the processors among their runs."""


def found(
    sensitivity: Sensitivity,
    judge: Judge,
    away: Away,
    arguments: Mapping[str, str],
    say: Callable[[str], object] = lambda _: None,
) -> list[Found]:
    """Every variant on top of what is set; `say` is called with the next one."""
    results: list[Found] = []
    for name, variant in sensitivity.variants.items():
        say(f"{len(sensitivity.points)} {sensitivity.noun} of {name}: {variant.text}")
        settings = [{**arguments, **variant.changes, **point} for point in sensitivity.points]
        about = {"variant": name, "text": variant.text, sensitivity.noun: len(sensitivity.points)}
        results.append({**about, **_counted(list(judge(settings)), away)})
    return results


def _counted(results: Sequence[Judged], away: Away) -> Found:
    far = [farthest for _, farthest in results if farthest is not None]
    ids = [claim["id"] for claim in results[0][0]]
    held = zip(*([claim["holds"] for claim in claims] for claims, _ in results), strict=True)
    counted = {"holds": {claim: sum(holds) for claim, holds in zip(ids, held, strict=True)}}
    if not far:
        return counted
    return {
        **counted,
        f"farthest_{away.key}": {"median": median(far), "p90": quantiles(far, n=10)[-1]},
    }


def table(results: Sequence[Found], away: Away) -> Table:
    """How often each claim held, and the farthest cell."""
    far = f"farthest_{away.key}"
    rows = [
        [
            result["variant"],
            *(f"{held}" for held in result["holds"].values()),
            *(f"{figure:.1f}" for figure in result.get(far, {}).values()),
        ]
        for result in results
    ]
    ids = list(results[0]["holds"]) if results else []
    away_by = [f"median, {away.heading}", f"p90, {away.heading}"]
    has = not results or far in results[0]
    return Table(["variant", *ids, *(away_by if has else [])], rows)
