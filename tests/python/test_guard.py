"""`penstock guard`: unmodified programs on a loop device, protected and let go."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from command import penstock, running
from penstock import _native
from test_linux import state
from test_serve import HERE

pytestmark = [
    pytest.mark.skipif(not HERE, reason="needs root and loop devices"),
    pytest.mark.usefixtures("leftovers"),
]

ONLINE = """
import mmap, os, random, sys, time
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
while True:
    os.preadv(file, [page], random.randrange(100_000) * 4096)
    time.sleep(0.005)
"""
"""A program that reads 4 KiB at random, 200 times a second."""

FLOOD = (
    *("fio", "--name=flood", "--direct=1", "--rw=write", "--bs=1M", "--ioengine=libaio"),
    # A thread, which ends with its process: another process of fio would go on.
    *("--thread", "--iodepth=8", "--time_based", "--runtime=300", "--offset=512M", "--size=256M"),
)


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs for as long as the block."""
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def node(disk: Path) -> Iterator[str]:
    """A loop device over a file of the disk, under mq-deadline."""
    image = disk.parent / "shared.img"
    subprocess.run(["fallocate", "-l", "1G", image], check=True)
    node = subprocess.run(
        ["losetup", "--find", "--show", "--direct-io=on", image],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    try:
        assert penstock("linux", "set", node, "mq-deadline").code == 0
        yield node
    finally:
        penstock("linux", "set", node, "none")
        subprocess.run(["losetup", "--detach", node], check=True)


@pytest.fixture
def programs(node: str) -> Iterator[tuple[str, str]]:
    """Selectors of an online program and of a batch on the device."""
    with (
        started(sys.executable, "-c", ONLINE, node) as online,
        started(*FLOOD, f"--filename={node}") as batch,
    ):
        time.sleep(1)
        yield f"pid:{online.pid}", f"pid:{batch.pid}"


def priorities(selector: str) -> set[str]:
    """The I/O priorities of a program's threads and those of its children."""
    root = selector.removeprefix("pid:")
    pids = [root, *Path(f"/proc/{root}/task/{root}/children").read_text().split()]
    tids = [tid for pid in pids for tid in os.listdir(f"/proc/{pid}/task")]
    return {_native.io_priority(int(tid)) for tid in tids}


def guard(node: str, programs: Sequence[str], *words: str) -> tuple[str, ...]:
    online, batch = programs
    return ("guard", node, "--online", online, "--batch", batch, *words)


def test_it_keeps_the_first_means_that_meets_the_goal_and_puts_everything_back(
    node: str, programs: tuple[str, str]
) -> None:
    before = state(node.removeprefix("/dev/"))
    words = ("--goal", "online.p99 <= 1h", "--for", "8s", "--json")
    done = penstock(*guard(node, programs, *words, "--batch", "command:no-such-program"))
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["unmatched"] == ["command:no-such-program"]
    assert (result["kept"], result["met"], result["decided"]) == ("nothing", True, True)
    assert result["standings"]["nothing"]["online"] > 20
    assert result["standings"]["nothing"]["batch"] > 1e6
    assert state(node.removeprefix("/dev/")) == before


@pytest.mark.soak
def test_every_means_is_tried_for_a_goal_that_none_meets(
    node: str, programs: tuple[str, str]
) -> None:
    before, classes = state(node.removeprefix("/dev/")), priorities(programs[1])
    words = ("--goal", "online.p99 <= 1us", "--for", "70s", "--json")
    done = penstock(*guard(node, programs, *words))
    assert done.code == 3, done.err
    result = json.loads(done.out)
    assert not result["met"]
    assert list(result["standings"]) == result["means"][: len(result["standings"])]
    assert len(result["standings"]) == len(result["means"]) > 3
    assert [step["means"] for step in result["steps"]][: len(result["means"])] == result["means"]
    assert state(node.removeprefix("/dev/")) == before
    assert priorities(programs[1]) == classes
    assert not list(Path("/sys/fs/cgroup").glob(f"**/penstock.{Path(node).name}"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_after_a_signal_everything_is_what_it_was(
    node: str, programs: tuple[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    before, classes = state(node.removeprefix("/dev/")), priorities(programs[1])
    words = guard(node, programs, "--goal", "online.p99 <= 1us")
    with running(tmp_path, *words) as command:
        command.wait_for(lambda: priorities(programs[1]) == {"idle"})
        time.sleep(3)
        if number == signal.SIGTERM:
            assert command.end(number).code == 143
        else:
            os.kill(command.process.pid, number)
            command.process.wait()
            assert priorities(programs[1]) == {"idle"}
            assert penstock("doctor", "--clean").code in (0, 77)
    assert state(node.removeprefix("/dev/")) == before
    assert priorities(programs[1]) == classes


def test_a_dry_run_shows_every_write_and_makes_none(node: str) -> None:
    before = state(node.removeprefix("/dev/"))
    programs = (f"pid:{os.getpid()}", "command:no-such-program")
    words = ("--goal", "online.p99 <= 1ms", "--dirty-bytes", "64MiB", "--dry-run", "--json")
    done = penstock(*guard(node, programs, *words))
    assert done.code == 0, done.err
    writes = {(write["means"], write["subject"]): write for write in json.loads(done.out)}
    queue = f"/sys/block/{Path(node).name}/queue"
    read_ahead = writes["idle, read-ahead 128 KiB", f"{queue}/read_ahead_kb"]
    assert (read_ahead["has"], read_ahead["gets"]) == (before["read_ahead_kb"], "128")
    assert writes["bfq, idle", f"{queue}/scheduler"]["has"] == "mq-deadline"
    assert writes["idle", "0 threads of the batch"]["gets"] == "idle"
    assert writes["--dirty-bytes", "/proc/sys/vm/dirty_bytes"]["gets"] == str(64 << 20)
    groups = [write for (means, _), write in writes.items() if means == "throttle"]
    made = f"penstock.{Path(node).name}"
    assert all(made in write["subject"] for write in groups)
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{made}"))
    assert state(node.removeprefix("/dev/")) == before


def test_a_disk_has_one_guard(node: str, programs: tuple[str, str], tmp_path: Path) -> None:
    words = guard(node, programs, "--goal", "online.p99 <= 1ms")
    with running(tmp_path, *words) as command:
        command.wait_for(lambda: Path("/run/penstock", f"guard.{Path(node).name}").exists())
        second = penstock(*words, "--for", "1s")
        assert second.code == 5
        assert "has a guard" in second.err
        command.end(signal.SIGINT)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--goal", "batch.p99 <= 1ms"), 2, "is about batch; expected online"),
        (("--goal", "online.mean <= 1ms"), 2, "mean is not measured"),
        (("--goal", "online.p99 <= 1ms", "--keep", "2"), 2, "expected 0% to 100%"),
    ],
)
def test_a_wrong_goal_is_refused(words: tuple[str, ...], code: int, said: str) -> None:
    programs = (f"pid:{os.getpid()}", f"pid:{os.getppid()}")
    done = penstock(*guard("sda", programs, *words))
    assert done.code == code
    assert said in done.err, done.err
