"""Advice is run anew: whether the gain that a study promised comes, with other seeds or elsewhere.

The advice is the best cell of the study. It is run next to the plain default, the cell of the first
level of each factor, and next to its neighbours, in which one factor has another level. What was
promised is what the study's own runs of these cells say.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from penstock import _native
from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.experiment.bench import Bench
from penstock.session import Variant
from penstock.study import folder, rows
from penstock.study.cells import Outcome
from penstock.study.definition import Definition
from penstock.study.run import description, work
from penstock.study.schedule import StudySchedule
from penstock.study.table import Level, StudyTable, less_is_better, of_frame
from penstock.target import Target

if TYPE_CHECKING:
    from penstock.study.recommend import FactorAdvice

HALF = 0.5
"""The part of a promise that has to come."""

MATTERS = 5.0
"""A neighbour that is better by more than this, in per cent, is better."""

Levels: TypeAlias = Mapping[str, Any]


class RerunCell(NamedTuple):
    """The runs of a cell."""

    levels: Levels
    before: float
    """The geometric mean of the study's own runs."""
    now: Sequence[float]
    """Each of the new ones."""

    @property
    def mean(self) -> float:
        """The geometric mean of the new ones."""
        return _mean(self.now)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """Result of confirming the advice, for one level of `--by` if it is given."""

    level: Any
    response: str
    less: bool
    advice: RerunCell
    default: RerunCell
    neighbours: Sequence[tuple[str, RerunCell]]
    """Each with the factor that has another level."""
    factors: "Sequence[FactorAdvice]"
    """The study's advice for each factor; empty if the study has too few runs for any."""

    @property
    def promised_pct(self) -> float:
        """Gain of the advice over the default in the study, in per cent."""
        return self._gain(self.advice.before, self.default.before)

    @property
    def gain_pct(self) -> float:
        """Gain of the advice over the default in the new runs, in per cent."""
        return self._gain(self.advice.mean, self.default.mean)

    @property
    def interval_pct(self) -> tuple[float, float] | None:
        """95 % interval of `gain_pct`, by Welch; `None` if each cell was run once."""
        ends = _welch(self.advice.now, self.default.now)
        if ends is None:
            return None
        low, high = ends if not self.less else (-ends[1], -ends[0])
        return _percent(low), _percent(high)

    @property
    def came(self) -> bool:
        """Whether at least half of the promise came."""
        return self.gain_pct >= HALF * self.promised_pct

    @property
    def better(self) -> list[tuple[str, RerunCell]]:
        """Neighbours that turned out better than the advice."""
        return [
            (factor, cell)
            for factor, cell in self.neighbours
            if self._gain(cell.mean, self.advice.mean) > MATTERS
        ]

    def against(self, cell: RerunCell) -> float:
        """Returns by how much a cell is better than the advice, in per cent."""
        return self._gain(cell.mean, self.advice.mean)

    def _gain(self, value: float, over: float) -> float:
        ratio = over / value if self.less else value / over
        return 100 * (ratio - 1)


def _mean(values: Sequence[float]) -> float:
    return exp(fsum(map(log, values)) / len(values)) if all(value > 0 for value in values) else nan


def _percent(logarithm: float) -> float:
    return 100 * (exp(logarithm) - 1)


def _welch(values: Sequence[float], others: Sequence[float]) -> tuple[float, float] | None:
    """Between which bounds the difference of the means of the logarithms lies, at 95 %."""
    from scipy import stats

    if min(len(values), len(others)) < 2:
        return None
    logs, other_logs = [log(value) for value in values], [log(value) for value in others]
    if max(logs) == min(logs) and max(other_logs) == min(other_logs):
        return logs[0] - other_logs[0], logs[0] - other_logs[0]
    bounds = stats.ttest_ind(logs, other_logs, equal_var=False).confidence_interval(0.95)
    return float(bounds.low), float(bounds.high)


def unchanged(path: str) -> Definition:
    """The study of a folder, if its file and its job are still as they were."""
    before = folder.about(Path(path))
    if before is None:
        raise wrong(f"{path} holds no study", "name the folder that -o of `study run` named")
    study = Definition.load(before["study"])
    now = {**description(study), "job_text": study.job_text()}
    kept = [{key: about[key] for key in now} for about in (before, json.loads(json.dumps(now)))]
    if differences := folder.changes(*kept):
        raise wrong(
            f"the study in {path} has changed: {'; '.join(differences)}",
            "undo that: its advice is about what it was",
        )
    return study


def confirm(
    path: str,
    study: Definition,
    target: Target,
    *,
    sets: Sequence[str] = (),
    response: str | None = None,
    by: str | None = None,
    less: bool | None = None,
    repeat: int | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> list[Confirmed]:
    """Run what the folder of a study recommends anew; `say` is called with what runs next."""
    named = response or study.responses[0]
    if named not in study.responses:
        raise wrong(
            f"the study in {path} has no response {named}", f"it has {', '.join(study.responses)}"
        )
    schedule, task = StudySchedule(study), work(study, target, sets)
    better = less_is_better(named) if less is None else less
    names = [factor.name for factor in study.factors]
    if by is not None and by not in names:
        raise wrong(f"the study in {path} has no factor {by}", f"it has {', '.join(names)}")
    table = of_frame(rows.read(path), source=path, response=named, factors=names)
    means = _means(table, schedule)
    parts = [None] if by is None else list(dict.fromkeys(cell[by] for cell in schedule.cells))
    plans = [_plan(schedule, means, by, level, less=better) for level in parts]
    again = study.repeat if repeat is None else repeat
    seeds = iter(
        _native.drawn(study.seed, "confirm", again * sum(len(plan.every) for plan in plans))
    )
    results: list[Confirmed] = []
    with task.bench([task.variant(schedule.sets(plans[0].advice))]) as bench:
        for plan in plans:
            where = "" if by is None else f"{by} = {schedule.levels(plan.advice)[by]}: "
            say(f"{where}{len(plan.every)} cells, {again} times each")
            # In rounds of all cells, so that a drift meets all of them.
            order = list(plan.every) * again
            variants = [task.variant(schedule.sets(cell), next(seeds)) for cell in order]
            values = _run(bench, variants, study.responses.index(named))

            def measured(
                cell: int, values: Sequence[float] = values, plan: _Plan = plan
            ) -> RerunCell:
                now = values[plan.every.index(cell) :: len(plan.every)]
                return RerunCell(schedule.levels(cell), means[cell], now)

            part = None if by is None else schedule.levels(plan.advice)[by]
            results.append(
                Confirmed(
                    level=part,
                    response=named,
                    less=better,
                    advice=measured(plan.advice),
                    default=measured(plan.default),
                    neighbours=[(factor, measured(cell)) for factor, cell in plan.neighbours],
                    factors=_factors(table, by, part, less=better),
                )
            )
    return results


def _factors(
    table: StudyTable, by: str | None, level: Level, *, less: bool
) -> "Sequence[FactorAdvice]":
    """The advice of the study for each factor, as its analysis has it."""
    from penstock.study.analysis import analyse

    try:
        return analyse(table if by is None else table.only(by, level), less=less).advice
    except PenstockError:
        # A study of few runs has a best cell, and nothing to tell effects from noise.
        return ()


def _means(table: StudyTable, schedule: StudySchedule) -> dict[int, float]:
    """The geometric mean of the runs of each cell that is recorded."""
    by_levels: dict[tuple[Any, ...], list[float]] = {}
    names = [factor.name for factor in schedule.study.factors]
    for *levels, value in table.frame.select(*names, table.response).iter_rows():
        by_levels.setdefault(tuple(levels), []).append(value)
    every = ((at, tuple(schedule.levels(at).values())) for at in range(len(schedule.cells)))
    return {at: _mean(by_levels[levels]) for at, levels in every if levels in by_levels}


class _Plan(NamedTuple):
    """Numbers of the cells that run."""

    advice: int
    default: int
    neighbours: Sequence[tuple[str, int]]

    @property
    def every(self) -> list[int]:
        """Each once."""
        return list(
            dict.fromkeys([self.advice, self.default, *(cell for _, cell in self.neighbours)])
        )


def _plan(
    schedule: StudySchedule,
    means: Mapping[int, float],
    by: str | None,
    level: int | None,
    *,
    less: bool,
) -> _Plan:
    """The best cell, the first level of each factor, and all cells next to the best."""
    cells = {at: cell for at, cell in enumerate(schedule.cells) if by is None or cell[by] == level}
    known = [at for at in cells if at in means]
    if not known:
        raise wrong("the study has no runs yet", "run it: `penstock study run`")
    advice = (min if less else max)(known, key=means.__getitem__)
    default = next((at for at in known if _is_first(cells[at], by)), None)
    if default is None:
        raise wrong(
            "the cell of the first level of each factor is not among the runs of the study",
            "advice is held to it: list the usual level of each factor first",
        )
    apart = (
        (at, [cell for cell in cells[at] if cells[at][cell] != cells[advice][cell]]) for at in known
    )
    return _Plan(advice, default, [(names[0], at) for at, names in apart if len(names) == 1])


def _is_first(cell: Mapping[str, int], by: str | None) -> bool:
    return all(level == 0 for name, level in cell.items() if name != by)


def _run(bench: Bench[Outcome], variants: Sequence[Variant], response: int) -> list[float]:
    """The response of each run."""
    outcomes = bench.run(variants)
    for outcome in outcomes:
        if outcome.failure is not None:
            raise PenstockError(f"error: a run failed: {outcome.failure}", exit_code=RUN_FAILED)
    return [outcome.values[response] for outcome in outcomes]
