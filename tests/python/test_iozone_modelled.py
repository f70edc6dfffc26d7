"""`penstock iozone --on MODEL`: the tests of IOzone in virtual time."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import pytest

from command import penstock
from penstock.iozone.modelled import Calls, job
from penstock.iozone.phases import BY_KEY
from penstock.iozone.runner import IozonePoint

MEDIUM = 200e6 / 1024
"""Sustained rate of the outer tracks of `hdd-7200`, in kB/s."""

HALF_TURN_S = 60 / 7200 / 2

OVERHEAD_S = 300e-6

CACHED = "--on hdd-7200-cached --scheduler deadline"


def measured(line: str) -> Mapping[str, Any]:
    """The tests of a command by their names."""
    done = penstock("iozone", *shlex.split(line), "--json")
    assert done.code == 0, done.err
    return {test["test"]: test for test in json.loads(done.out)["tests"]}


def rates(line: str) -> dict[str, float]:
    """What the children see of each test, in kB/s."""
    return {name: test["figures"]["children"] for name, test in measured(line).items()}


def test_long_records_have_the_order_of_arithmetic() -> None:
    kb_s = rates(f"-t 1 -I -i 0 -i 1 -i 2 -i 3 -i 5 -r 512k -s 512m {CACHED}")
    for streaming in ("write", "rewrite", "read", "reread"):
        assert kb_s[streaming] == pytest.approx(MEDIUM, rel=0.1), streaming
    assert kb_s["random_read"] < kb_s["backward_read"] < kb_s["read"]
    # A stride of 17 records leaves the arm on its cylinder or moves it to the next but one.
    transfer_s = 512 / MEDIUM
    assert 512 / kb_s["stride_read"] - transfer_s - OVERHEAD_S < 2 * HALF_TURN_S
    assert kb_s["stride_read"] < kb_s["backward_read"]


def test_a_random_read_is_a_seek_half_a_turn_and_the_transfer() -> None:
    line = "-t 1 -I -i 0 -i 2 -r 5k -s 1g --on hdd-7200 --scheduler noop"
    each_s = 5 / rates(line)["random_read"]
    # In a four-thousandth of the disk the arm moves by 17 of 278,600 cylinders in the mean.
    seek_s = 0.86e-3
    assert each_s == pytest.approx(OVERHEAD_S + seek_s + HALF_TURN_S + 5 / MEDIUM, rel=0.05)


def test_without_a_cache_each_short_record_loses_a_turn() -> None:
    kb_s = rates("-t 1 -I -i 0 -i 1 -i 3 -r 5k -s 4m --on hdd-7200")
    for name in ("write", "read", "backward_read"):
        assert kb_s[name] == pytest.approx(5 / (2 * HALF_TURN_S), rel=0.01), name


def test_every_test_reads_or_writes_the_whole_file() -> None:
    tests = measured(
        f"{' '.join(f'-i {phase}' for phase in range(13))} -t 2 -x -I -r 8k -s 1m {CACHED}"
    )
    assert tests.keys() == BY_KEY.keys()
    for name, test in tests.items():
        for worker in test["workers"]:
            assert (worker["bytes"], worker["calls"]) == (1 << 20, 128), name
        assert test["parent_ns"] == max(worker["ns"] for worker in test["workers"])


def test_the_first_worker_that_ends_stops_the_others() -> None:
    line = f"-t 8 -I -i 0 -i 8 -+p 50 -r 64k -s 4m {CACHED}"
    short = measured(line)["random_mix"]["workers"]
    whole = measured(f"{line} -x")["random_mix"]["workers"]
    assert max(worker["bytes"] for worker in short) == 4 << 20
    assert min(worker["bytes"] for worker in short) < 4 << 20
    assert {worker["bytes"] for worker in whole} == {4 << 20}


def test_a_mix_is_some_workers_reading_and_others_writing() -> None:
    text = job([BY_KEY["random_mix"]], IozonePoint(4, 4096, 1 << 20), Calls(mix_reads=75), seed=1)
    assert (text.count('op = "read"'), text.count('op = "write"')) == (3, 1)


class TestPageCache:
    """Without -I records go through the modelled page cache, which tests share."""

    LINE = "-t 1 -i 0 -i 1 -+n -r 64k -s 32m --on hdd-7200-cached"

    def test_what_was_written_is_read_from_memory(self) -> None:
        kb_s = rates(self.LINE)
        assert kb_s["read"] > 10 * MEDIUM

    def test_a_flush_is_in_the_time_of_a_write(self) -> None:
        assert rates(self.LINE)["write"] > 2 * MEDIUM
        assert rates(f"{self.LINE} -e")["write"] < MEDIUM

    def test_dropped_pages_are_read_from_the_disk(self) -> None:
        assert rates(f"{self.LINE} -U /mnt")["read"] < 1.1 * MEDIUM


def test_equal_seeds_give_equal_figures() -> None:
    line = f"-t 3 -I -i 0 -i 2 -r 8k -s 1m {CACHED}"
    assert measured(line) == measured(line)
    assert measured(f"{line} --seed 1") != measured(f"{line} --seed 2")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-B -i 0 -t 1 --on hdd-7200", "-B does not go with a model"),
        ("-+d -i 0 -t 1 --on hdd-7200", "-+d does not go with a model"),
        ("-i 0 -t 1 --on hdd-7020", "did you mean `hdd-7200`"),
        ("-i 0 -t 1 --on hdd-7200 --scheduler deadlin", "did you mean `deadline`"),
        ("-i 0 -t 1 --on block:hdd-7200 --set device.cache=drive", "--on block:disk.toml"),
    ],
)
def test_what_a_model_cannot_do_is_refused(line: str, said: str) -> None:
    done = penstock("iozone", *shlex.split(line))
    assert done.code == 2
    assert said in done.err, done.err
