"""`penstock.Gate`: exactly the bytes that are named change, from any thread, and errors say why."""

import errno
import fcntl
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock
from command import penstock as command

SIZE = 1 << 20


def test_an_owned_file_holds_exactly_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "data.img"
    with penstock.Gate(path, create="1MiB", split="4KiB") as gate:
        before = path.read_bytes()[:SIZE]
        gate.write(1_000, b"short", sync=True)
        gate.write(100_001, bytearray(b"long") * 5_000)
        gate.flush()
        assert gate.read(998, 9) == before[998:1_000] + b"short" + before[1_005:1_007]
        stats = gate.stats()
    expected = bytearray(before)
    expected[1_000:1_005] = b"short"
    expected[100_001:120_001] = b"long" * 5_000
    assert path.read_bytes()[:SIZE] == expected
    assert (stats.short.requests, stats.long.requests, stats.flush.requests) == (2, 1, 1)
    assert (stats.long.bytes, stats.long.pieces, stats.threshold) == (20_000, 5, 4_096)
    assert stats.long.latency_ns.max >= stats.long.latency_ns.p50 > 0


def test_a_new_file_reads_as_zeros(tmp_path: Path) -> None:
    with penstock.Gate(tmp_path / "data.img", create="3MiB") as gate:
        assert gate.read(0, 3 << 20) == bytes(3 << 20)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({"offset": -1}, "found offset=-1; expected a number of bytes from 0 on"),
        ({"offset": 1 << 64}, f"found offset={1 << 64}; expected a number of bytes from 0 on"),
        ({"length": -1}, "found length=-1; expected a number of bytes from 0 on"),
        ({"file": -1}, "found file=-1; expected an index below 1"),
        ({"file": 1 << 40}, f"found file={1 << 40}; expected an index below 1"),
    ],
)
def test_a_number_out_of_range_is_refused_in_words(
    tmp_path: Path, places: dict[str, int], said: str
) -> None:
    path = tmp_path / "own"
    path.write_bytes(b"-----")
    with penstock.Gate(path, adopt=True) as gate, pytest.raises(penstock.PenstockError) as error:
        gate.read(**{"offset": 0, "length": 1, **places})
    assert said in str(error.value)
    with pytest.raises(penstock.PenstockError, match="out of range"):
        penstock.Gate(path, adopt=True, depth=-1)


def test_many_threads_write_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "own"
    path.write_bytes(b"")
    with penstock.Gate(path, adopt=True, policy="fcfs") as gate, ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(gate.write, 100 * n, bytes([n]) * 100) for n in range(64)]:
            done.result()
    assert path.read_bytes() == b"".join(bytes([n]) * 100 for n in range(64))


def test_several_files_and_a_model_without_one(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(b"-----")
    with penstock.Gate(*paths, adopt=True, guard={"after": 4}) as gate:
        gate.write(1, b"a")
        gate.write(2, memoryview(b"b"), file=1)
        assert gate.read(0, 99, file=1) == b"--b--"
    assert [path.read_bytes() for path in paths] == [b"-a---", b"--b--"]
    with penstock.Gate(emulate="paper-disk@100") as gate:
        gate.write(0, bytes(100_000))
        with pytest.raises(ValueError, match="no such file"):
            gate.read(0, 1)


def test_errors_are_those_of_files_with_what_is_done(tmp_path: Path) -> None:
    gate = penstock.Gate(tmp_path / "data.img", create="1MiB")
    with pytest.raises(ValueError, match="outside its 1048576 bytes; 0 bytes are done"):
        gate.write(SIZE, b"x")
    gate.close()
    gate.close()
    with pytest.raises(ValueError, match="the gate is closed"):
        gate.write(0, b"x")
    device = tmp_path / "bad.toml"
    device.write_text('[device]\nmodel = "fixed"\nbase = "1us"\nfaults = { errors = "100%" }\n')
    with penstock.Gate(emulate=str(device)) as gate:
        with pytest.raises(OSError, match="write of 9 bytes at byte 7 of the model") as raised:
            gate.write(7, b"too short")
        assert (raised.value.errno, raised.value.done) == (errno.EIO, 0)  # type: ignore[attr-defined]


def test_what_is_wrong_is_said_before_anything_is_opened(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_bytes(b"another's")
    with pytest.raises(penstock.PenstockError, match="did you mean"):
        penstock.Gate(own, adopt=True, policy="size-prioriti")
    with pytest.raises(penstock.PenstockError, match="unknown key `splt`"):
        penstock.Gate(own, adopt=True, splt="4KiB")
    with pytest.raises(penstock.PenstockError, match="a length of time or `off`"):
        penstock.Gate(own, adopt=True, timeout="of")
    with pytest.raises(penstock.PenstockError) as raised:
        penstock.Gate(own)
    assert raised.value.exit_code == 5
    assert own.read_bytes() == b"another's"


def test_closing_releases_the_files_although_the_gate_is_still_referred_to(tmp_path: Path) -> None:
    path, own = tmp_path / "data.img", tmp_path / "own"
    own.touch()
    with penstock.Gate(path, create="1MiB") as gate:
        gate.write(0, b"first")
    with penstock.Gate(path) as other:
        assert other.read(0, 5) == b"first"
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    adopted = penstock.Gate(own, adopt=True)
    adopted.close()
    assert not any(name.samefile(own) for name in Path("/proc/self/fd").iterdir() if name.exists())
    for closed in (gate, other, adopted):
        with pytest.raises(ValueError, match="the gate is closed"):
            closed.read(0, 1)
    assert gate.stats().short.requests == 1, "what passed is still known"


def test_a_child_of_a_fork_is_refused_and_takes_nothing_with_it(tmp_path: Path) -> None:
    path = tmp_path / "data.img"
    gate = penstock.Gate(path, create="1MiB")
    gate.write(0, b"parent")
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # it would hang
        refused = []
        for ask in (lambda: gate.write(0, b"child"), lambda: gate.read(0, 1), gate.stats):
            try:
                ask()
            except RuntimeError as error:
                refused.append(f"opened by process {os.getppid()}" in str(error))
        gate.close()
        del gate, ask
        os._exit(0 if refused == [True] * 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(penstock.PenstockError, match="in use"):
        penstock.Gate(path)
    assert gate.read(0, 6) == b"parent"
    gate.close()


VERBS = {
    "run": ("run", "{job}", "--policy", "fcfs", "--on", "{file}"),
    "compare": ("compare", "{job}", "--policies", "fcfs", "--on", "{file}"),
    "watch": ("watch", "{job}", "--policies", "fcfs", "--on", "{file}"),
    "loop": ("run", "{job}", "--policy", "fcfs", "--on", "loop:{file}"),
    "emulated": ("run", "{job}", "--policy", "fcfs", "--on", "emulated:flash:{file}"),
    "calibrate": ("calibrate", "{file}", "--create", "16MiB"),
    "advise": ("advise", "split", "--on", "{file}"),
    "paper": ("paper", "online-batch", "live", "--on", "{file}"),
    "replay": ("replay", "{trace}", "--policy", "fcfs", "--on", "{file}"),
}
"""All that writes over its target."""


@pytest.mark.parametrize("verb", VERBS)
def test_no_run_writes_over_what_went_through_a_gate(
    job: Path, tmp_path: Path, disk: Path, verb: str
) -> None:
    with penstock.Gate(disk, create="16MiB") as gate:
        gate.write(0, b"the only copy", sync=True)
    before = disk.read_bytes()
    trace = tmp_path / "trace.spc"
    trace.write_text("0,0,512,w,0.0\n")
    words = [word.format(job=job, file=disk, trace=trace) for word in VERBS[verb]]
    ended = command(*words)
    if ended.code == 77:
        pytest.skip(f"this machine cannot: {ended.err}")
    assert ended.code == 5, ended.err
    assert f"{disk}: found a file with an application's data" in ended.err
    assert disk.read_bytes() == before


def test_what_went_through_a_gate_may_be_given_up(job: Path, disk: Path) -> None:
    with penstock.Gate(disk, create="16MiB") as gate:
        gate.write(0, b"no longer needed")
    words = ("run", job, "--policy", "fcfs", "--on", disk, "--set", "duration=100ms")
    ended = command(*words, "--i-will-lose-data", disk.parent)
    assert ended.code == 2
    assert f"does not name {disk} once more" in ended.err
    for more in (("--i-will-lose-data", disk), ("--i-will-lose-data", disk), ()):
        assert command(*words, *more).code == 0
