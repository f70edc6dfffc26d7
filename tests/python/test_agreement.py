"""The model of mq-deadline against the kernel's decisions: as captured, and on a served disk."""

import json
import os
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from command import ROOT, penstock
from penstock import _native

DATA = ROOT / "tests/data/kernel"

Report: TypeAlias = dict[str, Any]

CAPTURES = ["mq-deadline", "mq-deadline-classes"]


def agreed(capture: str, model: str = "mq-deadline", *sets: str) -> Report:
    """What the engine says about a capture."""
    events = DATA / f"{capture}.ptrace.gz"
    report: Report = json.loads(_native.scheduler_agreement(events, "mq-deadline", model, sets))
    return report


def share(result: Report) -> float:
    """The share of decisions that agree."""
    return float(result["agreed"] / result["decisions"])


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_model_decides_as_the_kernel_did(capture: str) -> None:
    result = agreed(capture)
    assert result["decisions"] > 3_600
    assert share(result) > 0.995
    assert result["tags"] == 4
    assert result["agreed_by_arrival"] < 0.05 * result["decisions"]
    assert result["agreed_by_chance"] < 0.05 * result["decisions"]
    assert sum(result["differences"].values()) == result["decisions"] - result["agreed"]


@pytest.mark.parametrize("constant", ["fifo_batch=15", "fifo_batch=17", "fifo_batch=12"])
def test_a_constant_that_is_wrong_is_seen(constant: str) -> None:
    right = share(agreed(CAPTURES[0]))
    assert share(agreed(CAPTURES[0], "mq-deadline", constant)) < right - 0.05


def test_the_kernel_is_idle_when_the_model_is() -> None:
    result = agreed(CAPTURES[1])
    assert result["kernel_idle_s"] > 0.5 * result["duration_s"], "it holds lower classes back"
    assert result["model_idle_s"] > 0.9 * result["kernel_idle_s"]
    without = agreed(CAPTURES[1], "mq-deadline", "prio_recheck=0s")
    assert without["model_idle_s"] < 0.95 * result["model_idle_s"]


def test_differences_are_described_with_what_was_queued() -> None:
    result = agreed(CAPTURES[0], "noop")
    assert result["agreed"] == result["agreed_by_arrival"]
    assert len(result["first"]) == 10
    for difference in result["first"]:
        assert difference["kernel"] in difference["queued"]
        assert difference["model"] in difference["queued"]
        assert difference["kernel"] != difference["model"]


def test_a_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text("I 0 0 0 8 1\n")
    with pytest.raises(_native.Failure, match="record 1, at byte 0") as failure:
        _native.scheduler_agreement(events, "mq-deadline", "noop", [])
    assert failure.value.exit_code == 2


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
