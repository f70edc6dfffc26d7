"""Times that a program prints of itself, for a guard's goals."""

import time
from collections.abc import Callable

import pytest

from penstock.errors import PenstockError
from penstock.guard.feed import Feed, feed


def wait_for(times: Callable[[], list[float]], count: int) -> list[float]:
    """Times until there are so many."""
    known: list[float] = []
    for _ in range(500):
        known += times()
        if len(known) >= count:
            break
        time.sleep(0.01)
    return known


def test_each_line_is_a_time() -> None:
    with feed("printf '3.2ms\\n150us\\n2s\\n'; sleep 60") as printed:
        assert wait_for(printed.take, 3) == [3.2e6, 150e3, 2e9]
        assert printed.take() == []


@pytest.mark.parametrize("line", ["3.2", "fast", "-1ms"])
def test_a_line_that_is_no_time_is_refused(line: str) -> None:
    with feed(f"echo {line}; sleep 60") as printed, pytest.raises(PenstockError) as error:
        wait_for(printed.take, 1)
    assert f"found the line '{line}'" in str(error.value)


def test_a_command_that_ends_is_an_error() -> None:
    def ended(printed: Feed) -> None:
        for _ in range(500):
            printed.take()
            time.sleep(0.01)

    with feed("exit 3") as printed, pytest.raises(PenstockError, match="with exit code 3"):
        ended(printed)


def test_what_the_command_started_ends_with_it() -> None:
    began = time.monotonic()
    with feed("sleep 600 | cat") as printed:
        assert printed.take() == []
    assert time.monotonic() - began < 60
