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

from command import as_nobody, on_a_terminal, penstock, running
from exposed import checked
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
    *("--thread", "--iodepth=8", "--time_based", "--runtime=3600", "--offset=512M", "--size=256M"),
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
        Path("/sys/block", Path(node).name, "queue/read_ahead_kb").write_text("4096")
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


def test_it_begins_with_the_plan_and_writes_metrics(
    node: str, programs: tuple[str, str], tmp_path: Path
) -> None:
    before, name = state(node.removeprefix("/dev/")), node.removeprefix("/dev/")
    plan, exposed = tmp_path / "plan.toml", tmp_path / "guard.prom"
    plan.write_text(PLAN.format(disk=name, means="idle"))
    files = ("--plan", str(plan), "--metrics", str(exposed))
    goals = ("--goal", "online.p99 <= 1h", "--goal", "online.iops >= 1/s")
    with running(tmp_path, *guard(node, programs, *goals, *files, "--json")) as command:
        command.wait_for(exposed.exists)
        decided = f'penstock_guard_decided{{target="{name}"}} 1'
        command.wait_for(lambda: decided in exposed.read_text())
        assert priorities(programs[1]) == {"idle"}
        during = checked(exposed.read_text())
        done = command.end(signal.SIGINT)
    assert during.value("penstock_guard_means_info", means="idle") == 1
    assert during.value("penstock_guard_goals_met") == 1
    counted = {"class": "online", "direction": "read"}
    assert during.value("penstock_requests_total", **counted) > 20
    assert during.value("penstock_latency_seconds_sum", **counted) > 0
    assert checked(exposed.read_text()).value("penstock_guard_running") == 0
    result = json.loads(done.out)
    assert (result["kept"], result["met"], result["remembered"]) == ("idle", True, True)
    assert result["standings"]["nothing"] == {"missed_by": 9.0, "online": 100.0, "batch": 1e6}
    (step,) = result["steps"]
    assert (step["means"], step["reason"]) == ("idle", "the plan's file has it")
    assert step["after"]["online"] > 20
    assert 'goals = ["online.p99 <= 1h", "online.iops >= 1/s"]' in plan.read_text()
    assert state(name) == before


PLAN = """\
# A plan of penstock guard
version = 1
disk = "{disk}"
means = "{means}"
goals = ["online.p99 <= 2h"]
keep = 0.0
without = {{ missed_by = 9.0, online = 100.0, batch = 1e6 }}
under = {{ missed_by = 0.5, online = 100.0, batch = 1e6 }}
"""


def test_a_plan_with_a_means_that_the_disk_cannot_have_is_refused(
    node: str, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(disk=Path(node).name, means="prayer"))
    words = ("--goal", "online.p99 <= 1s", "--plan", str(plan))
    done = penstock(*guard(node, ("command:a", "command:b"), *words))
    assert done.code == 2
    assert f"the plan of {Path(node).name} has the means 'prayer', which the disk ca" in done.err
    assert "expected one of 'nothing', 'idle', " in done.err


def test_a_program_of_another_disk_is_named_with_its_disk(node: str, disk: Path) -> None:
    disk.write_bytes(bytes(8 << 20))
    with started(sys.executable, "-c", OPEN, str(disk)) as online:
        words = ("--goal", "online.p99 <= 1ms", "--for", "6s")
        done = penstock(*guard(node, (f"pid:{online.pid}", "command:no-such-program"), *words))
    assert done.code == 3, done.err
    assert "the online programs asked for nothing in " in done.out
    assert "command:no-such-program matched no process" in done.out
    if os.major(disk.parent.stat().st_dev):
        assert f"pid:{online.pid} works on " in done.out
        assert f", not on {Path(node).name}" in done.out
        assert f"nothing was asked for online; pid:{online.pid} works on " in done.err


OPEN = "import sys, time; file = open(sys.argv[1]); time.sleep(600)"


def test_programs_that_do_not_run_yet_are_waited_for(node: str) -> None:
    words = ("--goal", "online.p99 <= 1ms", "--for", "2s")
    done = penstock(*guard(node, ("command:no-such", "command:none-such"), *words))
    assert done.code == 3, done.err
    assert "no online process runs: waiting for command:no-such, command:none-such" in done.err
    assert "command:no-such matched no process" in done.out


def test_a_process_of_both_classes_is_refused(node: str) -> None:
    before, name = state(node.removeprefix("/dev/")), f"pid:{os.getpid()}"
    done = penstock(*guard(node, (name, name), "--goal", "online.p99 <= 1ms", "--for", "1s"))
    assert done.code == 2
    assert f"is online by {name} and batch by {name}; expected one class" in done.err
    assert state(node.removeprefix("/dev/")) == before


def test_a_value_that_the_kernel_refuses_is_named(node: str) -> None:
    before = state(node.removeprefix("/dev/"))
    with pytest.raises(_native.Failure) as refused:
        _native.HeldQueues(node, None, [("max_sectors_kb", "1")])
    assert "max_sectors_kb" in str(refused.value)
    assert state(node.removeprefix("/dev/")) == before


def test_a_disk_that_does_not_exist_is_refused() -> None:
    done = penstock(*guard("sdzz", ("command:a", "command:b"), "--goal", "online.p99 <= 1ms"))
    assert done.code == 2
    assert done.err.startswith("error: there is no block device sdzz\nhint: ")


def test_a_plan_and_metrics_have_two_files(node: str, tmp_path: Path) -> None:
    both = str(tmp_path / "both")
    words = ("--goal", "online.p99 <= 1ms", "--plan", "both", "--metrics", both)
    done = penstock(*guard(node, ("command:a", "command:b"), *words), cwd=tmp_path)
    said = f"error: --plan and --metrics name the same file, {both}\nhint: name two\n"
    assert (done.code, done.err) == (2, said)


def test_without_root_it_is_refused_and_what_is_possible_is_named() -> None:
    done = as_nobody(*guard("sdzz", ("command:a", "command:b"), "--goal", "online.p99 <= 1ms"))
    assert done.code == 77
    assert done.err.splitlines() == [
        "error: a guard needs root: it traces the disk, and sets its queue and threads",
        "hint: without root, --dry-run shows what it would write, and `ionice -c 3 -p PID` holds "
        "back a process of yours under mq-deadline or bfq",
    ]


def test_on_a_terminal_it_is_watched_and_q_puts_everything_back(
    node: str, programs: tuple[str, str]
) -> None:
    before, classes = state(node.removeprefix("/dev/")), priorities(programs[1])
    words = guard(node, programs, "--goal", "online.p99 <= 1us")
    ended = on_a_terminal(*words, press=[("the one before misses", "q")])
    assert ended.code == 130
    assert "Last changes" in ended.out
    assert f"{Path(node).name}: online.p99 <= 1us" in ended.out
    assert state(node.removeprefix("/dev/")) == before
    assert priorities(programs[1]) == classes
