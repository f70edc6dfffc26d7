"""The search of a guard, over worlds that are made up: what it tries, keeps and gives up."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.guard.search import MISSES, RETRY, SETTLING, WINDOWS, GuardWindow, Search


@dataclass(frozen=True)
class World:
    """What the programs do under a means."""

    missed_by: float
    batch: float = 100.0
    online: float = 50.0


def window(world: World) -> GuardWindow:
    return GuardWindow(1.0, world.missed_by, world.online, 0, world.batch)


def searched(worlds: list[World], keep: float = 0.0) -> Search:
    """A search that has decided; number 0 is the world without a guard."""
    search = Search(len(worlds) - 1, keep=keep)
    taken(search, worlds)
    return search


def taken(search: Search, worlds: list[World], windows: int = 0) -> None:
    """Let a search take so many windows, or as many as it needs to decide."""
    count = 0
    while count < windows or not (windows or search.decided):
        search.take(window(worlds[search.number]))
        count += 1
        assert count < 10_000, "it does not end"


NOTHING = World(missed_by=50)


def test_without_a_need_nothing_is_set() -> None:
    search = searched([World(missed_by=0.5), World(missed_by=0.1)])
    assert (search.number, list(search.tried)) == (0, [0])


def test_the_first_that_meets_the_goals_is_kept() -> None:
    search = searched([NOTHING, World(5), World(0.9, batch=80), World(0.1, batch=90)])
    assert search.number == 2
    assert search.meets(2)
    assert 3 not in search.tried


def test_what_takes_too_much_of_the_batch_is_passed_over() -> None:
    worlds = [NOTHING, World(0.5, batch=40), World(0.9, batch=70)]
    assert searched(worlds, keep=0.6).number == 2
    assert searched(worlds, keep=0.3).number == 1


def test_short_waits_of_a_few_are_no_success_if_most_starve() -> None:
    search = searched([NOTHING, World(0.1, online=1), World(0.8)])
    assert search.number == 2


def test_if_none_meets_the_goals_the_nearest_is_kept_and_says_so() -> None:
    search = searched([NOTHING, World(9), World(3), World(4)])
    assert (search.number, search.meets(search.number)) == (2, False)
    # One that keeps the batch's share comes before one that is nearer.
    search = searched([NOTHING, World(9), World(3, batch=10)], keep=0.5)
    assert search.number == 1


def test_without_means_nothing_is_set() -> None:
    search = searched([NOTHING])
    assert (search.number, search.meets(0)) == (0, False)


def test_what_was_queued_before_a_change_does_not_count() -> None:
    search = Search(1)
    while search.number == 0:
        search.take(window(NOTHING))
    for _ in range(SETTLING):
        search.take(window(NOTHING))
    assert 1 not in search.tried


def test_a_lucky_window_is_not_enough() -> None:
    search = Search(2)
    while search.number == 0:
        search.take(window(NOTHING))
    for missed_by in (*[1.0] * SETTLING, *[0.9] * WINDOWS, *[5.0] * WINDOWS):
        assert search.number == 1
        search.take(window(World(missed_by)))
    assert search.number == 2


def test_a_goal_that_is_missed_for_some_windows_takes_the_search_on() -> None:
    worlds = [NOTHING, World(5), World(0.9), World(0.5)]
    search = searched(worlds)
    assert search.number == 2
    for _ in range(MISSES - 1):
        search.take(window(World(2)))
    search.take(window(worlds[2]))
    assert search.decided, "not in a row"
    for _ in range(MISSES):
        search.take(window(World(2)))
    assert (search.decided, search.number) == (False, 3), "milder ones are not tried before"
    taken(search, worlds)
    assert search.number == 3


def test_what_was_kept_last_of_all_starts_the_search_again() -> None:
    search = searched([NOTHING, World(5), World(0.9)])
    for _ in range(MISSES):
        search.take(window(World(2)))
    assert (search.decided, search.number) == (False, 1)


def test_the_best_is_kept_by_its_last_windows_if_none_that_follows_is_better() -> None:
    search = searched([NOTHING, World(0.9), World(9)])
    missed = [NOTHING, World(2), World(9)]
    taken(search, missed, windows=MISSES)
    taken(search, missed)
    standing = search.standing(1)
    assert standing is not None
    assert (search.number, standing.missed_by, search.meets(1)) == (1, 2, False)


def test_what_was_kept_first_is_tried_again_later_and_then_more_seldom() -> None:
    good, bad = [NOTHING, World(0.9), World(0.5)], [NOTHING, World(2), World(0.5)]
    search = searched(good)
    taken(search, bad, windows=MISSES)
    taken(search, bad)
    assert search.number == 2
    kept: list[int] = []
    for _ in range(3):
        kept.append(0)
        while search.decided:
            search.take(window(bad[search.number]))
            kept[-1] += 1
        assert search.number == 1
        taken(search, bad)
        assert search.number == 2
    assert kept == [RETRY, 2 * RETRY, 4 * RETRY]
    while search.number == 2:
        search.take(window(good[search.number]))
    taken(search, good)
    assert search.number == 1, "it does again"
    taken(search, good, windows=9 * RETRY)
    assert search.decided, "the mildest that does stays"


def test_a_search_that_met_nothing_starts_again_later_and_then_more_seldom() -> None:
    worlds = [NOTHING, World(9)]
    search = searched(worlds)
    kept: list[int] = []
    for _ in range(3):
        waited = 0
        while search.decided:
            search.take(window(worlds[search.number]))
            waited += 1
        kept.append(waited)
        while not search.decided:
            search.take(window(worlds[search.number]))
    assert kept == [RETRY, 2 * RETRY, 4 * RETRY]


worlds = st.lists(
    st.builds(
        World,
        missed_by=st.floats(0.01, 100),
        batch=st.floats(0, 200),
        online=st.floats(0, 100),
    ),
    min_size=1,
    max_size=8,
)


@given(worlds, st.sampled_from([0.0, 0.5, 0.9]))
def test_it_ends_and_keeps_one_that_meets_the_goals_if_it_met_any(
    tried: list[World], keep: float
) -> None:
    search = searched(tried, keep=keep)
    met = [number for number in search.tried if search.meets(number)]
    assert search.number in search.tried
    assert not met or search.number in met


@pytest.mark.parametrize("means", [0, 1, 5])
def test_every_means_is_tried_before_it_gives_up(means: int) -> None:
    search = searched([NOTHING] * (means + 1))
    assert sorted(search.tried) == list(range(means + 1))
