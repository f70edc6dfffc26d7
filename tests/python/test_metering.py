"""The meter of a disk's requests, against fio and the kernel's own counters."""

import fcntl
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from mmap import mmap
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock import _native, metering, tracing
from penstock.errors import PenstockError
from penstock.metering import ClassFigures, Meter, RequestFigures
from penstock.tracing import Disk


@contextmanager
def metered(node: str) -> Iterator[Meter]:
    """A meter of a device, which reads the events in the background as a long run does."""
    over = threading.Event()
    with open(node, "rb") as locked, metering.meter(tracing.disk(Path(node))) as meter:
        # As systemd documents it: udev does not look into a device that is locked.
        fcntl.flock(locked, fcntl.LOCK_EX)

        def read() -> None:
            while not over.wait(0.05):
                meter.read()

        reading = threading.Thread(target=read)
        reading.start()
        try:
            yield meter
        finally:
            over.set()
            reading.join()


def fio(node: str, *words: str) -> dict[str, Any]:
    """Run fio's threads on a device; returns the figures of its job."""
    if shutil.which("fio") is None:
        pytest.skip("needs fio")
    command = ["fio", "--name=f", f"--filename={node}", "--direct=1", "--ioengine=psync",
               "--thread", "--group_reporting", "--output-format=json", *words]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (job,) = json.loads(done.stdout)["jobs"]
    return dict(job)


def total(classes: Mapping[str, ClassFigures], direction: str) -> tuple[int, int]:
    """The requests and the bytes of all classes."""
    figures: list[RequestFigures] = [getattr(of, direction) for of in classes.values()]
    return sum(of.count for of in figures), sum(of.bytes for of in figures)


@pytest.mark.parametrize("scheduler", ["none", "mq-deadline"])
def test_counts_and_bytes_are_those_of_fio(node: str, scheduler: str) -> None:
    queue = Path("/sys/block", Path(node).name, "queue")
    (queue / "scheduler").write_text(scheduler)
    most = (queue / "max_sectors_kb").read_text()
    try:
        # Requests of 256 KiB are split, and neighbours of 4 KiB merged in a plug.
        (queue / "max_sectors_kb").write_text("64")
        with metered(node) as meter:
            meter.window()
            job = fio(
                node, "--rw=randrw", "--bssplit=4k/50:256k/50", "--ioengine=libaio", "--iodepth=16",
                "--iodepth_batch_submit=8", "--numjobs=2", "--number_ios=1500", "--size=32M",
            )  # fmt: skip
            window = meter.window()
    finally:
        (queue / "max_sectors_kb").write_text(most)
        (queue / "scheduler").write_text("none")
    assert (window.lost, window.untracked) == (0, 0)
    for direction in ("read", "write"):
        theirs = job[direction]["total_ios"], job[direction]["io_bytes"]
        ours = total(window.classes, direction)
        assert ours == theirs
    figures = [getattr(of, name) for of in window.classes.values() for name in ("read", "write")]
    assert sum(of.waiting for of in figures) == 0


@pytest.fixture
def slow(leftovers: None) -> Iterator[str]:
    """A disk that takes milliseconds: little is the time in which a thread wakes up."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        pytest.skip("needs root and FUSE")
    served = _native.Served("hdd-7200", size="1GiB")
    try:
        assert served.places is not None
        yield str(served.places[0])
    finally:
        served.close()


def test_latencies_are_those_of_fio(slow: str) -> None:
    with metered(slow) as meter:
        meter.window()
        job = fio(slow, "--rw=randread", "--bs=4k", "--numjobs=4", "--runtime=4", "--time_based")
        window = meter.window()
    (ours,) = (of.read for of in window.classes.values() if of.read.count)
    theirs = job["read"]["clat_ns"]["percentile"]
    assert ours.latency_ns is not None
    assert ours.count == job["read"]["total_ios"]
    assert ours.latency_ns.p99 == pytest.approx(theirs["99.000000"], rel=0.05)
    assert ours.latency_ns.p50 == pytest.approx(theirs["50.000000"], rel=0.05)


def test_requests_that_wait_count_with_their_age(slow: str) -> None:
    over = threading.Event()

    def read(seed: int) -> None:
        places = Random(seed)
        file, page = os.open(slow, os.O_RDONLY | os.O_DIRECT), mmap(-1, 4096)
        while not over.is_set():
            os.preadv(file, [page], places.randrange(1 << 18) << 12)
        os.close(file)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    with metered(slow) as meter:
        for reader in readers:
            reader.start()
        time.sleep(0.2)
        windows = [meter.window() for _ in range(10)]
        over.set()
        for reader in readers:
            reader.join()
        last = meter.window()
    figures = [window.classes["others"].read for window in windows]
    for read_figures in figures:
        assert 0 < read_figures.waiting <= len(readers)
        assert read_figures.latency_ns is not None
        assert read_figures.oldest_ns is not None
        assert read_figures.latency_ns.max >= read_figures.oldest_ns > 0
    assert (last.classes["others"].read.waiting, last.lost) == (0, 0)


def test_threads_have_classes_and_flushes_count_apart(node: str) -> None:
    file = os.open(node, os.O_RDWR | os.O_DIRECT)
    page = mmap(-1, 4096)
    ended, done = threading.Event(), threading.Event()

    def batch() -> None:
        for _ in range(7):
            os.preadv(file, [page], 0)
        ended.set()
        done.wait()

    other = threading.Thread(target=batch)
    try:
        with metering.meter(tracing.disk(Path(node))) as meter:
            meter.assign({threading.get_native_id(): "online"})
            meter.window()
            other.start()
            ended.wait()
            for _ in range(3):
                os.pwritev(file, [page], 4096)
            os.fsync(file)
            assert other.native_id is not None
            window = meter.window()
            meter.assign({other.native_id: "batch", threading.get_native_id(): "online"})
            done.set()
            os.preadv(file, [page], 8192)
            later = meter.window()
    finally:
        done.set()
        other.join()
        os.close(file)
    assert window.classes["others"].read.count == 7
    online = window.classes["online"]
    assert (online.write.count, online.write.bytes, online.flush.count) == (3, 3 * 4096, 1)
    assert online.flush.bytes == online.read.count == 0
    assert later.classes["online"].read.count == 1
    assert later.classes["batch"].read.count == 0
    assert (later.from_ns, window.lost) == (window.to_ns, 0)


def test_without_root_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "PLACES", ())
    if os.geteuid() == 0:
        pytest.skip("root may trace")
    disk = Disk(name="/dev/loop0", number="7,0", numbers=frozenset({"7,0"}))
    missing = pytest.raises(PenstockError, match="only root may see it")
    with missing as error, metering.meter(disk):
        pass
    assert error.value.exit_code == 77
