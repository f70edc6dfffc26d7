"""Time that the host of a virtual machine takes from its processors."""

from pathlib import Path

import pytest

from guard_samples import decided
from penstock.guard import words
from penstock.guard.stolen import StolenTime


def test_the_share_is_the_median_of_the_windows(tmp_path: Path) -> None:
    stat = tmp_path / "stat"

    def write(user: int, idle: int, steal: int) -> None:
        stat.write_text(f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n")

    write(0, 0, 0)
    times, shares = StolenTime(stat), []
    assert times.take() == 0
    for since_the_start in [(50, 50, 0), (80, 110, 10), (80, 110, 110)]:
        write(*since_the_start)
        shares.append(times.take())
    # The windows alone have 0, 0.1 and 1.
    assert shares == pytest.approx([0.0, 0.05, 0.1])


@pytest.mark.parametrize(
    ("share", "met", "is_told"),
    [
        (0.03, False, True),
        (0.03, True, False),
        (0.001, False, False),
    ],
)
def test_only_an_answer_without_means_tells(share: float, *, met: bool, is_told: bool) -> None:
    result = decided(met=met)
    result.stolen = share
    *_, lines = words.blocks(result)
    host = "the host of this virtual machine took 3.0 % of the processors' time (steal)"
    assert (host in "\n".join(map(str, lines))) == is_told
