"""The paper's study on this machine: a fraction of its cells, next to the modelled machine.

Files in a folder stand for the paper's disks, so the factor D is files of one disk. A pilot
measures what runs take, and from that follow the amounts of a run and how many cells the budget
allows. These run once each, one at a time, in random order, with runs of a reference cell between
them, and are simulated as `penstock paper ioagent` does.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from penstock import _native
from penstock.errors import CANNOT_HERE, PenstockError, needs
from penstock.experiment import plan
from penstock.experiment.budget import SPARE, Budget, Over
from penstock.experiment.plan import Cell
from penstock.papers.ioagent import analyses, campaign, live_claims, setting
from penstock.papers.ioagent.campaign import RESPONSE
from penstock.papers.ioagent.live_claims import JudgedClaim
from penstock.papers.ioagent.live_fraction import (
    PARTS,
    REFERENCE_EVERY,
    LeftOut,
    Pattern,
    counts,
    middle,
    needed,
    part_of,
    runnable,
    with_references,
)
from penstock.papers.ioagent.live_results import MachineEffect, MachineStudy, PatternResult
from penstock.papers.ioagent.live_runs import Runs, available_memory, opened, own_folder
from penstock.papers.ioagent.setting import FACTORS, IoagentSetting
from penstock.papers.published import Row
from penstock.results.steps import Progress
from penstock.study import remarks
from penstock.study.compare import StudyComparison
from penstock.study.difference import ranks
from penstock.study.drift import drift
from penstock.study.folder import Folder
from penstock.study.rows import frame

SEED = 1
"""Seed of the fraction, of the order and of all draws."""

MODEL = f"model_{RESPONSE}"
"""The rate of a cell on the modelled machine."""

MEASURED = "measured"
"""The world of runs on real files."""

PILOT = 8
"""Cells of each pattern whose time is measured before."""

AGAIN = 4
"""Time reserved for the comparison after the runs, as a multiple of that on the model alone: it has
both machines then, more cells perhaps, and runs next to other work."""


class PlannedRun(NamedTuple):
    """A run of a cell that is to be made."""

    cell: Cell
    reference: bool = False


def ioagent_live(
    folder: str,
    budget_s: float,
    arguments: Mapping[str, str],
    *,
    data: str | None = None,
    progress: Progress | None = None,
) -> MachineStudy:
    """Run what the budget allows in `folder`, with the `arguments` of `--set`, and compare.

    Every row goes to the folder of a study at `data` at once, if that is named.
    """
    needs("statsmodels", feature="paper ioagent live")
    return _BudgetedStudy(folder, budget_s, arguments, progress).made(data)


class _BudgetedStudy:
    """A study within its budget, step by step."""

    def __init__(
        self, folder: str, budget_s: float, arguments: Mapping[str, str], progress: Progress | None
    ) -> None:
        self.budget = Budget(budget_s)
        self.folder = folder
        self.setting: IoagentSetting = setting.read(arguments)
        self._say = progress or (lambda _what, _done: None)
        cells = plan.every(self.setting.factors)
        self.cells, out = runnable(cells, available_memory())
        self.left_out = [
            LeftOut({"pattern": pattern, **cell}, why)
            for pattern in self.setting.patterns
            for cell, why in out
        ]
        self.factors = {
            name: [level for level in levels if any(cell[name] == level for cell in self.cells)]
            for name, levels in self.setting.factors.items()
        }
        several = [name for name, levels in self.factors.items() if len(levels) > 1]
        self.patterns = [
            Pattern(
                name=name,
                terms=analyses.terms(name, several),
                factors=self.factors,
                cells=self.cells,
            )
            for name in self.setting.patterns
        ]
        for pattern in self.patterns:
            pattern.check()
        self._made = 0
        """Runs that were made, without those of the pilot."""
        self._simulating_s = 0.0
        """Seconds of the simulation of a cell, in the pattern that takes longest."""

    def made(self, data: str | None) -> MachineStudy:
        """Runs the study; its rows go to a folder at `data`, if that is named."""
        files_most = max(self.factors["D"])
        largest = {"pattern": self.patterns[0].name, **self.cells[-1], "D": files_most}
        self._say("making files", 0.0)
        with (
            own_folder(self.folder, files_most, self.budget.seconds) as (place, size),
            opened(place, size, largest, self.budget) as runs,
        ):
            part, seconds = self._pilot(runs)
            many = counts(self.patterns, seconds, self.budget.left_s)
            if many is None:
                raise self._too_small(seconds)
            order = self._order(self._stages(many))
            simulated = self._simulated(order)
            began = time.monotonic()
            self._judged(self._comparisons(simulated, simulated), 1)
            self.budget.reserved_s = AGAIN * (time.monotonic() - began)
            levels = {"pattern": self.setting.patterns, **self.factors}
            rows: list[dict[str, Any]] = []
            seconds_each: float | None = None
            with _recording(data, levels, len(order)) as record:
                while order:
                    seconds_each = self._run(runs, order, part, rows, record)
                    order = self._order([self._more(simulated, seconds_each)], len(simulated))
                    simulated += self._simulated(order)
            planned = len(simulated)
            self._say("comparing", 1.0)
            ran = {_key(row) for row in rows if not row["reference"]}
            simulated = [row for row in simulated if _key(row) in ran]
            comparisons = self._comparisons(rows, simulated)
            return MachineStudy(
                folder=self.folder,
                machine=rows[0]["machine"] if rows else "",
                file_bytes=size,
                files=files_most,
                part=part,
                budget_s=self.budget.seconds,
                seconds=self.budget.spent_s,
                planned=planned,
                runs=len(ran),
                stopped=seconds_each is None,
                patterns=[
                    self._pattern(pattern, rows, simulated, comparisons.get(pattern.name))
                    for pattern in self.patterns
                ],
                here=self._judged(comparisons, 0),
                model=self._judged(comparisons, 1),
                left_out=[*self.left_out, *runs.left_out],
                remarks=[(remark.text, remark.runs) for remark in remarks.counted(runs.remarks)],
                rows=_pairs(rows, simulated),
            )

    def _pilot(self, runs: Runs) -> tuple[int, list[float]]:
        """Returns the part of the amounts that a run moves, and the seconds of a cell then.

        A cell takes its run and its simulation. The smallest amounts are measured first, so that a
        slow disk is known before it takes long.
        """
        until = self.budget.pilot()
        part = max(PARTS)
        times = self._timed(runs, part, until)
        if len(times) < len(self.patterns):
            raise self._too_small([*map(sum, times)])
        larger = part_of(self.patterns, times, part, self.budget.left_s, pilot=PILOT)
        if larger is None:
            raise self._too_small([*map(sum, times)])
        if larger < part:
            again = self._timed(runs, larger, until)
            if len(again) == len(self.patterns):
                part, times = larger, again
        return part, [sum(pattern_times) for pattern_times in times]

    def _timed(self, runs: Runs, part: int, until: Budget) -> list[tuple[float, float]]:
        """Returns the mean time of a cell of each pattern: the fixed part, and the rest.

        No run begins once `until` is over: patterns are missing for which there was no time.
        """
        means: list[tuple[float, float]] = []
        for at, pattern in enumerate(self.patterns):
            self._say("measuring what runs take", at / len(self.patterns))
            some = _shuffled(f"pilot {pattern.name}", len(pattern.cells))[:PILOT]
            cells = [{"pattern": pattern.name, **pattern.cells[number]} for number in some]
            times = []
            for cell in cells:
                began = time.monotonic()
                try:
                    until.check()
                    outcome = runs.run(cell, part, SEED)
                except Over:
                    return means
                if outcome is not None:
                    whole = time.monotonic() - began
                    times.append((whole - outcome.seconds, outcome.seconds))
            if not times:
                why = (
                    f"none of {len(cells)} cells of {pattern.name} can run: {runs.left_out[-1].why}"
                )
                hint = "`penstock doctor` says what this machine can do"
                raise PenstockError(f"error: {why}\nhint: {hint}", exit_code=CANNOT_HERE)
            began = time.monotonic()
            campaign.rows(self.setting, cells)
            simulating = (time.monotonic() - began) / len(cells)
            self._simulating_s = max(self._simulating_s, simulating)
            fixed, moving = (sum(parts) / len(times) for parts in zip(*times, strict=True))
            means.append((fixed + simulating, moving))
        return means

    def _too_small(self, seconds: Sequence[float]) -> PenstockError:
        """Returns the error for too small a budget, by the seconds of a cell of known patterns."""
        fewer = "fewer levels, as --set A=1,8,32 --set B=1,8,32"
        if not seconds:
            return self.budget.refused(
                f"the {PILOT} runs of a pilot had not ended in a part of it",
                f"name a longer one, as --budget 10min, or {fewer}",
            )
        # Patterns that are not known yet take as long as the others.
        mean = sum(seconds) / len(seconds)
        of_patterns = [*seconds, *[mean] * (len(self.patterns) - len(seconds))]
        fewest = sum(pattern.fewest for pattern in self.patterns)
        return self.budget.too_small(
            f"the fewest cells from which the paper's models can be fitted, {fewest}, take",
            needed(self.patterns, of_patterns),
            "files and a pilot",
            fewer,
        )

    def _stages(self, many: Sequence[int]) -> list[list[Cell]]:
        """All cores, and the rest of so many cells of each pattern."""
        stages: list[list[Cell]] = [[], []]
        for pattern, count in zip(self.patterns, many, strict=True):
            for stage, cells in zip(stages, pattern.fraction(count, SEED), strict=True):
                stage += [{"pattern": pattern.name, **cell} for cell in cells]
        return stages

    def _order(self, stages: Sequence[Sequence[Cell]], made: int = 0) -> list[PlannedRun]:
        """The runs of some stages after each other, each at random, with the reference cells."""
        middle_cell = middle(self.factors)

        def reference(number: int) -> PlannedRun:
            pattern = self.patterns[number % len(self.patterns)].name
            return PlannedRun({"pattern": pattern, **middle_cell}, reference=True)

        planned: list[PlannedRun] = []
        for stage in stages:
            order = _shuffled(f"order {made}", len(stage))
            runs = [PlannedRun(stage[number]) for number in order]
            planned += plan.with_references(runs, REFERENCE_EVERY, reference, before=made)
            made += len(stage)
        return planned

    def _simulated(self, order: Sequence[PlannedRun]) -> list[Row]:
        """The cells of some runs on the modelled machine."""
        self._say("simulating the same cells", 0.0)
        cells = [run.cell for run in order if not run.reference]
        return campaign.cells(campaign.rows(self.setting, cells))

    def _more(self, planned: Sequence[Row], seconds_each: float | None) -> list[Cell]:
        """Cells for the time that is left, if a run and its simulation take `seconds_each`.

        They are drawn, equally many of each pattern: any cell adds to what is known.
        """
        ran = {_key(row) for row in planned}
        drawn: list[Cell] = []
        if seconds_each is None:
            return drawn
        left = SPARE * self.budget.left_s / with_references(seconds_each)
        for pattern in self.patterns:
            every = [{"pattern": pattern.name, **cell} for cell in pattern.cells]
            cells = [cell for cell in every if _key(cell) not in ran]
            some = _shuffled(f"more {pattern.name} {len(planned)}", len(cells))
            drawn += [cells[number] for number in some[: int(left / len(self.patterns))]]
        return drawn if len(drawn) >= REFERENCE_EVERY else []

    def _run(
        self,
        runs: Runs,
        order: Sequence[PlannedRun],
        part: int,
        rows: list[dict[str, Any]],
        record: Callable[[Row], object],
    ) -> float | None:
        """Adds the rows of all these runs; returns the seconds of a cell.

        `None` if the time was up before the last.
        """
        began, first = time.monotonic(), self._made
        for at, planned in enumerate(order):
            self._say(f"{at} of {len(order)} runs", at / len(order))
            number = first + at
            seed = _native.drawn(SEED, "run", number + 1)[number]
            try:
                outcome = runs.run(planned.cell, part, seed)
            except Over:
                return None
            self._made += 1
            if outcome is None:
                continue
            row = {
                "run": number,
                "order": number,
                "block": 0,
                "replicate": _again(planned.cell, rows) if planned.reference else 0,
                "seed": seed,
                **planned.cell,
                **outcome.columns([RESPONSE]),
                "reference": planned.reference,
            }
            rows.append(row)
            record(row)
        return (time.monotonic() - began) / len(order) + self._simulating_s

    def _comparisons(
        self, rows: Sequence[Row], simulated: Sequence[Row]
    ) -> dict[str, StudyComparison]:
        """Both machines in each pattern with enough cells for the paper's model."""
        comparisons = {}
        for pattern in self.patterns:
            of_pattern = (row for row in rows if row["pattern"] == pattern.name)
            ran = {_key(row) for row in of_pattern if not row.get("reference")}
            if len(ran) > pattern.coefficients:
                with suppress(PenstockError):
                    comparisons[pattern.name] = live_claims.compared(pattern.name, rows, simulated)
        return comparisons

    def _judged(
        self, comparisons: Mapping[str, StudyComparison], machine: int
    ) -> dict[str, JudgedClaim]:
        """The claims on the first or the second machine."""
        fits = {name: comparison.fits[machine] for name, comparison in comparisons.items()}
        return live_claims.judged(fits, plan.every(self.factors), SEED)

    def _pattern(
        self,
        pattern: Pattern,
        rows: Sequence[Row],
        simulated: Sequence[Row],
        comparison: StudyComparison | None,
    ) -> PatternResult:
        of_pattern = [row for row in rows if row["pattern"] == pattern.name]
        references = [row[RESPONSE] for row in of_pattern if row["reference"]]
        both = _pairs(of_pattern, simulated)
        effects = [] if comparison is None else comparison.effects
        main = [effect for effect in effects if len(effect.term) == 1]
        return PatternResult(
            pattern=pattern.name,
            cells=len(both),
            possible=len(plan.every(self.setting.factors)),
            coefficients=pattern.coefficients,
            ranks=ranks([row[RESPONSE] for row in both], [row[MODEL] for row in both]),
            references=len(references),
            noise_pct=live_claims.noise(references),
            drift=None if comparison is None else drift(comparison.fits[0]),
            here=[
                MachineEffect(effect.term[0], effect.levels[0], *effect.first) for effect in main
            ],
            model=[
                MachineEffect(effect.term[0], effect.levels[0], *effect.second) for effect in main
            ],
        )


def _again(cell: Cell, rows: Sequence[Row]) -> int:
    """How often this reference cell has run before."""
    return sum(row["reference"] and row["pattern"] == cell["pattern"] for row in rows)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("pattern", *FACTORS))


def _pairs(rows: Sequence[Row], simulated: Sequence[Row]) -> list[Row]:
    """The cells that ran on both machines, with both rates."""
    model = {_key(row): row[RESPONSE] for row in simulated}
    return [
        {
            **{name: row[name] for name in ("pattern", *FACTORS, RESPONSE)},
            MODEL: model[_key(row)],
        }
        for row in rows
        if not row["reference"]
    ]


def _shuffled(label: str, count: int) -> list[int]:
    """The numbers below `count` in an order that is drawn."""
    return plan.shuffled(range(count), SEED, label, count)


@contextmanager
def _recording(
    path: str | None, levels: Mapping[str, Sequence[Any]], runs: int
) -> Iterator[Callable[[Row], object]]:
    """Records each row in a new folder, as that of a study, if one is named."""
    if path is None:
        yield lambda _row: None
        return
    kinds = {name: type(of_factor[0]) for name, of_factor in levels.items()}
    factors = [
        {"name": name, "levels": list(several)}
        for name, several in levels.items()
        if len(several) > 1
    ]
    with closing(Folder(Path(path), resume=False)) as folder:
        folder.begin({"factors": factors, "responses": [RESPONSE], "world": MEASURED, "runs": runs})
        yield lambda row: folder.append(frame([row], kinds, [RESPONSE]))
