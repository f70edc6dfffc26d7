"""`penstock serve` and `--on block:`: a modelled disk under the kernel."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from command import ROOT, Running, penstock, running
from test_linux import BLOCKS, state

NOTES = Path("/run/penstock")

HERE = os.geteuid() == 0 and Path("/dev/fuse").exists() and Path("/dev/loop-control").exists()

pytestmark = [
    pytest.mark.skipif(not HERE, reason="needs root, FUSE and loop devices"),
    pytest.mark.usefixtures("leftovers"),
]


@contextmanager
def served(folder: Path, *words: str) -> Iterator[tuple[str, Running]]:
    """Serve a device; yields its node and the command."""
    with running(folder, "serve", *words) as command:
        command.wait_for(lambda: command.out.read_text().endswith("\n"))
        yield command.out.read_text().strip(), command


def noted(name: str) -> dict[str, str]:
    """The old settings of a loop device, as the note of its server has them.

    A server that was killed has left older ones, which come first and are those that count.
    """
    lines = reversed((NOTES / f"served.{name}").read_text().splitlines())
    fields = (line.split(maxsplit=3) for line in lines)
    return {attribute.split("/")[-1]: value for _, _, attribute, value in fields}


def under_bfq(process: int) -> list[str]:
    """The disks under bfq whose settings a process holds, by the notes that it has open."""
    names = []
    for file in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            names.append(os.readlink(file))
    start = f"{NOTES}/queue."
    disks = [name.removeprefix(start) for name in names if name.startswith(start)]
    return [disk for disk in disks if "[bfq]" in state(disk)["scheduler"]]


def is_served(name: str) -> bool:
    """Whether a loop device is still over the file of a server; others may take the device then."""
    file = BLOCKS / name / "loop/backing_file"
    return file.exists() and file.read_text() == "/disk\n"


def settled(name: str, before: dict[str, str]) -> None:
    """Check that a loop device is detached and has its own settings again."""
    assert not is_served(name)
    assert not list(NOTES.glob(f"*.{name}"))
    after = state(name)
    # What is in use is in brackets, and that it turns is a matter of the file below.
    after["scheduler"] = after["scheduler"].split("[")[1].split("]")[0]
    assert {key: after[key] for key in before if key in after and key != "rotational"} == {
        key: value for key, value in before.items() if key in after and key != "rotational"
    }


def fio(node: str, *words: str) -> float:
    """The mean latency in milliseconds of random reads of 4 KiB."""
    done = subprocess.run(
        ["fio", "--name=r", f"--filename={node}", "--direct=1", "--rw=randread", "--bs=4k",
         "--ioengine=libaio", "--time_based", "--output-format=json", *words],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    mean: float = json.loads(done.stdout)["jobs"][0]["read"]["lat_ns"]["mean"] / 1e6
    return mean


def test_a_device_answers_in_the_time_of_its_model_and_goes_with_ctrl_c(tmp_path: Path) -> None:
    with served(tmp_path, "hdd-7200", "--size", "64GiB", "--depth", "8") as (node, command):
        name = node.removeprefix("/dev/")
        before, now = noted(name), state(name)
        assert now["scheduler"].startswith("[none]")
        assert (now["rotational"], now["nr_requests"]) == ("1", "8")
        # FUSE would halve longer commands.
        assert now["max_sectors_kb"] == "1024"
        # The model has no cache that a flush would have to empty.
        assert now["write_cache"] == "write through"
        assert (BLOCKS / name / "size").read_text() == f"{64 << 21}\n"
        # A quarter of a turn is 2 ms, and a short seek some more.
        assert 4 < fio(node, "--iodepth=1", "--runtime=2") < 9
        fio(node, "--iodepth=32", "--runtime=1")
        ended = command.end(signal.SIGINT)
    assert ended.code == 130
    assert "requests, at most 8 at once; answered late by" in ended.out
    assert re.search(r"; idle, it began \S+ [µm]s before a request came", ended.out)
    settled(name, before)


def test_data_is_kept_in_a_file_and_a_discard_leaves_zeros(tmp_path: Path) -> None:
    kept = tmp_path / "kept.img"
    words = ("flash", "--size", "16MiB", "--keep", str(kept))
    with served(tmp_path, *words) as (node, command):
        second = penstock("serve", *words)
        assert (second.code, second.out) == (5, "")
        assert second.err.startswith(f"error: {kept} is served by another process\nhint: ")
        Path(node).write_bytes(b"kept" * 2048)
        subprocess.run(["blkdiscard", "--length", "4096", node], check=True)
        command.end(signal.SIGTERM)
    data = kept.read_bytes()
    assert data[:8192] == bytes(4096) + b"kept" * 1024
    with served(tmp_path, *words) as (node, command), Path(node).open("rb") as device:
        assert device.read(8192) == data[:8192]
    other = penstock("serve", "flash", "--size", "8MiB", "--keep", kept)
    assert other.code == 2
    assert "found 16777216 bytes; expected 8388608" in other.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["flush"], 2, "error: unknown device `flush`\nhint: did you mean `flash`?"),
        (["flash", "--size", "1024TiB"], 2, "error: --size 1024TiB is more than the "),
        (["flash", "--size", "1000"], 2, "error: --size: "),
        (["fairio-raid", "--depth", "2"], 2, None),
    ],
)
def test_what_cannot_be_served_is_refused(words: list[str], code: int, message: str | None) -> None:
    ended = penstock("serve", *words)
    assert (ended.code, ended.out) == (code, "")
    assert message is None or ended.err.startswith(message), ended.err


def test_after_a_kill_readers_get_errors_and_nothing_is_left(tmp_path: Path) -> None:
    with served(tmp_path, "hdd-7200", "--depth", "4") as (node, command):
        name = node.removeprefix("/dev/")
        before = noted(name)
        reader = subprocess.Popen(
            ["fio", "--name=r", f"--filename={node}", "--direct=1", "--rw=randread", "--bs=4k",
             "--ioengine=libaio", "--iodepth=8", "--runtime=30", "--time_based"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        time.sleep(1)
        os.kill(command.process.pid, signal.SIGKILL)
        killed = time.monotonic()
        _, errors = reader.communicate(timeout=20)
        assert time.monotonic() - killed < 5
        assert (reader.returncode, b"Input/output error" in errors) == (1, True)
        command.process.wait()
    cleaned = json.loads(penstock("doctor", "--clean", "--json", tmp_path).out)
    facts = [check["facts"] for check in cleaned["checks"] if check["name"] == "disk settings"]
    assert name in [fact["disk"] for fact in facts]
    settled(name, before)


JOB_FILE = str(ROOT / "examples/bank-day.toml")

JOB = """
duration = "1500ms"
[block]
depth = 4
[class.people]
ioprio = "rt:0"
[class.batch]
ioprio = "idle"
[[agent]]
class = "people"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 4 }
[[agent]]
class = "batch"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 16 }
"""


def test_one_line_compares_the_kernels_schedulers_and_ours(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.replace("1500ms", "4s"))
    policies = "kernel:none,kernel:mq-deadline,mq-deadline"
    words = ("compare", tmp_path / "job.toml", "--on", "block:hdd-7200@4", "--policies", policies)
    sets = ("--set", "kernel:mq-deadline.fifo_batch=4", "--json")
    ended = penstock(*words, *sets)
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert (result["world"], result["device"]) == ("emulated", "block:hdd-7200@4")
    none, theirs, ours = result["runs"]
    (name,) = none["schedulers"]
    for run, scheduler in ((none, "none"), (theirs, "mq-deadline"), (ours, "none")):
        assert run["schedulers"] == {name: scheduler}
        assert run["emulation"]["completions"] > 100
        assert not [remark for remark in run.get("remarks", []) if "at once" in remark]
    assert theirs["params"] == {"fifo_batch": "4"}
    # Two threads wait for four places by turns, to which one may come late on a busy machine; a
    # scheduler that knows priorities gives one nearly all, forty times as much and more.
    by_turns, by_theirs, by_ours = (
        people["iops"] / batch["iops"]
        for people, batch in (run["classes"] for run in (none, theirs, ours))
    )
    assert by_turns < 4
    assert by_theirs > max(3, 8 * by_turns)
    assert by_ours > max(3, 8 * by_turns)
    settled(name, {})


def test_a_run_that_is_killed_leaves_no_device(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.replace("1500ms", "60s"))
    words = ("run", tmp_path / "job.toml", "--on", "block:hdd-7200", "--policy", "kernel:bfq")
    with running(tmp_path, *words) as command:
        command.wait_for(lambda: under_bfq(command.process.pid))
        (name,) = under_bfq(command.process.pid)
        os.kill(command.process.pid, signal.SIGKILL)
        command.process.wait()
    until = time.monotonic() + 10
    while is_served(name) and time.monotonic() < until:
        time.sleep(0.1)
    assert penstock("doctor", "--clean", tmp_path).code in (0, 77)
    settled(name, {})


def test_options_about_a_target_do_not_go_with_it() -> None:
    ended = penstock("run", JOB_FILE, "--policy", "noop", "--on", "block:flash", "--create", "1GiB")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: --create does not go with block:flash\nhint: ")
    ended = penstock("run", JOB_FILE, "--policy", "noop", "--on", "block:")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: block: lacks a name; expected block:DEVICE[@SPEED]\nhint: ")


def test_the_example_prints_a_row_for_each_scheduler() -> None:
    command = Path(sys.executable).with_name("penstock")
    done = subprocess.run(
        [ROOT / "examples/served-disk.sh", "flash", "1"],
        env=os.environ | {"PENSTOCK": str(command)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    heading, *rows = [line.split() for line in done.stdout.splitlines()]
    assert heading[0] == "scheduler"
    assert [row[0] for row in rows] == ["none", "mq-deadline", "bfq"]
    assert all(float(figure) > 0 for row in rows for figure in row[1:])
