"""`penstock advise split`: how long a piece may be, by measurement."""

import json
from pathlib import Path
from random import Random

import pytest

from command import penstock as command
from penstock.advise import Curve, LengthPoint, NoiseHidesAnswer, Split, split
from penstock.advise.split import enclosing, lengths


def test_on_the_papers_disk_the_law_is_found_and_the_answer_lies_below_its_limit() -> None:
    found = split("paper-disk", block="1000B")
    assert found.size == 12_000
    assert found.between == (12_000, 12_000)
    assert found.law is not None
    assert found.law.limit(found.block, found.tolerance) == pytest.approx(12_894, abs=2)
    # 83 pieces of 1.2426 ms against one request of 29.697 ms.
    assert found.price == pytest.approx(1e6 / 12_000 * 1.2426 / 29.697, rel=0.002)
    assert found.by_tolerance == {0.1: 4_000, 0.2: 6_000, 0.37: 12_000, 0.5: 16_000}


def test_blocks_of_4_kib_give_pieces_of_whole_blocks() -> None:
    found = split("paper-disk", rounds=2)
    assert found.size == 16_384
    assert found.price == pytest.approx(2.8, abs=0.05)
    assert {point.size % 4096 for curve in found.curves.values() for point in curve.points} == {0}


def test_the_allowed_delay_has_an_answer_of_its_own() -> None:
    def within(delay: str) -> int | None:
        return split("paper-disk", block="1000B", rounds=2, allow_delay=delay).within_delay

    assert within("2ms") == 32_000
    assert within("1s") == 1_000_000
    assert within("0.5ms") is None


def test_a_disk_that_turns_has_an_answer_for_each_pattern() -> None:
    found = split("hdd-7200", rounds=4)
    anywhere, behind = found.curves["random"], found.curves["sequential"]
    # What is durable before the next one begins has missed it by as much as a command takes.
    turn = 1e9 / 120
    assert behind.points[0].median_ns == pytest.approx(turn, rel=0.01)
    assert anywhere.points[0].median_ns > turn
    assert found.size == min(anywhere.largest(0.37), behind.largest(0.37))


def test_what_lies_behind_a_length_that_is_too_slow_does_not_count() -> None:
    def point(size: int, ratio: float, spread: float = 0.0) -> LengthPoint:
        interval = (ratio - spread, ratio + spread)
        return LengthPoint(size, 1e6 * ratio, 2e6 * ratio, ratio, interval)

    points = (point(1, 1.0), point(2, 1.3), point(3, 1.6), point(4, 1.2), point(8, 3.0))
    curve = Curve("random", points)
    assert (curve.largest(0.37), curve.largest(0.7)) == (2, 4)
    assert curve.price(2) == pytest.approx(4 * 1.3 / 3.0)
    noisy = Curve("random", (point(1, 1.0), point(2, 1.3, 0.1), point(3, 1.4, 0.1)))
    assert (noisy.certainly(0.37), noisy.largest(0.37), noisy.perhaps(0.37)) == (1, 2, 3)
    both = Split("x", "measured", 0.37, {"random": noisy, "sequential": curve}, None)
    assert (both.size, both.between) == (2, (1, 2))


def test_lengths_end_with_the_long_request_in_whole_blocks() -> None:
    assert lengths(4096, 1_000_000)[-1] == 244 * 4096
    assert lengths(1000, 2_000) == [1000, 2000]


@pytest.mark.parametrize(
    ("count", "ends"),
    [(1, None), (2, None), (5, None), (6, (0, 5)), (9, (1, 7)), (20, (5, 14)), (1000, (468, 531))],
)
def test_an_interval_is_between_the_ranks_that_enclose_the_median(
    count: int, ends: tuple[int, int] | None
) -> None:
    # The ranks are in any table of the sign test.
    assert enclosing(count) == ends


def test_an_interval_has_the_true_median_as_often_as_it_says() -> None:
    random, true = Random(1), 1.0
    for count in (6, 20):
        ends = enclosing(count)
        assert ends is not None
        draws = (sorted(random.lognormvariate(0, 1) for _ in range(count)) for _ in range(4000))
        within = sum(draw[ends[0]] <= true <= draw[ends[1]] for draw in draws)
        assert 0.94 < within / 4000 < 0.98


def test_too_few_rounds_have_an_answer_but_no_interval() -> None:
    found = split("paper-disk", rounds=5)
    assert (found.size, found.between, found.hidden) == (16_384, None, False)
    assert split("paper-disk", rounds=6).between == (16_384, 16_384)
    words = ("advise", "split", "--on", "paper-disk", "--rounds")
    few, enough = command(*words, "2"), command(*words, "6")
    assert (few.code, enough.code) == (0, 0), few.err
    said = "How certain that is, is not known: a 95 % interval needs --rounds 6 or more."
    assert said in few.out
    assert said not in enough.out
    assert json.loads(command(*words, "2", "--json").out)["between"] is None


@pytest.fixture
def moody(tmp_path: Path) -> Path:
    """A device whose stalls are longer than any write."""
    path = tmp_path / "moody.toml"
    law = 'model = "fixed"\nbase = "1ms"\nper_mb = "0.1ms"\n'
    path.write_text(f'[device]\n{law}faults = {{ stalls = "55%", stall = "20ms" }}\n')
    return path


def test_noise_that_hides_the_answer_is_said(moody: Path) -> None:
    with pytest.raises(NoiseHidesAnswer, match="noise hides the answer") as caught:
        split(moody, rounds=6)
    assert caught.value.exit_code == 1
    assert caught.value.measured.curves["random"].points


def test_what_was_measured_is_shown_although_noise_hides_the_answer(moody: Path) -> None:
    words = ("advise", "split", "--on", moody, "--rounds", "6")
    ended = command(*words)
    assert ended.code == 1
    assert "95 % interval" in ended.out
    assert "999,424 B" in ended.out
    assert "split =" not in ended.out
    assert "←" not in ended.out
    assert "noise hides the answer" in ended.err
    plain = command(*words, "--json")
    assert plain.code == 1
    assert json.loads(plain.out)["split"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--block", "1000"), "unit"),
        (("--long", "4KiB"), "two blocks at least"),
        (("--block", "0B"), "two blocks at least"),
        (("--long", "2GiB"), "1 GiB at most"),
        (("--tolerance", "0"), "above 0"),
        (("--tolerance", "nan"), "above 0"),
        (("--allow-delay", "1"), "unit"),
        (("--create", "1MiB"), "does not go with"),
    ],
)
def test_wrong_use_ends_with_a_hint(words: tuple[str, ...], said: str) -> None:
    ended = command("advise", "split", "--on", "paper-disk", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "hint: " in ended.err


def test_a_file_of_another_program_is_left_alone(disk: Path) -> None:
    disk.write_bytes(b"x" * (4 << 20))
    ended = command("advise", "split", "--on", disk)
    assert ended.code == 5
    assert disk.read_bytes() == b"x" * (4 << 20)


def test_the_command_reports_the_answer_and_its_price() -> None:
    words = ("advise", "split", "--on", "paper-disk", "--block", "1000B", "--rounds", "2")
    ended = command(*words, "--allow-delay", "1ms")
    assert ended.code == 0, ended.err
    assert "split = 12,000 B: the largest piece that takes at most 37 % longer" in ended.out
    assert "take 3.49 times as long as whole" in ended.out
    assert "whose limit is 12,89" in ended.out
    assert "Within 1.00 ms, 95 times of 100: pieces of up to 3,000 B." in ended.out
    assert "The paper of the rule chose 10,000 bytes" in ended.out
    plain = json.loads(command(*words, "--json").out)
    assert (plain["split"], plain["world"]) == (12_000, "simulated")
    assert len(plain["curves"]["random"]) == len(lengths(1000, 1_000_000))


def test_an_owned_file_is_measured(disk: Path) -> None:
    words = ("advise", "split", "--on", disk, "--create", "8MiB", "--long", "64KiB")
    ended = command(*words, "--rounds", "2", "--tolerance", "1000", "--json")
    assert ended.code == 0, ended.err
    plain = json.loads(ended.out)
    assert (plain["world"], plain["split"]) == ("measured", 64 << 10)
