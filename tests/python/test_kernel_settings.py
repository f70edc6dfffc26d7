"""Settings of the kernel that are held while programs use a disk: of queues, and of threads."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import penstock
from penstock._native import Failure, HeldQueues, io_priority, set_io_priority

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may set them")
NOTES = Path("/run/penstock")


@pytest.fixture
def other() -> Iterator[int]:
    """The number of a thread that does nothing."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    assert thread.native_id is not None
    yield thread.native_id
    over.set()
    thread.join()


def test_a_thread_has_the_priority_that_it_was_given(other: int) -> None:
    ours = io_priority(0)
    assert io_priority(other) == "none"
    for text in ("be:0", "be:7", "idle", "be:4"):
        set_io_priority(other, text)
        assert io_priority(other) == text
    assert io_priority(0) == ours
    set_io_priority(other, "none")
    assert io_priority(other) == "none"


@NEEDS_ROOT
def test_root_gives_real_time_priorities_and_those_of_other_processes() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        set_io_priority(process.pid, "rt:3")
        shown = subprocess.run(["ionice", "-p", str(process.pid)], capture_output=True, text=True)
        assert shown.stdout == "realtime: prio 3\n"
        assert io_priority(process.pid) == "rt:3"
        process.kill()


def test_a_thread_that_is_gone_and_a_wrong_priority_are_errors(other: int) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for ask in (lambda: io_priority(gone.pid), lambda: set_io_priority(gone.pid, "idle")):
        with pytest.raises(ProcessLookupError):
            ask()
    for text in ("be:8", "rt", "", "IDLE", "best-effort"):
        with pytest.raises(Failure, match=f"found the I/O priority {json.dumps(text)}; exp") as e:
            set_io_priority(other, text)
        assert e.value.exit_code == 2
    assert io_priority(other) == "none"


def state(name: str) -> dict[str, str]:
    """The settings of a disk's queue that can be set, and those of its scheduler."""
    queue = Path("/sys/block", name, "queue")
    files = [file for file in queue.glob("**/*") if file.is_file() and file.stat().st_mode & 0o400]
    texts = {}
    for file in files:
        try:
            texts[str(file.relative_to(queue))] = file.read_text().strip()
        except OSError:
            # The kernel shows some on some disks only.
            continue
    return texts


SETTINGS = {
    "nr_requests": "8",
    "max_sectors_kb": "128",
    "read_ahead_kb": "64",
    "nomerges": "2",
}
TUNABLES = {
    "none": [],
    "mq-deadline": [("read_expire", "40"), ("fifo_batch", "2"), ("async_depth", "16")],
    "kyber": [("read_lat_nsec", "1000000")],
    "bfq": [("low_latency", "0"), ("slice_idle", "0"), ("back_seek_penalty", "3")],
}


def other_tunable(queue: Path, scheduler: str) -> None:
    """Give a scheduler a tunable that is not its usual one, as an administrator may have done."""
    (queue / "scheduler").write_text(scheduler)
    for name, value in (
        ("write_expire", "4000"),
        ("read_lat_nsec", "3000000"),
        ("timeout_sync", "99"),
    ):
        if (queue / "iosched" / name).exists():
            (queue / "iosched" / name).write_text(value)


@NEEDS_ROOT
@pytest.mark.parametrize("before", TUNABLES)
def test_every_setting_is_put_back_under_every_scheduler(node: str, before: str) -> None:
    name = Path(node).name
    queue = Path("/sys/block", name, "queue")
    usual = state(name)
    other_tunable(queue, before)
    (queue / "read_ahead_kb").write_text("4096")
    own = state(name)
    try:
        for scheduler, tunables in [*TUNABLES.items(), (None, TUNABLES[before])]:
            for settings in (
                *[[setting] for setting in SETTINGS.items()],
                [*SETTINGS.items(), *tunables],
            ):
                with HeldQueues(name, scheduler, settings) as held:
                    now = dict(held.settings())
                    assert now == {"scheduler": scheduler or before, **dict(settings)}
                    shown = state(name)
                    assert f"[{scheduler or before}]" in shown["scheduler"]
                    for key, value in settings:
                        # That of the device is not shown under a scheduler.
                        if key != "nr_requests" or now["scheduler"] == "none":
                            assert shown.get(f"iosched/{key}", shown.get(key)) == value
                    if scheduler is None and settings == [("nr_requests", "8")]:
                        kept = {
                            key for key in own if key.startswith("iosched") and "depth" not in key
                        }
                        assert {key: shown[key] for key in kept} == {key: own[key] for key in kept}
                assert state(name) == own, (scheduler, settings)
    finally:
        (queue / "scheduler").write_text("none")
        (queue / "read_ahead_kb").write_text(usual["read_ahead_kb"])
    assert state(name) == usual
    assert not list(NOTES.glob(f"*.{name}"))


@NEEDS_ROOT
def test_what_cannot_be_put_back_is_refused(node: str) -> None:
    name = Path(node).name
    own = state(name)
    for key, reason in (
        ("discard_max_bytes", "at 0 the kernel forgets the granularity"),
        ("rotational", "its way back was not tried"),
        ("wbt_lat_usec", "once it was set, a switch to bfq no longer turns it off"),
        ("write_cache", "a wrong value loses data"),
    ):
        with pytest.raises(Failure, match=f"{name}: found {key}; expected a setting") as error:
            HeldQueues(name, "bfq", [("nr_requests", "8"), (key, "0")])
        assert (error.value.exit_code, reason in str(error.value)) == (2, True)
    for scheduler, settings in (
        ("bfd", []),
        ("bfq", [("read_expire", "40")]),
        (None, [("nr_requests", "many")]),
        ("bfq", [("nr_requests", "8"), ("max_sectors_kb", "1")]),
    ):
        with pytest.raises(Failure) as error:
            HeldQueues(name, scheduler, settings)
        assert error.value.exit_code == 2
        assert "\nhint: " in str(error.value)
    for wrong in ("no-such-disk", "zram0"):
        with pytest.raises(Failure, match=r"there is no block device|has no schedulers"):
            HeldQueues(wrong, None, [])
    assert state(name) == own


@NEEDS_ROOT
def test_a_second_holder_is_refused(node: str) -> None:
    name = Path(node).name
    held = HeldQueues(name, None, [("read_ahead_kb", "8")])
    with pytest.raises(Failure, match="found another run that has changed its settings") as error:
        HeldQueues(node, "bfq", [])
    assert error.value.exit_code == 5
    held.close()
    held.close()
    assert held.settings() == []
    HeldQueues(node, "bfq", []).close()


HOLDING = """
import sys, time
from penstock._native import HeldQueues
held = HeldQueues(sys.argv[1], "bfq", [("nr_requests", "4"), ("max_sectors_kb", "64")])
print(flush=True)
time.sleep(1000)
"""


@NEEDS_ROOT
def test_after_a_kill_doctor_puts_them_back(node: str, tmp_path: Path) -> None:
    name = Path(node).name
    own = state(name)
    words = [sys.executable, "-c", HOLDING, name]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert state(name) != own
    ended = penstock("doctor", "--clean", "--json", tmp_path)
    assert state(name) == own, ended.err
    assert not list(NOTES.glob(f"*.{name}"))
