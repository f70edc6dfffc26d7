"""The plan of a guard: what it remembers, what it refuses, and how a search begins with it."""

from pathlib import Path

import pytest

from guard_samples import GOOD, decided, status
from penstock.errors import WRONG_INPUT, PenstockError
from penstock.guard.plan_file import PlanFile
from penstock.guard.search import (
    MISSES,
    SETTLING,
    WINDOWS,
    GuardWindow,
    MeansStanding,
    Search,
)
from penstock.guard.steps import KEPT, RECENT, ChangeLog
from test_guard_search import NOTHING, World, window


def resumed(start: int, means: int = 3, keep: float = 0.0) -> Search:
    """A search that begins with the means of a plan."""
    return Search(means, keep=keep, start=start, remembered=window(NOTHING))


def take(search: Search, world: World, windows: int) -> None:
    for _ in range(windows):
        search.take(window(world))


def test_a_means_that_still_meets_the_goals_is_kept_and_nothing_else_is_tried() -> None:
    search = resumed(2)
    assert (search.number, search.decided) == (2, False)
    take(search, World(0.9), SETTLING + 2 * WINDOWS)
    assert (search.number, search.decided, search.meets(2)) == (2, True, True)
    assert sorted(search.tried) == [0, 2]


def test_the_batch_keeps_its_share_of_what_the_plan_says() -> None:
    search = resumed(1, keep=0.5)
    take(search, World(0.9, batch=40), SETTLING + 2 * WINDOWS)
    assert (search.number, search.tried) == (0, {})


def test_one_that_does_not_do_any_more_starts_the_search_from_nothing() -> None:
    search = resumed(3)
    take(search, World(9), SETTLING + 2 * WINDOWS)
    assert (search.number, search.decided, search.tried) == (0, False, {})
    take(search, NOTHING, SETTLING + WINDOWS)
    assert search.number == 1


def test_goals_that_are_missed_later_start_it_from_nothing_if_nothing_that_follows_meets_them() -> (
    None
):
    search = resumed(2)
    take(search, World(0.9), SETTLING + 2 * WINDOWS)
    take(search, World(9), MISSES)
    assert (search.number, sorted(search.tried)) == (3, [0, 2])
    take(search, World(9), SETTLING + WINDOWS)
    assert (search.number, search.tried) == (0, {})
    take(search, NOTHING, SETTLING + WINDOWS)
    take(search, World(0.9), SETTLING + 2 * WINDOWS)
    assert (search.number, search.decided) == (1, True)
    take(search, World(9), MISSES)
    assert (search.number, sorted(search.tried)) == (2, [0, 1])


def test_some_bad_windows_at_the_start_are_not_enough() -> None:
    search = resumed(2)
    take(search, World(9), SETTLING + 2)
    take(search, World(0.9), 2 * WINDOWS - 2)
    assert (search.number, search.decided) == (2, True)


def test_a_plan_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "sda.toml"
    plan = PlanFile(path, "sda")
    assert plan.remembered is None
    plan.take(status(decided(met=False)))
    plan.take(status(decided(kept="idle", is_decided=False)))
    assert not path.exists()
    result = decided(kept="idle, read-ahead 128 KiB", goals=["online.p99 <= 2ms"], keep=0.5)
    plan.take(status(result))
    read = PlanFile(path, "sda").remembered
    assert read == plan.remembered
    assert read is not None
    assert (read.means, read.goals, read.keep) == (result.kept, result.goals, 0.5)
    assert read.without == result.standings["nothing"]
    assert read.under == GOOD
    assert read.window() == GuardWindow(1.0, 50.0, 20.0, 0, 1e9)


def test_it_is_written_again_for_another_means_only(tmp_path: Path) -> None:
    path = tmp_path / "sda.toml"
    plan = PlanFile(path, "sda")
    plan.take(status(decided(kept="idle")))
    first = path.stat().st_ino
    plan.take(status(decided(kept="idle", figures=MeansStanding(0.2, 3, 4))))
    assert path.stat().st_ino == first
    plan.take(status(decided(kept="nothing")))
    again = PlanFile(path, "sda").remembered
    assert again is not None
    assert again.means == "nothing"


def test_a_guard_goes_on_if_its_plan_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    plan = PlanFile(folder / "sda.toml", "sda")
    folder.rmdir()
    plan.take(status(decided(kept="idle")))
    assert plan.failure is not None
    assert "sda.toml cannot be written: No such file" in plan.failure


HEAD = "# A plan of penstock guard\n"

STANDINGS = "".join(
    f"[{name}]\nmissed_by = 1.0\nonline = 1.0\nbatch = 1.0\n" for name in ("without", "under")
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[disk]\n", "exists and is no plan of penstock\nhint: nothing else is overwritten"),
        (f"{HEAD}version = 1\n", "is a damaged plan: there is no 'disk'\nhint: remove it"),
        (f"{HEAD}version =", "is a damaged plan: Invalid value"),
        (f'{HEAD}version = 1\ndisk = "sda"\n', "is a damaged plan: there is no 'means'"),
        (
            f'{HEAD}version = 1\ndisk = "sda"\nmeans = ""\ngoals = []\nkeep = "x"\n{STANDINGS}',
            "is a damaged plan: could not convert",
        ),
        (f'{HEAD}version = 2\ndisk = "sda"\n', ": found version 2; expected 1\nhint: use the vers"),
        (
            f'{HEAD}version = 1\ndisk = "sdb"\n',
            " is a plan of the disk sdb; expected one of sda\nhint: name another file",
        ),
    ],
)
def test_a_file_that_is_no_plan_of_the_disk_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "sda.toml"
    path.write_text(text)
    with pytest.raises(PenstockError) as error:
        PlanFile(path, "sda")
    assert error.value.exit_code == WRONG_INPUT
    assert str(error.value).startswith(f"error: {path}")
    assert said in str(error.value)
    assert path.read_text() == text


def test_a_log_says_what_each_change_brought() -> None:
    log = ChangeLog()
    log.begin("nothing", "to see")
    for missed_by in (8, 9, 10):
        log.take(window(World(missed_by)))
    log.change(3.0, "idle", "it misses")
    for _ in range(SETTLING):
        log.take(window(World(1000)))
    assert log.steps[-1].after is None, "what was queued before is still there"
    for _ in range(3):
        log.take(window(World(0.5)))
    first, second = log.steps
    assert (first.before, first.after) == (None, MeansStanding(9, 50, 100))
    assert (second.before, second.after) == (first.after, MeansStanding(0.5, 50, 100))
    for _ in range(RECENT):
        log.take(window(World(0.7)))
    assert second.after == MeansStanding(0.7, 50, 100), "of long times the last windows count"


def test_a_log_of_months_keeps_the_last_changes() -> None:
    log = ChangeLog()
    log.begin("nothing", "to see")
    for number in range(KEPT + 5):
        log.change(float(number), "idle", "again")
    assert (log.count, len(log.steps)) == (KEPT + 5, KEPT)
    assert log.steps[-1].at_s == KEPT + 4
