"""A job that runs for long says how long, where no terminal shows a bar."""

import re
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from command import penstock, running
from penstock.cli.estimate import Estimate
from penstock.results.json_types import World
from penstock.results.steps import Creating
from penstock.results.steps import Running as Step

LONG = """\
duration = "1s"

[device]
model = "fixed"
base = "1ns"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "512B"
pattern = "sequential"
arrivals = { kind = "closed", depth = 1 }
"""
"""A thousand million requests."""


def test_a_job_of_a_thousand_million_requests_says_how_long_it_takes(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(LONG)
    words = ("compare", tmp_path / "job.toml", "--policies", "noop,fcfs")
    with running(tmp_path, *words) as command:
        command.until(" left\n")
        ended = command.end(signal.SIGINT)
    first, *_ = ended.err.splitlines()
    assert re.fullmatch(r"noop \(1 of 2\): [\d.]+ % done, about [\d.]+ (s|min|h) left", first)
    assert ended.code == 130
    assert "left" not in ended.out
    assert "PARTIAL" in ended.out


def test_a_job_that_takes_no_second_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(LONG)
    ended = penstock("run", tmp_path / "job.toml", "--policy", "noop", "--set", "duration=1us")
    assert (ended.code, ended.err) == (0, "")


def step(number: int, fraction: float, *, world: World = "simulated") -> Step:
    """A step of the `number`-th of two runs."""
    return {
        "step": "running",
        "policy": ("noop", "fcfs")[number],
        "number": number,
        "of": 2,
        "fraction": fraction,
        "device": "disk",
        "world": world,
    }


def test_a_line_comes_after_a_second_and_then_every_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    estimate = Estimate()
    said = []
    for tenth in range(1, 351):
        now[0] = 100 + tenth / 10
        number, fraction = divmod(tenth / 10 / 200, 1)
        said += [(tenth, line) for line in estimate.of(step(int(number), fraction))]
    assert said == [
        (10, "noop (1 of 2): 0.2 % done, about 6.65 min left"),
        (110, "noop (1 of 2): 2.8 % done, about 6.48 min left"),
        (210, "noop (1 of 2): 5.2 % done, about 6.32 min left"),
        (310, "noop (1 of 2): 7.8 % done, about 6.15 min left"),
    ]


def lines(
    monkeypatch: pytest.MonkeyPatch, steps: Iterable[tuple[float, Step | Creating]]
) -> list[tuple[float, str]]:
    """What is said of steps, each so many seconds after the beginning."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    estimate = Estimate()
    said = []
    for now[0], one in steps:
        said += [(now[0], line) for line in estimate.of(one)]
    return said


@pytest.mark.parametrize("world", ["measured", "emulated"])
def test_in_real_time_it_is_said_too(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    minutes = [(at / 2, step(0, at / 2 / 360, world=world)) for at in range(1, 43)]
    assert lines(monkeypatch, minutes) == [
        (1.0, "noop (1 of 2): 0.1 % done, about 12.0 min left"),
        (11.0, "noop (1 of 2): 1.5 % done, about 11.8 min left"),
        (21.0, "noop (1 of 2): 2.9 % done, about 11.7 min left"),
    ]


def test_in_real_time_less_than_ten_seconds_need_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    short = [(at / 10, step(0, at / 48, world="measured")) for at in range(1, 48)]
    assert lines(monkeypatch, short) == []
    # A run without an end of its own, on a disk that is slow at first, may be short too.
    unknown = [(at / 10, step(0, 0.0, world="measured")) for at in range(1, 99)]
    assert lines(monkeypatch, unknown) == []


def test_the_writing_of_a_file_is_said_and_is_no_part_of_the_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def creating(fraction: float) -> Creating:
        return {"step": "creating", "path": "./disk.img", "fraction": fraction}

    steps = [(5.0, creating(0.1)), (15.0, creating(0.3)), (20.0, creating(1.0))]
    runs = [(20.0 + at, step(0, at / 100, world="measured")) for at in range(1, 12)]
    assert lines(monkeypatch, [*steps, *runs]) == [
        (15.0, "writing ./disk.img: 30.0 % done"),
        (21.0, "noop (1 of 2): 0.5 % done, about 3.32 min left"),
        (31.0, "noop (1 of 2): 5.5 % done, about 3.15 min left"),
    ]


def test_a_measured_comparison_says_how_long_it_takes(job: Path, disk: Path) -> None:
    words = ("compare", job, "--policies", "noop,fcfs", "--on", disk, "--create", "16MiB")
    with running(disk.parent, *words, "--set", "duration=6min") as command:
        command.until(" left\n")
        ended = command.end(signal.SIGINT)
    assert re.search(r"^noop \(1 of 2\): 0\.\d % done, about [\d.]+ min left$", ended.err, re.M)
    assert ended.code == 130


def test_what_cannot_be_estimated_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    estimate = Estimate()
    now[0] = 200
    (said,) = estimate.of(step(0, 0.0))
    assert said == "noop (1 of 2): 0.0 % done, how long it takes is not known yet"
    now[0] = 300
    (said,) = estimate.of(step(1, 1.0))
    assert said == "fcfs (2 of 2): 100.0 % done, serving what is left"
