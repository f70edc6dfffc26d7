"""The model of mq-deadline against the kernel's decisions: as captured, and on a served disk."""

import gzip
import json
import os
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from command import ROOT, penstock
from penstock import _native
from penstock.block_events import Disk, Formatter, decision

DATA = ROOT / "tests/data/kernel"

Report: TypeAlias = dict[str, Any]

CAPTURES = ["mq-deadline", "mq-deadline-classes"]


def agreed(folder: Path, capture: str, model: str = "mq-deadline", *sets: str) -> Report:
    """What the engine says about a capture."""
    events = folder / "events"
    events.write_bytes(gzip.decompress((DATA / f"{capture}.txt.gz").read_bytes()))
    report: Report = json.loads(_native.scheduler_agreement(events, model, sets))
    return report


def share(result: Report) -> float:
    """The share of decisions that agree."""
    return float(result["agreed"] / result["decisions"])


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_model_decides_as_the_kernel_did(tmp_path: Path, capture: str) -> None:
    result = agreed(tmp_path, capture)
    assert result["decisions"] > 3_600
    assert share(result) > 0.995
    assert result["tags"] == 4
    assert result["agreed_by_arrival"] < 0.05 * result["decisions"]
    assert result["agreed_by_chance"] < 0.05 * result["decisions"]
    assert sum(result["differences"].values()) == result["decisions"] - result["agreed"]


@pytest.mark.parametrize("constant", ["fifo_batch=15", "fifo_batch=17", "fifo_batch=12"])
def test_a_constant_that_is_wrong_is_seen(tmp_path: Path, constant: str) -> None:
    right = share(agreed(tmp_path, CAPTURES[0]))
    assert share(agreed(tmp_path, CAPTURES[0], "mq-deadline", constant)) < right - 0.05


def test_the_kernel_is_idle_when_the_model_is(tmp_path: Path) -> None:
    result = agreed(tmp_path, CAPTURES[1])
    assert result["kernel_idle_s"] > 0.5 * result["duration_s"], "it holds lower classes back"
    assert result["model_idle_s"] > 0.9 * result["kernel_idle_s"]
    without = agreed(tmp_path, CAPTURES[1], "mq-deadline", "prio_recheck=0s")
    assert without["model_idle_s"] < 0.95 * result["model_idle_s"]


def test_differences_are_described_with_what_was_queued(tmp_path: Path) -> None:
    result = agreed(tmp_path, CAPTURES[0], "noop")
    assert result["agreed"] == result["agreed_by_arrival"]
    assert len(result["first"]) == 10
    for difference in result["first"]:
        assert difference["kernel"] in difference["queued"]
        assert difference["model"] in difference["queued"]
        assert difference["kernel"] != difference["model"]


SPLIT_AND_MERGED = """\
I 1000 0 0 64 1
I 2000 0 1000 8 1
I 3000 0 1008 8 1
D 40000 0 0 32 1
D 80000 0 1000 16 1
C 90000 0 0 32 1
D 100000 0 32 32 1
C 110000 0 1000 16 1
C 120000 0 32 32 1
"""
"""A request that the kernel splits, and two that it merged unseen."""


def test_what_is_split_or_merged_unseen_is_found(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text(SPLIT_AND_MERGED)
    result = json.loads(_native.scheduler_agreement(events, "noop", []))
    assert (result["decisions"], result["agreed"], result["without_insertion"]) == (2, 2, 1)
    assert result["classes"][0]["completed"] == 2


@pytest.mark.parametrize(
    "line",
    ["X 1 0 0 8 1", "I 1 3 0 8 1", "I 1 0 0 8", "I 1 0 0 8 3", "I 1 0 18446744073709551615 8 1"],
)
def test_lines_of_another_form_are_refused(tmp_path: Path, line: str) -> None:
    events = tmp_path / "events"
    events.write_text(f"I 0 0 0 8 1\n{line}\n")
    with pytest.raises(_native.Failure, match="line 2 is no event of a scheduler") as failure:
        _native.scheduler_agreement(events, "noop", [])
    assert failure.value.exit_code == 2


EVENTS = """\
 fio-55 [001] ..... 10.000001: block_rq_insert: 7,0 RS 4096 () 8 + 8 rt,0,4 [fio]
 fio-55 [001] ..... 10.000002: block_rq_insert: 7,0 FWS 4096 () 64 + 8 idle,0,7 [fio]
 fio-55 [001] ..... 10.000003: block_rq_insert: 7,0 FF 0 () 0 + 0 none,0,0 [fio]
 fio-55 [000] ..... 10.000009: block_rq_issue: 7,0 RS 4096 () 8 + 8 rt,0,4 [fio]
"""


def test_the_kernels_lines_become_decisions() -> None:
    disk = Disk(name="/dev/loop0", number="7,0", numbers=frozenset({"7,0"}))
    formatter = Formatter(disk, decision)
    lines = [formatter.line(line) for line in EVENTS.splitlines()]
    assert lines == ["I 0000 0 8 8 0\n", "I 1000 1 64 8 2\n", None, "D 8000 0 8 8 0\n"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mq-deadline", "--on", "hdd-7200"), "hdd-7200 is no block device"),
        (("mq-deadline", "--on", "block:hdd-7200", "--model", "sstf"), "noop, mq-deadline"),
        (("kernel:none", "--on", "block:hdd-7200"), "is no scheduler of the kernel"),
        (
            ("mq-deadline", "--on", "block:hdd-7200", "--set", "mq-deadline.fifo_bach=1"),
            "unknown key `fifo_bach`",
        ),
    ],
)
def test_wrong_words(words: tuple[str, ...], message: str) -> None:
    scheduler, *options = words
    ended = penstock(
        "linux", "agree", scheduler, ROOT / "examples/agreement/reads-and-writes.toml", *options
    )
    assert ended.code == 2
    assert message in ended.err


def can() -> bool:
    """Whether this machine can serve a disk and capture its requests."""
    checks = {check["name"]: check["state"] for check in json.loads(_native.doctor("."))["checks"]}
    needed = ("FUSE", "loop devices", "kernel tracing")
    return os.geteuid() == 0 and all(checks.get(name) == "ok" for name in needed)


@pytest.mark.usefixtures("leftovers")
def test_a_job_on_a_served_disk() -> None:
    if not can():
        pytest.skip("this takes root, FUSE and block tracing")
    job = ROOT / "examples/agreement/reads-and-writes.toml"
    words = ("--on", "block:hdd-7200@10", "--set", "duration=3s", "--json")
    ended = penstock("linux", "agree", "mq-deadline", job, *words)
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert result["agreement"]["decisions"] > 2_000
    assert share(result["agreement"]) > 0.95
    assert [served["name"] for served in result["ours"]["classes"]] == ["reads", "writes"]


@pytest.mark.usefixtures("leftovers")
def test_lost_events_leave_no_answer() -> None:
    if not can():
        pytest.skip("this takes root, FUSE and block tracing")
    job = ROOT / "examples/agreement/reads-and-writes.toml"
    words = ("--on", "block:ssd-sata", "--set", "duration=1s", "--buffer", "4KiB")
    ended = penstock("linux", "agree", "mq-deadline", job, *words)
    assert (ended.code, ended.out) == (1, "")
    assert "events of /dev/loop" in ended.err
    assert ended.err.endswith("hint: give them more room: --buffer 16KiB\n")
