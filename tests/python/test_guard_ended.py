"""`penstock guard`, ended at random moments: everything is what it was."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import ROOT, penstock
from penstock import _native
from test_guard import guard, node, programs
from test_linux import state
from test_serve import HERE

__all__ = ["node", "programs"]

pytestmark = [
    pytest.mark.skipif(not HERE, reason="needs root and loop devices"),
    pytest.mark.usefixtures("leftovers"),
]

FAST = """
from penstock.guard import session
session.WINDOW_S = session.READ_S = 0.05
from penstock.command import main
main()
"""
"""The command, with windows so short that a second sees many changes."""

LATEST_S = 5.0
"""Latest end of a guard: by then it has tried every means."""

ONCE_SET = 2
"""First moments, which come once something is set, however late other work lets it be."""

MOMENTS = 4

MANY = 200


def descendants(pid: int) -> Iterator[int]:
    """A process and those that it has started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from descendants(int(child))


def of_programs(programs: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """The I/O priority of each thread, and the groups of each process."""
    for selector in programs:
        for pid in descendants(int(selector.removeprefix("pid:"))):
            yield f"groups of {pid}", Path(f"/proc/{pid}/cgroup").read_text()
            for tid in os.listdir(f"/proc/{pid}/task"):
                yield f"priority of {tid}", _native.io_priority(int(tid))


GROUP_FILES = ("blkio.bfq.weight*", "blkio.throttle.*_device", "io.*", "memory.high")


def groups(disk: str) -> Iterator[tuple[str, str]]:
    """The settings of the topmost groups, and those that a guard of the disk has made."""
    for root in Path("/sys/fs/cgroup").iterdir():
        for folder in (root, *root.rglob(f"penstock.{disk}")):
            yield str(folder), ""
            for pattern in GROUP_FILES:
                for file in folder.glob(pattern):
                    if "stat" not in file.name and "pressure" not in file.name:
                        yield str(file), file.read_text()


def snapshot(node: str, programs: tuple[str, str]) -> dict[str, str]:
    """Everything that a guard of the device may change; others may mount and attach meanwhile."""
    disk = node.removeprefix("/dev/")
    memory = {path.name: path.read_text() for path in Path("/proc/sys/vm").glob("dirty_*")}
    attached = subprocess.run(["losetup", node], capture_output=True, text=True, check=True).stdout
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    mounted = [line for line in mounts if f"{node} " in line]
    return {
        **dict(groups(disk)),
        **memory,
        **state(disk),
        **dict(of_programs(programs)),
        "loop": attached,
        "mounts": "\n".join(mounted),
    }


def notes(node: str) -> list[Path]:
    """The notes of changes of the device."""
    return list(Path("/run/penstock").glob(f"*.{node.removeprefix('/dev/')}"))


@pytest.mark.parametrize(
    "moments", [MOMENTS, pytest.param(MANY, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_ended_at_any_moment_everything_is_what_it_was(
    node: str, programs: tuple[str, str], moments: int
) -> None:
    before = snapshot(node, programs)
    seed = random.randrange(2**32)
    print("seed", seed)
    choose = random.Random(seed)
    words = guard(node, programs, "--goal", "online.p99 <= 1us")
    for moment in range(moments):
        number = (signal.SIGTERM, signal.SIGKILL)[moment % 2]
        with subprocess.Popen(
            [sys.executable, "-c", FAST, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        ) as process:
            began = time.monotonic()
            try:
                if moment < ONCE_SET:
                    while snapshot(node, programs) == before:
                        assert process.poll() is None
                        time.sleep(0.01)
                else:
                    time.sleep(choose.uniform(0.2, LATEST_S))
            finally:
                process.send_signal(number)
                seconds = time.monotonic() - began
            _, err = process.communicate()
        assert process.returncode in (-number, 128 + number), err.decode()
        if number == signal.SIGKILL:
            assert penstock("doctor", "--clean").code in (0, 77)
        after = snapshot(node, programs)
        ended = f"{number.name} after {seconds:.3f} s: {process.returncode}, {err.decode()}"
        assert after == before, ended
        assert notes(node) == [], ended
