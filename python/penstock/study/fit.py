"""The fit of a model to a table: effects that sum to zero, and what is noise and what is not.

Ordinary least squares, by statsmodels. Levels are coded so that the effects of a factor sum to zero
over its levels, so each is a deviation from the mean of all cells. Values that begin alike are
brought near zero before the fit, where their differences keep all their digits.

What a model leaves over has two parts. Runs of one cell differ by noise alone: that is the pure
error. What cells differ from the model by is lack of fit, which no repetition makes smaller
(Montgomery, *Design and Analysis of Experiments*, 8th ed., 11.2). Where lack of fit is more than
noise explains, or the runs are simulated, intervals come from the pure error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from penstock.errors import wrong
from penstock.study import model
from penstock.study.coding import Codes, Vector, estimable, matrix, term_rows
from penstock.study.model import Term
from penstock.study.noise import LackOfFit, Noise, PureError, Uncertainty
from penstock.study.table import Level, StudyTable, positive

Transform: TypeAlias = Literal["log", "none"]
Type: TypeAlias = Literal[1, 2, 3]
"""Type of sums of squares: in the order of the terms, each after all that it is no part of, or each
after all others."""

BLOCK = "block"
"""The term of blocks of runs, which takes drift out of all others."""

MUCH = 1.2
"""Lack of fit matters when the variance of the residual is this many times the pure error."""

LEAST = 1e-140
"""Differences whose square is still a number, as that of the inverse."""

EXACT = 1e-20
"""A part of the sum of squares that is rounding, and nothing else."""


class VarianceRow(NamedTuple):
    """A line of the table of variances."""

    term: str
    df: int
    sum_sq: float
    mean_sq: float
    f: float | None
    p: float | None
    partial_eta_sq: float | None
    partial_omega_sq: float | None


class Effect(NamedTuple):
    """Effect of a level, or of levels together, beyond the terms below it in the model."""

    term: Term
    levels: tuple[Level, ...]
    effect: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A model that was fitted."""

    table: StudyTable
    terms: tuple[Term, ...]
    transform: Transform
    levels: Mapping[str, Sequence[Level]]
    """Levels of all factors, and of the blocks."""
    codes: Mapping[str, Codes]
    """The number of the level of each, row by row."""
    y: Vector
    """The response as it is fitted, less `shift`."""
    shift: float
    x: Vector
    """Sum-coded, the constant first."""
    slices: Mapping[Term, slice]

    @cached_property
    def least_squares(self) -> Any:  # noqa: ANN401 # statsmodels has no types
        """The fit as statsmodels has it."""
        from statsmodels.regression.linear_model import OLS

        return OLS(self.y, self.x).fit(method="qr")

    @cached_property
    def beta(self) -> Vector:
        """Coefficients, the constant first."""
        return np.asarray(self.least_squares.params, dtype=np.float64)

    @cached_property
    def fitted(self) -> Vector:
        """Prediction of the model for each row, less `shift`."""
        return np.asarray(self.x @ self.beta, dtype=np.float64)

    @cached_property
    def residuals(self) -> Vector:
        """Residuals of the rows."""
        return self.y - self.fitted

    @cached_property
    def unscaled(self) -> Vector:
        """The covariance of the coefficients for a variance of one."""
        return np.asarray(np.linalg.inv(self.x.T @ self.x))

    @cached_property
    def leverage(self) -> Vector:
        """Leverage of each row on its own fitted value, from 0 to 1."""
        return np.asarray(np.einsum("ij,jk,ik->i", self.x, self.unscaled, self.x))

    @property
    def df_resid(self) -> int:
        """Rows less coefficients."""
        return len(self.y) - int(self.x.shape[1])

    @cached_property
    def rss(self) -> float:
        """The sum of squares that is left over."""
        return float(self.residuals @ self.residuals)

    @cached_property
    def tss(self) -> float:
        """The sum of squares about the mean."""
        off = self.y - self.y.mean()
        return float(off @ off)

    @property
    def r2(self) -> float:
        """The part of the sum of squares that the model explains."""
        return 1 - self.rss / self.tss if self.tss else 0.0

    @property
    def r2_adj(self) -> float | None:
        """R² adjusted for the number of coefficients."""
        if not self.df_resid:
            return None
        return 1 - (1 - self.r2) * (len(self.y) - 1) / self.df_resid

    @property
    def grand(self) -> float:
        """The mean of all cells, as it is fitted."""
        return float(self.beta[0]) + self.shift

    @cached_property
    def cell(self) -> Codes:
        """The number of the cell of each row, by all factors of the table."""
        every = np.stack([self.codes[name] for name in self.table.factors], axis=1)
        return np.asarray(np.unique(every, axis=0, return_inverse=True)[1]).ravel()

    @cached_property
    def cells(self) -> Codes:
        """The levels of each cell by their numbers, a column a factor."""
        every = np.stack([self.codes[name] for name in self.table.factors], axis=1)
        return np.asarray(np.unique(every, axis=0))

    @cached_property
    def counts(self) -> Codes:
        """Number of rows of each cell."""
        return np.bincount(self.cell)

    @property
    def balanced(self) -> bool:
        """Whether every combination of levels was run, and equally often."""
        many = np.prod([len(levels) for levels in self.table.factors.values()])
        return len(self.counts) == many and len(set(self.counts.tolist())) == 1

    def cell_means(self, values: Vector) -> Vector:
        """The mean of a value in each cell."""
        return np.asarray(np.bincount(self.cell, values) / self.counts)

    @cached_property
    def without_blocks(self) -> Vector:
        """The response without what blocks differ by."""
        where = self.slices.get((BLOCK,))
        return self.y if where is None else self.y - self.x[:, where] @ self.beta[where]

    @cached_property
    def pure(self) -> PureError | None:
        """Variation between runs of one cell; `None` if each cell has one run."""
        df = len(self.y) - len(self.counts)
        off = self.y - self.cell_means(self.y)[self.cell]
        where = self.slices.get((BLOCK,))
        if where is not None:
            blocks = self.x[:, where]
            means = np.stack([self.cell_means(column) for column in blocks.T], axis=1)
            blocks = blocks - means[self.cell]
            coefficients, _, rank, _ = np.linalg.lstsq(blocks, off, rcond=None)
            off, df = off - blocks @ coefficients, df - int(rank)
        if df <= 0:
            return None
        sum_sq = float(off @ off)
        return PureError(0.0 if sum_sq <= EXACT * self.tss else sum_sq, df)

    @cached_property
    def lack(self) -> LackOfFit | None:
        """Lack of fit; `None` without repeated runs or with no cell left."""
        from scipy import stats

        if self.pure is None or self.df_resid <= self.pure.df:
            return None
        df = self.df_resid - self.pure.df
        sum_sq = max(self.rss - self.pure.sum_sq, 0.0)
        if not self.pure.sum_sq:
            fits = sum_sq <= EXACT * self.tss
            return LackOfFit(sum_sq, df, 0.0 if fits else float("inf"), 1.0 if fits else 0.0)
        f = sum_sq / df / self.pure.variance
        return LackOfFit(sum_sq, df, f, float(stats.f.sf(f, df, self.pure.df)))

    @property
    def rules(self) -> bool:
        """Whether lack of fit is there, and makes the residual much more than noise."""
        if self.lack is None or self.pure is None or not self.lack.there:
            return False
        return self.rss / self.df_resid > MUCH * self.pure.variance

    @property
    def misleading(self) -> bool:
        """Whether tests against the residual compare with something else than noise."""
        return self.table.simulated or self.rules

    @property
    def residual(self) -> Noise | None:
        """Variance of the residuals, taken as noise."""
        if not self.df_resid:
            return None
        return Noise(self.rss / self.df_resid, self.df_resid, "residual")

    @property
    def noise(self) -> Noise | None:
        """Variance for intervals; `None` if nothing is left over."""
        if self.pure is not None and (self.misleading or not self.df_resid):
            return Noise(self.pure.variance, self.pure.df, "replicates")
        return self.residual

    @property
    def cell_noise(self) -> Noise | None:
        """Variance of a run of a cell: from repeated runs of all cells, else from the residual."""
        if self.pure is not None:
            return Noise(self.pure.variance, self.pure.df, "replicates")
        return self.residual

    @cached_property
    def own(self) -> Vector | None:
        """The variance of the runs of each cell; none if some cell has one run, or with blocks."""
        if (BLOCK,) in self.terms or self.counts.min() < 2:
            return None
        off = self.y - self.cell_means(self.y)[self.cell]
        sums = np.bincount(self.cell, off * off)
        sums[sums <= EXACT * self.tss] = 0.0
        return np.asarray(sums / (self.counts - 1))

    def uncertainty(self, contrast: Vector, where: slice) -> Uncertainty | None:
        """Variance of a contrast of coefficients; `None` if the model leaves nothing over.

        From repeated runs each cell counts with the variance of its own runs, as some cells may be
        noisier than others; the degrees of freedom are those of Welch and Satterthwaite.
        """
        noise = self.noise
        if noise is None:
            return None
        df: float = noise.df
        if noise.source == "replicates" and self.own is not None:
            weights = self.x @ (self.unscaled[:, where] @ contrast)
            parts = np.bincount(self.cell, weights * weights) * self.own
            variance = float(parts.sum())
            if variance:
                df = 1 / float(np.sum((parts / variance) ** 2 / (self.counts - 1)))
        else:
            variance = float(contrast @ self.unscaled[where, where] @ contrast) * noise.variance
        return Uncertainty(variance, df)

    def half_width(self, contrast: Vector, where: slice) -> float:
        """Returns the half-width of the 95 % interval of a contrast of coefficients."""
        uncertainty = self.uncertainty(contrast, where)
        return float("nan") if uncertainty is None else uncertainty.half_width

    def coded(self, term: Term) -> list[tuple[tuple[Level, ...], Vector]]:
        """Each combination of levels of a term, with its row of codes."""
        combinations, rows = term_rows(self.codes, self.levels, term, self.terms)
        return [
            (tuple(self.levels[name][at] for name, at in zip(term, codes, strict=True)), row)
            for codes, row in zip(combinations, rows, strict=True)
        ]

    @cached_property
    def effects(self) -> list[Effect]:
        """Effects of every term, at each of its levels, with 95 % intervals."""
        effects = []
        for term in self.terms:
            where = self.slices[term]
            for levels, codes in self.coded(term):
                effect = float(codes @ self.beta[where])
                half = self.half_width(codes, where)
                low, high = (None, None) if np.isnan(half) else (effect - half, effect + half)
                effects.append(Effect(term, levels, effect, low, high))
        return effects

    def percent(self, difference: float) -> float:
        """A difference of the fitted response as per cent of the response."""
        if self.transform == "log":
            return float(100 * np.expm1(min(difference, 700.0)))
        return 100 * difference / abs(self.grand) if self.grand else 0.0

    def natural(self, value: float) -> float:
        """A fitted value, less `shift`, as the response has it."""
        whole = value + self.shift
        return float(np.exp(whole)) if self.transform == "log" else whole

    def anova(self, kind: Type) -> list[VarianceRow]:
        """The table of variances, the residual last."""
        if not self.df_resid:
            raise wrong(
                f"the model has {self.x.shape[1]} coefficients for {len(self.y)} runs: "
                "nothing is left over to compare with",
                "leave out interactions with --model, or repeat runs",
            )
        mean = self.rss / self.df_resid
        rows = [self._row(term, self._explained(term, kind), mean) for term in self.terms]
        residual = VarianceRow("Residual", self.df_resid, self.rss, mean, None, None, None, None)
        return [*rows, residual]

    def _explained(self, term: Term, kind: Type) -> float:
        """The sum of squares that a term explains after those that its type puts before it."""
        at = self.terms.index(term)
        before = [
            before_it
            for number, before_it in enumerate(self.terms)
            if before_it != term
            and (number < at if kind == 1 else kind == 3 or not set(term) < set(before_it))
        ]
        where = self.slices[term]
        others = [self.x[:, self.slices[term]] for term in before]
        # What of the term is at right angles to all before it.
        q, _ = np.linalg.qr(np.hstack([self.x[:, :1], *others, self.x[:, where]]))
        along = q[:, where.start - where.stop :].T @ self.y
        return float(along @ along)

    def _row(self, term: Term, sum_sq: float, mean: float) -> VarianceRow:
        from scipy import stats

        where = self.slices[term]
        df = where.stop - where.start
        exact = self.rss <= EXACT * self.tss
        f = None if exact else sum_sq / df / mean
        p = 0.0 if f is None else float(stats.f.sf(f, df, self.df_resid))
        whole = sum_sq + (len(self.y) - df) * mean
        omega = df * (sum_sq / df - mean) / whole if whole else 0.0
        eta = sum_sq / (sum_sq + self.rss) if sum_sq else 0.0
        return VarianceRow(model.name(term), df, sum_sq, sum_sq / df, f, p, eta, omega)

    def having(self, terms: Sequence[Term]) -> "Fit":
        """Returns a fit of the same table with other terms; it has blocks if this one has."""
        blocks = [(BLOCK,)] if (BLOCK,) in self.terms else []
        every = [*blocks, *(term for term in terms if term != (BLOCK,))]
        x, slices = matrix(self.codes, self.levels, every)
        return replace(self, terms=tuple(every), x=x, slices=slices)


def fit(table: StudyTable, terms: Sequence[Term], *, transform: Transform = "log") -> Fit:
    """A model of the table. Blocks of runs become a term of their own, the first."""
    if transform == "log":
        positive(table)
    values = table.frame[table.response].cast(float).to_numpy()
    whole = np.log(values) if transform == "log" else np.array(values, dtype=np.float64)
    _check_spread(table, whole)
    shift = float(whole[0])
    levels: dict[str, Sequence[Level]] = dict(table.factors)
    every = list(terms)
    if table.blocks:
        levels[BLOCK] = table.blocks
        every.insert(0, (BLOCK,))
    codes = {}
    for name, known in levels.items():
        number = {level: n for n, level in enumerate(known)}
        codes[name] = np.array([number[level] for level in table.frame[name].to_list()])
    x, slices = matrix(codes, levels, every)
    empty = [term for term in every if slices[term].start == slices[term].stop]
    if empty or not estimable(x):
        first = (term for term in every if not estimable(x[:, : slices[term].stop]))
        raise _aliased(table, empty[0] if empty else next(first), x.shape)
    return Fit(
        table=table,
        terms=tuple(every),
        transform=transform,
        levels=levels,
        codes=codes,
        y=whole - shift,
        shift=shift,
        x=x,
        slices=slices,
    )


def _check_spread(table: StudyTable, values: Vector) -> None:
    """Raise an error unless squares of what values differ by are numbers, and not all nothing."""
    with np.errstate(over="ignore"):
        spread = float(np.ptp(values))
    if not spread:
        raise wrong(
            f"{table.source}: {table.response} is the same in every row, so there is nothing to "
            "explain",
            "name another column with --response",
        )
    if not LEAST < spread < 1 / LEAST:
        raise wrong(
            f"{table.source}: values of {table.response} differ by {spread:g}, and its square is "
            "no number",
            "give them in another unit",
        )


def _aliased(table: StudyTable, term: Term, shape: tuple[int, ...]) -> ValueError:
    rows, columns = shape
    if columns > rows:
        return wrong(
            f"{table.source}: the model has {columns} coefficients, and there are {rows} runs",
            "leave out interactions with --model, or add runs",
        )
    return wrong(
        f"{table.source}: {model.name(term)} cannot be separated from the other terms, as not all "
        "combinations of levels were run",
        f"leave {model.name(term)} out with --model, or run the combinations that are missing",
    )
