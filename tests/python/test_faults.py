"""Devices that fail, fill up, fall silent, and runs that are killed: for real, where root may.

What is provoked is provoked on file systems in files of our own, over loop devices of our own. A
file system that is frozen is thawed by a watchdog whatever becomes of the test.
"""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from command import ROOT, WRITES, Running, penstock, running, without_estimates
from forking import Ended
from penstock import _native

ENGINES = ["io_uring", "libaio", "threads"]

THAW_S = 20
"""A file system is never frozen for longer."""

STUCK = "found a system call that has not returned"

TOOLS = ("losetup", "mkfs.ext4", "mount", "umount", "fsfreeze")


def works(engine: str) -> str:
    """The engine, if this machine has it."""
    found = {one["name"]: one for one in json.loads(_native.doctor("."))["checks"]}
    if engine in found and found[engine]["state"] == "no":
        pytest.skip(f"this machine cannot: {found[engine]['found']}")
    return engine


class Ext4(NamedTuple):
    """A file system of our own in a file."""

    path: Path
    device: str


@contextmanager
def ext4(image: Path, size: str, *options: str) -> Iterator[Ext4]:
    """Make it, and mount it next to its image; where this is not granted, skip."""
    if os.geteuid() != 0 or not all(map(shutil.which, TOOLS)):
        pytest.skip(f"this takes root and {', '.join(TOOLS)}")
    subprocess.run(["truncate", "-s", size, image], check=True)
    subprocess.run(["mkfs.ext4", "-q", *options, image], check=True)
    done = subprocess.run(
        ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no loop device here: {done.stderr.strip()}")
    device, path = done.stdout.strip(), image.with_suffix(".mounted")
    try:
        path.mkdir()
        # Times of files stay in memory: a write that updates an inode waits, where no signal ends
        # it, for the disk of the inode if somebody's `sync` has just begun to write that.
        subprocess.run(["mount", "-o", "lazytime", device, path], check=True)
        try:
            yield Ext4(path, device)
        finally:
            # Lazily: what a command left in flight may hold it for a moment.
            subprocess.run(["umount", "--lazy", path], check=True)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@pytest.fixture
def place(disk: Path) -> Path:
    """A folder on the disk of the repository."""
    return disk.parent


@contextmanager
def frozen(system: Ext4) -> Iterator[None]:
    """Nothing is written to a file system within this, for a while."""
    thaw = ["fsfreeze", "--unfreeze", str(system.path)]
    watchdog = subprocess.Popen(["sh", "-c", f"sleep {THAW_S}; exec {' '.join(thaw)}"])
    try:
        subprocess.run(["fsfreeze", "--freeze", system.path], check=True)
        try:
            yield
            assert watchdog.poll() is None, "the file system was thawed meanwhile"
        finally:
            subprocess.run(thaw, check=watchdog.poll() is None)
    finally:
        watchdog.kill()
        watchdog.wait()


class TestSilence:
    """A device that stops answering: a loop device whose file cannot be written to."""

    @pytest.mark.parametrize("engine", ENGINES)
    def test_the_run_ends_and_says_on_what(self, writes: Path, place: Path, engine: str) -> None:
        words = ("compare", writes, "--policies", "noop,fcfs", "--engine", works(engine), "--json")
        with (
            ext4(place / "outer.img", "96M") as outer,
            ext4(outer.path / "inner.img", "48M", "-O", "^has_journal") as inner,
        ):
            path = inner.path / "disk.img"
            create = ("--on", path, "--create", "8MiB", "--set", "live.timeout=1s")
            with running(place, *words, *create) as command:
                command.wait_for(path.exists)
                time.sleep(1)
                with frozen(outer):
                    # Everything is reported, and the reader knows that it is all, although threads
                    # in a call and libaio's exit cannot end before the kernel lets go.
                    command.until("; expected ")
                    command.wait_for(lambda: closed(command))
                    if engine == "io_uring":
                        command.process.wait(THAW_S)
                ended = command.end()
        assert ended.code == 1
        if engine == "libaio" and STUCK in ended.err:
            return  # Its call that hands commands on waits as well, where the queue below is full.
        (run,) = json.loads(ended.out)["runs"]
        assert (run["policy"], run["interrupted"], run["ended"]) == ("noop", True, "timeout")
        (one,) = run["classes"]
        assert one["requests"] > 0, "what there was before is reported"
        assert one["unfinished"] > 0
        message, hint = without_estimates(ended.err).split("\nhint: ")
        assert re.fullmatch(
            rf"error: {path}: found no answer for 1\.\d s to a write of \d+ bytes at byte \d+"
            r"(, nor to (another command|\d+ other commands))?; expected one within 1\.0 s",
            message,
        )
        assert run["failure"].startswith(message.removeprefix("error: "))
        assert hint.endswith(
            "the target did not answer: the last run is partial; 1 of 2 policies did not run\n"
        )

    def test_ctrl_c_does_not_wait_for_it(self, writes: Path, place: Path) -> None:
        words = ("run", writes, "--policy", "noop", "--engine", works("io_uring"))
        with (
            ext4(place / "outer.img", "96M") as outer,
            ext4(outer.path / "inner.img", "48M", "-O", "^has_journal") as inner,
        ):
            path = inner.path / "disk.img"
            create = ("--on", path, "--create", "8MiB", "--set", "live.timeout=off")
            with running(place, *words, *create) as command:
                command.wait_for(path.exists)
                # Until the file is laid out: the kernel lets no one interrupt its writes.
                time.sleep(1)
                with frozen(outer):
                    time.sleep(1)
                    ended = command.end(signal.SIGINT)
        assert ended.code == 130
        assert "PARTIAL: interrupted" in ended.out
        assert re.search(rf"note: {path}: found no answer for \d\.\d s to a write", ended.out)


def frozen_under(place: Path, *words: str | Path, timeout: str, ctrl_c: bool = False) -> Ended:
    """Run the command on an owned file, and freeze the file's own file system after a second."""
    with ext4(place / "own.img", "48M") as system:
        path = system.path / "disk.img"
        target = ("--on", path, "--create", "8MiB", "--set", f"live.timeout={timeout}")
        with running(place, *words, *target) as command:
            command.wait_for(path.exists)
            time.sleep(1)
            with frozen(system):
                if ctrl_c:
                    time.sleep(1)
                    command.process.send_signal(signal.SIGINT)
                command.wait_for(lambda: closed(command))
            return command.end()


class TestFrozenFileSystem:
    """The file's own file system is frozen, as snapshots of virtual machines and clouds do."""

    @pytest.mark.parametrize("engine", ENGINES)
    def test_the_run_ends_at_its_time_out(self, writes: Path, place: Path, engine: str) -> None:
        words = ("compare", writes, "--policies", "noop,fcfs", "--engine", works(engine), "--json")
        ended = frozen_under(place, *words, timeout="1s")
        path = place / "own.mounted" / "disk.img"
        assert ended.code == 1
        if engine == "libaio":
            # Its call to hand commands on is what does not return, and holds the figures.
            assert re.match(
                rf"error: {path}: {STUCK} for \d\.\d s; "
                r"expected an answer\nhint: .* its file system may be frozen\.",
                without_estimates(ended.err),
            )
            return
        assert without_estimates(ended.err).startswith(f"error: {path}: found no answer for 1.")
        (run,) = json.loads(ended.out)["runs"]
        assert (run["policy"], run["interrupted"], run["ended"]) == ("noop", True, "timeout")
        assert run["classes"][0]["requests"] > 0, "what there was before is kept"

    @pytest.mark.parametrize("engine", ENGINES)
    def test_ctrl_c_ends_the_run(self, writes: Path, place: Path, engine: str) -> None:
        words = ("run", writes, "--policy", "noop", "--engine", works(engine))
        ended = frozen_under(place, *words, timeout="off", ctrl_c=True)
        assert ended.code == 130
        if engine == "libaio":
            assert STUCK in ended.err
        else:
            assert "PARTIAL: interrupted" in ended.out

    @pytest.mark.parametrize("engine", ["io_uring", "threads"])
    def test_the_classes_of_a_kernel_run_end_too(
        self, writes: Path, place: Path, engine: str
    ) -> None:
        words = ("run", writes, "--policy", "kernel:none", "--engine", works(engine), "--json")
        ended = frozen_under(place, *words, timeout="1s")
        assert ended.code == 1
        (run,) = json.loads(ended.out)["runs"]
        assert (run["policy"], run["ended"]) == ("kernel:none", "timeout")


FROZEN_GATE = """
import signal, sys, time
from pathlib import Path
import penstock

path, engine, how, sign = sys.argv[1:]
adopt = how == "adopted"
limit = "off" if how == "ctrl-c" else "1s"
more = {"adopt": True} if adopt else {"create": "8MiB"}
if adopt:
    Path(path).write_bytes(bytes(1 << 20))
gate = penstock.Gate(path, engine=engine, timeout=limit, **more)
gate.write(0, b"before", sync=True)
print("open", flush=True)
while not Path(sign).exists():
    time.sleep(0.02)
try:
    gate.write(5_000, b"x" * 10_000, sync=True)
except BaseException as error:
    print(type(error).__name__, flush=True)
if how != "ctrl-c":
    gate.close()
print("closed", flush=True)
"""
"""A write through a gate while the file system is frozen, and the results."""


class TestFrozenFileSystemUnderAGate:
    """An application's own requests while a snapshot is taken."""

    @pytest.mark.parametrize("how", ["owned", "adopted"])
    @pytest.mark.parametrize("engine", ["io_uring", "threads"])
    def test_asking_and_closing_end_at_the_time_out(
        self, tmp_path: Path, place: Path, engine: str, how: str
    ) -> None:
        with ext4(place / "own.img", "48M") as system:
            sign, path = tmp_path / "frozen", system.path / "disk.img"
            words = (path, works(engine), how, sign)
            with running(place, *words, script=FROZEN_GATE) as command:
                command.wait_for(lambda: "open" in command.out.read_text())
                with frozen(system):
                    sign.touch()
                    command.wait_for(lambda: "closed" in command.out.read_text())
                ended = command.end()
        assert (ended.code, ended.out) == (0, "open\nTimeoutError\nclosed\n")

    @pytest.mark.parametrize("engine", ["io_uring", "threads"])
    def test_ctrl_c_ends_the_wait(self, tmp_path: Path, place: Path, engine: str) -> None:
        with ext4(place / "own.img", "48M") as system:
            sign, path = tmp_path / "frozen", system.path / "disk.img"
            words = (path, works(engine), "ctrl-c", sign)
            with running(place, *words, script=FROZEN_GATE) as command:
                command.wait_for(lambda: "open" in command.out.read_text())
                with frozen(system):
                    sign.touch()
                    time.sleep(1)
                    command.process.send_signal(signal.SIGINT)
                    command.wait_for(lambda: "closed" in command.out.read_text())
                ended = command.end()
        assert (ended.code, ended.out) == (0, "open\nKeyboardInterrupt\nclosed\n")


class TestStoppedProcess:
    """A process that was stopped for longer than a command may take, as by Ctrl-Z."""

    @pytest.mark.parametrize("engine", ENGINES)
    def test_the_device_is_not_blamed(self, writes: Path, disk: Path, engine: str) -> None:
        words = ("run", writes, "--policy", "noop", "--engine", works(engine), "--json")
        more = ("--create", "8MiB", "--set", "live.timeout=1s", "--set", "duration=6s")
        with running(disk.parent, *words, "--on", disk, *more) as command:
            command.wait_for(disk.exists)
            time.sleep(1)
            command.process.send_signal(signal.SIGSTOP)
            time.sleep(3)
            ended = command.end(signal.SIGCONT)
        assert (ended.code, without_estimates(ended.err)) == (0, "")


GATE = """
import json, sys, threading, time
from pathlib import Path
import penstock

def ask(what, *words, **more):
    try:
        results.append(["done", what(*words, **more)])
    except OSError as error:
        results.append([type(error).__name__, error.errno, error.done, str(error)])

path, engine, closes, frozen = sys.argv[1:]
results = []
gate = penstock.Gate(path, create="8MiB", engine=engine, timeout="1s", split="64KiB", depth=2)
gate.write(0, b"before", sync=True)
print("open", flush=True)
while not Path(frozen).exists():
    time.sleep(0.02)
lengths = [1_000, 400_000, 5_000_000, 1_000]
writes = [
    threading.Thread(target=ask, args=(gate.write, place * 1_000_000, bytes(len)), daemon=True)
    for place, len in enumerate(lengths)
]
for write in writes:
    write.start()
if closes == "closing":
    time.sleep(0.3)
    gate.close()
for write in writes:
    write.join()
ask(gate.write, 0, b"later")
ask(gate.read, 0, 10)
ask(gate.flush)
gate.close()
print(json.dumps(results), flush=True)
"""
"""Four writes over a file that does not answer, two at the disk, and three requests after that."""


class TestSilenceUnderAGate:
    """An application's own requests, where the device stops answering."""

    @pytest.mark.parametrize("closes", ["later", "closing"])
    @pytest.mark.parametrize("engine", ["io_uring", "threads"])
    def test_waiting_and_later_calls_fail_and_closing_ends(
        self, tmp_path: Path, place: Path, engine: str, closes: str
    ) -> None:
        with (
            ext4(place / "outer.img", "96M") as outer,
            ext4(outer.path / "inner.img", "48M", "-O", "^has_journal") as inner,
        ):
            path, sign = inner.path / "disk.img", tmp_path / "frozen"
            words = (path, works(engine), closes, sign)
            with running(place, *words, script=GATE) as command:
                command.wait_for(lambda: "open" in command.out.read_text())
                with frozen(outer):
                    sign.touch()
                    # All is reported although threads in a call end only when the kernel lets go.
                    command.wait_for(lambda: "\n[" in command.out.read_text())
                ended = command.end()
        assert ended.code == 0, ended.err
        results = json.loads(ended.out.splitlines()[1])
        assert [one[:2] for one in results] == [["TimeoutError", errno.ETIMEDOUT]] * 7
        for _, _, done, said in results:
            assert done == 0
            assert re.search(
                rf"(write|read|flush) .*of {path}: {path}: found no answer for 1\.\d s to a "
                # A write of part of a block reads the block first.
                r"(read|write) of \d+ bytes at byte \d+(, nor to another command)?; "
                r"expected one within 1\.0 s; 0 bytes are done\nhint: .*`timeout` of the gate$",
                said,
            ), said


def fill(path: Path) -> None:
    """Write to a file until there is no room."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass


def closed(command: Running) -> bool:
    """Whether a process has let its output go."""
    try:
        names = [os.readlink(f"/proc/{command.process.pid}/fd/{number}") for number in (1, 2)]
    except OSError:
        return True
    return not any(name in (str(command.out), str(command.err)) for name in names)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_is_cut_ends_the_run_and_is_left_as_it_is(
    writes: Path, disk: Path, engine: str
) -> None:
    words = ("run", writes, "--policy", "noop", "--engine", works(engine), "--json")
    with running(disk.parent, *words, "--on", disk, "--create", "16MiB") as command:
        command.wait_for(disk.exists)
        os.truncate(disk, 4096)
        ended = command.end()
    assert ended.code == 1
    (run,) = json.loads(ended.out)["runs"]
    assert (run["interrupted"], run["ended"]) == (True, "resized")
    assert f"error: {disk}: found a file of " in ended.err
    assert "expected 16781312, as when the run began\nhint: " in ended.err
    assert disk.stat().st_size <= 16 << 20, "what was written made it grow, but not whole"
    ended = penstock("run", writes, "--policy", "noop", "--on", disk)
    assert ended.code == 5, "not ours any more"


class TestErrors:
    """Requests that fail."""

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_disk_that_is_full(self, tmp_path: Path, place: Path, engine: str) -> None:
        """A file whose blocks were given back, where nothing is left to take their place."""
        job = tmp_path / "job.toml"
        job.write_text(WRITES.replace('"1h"', '"1s"'))
        words = ("run", job, "--policy", "noop", "--engine", works(engine), "--json")
        with ext4(place / "disk.img", "32M", "-O", "^has_journal") as system:
            path = system.path / "disk.img"
            create = ("--on", path, "--create", "8MiB")
            assert penstock(*words, *create).code == 0
            # Its blocks are given back, and another file takes them.
            punch = ["fallocate", "--punch-hole", "--offset", "0", "--length", "8MiB", str(path)]
            subprocess.run(punch, check=True)
            fill(system.path / "theirs")
            ended = penstock(*words, "--on", path)
        (run,) = json.loads(ended.out)["runs"]
        (one,) = run["classes"]
        assert one["errors"] > 0
        assert "interrupted" not in run
        assert list(one["error_codes"]) == ["ENOSPC"]
        code = one["error_codes"]["ENOSPC"]
        assert code["requests"] == one["errors"]
        assert (code["first"]["op"], code["first"]["len"]) == ("write", 4096)
        assert ended.code == (0 if one["requests"] else 1)

    def test_every_request_of_a_class(self, tmp_path: Path, job: Path) -> None:
        """A model's faults are judged as a real disk's are."""
        path = tmp_path / "faulty.toml"
        path.write_text(job.read_text().replace('device = "hdd-7200"\n', "") + DEVICE)
        words = ("run", path, "--policy", "noop", "--set")
        ended = penstock(*words, "device.faults.errors=100%")
        assert ended.code == 1
        assert re.search(
            r"^error: under noop every request of tellers failed: EIO; "
            r"first a write of 4,096 bytes at byte [\d,]+ after ",
            without_estimates(ended.err),
            re.MULTILINE,
        )
        ended = penstock(*words, "device.faults.errors=1%")
        assert (ended.code, without_estimates(ended.err)) == (0, "")
        assert re.search(r"failed: .*\d+ of batch \(EIO; first a write of 262,144", ended.out)


DEVICE = """
[device]
name = "faulty"
model = "fixed"
base = "1ms"
faults = { errors = "1%" }
"""


BEGUN = re.compile(r"noop.* of \d|noop.*% done")
"""The progress of a run, on stderr."""


class TestSignals:
    """What ends a process at any moment."""

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    @pytest.mark.parametrize("verb", ["compare", "run", "watch", "replay"])
    def test_a_run_ends_with_what_there_is(
        self, writes: Path, disk: Path, verb: str, number: signal.Signals, code: int
    ) -> None:
        what: tuple[str | Path, ...] = (
            verb,
            writes,
            "--policy" if verb == "run" else "--policies",
            "noop",
        )
        if verb == "replay":
            trace = ROOT / "examples/traces/pgbench-backup.blkparse.gz"
            slow = ("--set", "trace.timing.speed=0.001")
            what = ("replay", trace, "--fit", "scale", *slow, "--policy", "noop")
        with running(disk.parent, *what, "--on", disk, "--create", "16MiB", "--json") as command:
            # A long trace is read before its run begins.
            command.wait_for(lambda: BEGUN.search(command.err.read_text()))
            ended = command.end(number)
        assert ended.code == code
        (run,) = json.loads(ended.out)["runs"]
        assert (run["interrupted"], run["ended"]) == (True, "asked")
        assert "interrupted: the last run is partial" in ended.err
        assert (
            penstock("run", writes, "--policy", "noop", "--on", disk, "--set", "duration=1s").code
            == 0
        )

    def test_a_run_that_is_killed_leaves_its_file_as_good_as_before(
        self, writes: Path, disk: Path
    ) -> None:
        words = ("run", writes, "--policy", "noop", "--on", disk)
        with running(disk.parent, *words, "--create", "16MiB") as command:
            command.wait_for(disk.exists)
            time.sleep(0.5)
            assert command.end(signal.SIGKILL).code == -signal.SIGKILL
        assert {path.name for path in disk.parent.iterdir()} == {disk.name, "out", "err"}
        # The kernel closes a killed process's ring, and with it the file, a moment later.
        for _ in range(50):
            again = penstock(*words, "--set", "duration=100ms")
            if "in use by another run" not in again.err:
                break
            time.sleep(0.1)
        assert again.code == 0, again.err

    @pytest.mark.parametrize(
        ("number", "code"),
        [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
    )
    def test_the_creation_of_a_file_leaves_nothing(
        self, writes: Path, disk: Path, number: signal.Signals, code: int
    ) -> None:
        folder = disk.parent / "nothing-else"
        folder.mkdir()
        words = ("watch", writes, "--policies", "noop", "--on", folder / "disk.img")
        with running(disk.parent, *words, "--create", "4GiB") as command:
            command.until("writing")
            ended = command.end(number)
        assert (ended.code, ended.out) == (code, "")
        assert list(folder.iterdir()) == []

    def test_a_second_one_ends_the_process(self, tmp_path: Path) -> None:
        script = (
            "import os, signal, time\n"
            "from penstock.signals import StopSignal\n"
            "with StopSignal().first_stops():\n"
            "    try:\n"
            "        os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
            "    except KeyboardInterrupt:\n"
            "        os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\n"
        )
        with running(tmp_path, script=script) as command:
            assert command.end().code == -signal.SIGINT

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_program_keeps_its_own_sigterm(
        self, writes: Path, disk: Path, number: signal.Signals
    ) -> None:
        script = (
            "import sys, penstock\n"
            "result = penstock.compare(sys.argv[1], policies=['noop'], on=sys.argv[2],\n"
            "                          create='16MiB')\n"
            "print(result['noop'].ended, result['noop'].interrupted)\n"
        )
        with running(disk.parent, writes, disk, script=script) as command:
            command.wait_for(disk.exists)
            time.sleep(0.5)
            ended = command.end(number)
        if number == signal.SIGINT:
            assert (ended.code, ended.out) == (0, "asked True\n")
        else:
            assert (ended.code, ended.out) == (-signal.SIGTERM, "")
