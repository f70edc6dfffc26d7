"""The paper's study on this machine: a fraction of its cells, next to the modelled machine.

Files in a folder stand for the paper's disks, so the factor D is files of one disk. A pilot
measures what runs take, and from that follow the amounts of a run and how many cells the budget
allows. These run once each, one at a time, in random order, with runs of a reference cell between
them, and are simulated as `penstock paper ioagent` does.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from penstock import _native
from penstock.errors import CANNOT_HERE, PenstockError, needs
from penstock.experiment import plan
from penstock.experiment.budget import SPARE, Budget, Over
from penstock.experiment.plan import Cell
from penstock.papers.ioagent import analyses, campaign, setting
from penstock.papers.ioagent import live_compare as compare
from penstock.papers.ioagent.campaign import RESPONSE
from penstock.papers.ioagent.live_compare import Effect, Judged
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
from penstock.papers.ioagent.live_runs import Runs, available_memory, opened, own_folder
from penstock.papers.ioagent.setting import FACTORS, Setting
from penstock.papers.published import Row
from penstock.results.steps import Progress
from penstock.study import remarks
from penstock.study.difference import Ranks, ranks
from penstock.study.drift import Drift, drift
from penstock.study.fit import Fit
from penstock.study.folder import Folder
from penstock.study.rows import frame

SEED = 1
"""Of the fraction, the order and what is drawn."""

MODEL = f"model_{RESPONSE}"
"""The rate of a cell on the modelled machine."""

MEASURED = "measured"
"""The world of runs on real files."""

PILOT = 8
"""Cells of each pattern whose time is measured before."""

AGAIN = 4
"""The comparison after the runs may take so many times what it took of the model before: it is made
of both machines then, of more cells perhaps, and next to other work."""


@dataclass(frozen=True, kw_only=True)
class PatternFound:
    """A pattern on both machines."""

    pattern: str
    cells: int
    possible: int
    coefficients: int
    ranks: Ranks | None
    references: int
    """Runs of the reference cell."""
    noise_pct: float | None
    """By how much these differ from each other."""
    drift: Drift | None
    here: Sequence[Effect]
    model: Sequence[Effect]


@dataclass(frozen=True, kw_only=True)
class Live:
    """Results of all runs."""

    folder: str
    machine: str
    file_bytes: int
    files: int
    part: int
    """Each run moved one of so many parts of the amount of the simulation."""
    budget_s: float
    seconds: float
    """All of it took so long."""
    planned: int
    runs: int
    """Of the design, without those of the reference cell and of the pilot."""
    stopped: bool
    """The budget ended before all planned cells had run."""
    patterns: Sequence[PatternFound]
    here: Mapping[str, Judged]
    model: Mapping[str, Judged]
    left_out: Sequence[LeftOut]
    remarks: Sequence[tuple[str, int]]
    """What has to be known of runs, and of how many."""
    rows: Sequence[Row]
    """The rate of each cell here, `bw_bytes`, and on the model, `model_bw_bytes`."""


class Machine(NamedTuple):
    """Results of the cells of a machine."""

    fits: Mapping[str, Fit]
    """Of each pattern with enough cells."""
    judged: Mapping[str, Judged]


class Planned(NamedTuple):
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
) -> Live:
    """Run what the budget allows in `folder`, with what is `given` set, and compare.

    Every row goes to the folder of a study at `data` at once, if that is named.
    """
    needs("statsmodels", feature="paper ioagent live")
    return _Study(folder, budget_s, arguments, progress).made(data)


class _Study:
    """All steps of it, with the clock."""

    def __init__(
        self, folder: str, budget_s: float, arguments: Mapping[str, str], progress: Progress | None
    ) -> None:
        self.budget = Budget(budget_s)
        self.folder = folder
        self.of: Setting = setting.read(arguments)
        self._say = progress or (lambda _what, _done: None)
        cells = plan.every(self.of.factors)
        self.cells, out = runnable(cells, available_memory())
        self.left_out = [
            LeftOut({"pattern": pattern, **cell}, why)
            for pattern in self.of.patterns
            for cell, why in out
        ]
        self.factors = {
            name: [level for level in levels if any(cell[name] == level for cell in self.cells)]
            for name, levels in self.of.factors.items()
        }
        several = [name for name, levels in self.factors.items() if len(levels) > 1]
        self.patterns = [
            Pattern(
                name=name,
                terms=analyses.terms(name, several),
                factors=self.factors,
                cells=self.cells,
            )
            for name in self.of.patterns
        ]
        for one in self.patterns:
            one.check()
        self._made = 0
        """Runs that were made, without those of the pilot."""
        self._simulating_s = 0.0
        """What the simulation of a cell takes, in the pattern that takes longest."""

    def made(self, data: str | None) -> Live:
        """All of it."""
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
            self._machine(simulated)
            self.budget.reserved_s = AGAIN * (time.monotonic() - began)
            levels = {"pattern": self.of.patterns, **self.factors}
            rows: list[dict[str, Any]] = []
            each: float | None = None
            with _recording(data, levels, len(order)) as record:
                while order:
                    each = self._run(runs, order, part, rows, record)
                    order = self._order([self._more(simulated, each)], len(simulated))
                    simulated += self._simulated(order)
            planned = len(simulated)
            self._say("comparing", 1.0)
            ran = {_key(row) for row in rows if not row["reference"]}
            simulated = [row for row in simulated if _key(row) in ran]
            here, model = self._machine(rows), self._machine(simulated)
            return Live(
                folder=self.folder,
                machine=rows[0]["machine"] if rows else "",
                file_bytes=size,
                files=files_most,
                part=part,
                budget_s=self.budget.seconds,
                seconds=self.budget.spent_s,
                planned=planned,
                runs=len(ran),
                stopped=each is None,
                patterns=[
                    self._pattern(one, rows, simulated, here, model) for one in self.patterns
                ],
                here=here.judged,
                model=model.judged,
                left_out=[*self.left_out, *runs.left_out],
                remarks=[(one.text, one.runs) for one in remarks.counted(runs.remarks)],
                rows=_pairs(rows, simulated),
            )

    def _pilot(self, runs: Runs) -> tuple[int, list[float]]:
        """Which part of the amounts a run moves, and what a cell of each pattern takes then.

        That is the run and its simulation. The smallest amounts are measured first, so that a slow
        disk is known before it takes long.
        """
        until = self.budget.pilot()
        part = max(PARTS)
        found = self._timed(runs, part, until)
        if len(found) < len(self.patterns):
            raise self._too_small([*map(sum, found)])
        larger = part_of(self.patterns, found, part, self.budget.left_s, pilot=PILOT)
        if larger is None:
            raise self._too_small([*map(sum, found)])
        if larger < part:
            again = self._timed(runs, larger, until)
            if len(again) == len(self.patterns):
                part, found = larger, again
        return part, [sum(one) for one in found]

    def _timed(self, runs: Runs, part: int, until: Budget) -> list[tuple[float, float]]:
        """Returns the mean time of a cell of each pattern: the fixed part, and the rest.

        No run begins once `until` is over: patterns are missing for which there was no time.
        """
        found: list[tuple[float, float]] = []
        for at, one in enumerate(self.patterns):
            self._say("measuring what runs take", at / len(self.patterns))
            some = _shuffled(f"pilot {one.name}", len(one.cells))[:PILOT]
            cells = [{"pattern": one.name, **one.cells[number]} for number in some]
            times = []
            for cell in cells:
                began = time.monotonic()
                try:
                    until.check()
                    outcome = runs.run(cell, part, SEED)
                except Over:
                    return found
                if outcome is not None:
                    whole = time.monotonic() - began
                    times.append((whole - outcome.seconds, outcome.seconds))
            if not times:
                why = f"none of {len(cells)} cells of {one.name} can run: {runs.left_out[-1].why}"
                hint = "`penstock doctor` says what this machine can do"
                raise PenstockError(f"error: {why}\nhint: {hint}", exit_code=CANNOT_HERE)
            began = time.monotonic()
            campaign.rows(self.of, cells)
            simulating = (time.monotonic() - began) / len(cells)
            self._simulating_s = max(self._simulating_s, simulating)
            fixed, moving = (sum(each) / len(times) for each in zip(*times, strict=True))
            found.append((fixed + simulating, moving))
        return found

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
        each = [*seconds, *[mean] * (len(self.patterns) - len(seconds))]
        fewest = sum(one.fewest for one in self.patterns)
        return self.budget.too_small(
            f"the fewest cells from which the paper's models can be fitted, {fewest}, take",
            needed(self.patterns, each),
            "files and a pilot",
            fewer,
        )

    def _stages(self, many: Sequence[int]) -> list[list[Cell]]:
        """All cores, and the rest of so many cells of each pattern."""
        stages: list[list[Cell]] = [[], []]
        for one, count in zip(self.patterns, many, strict=True):
            for stage, cells in zip(stages, one.fraction(count, SEED), strict=True):
                stage += [{"pattern": one.name, **cell} for cell in cells]
        return stages

    def _order(self, stages: Sequence[Sequence[Cell]], made: int = 0) -> list[Planned]:
        """The runs of some stages after each other, each at random, with the reference cells."""
        middle_cell = middle(self.factors)

        def reference(number: int) -> Planned:
            pattern = self.patterns[number % len(self.patterns)].name
            return Planned({"pattern": pattern, **middle_cell}, reference=True)

        found: list[Planned] = []
        for stage in stages:
            order = _shuffled(f"order {made}", len(stage))
            runs = [Planned(stage[number]) for number in order]
            found += plan.with_references(runs, REFERENCE_EVERY, reference, before=made)
            made += len(stage)
        return found

    def _simulated(self, order: Sequence[Planned]) -> list[Row]:
        """The cells of some runs on the modelled machine."""
        self._say("simulating the same cells", 0.0)
        cells = [one.cell for one in order if not one.reference]
        return campaign.cells(campaign.rows(self.of, cells))

    def _more(self, planned: Sequence[Row], each: float | None) -> list[Cell]:
        """Cells for the time that is left, if a run and its simulation take so many seconds.

        They are drawn, equally many of each pattern: any cell adds to what is known.
        """
        known = {_key(row) for row in planned}
        found: list[Cell] = []
        if each is None:
            return found
        left = SPARE * self.budget.left_s / with_references(each)
        for one in self.patterns:
            every = [{"pattern": one.name, **cell} for cell in one.cells]
            cells = [cell for cell in every if _key(cell) not in known]
            some = _shuffled(f"more {one.name} {len(planned)}", len(cells))
            found += [cells[number] for number in some[: int(left / len(self.patterns))]]
        return found if len(found) >= REFERENCE_EVERY else []

    def _run(
        self,
        runs: Runs,
        order: Sequence[Planned],
        part: int,
        rows: list[dict[str, Any]],
        record: Callable[[Row], object],
    ) -> float | None:
        """Adds the rows of all these runs; returns the seconds that a cell takes.

        None if the time was up before the last.
        """
        began, first = time.monotonic(), self._made
        for at, one in enumerate(order):
            self._say(f"{at} of {len(order)} runs", at / len(order))
            number = first + at
            seed = _native.drawn(SEED, "run", number + 1)[number]
            try:
                outcome = runs.run(one.cell, part, seed)
            except Over:
                return None
            self._made += 1
            if outcome is None:
                continue
            row = {
                "run": number,
                "order": number,
                "block": 0,
                "replicate": _again(one.cell, rows) if one.reference else 0,
                "seed": seed,
                **one.cell,
                **outcome.columns([RESPONSE]),
                "reference": one.reference,
            }
            rows.append(row)
            record(row)
        return (time.monotonic() - began) / len(order) + self._simulating_s

    def _machine(self, rows: Sequence[Row]) -> Machine:
        """The models and the claims of some rows."""
        fits = {}
        for one in self.patterns:
            own = (row for row in rows if row["pattern"] == one.name)
            ran = {_key(row) for row in own if not row.get("reference")}
            if len(ran) > one.coefficients:
                with suppress(PenstockError):
                    fits[one.name] = compare.fitted(one.name, rows)
        cells = plan.every(self.factors)
        return Machine(fits, compare.judged(fits, cells, SEED))

    def _pattern(
        self,
        pattern: Pattern,
        rows: Sequence[Row],
        simulated: Sequence[Row],
        here: Machine,
        model: Machine,
    ) -> PatternFound:
        own = [row for row in rows if row["pattern"] == pattern.name]
        references = [row[RESPONSE] for row in own if row["reference"]]
        pairs = _pairs(own, simulated)
        fit = here.fits.get(pattern.name)
        return PatternFound(
            pattern=pattern.name,
            cells=len(pairs),
            possible=len(plan.every(self.of.factors)),
            coefficients=pattern.coefficients,
            ranks=ranks([row[RESPONSE] for row in pairs], [row[MODEL] for row in pairs]),
            references=len(references),
            noise_pct=compare.noise(references),
            drift=None if fit is None else drift(fit),
            here=[] if fit is None else compare.effects(fit),
            model=compare.effects(model.fits[pattern.name]) if pattern.name in model.fits else [],
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
    kinds = {name: type(each[0]) for name, each in levels.items()}
    factors = [
        {"name": name, "levels": list(each)} for name, each in levels.items() if len(each) > 1
    ]
    with closing(Folder(Path(path), resume=False)) as folder:
        folder.begin({"factors": factors, "responses": [RESPONSE], "world": MEASURED, "runs": runs})
        yield lambda row: folder.append(frame([row], kinds, [RESPONSE]))
