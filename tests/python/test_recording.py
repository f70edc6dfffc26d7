"""`penstock trace record`: the kernel's events as a trace, and what it says where it cannot."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import COMMAND, penstock
from forking import Ended
from penstock import recording
from penstock.errors import PenstockError

DISK = recording.Disk(name="/dev/loop0", number="7,0", numbers=frozenset({"7,0", "259,3"}))

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
              dd-11187   [000] ..... 16361.700000: block_rq_issue: 7,0 R 512 () 0 + 8 [dd]
"""  # noqa: E501

LINES = """\
   7,0    0        1     0.000000000 11187  Q  RS 0 + 128 [dd]
   7,0    0        2     0.000354000    14  C  RS 0 + 128 [0]
   7,0    1        3     0.609207000 11189  Q  WS 8 + 8 [Web [x] a]
   7,0    1        4     0.609307000     0  C  WS 8 + 8 [0]
   7,0    0        5     0.002186000 11190  Q FWS 0 + 0 [dd]
   7,0    1        6     2.002510000    22  C  FF 0 + 0 [0]
   7,0    0        7     3.109206000    13  C   R 0 + 8 [0]
"""


def test_events_become_lines_of_blkparse_and_are_read_as_such(tmp_path: Path) -> None:
    formatter = recording.Formatter(DISK)
    events = EVENTS.replace("OWN ", f"penstock-{os.getpid()}").splitlines()
    made = "".join(line for event in events if (line := formatter.line(event)))
    assert made == LINES
    recorded = formatter.recorded
    assert (recorded.requests, recorded.completions, recorded.lost) == (3, 4, 17)
    (tmp_path / "made.blkparse").write_text(made)
    ended = penstock("trace", "stats", tmp_path / "made.blkparse", "--json")
    assert ended.code == 0, ended.err
    (every,) = json.loads(ended.out)["classes"]
    assert every["requests"] == 3


def test_what_is_no_disk_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.blkparse"
    for name, said in (
        (tmp_path / "none", "cannot be recorded: No such file or directory"),
        ("/dev/null", "/dev/null is no block device"),
    ):
        ended = penstock("trace", "record", name, "--for", "1s", "-o", out)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
        assert "hint: name the device file of a disk" in ended.err
    assert not out.exists()


def test_an_output_is_new_and_packed_by_gzip(tmp_path: Path) -> None:
    there = tmp_path / "there.blkparse"
    there.write_text("mine")
    with pytest.raises(PenstockError, match="is there already\nhint: nothing is overwritten"):
        recording.check_out(there)
    with pytest.raises(PenstockError, match=r"hint: name it .*day\.gz"):
        recording.check_out(tmp_path / "day.zst")


def test_where_tracing_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "PLACES", (tmp_path,))
    with pytest.raises(
        PenstockError, match=r"this machine cannot record block I/O: .*\nhint: "
    ) as e:
        recording.tracing()
    assert e.value.exit_code == 77
    for event in recording.NEEDED:
        (tmp_path / "events/block" / event).mkdir(parents=True)
    with pytest.raises(PenstockError, match="has no `instances`"):
        recording.tracing()
    (tmp_path / "instances").mkdir()
    assert recording.tracing() == tmp_path
    # What only looks like tracefs cannot trace: it is said, and nothing is left there.
    out = tmp_path / "out.blkparse"
    with pytest.raises(PenstockError, match=r"cannot record block I/O: .*penstock-\d+") as e:
        recording.record(DISK, out, seconds=1, tracefs=tmp_path)
    assert e.value.exit_code == 77
    assert not out.exists()


MOUNT = "mount -t tracefs tracefs /sys/kernel/tracing"
"""For one command only, as a mount namespace of its own is."""


@pytest.fixture
def node(disk: Path) -> Iterator[str]:
    """A loop device over a file of 32 MiB, where the kernel can trace."""
    kernel = Path("/proc/filesystems").read_text().split()
    tools = all(map(shutil.which, ("losetup", "unshare", "mount", "dd")))
    if os.geteuid() != 0 or not tools or "tracefs" not in kernel:
        pytest.skip("tracing needs root, losetup, unshare, mount, dd and tracefs")
    seen = f"{MOUNT} && test -d /sys/kernel/tracing/events/block/block_bio_queue"
    if subprocess.run(["unshare", "-m", "sh", "-c", seen], check=False).returncode:
        pytest.skip("tracefs cannot be mounted here, or has no block events")
    with disk.open("wb") as file:
        file.truncate(32 << 20)
    made = ("losetup", "--find", "--show", str(disk))
    name = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    yield name
    subprocess.run(["losetup", "--detach", name], check=True)


INSTANCES = "; ls /sys/kernel/tracing/instances | grep ^penstock-; exit $code"
"""What is left of the tracing stands at the end of stdout."""


def recorded(node: str, *words: str | Path, end: bool = False) -> Ended:
    """Record `node` while it is read, where tracefs is mounted for this command only.

    With `end` Ctrl-C comes after that.
    """
    script = f'{MOUNT}; trap : INT; "$@"; code=$?{INSTANCES}'
    verb = (*COMMAND, "trace", "record", node, *map(str, words))
    command = ("unshare", "-m", "sh", "-c", script, "sh", *verb)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as running:
        assert running.stderr
        said = running.stderr.readline()
        if said.startswith("recording"):
            time.sleep(0.5)
            read = ["dd", f"if={node}", "of=/dev/null", "bs=64k", "count=20", "iflag=direct"]
            subprocess.run(read, check=True, capture_output=True)
            time.sleep(0.3)
        if end:
            os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate()
    return Ended(running.returncode, out, said + err)


def test_a_disk_is_recorded_and_the_tracing_is_gone(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.blkparse.gz"
    ended = recorded(node, "--for", "2s", "-o", out, "--json")
    assert ended.code == 0, ended.err
    # Nothing but the JSON: no instance is left.
    (line,) = ended.out.splitlines()
    figures = json.loads(line)
    assert figures["requests"] == figures["completions"] == 20
    assert figures["lost"] == 0
    ended = penstock("trace", "stats", out, "--json")
    (every,) = json.loads(ended.out)["classes"]
    assert every["requests"] == 20
    # With its completions it can be played closed.
    words = ("--on", "flash", "--policy", "noop", "--set", "trace.timing=closed")
    assert penstock("replay", out, *words).code == 0


def test_ctrl_c_ends_it_with_what_there_is(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.blkparse"
    ended = recorded(node, "--for", "1h", "-o", out, end=True)
    assert ended.code == 130, ended.err
    assert ended.out.startswith("20 requests in ")
    assert ended.out.count("\n") == 1
    assert out.read_text().count(" Q ") == 20
    # Where no time is given it is the usual end.
    assert recorded(node, "-o", tmp_path / "more.blkparse", end=True).code == 0


def test_a_recording_of_nothing_leaves_no_file(node: str, tmp_path: Path) -> None:
    out = tmp_path / "day.blkparse"
    ended = recorded(node, "--for", "10ms", "-o", out)
    assert (ended.code, ended.out) == (1, "")
    assert f"error: no request came to {node} in " in ended.err
    assert not out.exists()


def test_what_a_killed_recording_left_is_removed(node: str, tmp_path: Path) -> None:
    # A name that no process has: their numbers are below this one.
    left = f"/sys/kernel/tracing/instances/penstock-{1 << 22}"
    made = f"{MOUNT}; mkdir {left} && ls {left}/trace_pipe"
    subprocess.run(["unshare", "-m", "sh", "-c", made], check=True, capture_output=True)
    # On a busy machine no request may come in that time, which does not matter here.
    ended = recorded(node, "--for", "2s", "-o", tmp_path / "day.blkparse")
    assert ended.code in (0, 1), ended.err
    assert "penstock-" not in ended.out
