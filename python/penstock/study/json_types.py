"""The JSON of `penstock study analyse`, as types."""

from typing import Any, Literal, TypedDict


class AnovaRow(TypedDict):
    """A line of the table of variances; the last is the residual, which has no F."""

    term: str
    df: int
    sum_sq: float
    mean_sq: float
    f: float | None
    p: float | None
    partial_eta_sq: float | None


class EffectRow(TypedDict):
    """A level, or levels together as `direct:8`, and how far off the mean, in the fit's unit."""

    term: str
    level: str
    effect: float
    low: float | None
    high: float | None


class LackOfFitRow(TypedDict):
    """Lack of fit against the pure error. `f` is none where equal runs give equal results."""

    f: float | None
    p: float
    pure_error_sd: float


class CheckRow(TypedDict):
    """An assumption of the tests; `holds` is none where it could not be tested."""

    what: str
    test: str
    statistic: float | None
    p: float | None
    holds: bool | None
    says: str


BoxCoxRow = TypedDict("BoxCoxRow", {"lambda": float, "low": float | None, "high": float | None})
"""The power of the response that fits best, with its 95 % interval."""


class CombinationRow(TypedDict):
    """Advice for a factor with one combination of the levels of those that it depends on."""

    levels: dict[str, Any]
    best: list[Any]
    worst: Any
    cost_pct: float
    p: float | None


class AdviceRow(TypedDict):
    """Advice for a factor; the effect is of the best level over the worst, in per cent.

    `best` of a factor that depends on others is its level in the best cell, or in one that is as
    good. `unclear`: it matters somewhere, though no comparison of cells shows where.
    """

    factor: str
    best: list[Any]
    sns: bool
    effect_pct: float
    low_pct: float | None
    high_pct: float | None
    p: float | None
    runs: list[int]
    unclear: bool
    depends_on: list[str]
    combinations: list[CombinationRow]


class AnalysisRow(TypedDict):
    """Output of `penstock study analyse --json`."""

    n: int
    response: str
    model: str
    transform: Literal["log", "none"]
    r2: float
    r2_adj: float | None
    anova: list[AnovaRow]
    effects: list[EffectRow]
    lack_of_fit: LackOfFitRow | None
    checks: list[CheckRow]
    boxcox: BoxCoxRow | None
    recommend: list[AdviceRow]


class LevelRow(TypedDict):
    """The analysis of the rows with one level of `--by`."""

    level: Any
    analysis: AnalysisRow


class ByRow(TypedDict):
    """Output of `penstock study analyse --json` with `--by`."""

    by: str
    levels: list[LevelRow]
