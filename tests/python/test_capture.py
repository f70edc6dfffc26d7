"""`penstock capture`: the kernel's events as a trace, and what it says where it cannot."""

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from command import as_nobody, penstock, running
from forking import Ended
from penstock import _native, capturing, tracing
from penstock.errors import PenstockError

DISK = tracing.Disk(name="/dev/loop0", number="7,0", numbers=frozenset({"7,0", "259,3"}))


def test_what_is_no_disk_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.ptrace"
    for name, said in (
        (tmp_path / "none", "cannot be captured: No such file or directory"),
        ("/dev/null", "/dev/null is no block device"),
    ):
        ended = penstock("capture", name, "--for", "1s", "-o", out)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
        assert "hint: name the device file of a disk" in ended.err
    assert not out.exists()


def test_an_output_is_new_and_named_as_a_capture(tmp_path: Path) -> None:
    there = tmp_path / "there.ptrace"
    there.write_text("mine")
    with pytest.raises(PenstockError, match="is there already\nhint: nothing is overwritten"):
        capturing.check_out(there)
    for name in ("day.gz", "day", "day.ptrace.gz"):
        with pytest.raises(PenstockError, match=r"hint: name it day\.ptrace; .* trace convert"):
            capturing.check_out(tmp_path / name)


HEADER = """\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""


def test_what_only_looks_like_tracefs_cannot_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "PLACES", (tmp_path,))
    for event in tracing.NEEDED:
        (tmp_path / "events/block" / event).mkdir(parents=True)
    (tmp_path / "instances").mkdir()
    out = tmp_path / "out.ptrace"
    with tracing.mounted() as tracefs:
        assert tracefs == tmp_path
        with pytest.raises(PenstockError, match="block events of this kernel cannot be read") as e:
            capturing.capture(DISK, out, seconds=1, tracefs=tracefs)
        assert e.value.exit_code == 77
        # It is said, and nothing is left there.
        (tmp_path / "events/header_page").write_text(HEADER)
        with pytest.raises(PenstockError, match=r"cannot capture block I/O: .*penstock-\d+") as e:
            capturing.capture(DISK, out, seconds=1, tracefs=tracefs)
    assert e.value.exit_code == 77
    assert not out.exists()


def test_without_root_it_is_said_what_is_missing(tmp_path: Path, node: str) -> None:
    ended = as_nobody("capture", node, "--for", "1s", "-o", str(tmp_path / "out.ptrace"))
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert "Permission denied" in ended.err


CLASSES = """
device = "flash"
[class.urgent]
[class.idle]
[class.copy]
[class.other]
[trace]
file = "day.ptrace"
[[rule]]
ioprio = ["rt"]
class = "urgent"
[[rule]]
ioprio = ["idle"]
class = "idle"
[[rule]]
process = ["dd"]
class = "copy"
"""


def instances() -> list[str]:
    """The tracing instances of captures."""
    descriptor = _native.tracefs()
    try:
        folder = Path(f"/proc/self/fd/{descriptor}/instances")
        return sorted(path.name for path in folder.glob("penstock-*"))
    finally:
        os.close(descriptor)


def requests(trace: Path) -> int:
    """The number of requests of a trace."""
    (every,) = json.loads(penstock("trace", "stats", trace, "--json").out)["classes"]
    return int(every["requests"])


def captured(folder: Path, node: str, *words: str | Path, end: bool = False) -> Ended:
    """Capture `node` while 20 requests read it; with `end` Ctrl-C comes after that."""
    with running(folder, "capture", node, *words) as command:
        command.until("capturing")
        read = ["dd", f"if={node}", "of=/dev/null", "bs=64k", "count=20", "iflag=direct"]
        subprocess.run(read, check=True, capture_output=True)
        return command.end(signal.SIGINT if end else None)


def test_a_disk_is_captured_as_it_counts_itself_and_the_tracing_is_gone(
    node: str, tmp_path: Path
) -> None:
    out = tmp_path / "day.ptrace"
    ended = captured(tmp_path, node, "--for", "1s", "-o", out, "--json")
    assert ended.code == 0, ended.err
    figures = json.loads(ended.out)
    assert figures["requests"] == figures["completions"] == figures["counted"] == 20
    assert figures["completed_bytes"] == figures["counted_bytes"] == 20 << 16
    assert figures["lost"] == 0
    assert not instances()
    assert requests(out) == 20
    # With its completions it can be played closed.
    words = ("--on", "flash", "--policy", "noop", "--set", "trace.timing=closed")
    assert penstock("replay", out, *words).code == 0


def test_ctrl_c_ends_it_with_what_there_is(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.ptrace"
    ended = captured(tmp_path, node, "--for", "1h", "-o", out, end=True)
    assert ended.code == 130, ended.err
    assert ended.out.startswith("20 requests in ")
    assert ended.out.count("\n") == 1
    assert requests(out) == 20
    # Where no time is given it is the usual end.
    more = captured(tmp_path, node, "-o", tmp_path / "more.ptrace", end=True)
    assert more.code == 0
    assert not instances()


def test_it_lasts_as_long_as_a_command_and_a_process_is_a_class(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.ptrace"
    read = ("dd", f"if={node}", "of=/dev/null", "bs=4k", "count=50", "iflag=direct", "status=none")
    ended = penstock("capture", node, "-o", out, "--json", "--", *read)
    assert ended.code == 0, ended.err
    figures = json.loads(ended.out)
    assert (figures["requests"], figures["counted"], figures["command"]) == (50, 50, 0)
    job = tmp_path / "classes.toml"
    job.write_text(CLASSES)
    ended = penstock("trace", "stats", out, "--classes", job, "--json")
    assert of_classes(ended) == {"copy": 50}, ended.err
    failed = penstock("capture", node, "-o", tmp_path / "no.ptrace", "--", "false")
    assert failed.code == 1
    assert "false ended with exit code 1" in failed.err
    missing = penstock("capture", node, "-o", tmp_path / "none", "--", "no-such-program")
    assert missing.code == 2
    assert not (tmp_path / "none").exists()
    assert not instances()


def test_a_capture_of_nothing_is_a_result(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.ptrace"
    ended = penstock("capture", node, "--for", "10ms", "-o", out)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("0 requests in 0.")
    described = penstock("trace", "stats", out)
    assert described.code == 2
    assert "found no request" in described.err


def test_what_a_killed_capture_left_is_removed(node: str, tmp_path: Path) -> None:
    with running(tmp_path, "capture", node, "-o", tmp_path / "day.ptrace") as command:
        command.until("capturing")
        name = f"penstock-{command.process.pid}-{tracing.disk(Path(node)).number}"
        assert name in instances()
        command.process.kill()
        command.process.wait()
    assert name in instances()
    found = json.loads(penstock("doctor", "--clean", "--json", tmp_path).out)["checks"]
    facts = [check["facts"] for check in found if check["name"] == "tracing instance"]
    assert {"instance": name, "removed": True} in facts
    assert name not in instances()


def of_classes(ended: Ended) -> dict[str, int]:
    """The classes of a trace that have requests, with their number."""
    counts = {row["name"]: row["requests"] for row in json.loads(ended.out)["classes"]}
    return {name: count for name, count in counts.items() if count}


def test_io_priorities_and_every_step_are_kept_and_converted(node: str, tmp_path: Path) -> None:
    Path("/sys/block", Path(node).name, "queue/scheduler").write_text("mq-deadline")
    out = tmp_path / "day.ptrace"
    copy = f"dd if={node} of=/dev/null bs=4k count=30 iflag=direct status=none"
    write = f"dd if=/dev/zero of={node} bs=4k count=10 oflag=direct status=none"
    command = f"ionice -c 1 -n 3 {copy}; ionice -c 3 {write}; {copy}"
    ended = penstock("capture", node, "-o", out, "--json", "--", "sh", "-c", command)
    assert ended.code == 0, ended.err
    job = tmp_path / "classes.toml"
    job.write_text(CLASSES)
    ended = penstock("trace", "stats", out, "--classes", job, "--json")
    counts = of_classes(ended)
    assert counts == {"urgent": 30, "idle": 10, "copy": 30}, ended.err
    # The latencies are from the queue to the completion, in nanoseconds.
    described = json.loads(ended.out)["classes"]
    latencies = [row["recorded_latency"] for row in described if row["requests"]]
    assert all(
        latency["known"] == count for latency, count in zip(latencies, counts.values(), strict=True)
    )
    assert any(latency["mean_ns"] % 1000 for latency in latencies)
    text = tmp_path / "day.txt"
    assert penstock("trace", "convert", out, text, "--to", "blkparse").code == 0
    assert text.read_text().count(" Q ") == sum(counts.values())
    back = tmp_path / "back.ptrace"
    assert penstock("trace", "convert", text, back, "--to", "ptrace").code == 0
    whole = played(out)
    assert whole == played(text) == played(back)


def played(trace: Path) -> object:
    """The classes of a replay of a trace on a model."""
    words = ("--on", "flash", "--policy", "noop", "--json")
    ended = penstock("replay", trace, *words)
    assert ended.code == 0, ended.err
    (run,) = json.loads(ended.out)["runs"]
    return run["classes"]


def test_a_disk_that_goes_away_ends_the_capture(
    tmp_path: Path, disk: Path, leftovers: None
) -> None:
    if os.geteuid() != 0:
        pytest.skip("tracing needs root")
    with disk.open("wb") as file:
        file.truncate(32 << 20)
    made = ("losetup", "--find", "--show", str(disk))
    node = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    out = tmp_path / "day.ptrace"
    with running(tmp_path, "capture", node, "--for", "1h", "-o", out) as command:
        command.until("capturing")
        read = ["dd", f"if={node}", "of=/dev/null", "bs=64k", "count=20", "iflag=direct"]
        subprocess.run(read, check=True, capture_output=True)
        subprocess.run(["losetup", "--detach", node], check=True)
        with open("/dev/loop-control") as control:
            fcntl.ioctl(control, LOOP_CTL_REMOVE, int(Path(node).name.removeprefix("loop")))
        ended = command.end(None)
    assert ended.code == 0, ended.err
    assert "the disk went away" in ended.err
    assert requests(out) == 20
    assert not instances()


LOOP_CTL_REMOVE = 0x4C81


def test_where_the_file_has_no_room_it_is_said(node: str, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", small], check=True)
    try:
        out = small / "day.ptrace"
        read = ("dd", f"if={node}", "of=/dev/null", "bs=4k", "count=999", "iflag=direct")
        ended = penstock("capture", node, "-o", out, "--", *read)
        assert ended.code == 1
        assert "cannot be written: No space left on device" in ended.err
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", small], check=True)
    assert not instances()
