"""Trade-offs: two figures of each candidate, and the candidates that another one beats."""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.results import figure, rounds
from penstock.results.figure import Figure
from penstock.results.json_types import Comparison
from penstock.results.rounds import Rounds, Spread


class TradeoffPoint(NamedTuple):
    """A candidate: a policy, or a setting of one."""

    label: str
    x: Spread | None
    """Its first figure; `None` if the class finished nothing."""
    y: Spread | None
    beaten_by: str | None
    """A candidate that is as good in both figures and better in one, by medians of rounds."""

    @property
    def placed(self) -> bool:
        """Whether it has both figures."""
        return self.x is not None and self.y is not None

    @property
    def on_frontier(self) -> bool:
        """Whether it has both figures and no other candidate beats it."""
        return self.placed and self.beaten_by is None


class Tradeoff(NamedTuple):
    """Candidates between two figures."""

    x: Figure
    y: Figure
    points: list[TradeoffPoint]

    def frontier(self) -> list[TradeoffPoint]:
        """Return the candidates that no other beats, from the best `x` to the best `y`."""
        placed = [point for point in self.points if point.on_frontier]
        return sorted(placed, key=lambda point: _score(self.x, point.x), reverse=True)

    def placed(self) -> list[TradeoffPoint]:
        """Return the candidates that have both figures."""
        return [point for point in self.points if point.placed]


def between(policies: Sequence[Rounds], x: Figure, y: Figure) -> Tradeoff:
    """Return the trade-off of candidates between two figures."""
    figures = [(policy.label, x.over(policy), y.over(policy)) for policy in policies]
    scores = {label: (_score(x, a), _score(y, b)) for label, a, b in figures if a and b}
    points = [TradeoffPoint(label, a, b, _beaten_by(label, scores)) for label, a, b in figures]
    return Tradeoff(x, y, points)


def weigh(comparison: Comparison) -> Tradeoff | None:
    """Return the trade-off between the usual figures; `None` unless two policies have both."""
    policies = rounds.by_policy(comparison)
    usual = figure.usual(policies)
    if usual is None:
        return None
    tradeoff = between(policies, *usual)
    return tradeoff if len(tradeoff.placed()) > 1 else None


def _score(figure: Figure, spread: Spread | None) -> float:
    """Return the score of a figure; more is better."""
    if spread is None:
        return float("-inf")
    return spread.median if figure.kind.more_is_better else -spread.median


def _beaten_by(label: str, scores: dict[str, tuple[float, float]]) -> str | None:
    """Return the candidate that beats `label` with the best `x`, then the best `y`."""
    if label not in scores:
        return None
    ours = scores[label]
    better = [
        (theirs, rival)
        for rival, theirs in scores.items()
        if theirs != ours and theirs[0] >= ours[0] and theirs[1] >= ours[1]
    ]
    return max(better, key=lambda pair: pair[0])[1] if better else None
