"""`penstock guard`, ended at random moments: everything is what it was."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
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

MOMENTS = 8

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


def groups() -> Iterator[tuple[str, str]]:
    """What the I/O controller's groups have."""
    for root in ("blkio", "unified", "."):
        for folder, _, files in os.walk(Path("/sys/fs/cgroup", root)):
            yield folder, ""
            for name in sorted(files):
                if name.startswith(("blkio.bfq.weight", "blkio.throttle", "io.", "memory.high")):
                    try:
                        yield f"{folder}/{name}", Path(folder, name).read_text()
                    except OSError:
                        continue


def snapshot(node: str, programs: tuple[str, str]) -> dict[str, str]:
    """Everything that a guard may change."""
    kept = {
        name: text
        for name, text in groups()
        if "io_service" not in name and "stat" not in name and "pressure" not in name
    }
    memory = {path.name: path.read_text() for path in Path("/proc/sys/vm").glob("dirty_*")}
    loops = subprocess.run(["losetup", "--list"], capture_output=True, text=True, check=True).stdout
    places = {"loops": loops, "mounts": Path("/proc/self/mountinfo").read_text()}
    notes = {str(path): "" for path in Path("/run/penstock").glob("*")}
    disk: Mapping[str, str] = state(node.removeprefix("/dev/"))
    return {**kept, **memory, **places, **notes, **disk, **dict(of_programs(programs))}


@pytest.mark.parametrize("moments", [MOMENTS, pytest.param(MANY, marks=pytest.mark.soak)])
def test_ended_at_any_moment_everything_is_what_it_was(
    node: str, programs: tuple[str, str], moments: int
) -> None:
    before = snapshot(node, programs)
    seed = random.randrange(2**32)
    print("seed", seed)
    choose = random.Random(seed)
    words = guard(node, programs, "--goal", "online.p99 <= 1us")
    disk, changed = node.removeprefix("/dev/"), 0
    for moment in range(moments):
        # The first is late, so that something is set then.
        seconds = choose.uniform(0.2, LATEST_S) if moment else LATEST_S
        number = (signal.SIGTERM, signal.SIGKILL)[moment % 2]
        process = subprocess.Popen(
            [sys.executable, "-c", FAST, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )
        time.sleep(seconds)
        changed += not state(disk).items() <= before.items()
        process.send_signal(number)
        _, err = process.communicate()
        assert process.returncode in (-number, 128 + number), err.decode()
        if number == signal.SIGKILL:
            assert penstock("doctor", "--clean").code in (0, 77)
        after = snapshot(node, programs)
        ended = f"{number.name} after {seconds:.3f} s: {process.returncode}, {err.decode()}"
        assert after == before, ended
    assert changed, "no moment was while something was set"
