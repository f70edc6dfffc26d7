"""`penstock study run --budget`: whole blocks only, the price before, and what is refused."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path

import pytest

from command import penstock
from penstock.errors import PenstockError
from penstock.experiment.budget import SPARE, Budget, Over, whole_rounds, within
from penstock.experiment.trial import Progress, Setup
from penstock.session import Session, Variant
from penstock.study import rows
from penstock.study.cells import Outcome
from penstock.study.definition import Definition
from penstock.study.run import PILOT, Ran, run
from penstock.target import Target
from test_study_run import STUDY, study

CELLS = 6
"""Cells of `STUDY`, which has three blocks of them."""


class Clock:
    """A clock that only runs advance."""

    now = 100.0
    run_s = 1.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Each run takes `run_s` by this clock."""
    ticking, made = Clock(), Setup.run

    def slow(
        setup: Setup[Outcome],
        session: Session,
        variants: Sequence[Variant],
        progress: Progress | None = None,
        *,
        partial: bool = False,
    ) -> list[Outcome]:
        ticking.now += ticking.run_s * len(variants)
        return made(setup, session, variants, progress, partial=partial)

    monkeypatch.setattr(Setup, "run", slow)
    return ticking


def ran(
    folder: Path, clock: Clock, budget_s: float, *, resume: bool = False
) -> tuple[Ran, list[str]]:
    said: list[str] = []
    result = run(
        Definition.load(study(folder)),
        folder / "out",
        Target(),
        workers=1,
        resume=resume,
        budget=Budget(budget_s, clock),
        say=said.append,
    )
    return result, said


def test_only_whole_rounds_fit() -> None:
    prices = [10.0, 5.0, 5.0]
    assert whole_rounds(prices, 9.9 / SPARE) == 0
    assert whole_rounds(prices, 10.1 / SPARE) == 1
    assert whole_rounds(prices, 19.9 / SPARE) == 2
    assert whole_rounds(prices, 20.1 / SPARE) == 3
    assert whole_rounds([], 1) == 0
    assert whole_rounds([1.0], -1) == 0


def test_what_rounds_took_corrects_the_price_of_the_next() -> None:
    def made(takes: Iterable[float], budget_s: float) -> int:
        clock, count = Clock(), 0
        rounds: Iterator[list[int]] = repeat([0, 0], 10)
        for (_, _), seconds in zip(
            within(rounds, Budget(budget_s, clock), lambda one: 5.0 * len(one)), takes, strict=False
        ):
            clock.now += seconds
            count += 1
        return count

    assert made(repeat(10.0, 20), 45 / SPARE) == 4
    assert made(repeat(20.0, 20), 45 / SPARE) == 2, "runs are slower than in the pilot"
    assert made(repeat(5.0, 20), 45 / SPARE) == 9, "runs are faster than in the pilot"


def test_a_budget_that_is_over_ends_what_is_under_way() -> None:
    clock = Clock()
    budget = Budget(10, clock)
    clock.now += 4
    assert (budget.spent_s, budget.left_s, budget.pilot().seconds) == (4, 6, 1.5)
    budget.check()
    budget.reserved_s = 6
    with pytest.raises(Over):
        budget.check()


def test_blocks_that_do_not_fit_are_left_out_as_a_whole(tmp_path: Path, clock: Clock) -> None:
    budget_s = PILOT + (2 * CELLS + 1) / SPARE
    found, said = ran(tmp_path, clock, budget_s)
    assert said == [
        "3 blocks, 18 runs in all, take about 18.0 s: 1.00 s a run in a pilot, on 1 processor; "
        "2 of them fit into --budget 20.4 s"
    ]
    assert (found.done, found.runs, found.blocks) == (2 * CELLS, 3 * CELLS, 2)
    frame = rows.read(tmp_path / "out")
    assert frame.group_by("A", "S").len()["len"].to_list() == [2] * CELLS
    # The rest is that of the same study.
    found, said = ran(tmp_path, clock, 1000, resume=True)
    assert said[0].startswith("1 block, 6 runs in all, take")
    assert said[0].endswith("; all fit into --budget 16.7 min")
    assert (found.done, found.resumed, found.blocks) == (3 * CELLS, 2 * CELLS, 1)
    # Nothing is left, so that nothing is timed.
    now = clock.now
    assert ran(tmp_path, clock, 1, resume=True)[1] == []
    assert clock.now == now


def test_a_budget_without_room_for_a_block_is_refused_with_what_would_do(
    tmp_path: Path, clock: Clock
) -> None:
    clock.run_s = 20.0
    with pytest.raises(PenstockError) as refused:
        ran(tmp_path, clock, 150)
    # A quarter of the budget is over after two runs of the pilot.
    assert str(refused.value) == (
        "error: --budget 2.50 min is too small: the next block, 6 runs, takes about 2.00 min here, "
        "after 40.0 s for a pilot\n"
        "hint: --budget 5min would do, or fewer cells (4 runs would fit): "
        '`design = "fraction"` chooses some'
    )
    assert not (tmp_path / "out").exists()
    assert ran(tmp_path, clock, 300)[0].blocks == 1, "what the hint names does"


def test_the_command_prints_the_price_and_what_is_left_out(tmp_path: Path) -> None:
    path = study(tmp_path)
    ended = penstock("study", "run", path, "-o", tmp_path / "all", "--budget", "1h", "--json")
    assert ended.code == 0, ended.err
    assert "3 blocks, 18 runs in all, take about" in ended.err
    found = json.loads(ended.out)
    assert found["done"] == 3 * CELLS
    assert found["budget"] == {
        "budget_s": 3600.0,
        "whole_s": found["budget"]["whole_s"],
        "blocks": 3,
        "blocks_left_out": 0,
    }
    # A block of these takes seconds, and a thousand blocks are not made in three.
    many = study(tmp_path, STUDY.replace("repeat = 3", 'repeat = 1000\nset = ["duration=100s"]'))
    ended = penstock("study", "run", many, "-o", tmp_path / "some", "--budget", "3s")
    assert ended.code == 0, ended.err
    assert "of them fit into --budget 3.00 s" in ended.err
    assert "note: --budget 3.00 s leaves out" in ended.err
    frame = rows.read(tmp_path / "some")
    assert set(frame.group_by("block").len()["len"].to_list()) == {CELLS}


@pytest.mark.parametrize("text", ["10", "soon", "0s"])
def test_a_budget_is_a_time(tmp_path: Path, text: str) -> None:
    ended = penstock("study", "run", study(tmp_path), "-o", tmp_path / "out", "--budget", text)
    assert (ended.code, ended.out) == (2, "")
    assert f"--budget: found '{text}'; expected a time above 0, with its unit" in ended.err
    assert "hint: as 10min" in ended.err
