"""`penstock capture`: the kernel's events as a trace, and what it says where it cannot."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import as_nobody, penstock, running
from forking import Ended
from penstock import _native, block_events, capturing
from penstock.errors import PenstockError

DISK = block_events.Disk(name="/dev/loop0", number="7,0", numbers=frozenset({"7,0", "259,3"}))

EVENTS = r"""
              dd-11187   [000] ..... 16358.390794: block_bio_queue: 7,0 RS 0 + 128 [dd]
     ksoftirqd/0-14      [000] ..s.. 16358.391148: block_rq_complete: 7,0 RS () 0 + 128 be,0,4 [0]
 Web Content (x)-11189   [001] ..... 16359.000001: block_bio_queue: 259,3 WS 8 + 8 [Web [x] a]
CPU:1 [LOST 17 EVENTS]
          <idle>-0       [001] d.h1. 16359.000101: block_rq_complete: 7,0 WS () 8 + 8 [0]
              dd-11190   [000] ..... 16358.392980: block_bio_queue: 7,0 FWS 0 + 0 [dd]
     ksoftirqd/1-22      [001] ..s.. 16360.393304: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
         smartd-300      [001] ..... 16360.400000: block_bio_queue: 7,0 N 0 + 8 [smartd]
     ksoftirqd/1-22      [001] ..s.. 16360.400100: block_rq_complete: 7,0 R (12 00 00) 0 + 8 [0]
              cp-12      (-----) [000] ..... 16360.500000: block_bio_queue: 7,1 R 0 + 8 [cp]
              lvm-13     [000] ..... 16361.500000: block_bio_complete: 7,0 R 0 + 8 [0]
              OWN        [000] ..... 16361.600000: block_bio_queue: 7,0 W 0 + 8 [penstock]
              dd-11187   [000] ..... 16361.700000: block_rq_issue: 7,0 R 512 () 0 + 8 be,0,4 [dd]
              dd-11187   [000] ..... 16361.700001: block_rq_insert: 7,0 W 512 () 8 + 8 [dd]
              dd-11187   [000] ..... 16361.700002: block_bio_backmerge: 7,0 W 16 + 8 [dd]
              dd-11187   [000] ..... 16361.700003: block_getrq: 7,0 W 24 + 8 [dd]
              dd-11187   [000] ..... 16361.700004: block_split: 7,0 W 24 / 32 [dd]
"""  # noqa: E501

LINES = """\
   7,0    0        1     0.000000000 11187  Q  RS 0 + 128 [dd]
   7,0    0        2     0.000354000    14  C  RS 0 + 128 [0]
   7,0    1        3     0.609207000 11189  Q  WS 8 + 8 [Web [x] a]
   7,0    1        4     0.609307000     0  C  WS 8 + 8 [0]
   7,0    0        5     0.002186000 11190  Q FWS 0 + 0 [dd]
   7,0    1        6     2.002510000    22  C  FF 0 + 0 [0]
   7,0    0        7     3.109206000    13  C   R 0 + 8 [0]
   7,0    0        8     3.309206000 11187  D   R 0 + 8 [dd]
   7,0    0        9     3.309207000 11187  I   W 8 + 8 [dd]
   7,0    0       10     3.309208000 11187  M   W 16 + 8 [dd]
   7,0    0       11     3.309209000 11187  G   W 24 + 8 [dd]
"""


def test_events_become_lines_of_blkparse_and_are_read_as_such(tmp_path: Path) -> None:
    formatter = block_events.Formatter(DISK)
    events = EVENTS.replace("OWN ", f"penstock-{os.getpid()}").splitlines()
    made = "".join(line for event in events if (line := formatter.line(event)))
    assert made == LINES
    captured = formatter.captured
    assert (captured.requests, captured.merges, captured.lost) == (3, 1, 17)
    # A flush moves nothing: the kernel counts it apart.
    assert (captured.completions, captured.completed_bytes) == (3, 144 * 512)
    (tmp_path / "made.blkparse").write_text(made)
    ended = penstock("trace", "stats", tmp_path / "made.blkparse", "--json")
    assert ended.code == 0, ended.err
    (every,) = json.loads(ended.out)["classes"]
    assert every["requests"] == 3


def test_what_is_no_disk_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.blkparse"
    for name, said in (
        (tmp_path / "none", "cannot be captured: No such file or directory"),
        ("/dev/null", "/dev/null is no block device"),
    ):
        ended = penstock("capture", name, "--for", "1s", "-o", out)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
        assert "hint: name the device file of a disk" in ended.err
    assert not out.exists()


def test_an_output_is_new_and_packed_by_gzip(tmp_path: Path) -> None:
    there = tmp_path / "there.blkparse"
    there.write_text("mine")
    with pytest.raises(PenstockError, match="is there already\nhint: nothing is overwritten"):
        capturing.check_out(there)
    with pytest.raises(PenstockError, match=r"hint: name it .*day\.gz"):
        capturing.check_out(tmp_path / "day.zst")


def test_what_only_looks_like_tracefs_cannot_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capturing, "PLACES", (tmp_path,))
    for event in capturing.NEEDED:
        (tmp_path / "events/block" / event).mkdir(parents=True)
    (tmp_path / "instances").mkdir()
    with capturing.tracing() as tracefs:
        assert tracefs == tmp_path
        # It is said, and nothing is left there.
        out = tmp_path / "out.blkparse"
        with pytest.raises(PenstockError, match=r"cannot capture block I/O: .*penstock-\d+") as e:
            capturing.capture(DISK, out, seconds=1, tracefs=tracefs)
    assert e.value.exit_code == 77
    assert not out.exists()


def test_without_root_it_is_said_what_is_missing(tmp_path: Path, node: str) -> None:
    ended = as_nobody("capture", node, "--for", "1s", "-o", str(tmp_path / "out.blkparse"))
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert "Permission denied" in ended.err


@pytest.fixture
def node(disk: Path, leftovers: None) -> Iterator[str]:
    """A loop device over a file of 32 MiB, where the kernel can trace."""
    if os.geteuid() != 0:
        pytest.skip("tracing needs root")
    try:
        os.close(_native.tracefs())
    except OSError as error:
        pytest.skip(f"tracefs cannot be mounted here: {error}")
    with disk.open("wb") as file:
        file.truncate(32 << 20)
    made = ("losetup", "--find", "--show", str(disk))
    name = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    yield name
    subprocess.run(["losetup", "--detach", name], check=True)


CLASSES = """
device = "flash"
[class.copy]
[class.other]
[trace]
file = "day.blkparse"
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
    out = tmp_path / "day.blkparse.gz"
    ended = captured(tmp_path, node, "--for", "1s", "-o", out, "--json")
    assert ended.code == 0, ended.err
    figures = json.loads(ended.out)
    assert figures["requests"] == figures["completions"] == figures["counted"] == 20
    assert figures["completed_bytes"] == figures["counted_bytes"] == 20 << 16
    assert figures["lost"] == 0
    assert not instances()
    ended = penstock("trace", "stats", out, "--json")
    (every,) = json.loads(ended.out)["classes"]
    assert every["requests"] == 20
    # With its completions it can be played closed.
    words = ("--on", "flash", "--policy", "noop", "--set", "trace.timing=closed")
    assert penstock("replay", out, *words).code == 0


def test_ctrl_c_ends_it_with_what_there_is(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.blkparse"
    ended = captured(tmp_path, node, "--for", "1h", "-o", out, end=True)
    assert ended.code == 130, ended.err
    assert ended.out.startswith("20 requests in ")
    assert ended.out.count("\n") == 1
    assert out.read_text().count(" Q ") == 20
    # Where no time is given it is the usual end.
    more = captured(tmp_path, node, "-o", tmp_path / "more.blkparse", end=True)
    assert more.code == 0
    assert not instances()


def test_it_lasts_as_long_as_a_command_and_a_process_is_a_class(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.blkparse"
    read = ("dd", f"if={node}", "of=/dev/null", "bs=4k", "count=50", "iflag=direct", "status=none")
    ended = penstock("capture", node, "-o", out, "--json", "--", *read)
    assert ended.code == 0, ended.err
    figures = json.loads(ended.out)
    assert (figures["requests"], figures["counted"], figures["command"]) == (50, 50, 0)
    job = tmp_path / "classes.toml"
    job.write_text(CLASSES)
    ended = penstock("trace", "stats", out, "--classes", job, "--json")
    classes = {one["name"]: one["requests"] for one in json.loads(ended.out)["classes"]}
    assert classes["copy"] == 50, ended.err
    failed = penstock("capture", node, "-o", tmp_path / "no.blkparse", "--", "false")
    assert failed.code == 1
    assert "false ended with exit code 1" in failed.err
    missing = penstock("capture", node, "-o", tmp_path / "none", "--", "no-such-program")
    assert missing.code == 2
    assert not (tmp_path / "none").exists()
    assert not instances()


def test_a_capture_of_nothing_is_a_result(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.blkparse"
    ended = penstock("capture", node, "--for", "10ms", "-o", out)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("0 requests in 0.")
    assert out.read_bytes() == b""


def test_what_a_killed_capture_left_is_removed(node: str, tmp_path: Path) -> None:
    with running(tmp_path, "capture", node, "-o", tmp_path / "day.blkparse") as command:
        command.until("capturing")
        name = f"penstock-{command.process.pid}"
        assert name in instances()
        command.process.kill()
        command.process.wait()
    assert name in instances()
    found = json.loads(penstock("doctor", "--clean", "--json", tmp_path).out)["checks"]
    facts = [check["facts"] for check in found if check["name"] == "tracing instance"]
    assert {"instance": name, "removed": True} in facts
    assert name not in instances()
