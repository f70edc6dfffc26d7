"""A runner of IOzone's tests in Python: threads with pread and pwrite on real files."""

import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.iozone.options import IozoneOptions
from penstock.iozone.phases import IozoneTest
from penstock.iozone.runner import IozonePoint, MeasuredTest, Report, Worker
from penstock.results.merge_types import World


class Peer:
    """Runs every test with plain calls; it knows no option but the files, the stride and -x."""

    world: World = "measured"

    def __init__(self, options: IozoneOptions) -> None:
        """Use the files of the options."""
        self.options = options
        self.closed = False

    def close(self) -> None:
        """Remove the files, unless they are to be kept."""
        self.closed = True
        for name in () if self.options.keep else self.options.files:
            Path(name).unlink(missing_ok=True)

    def run(self, test: IozoneTest, point: IozonePoint, progress: Report) -> MeasuredTest:
        """Run a test on a thread for each file, all from one moment on."""
        released: list[int] = []
        # The parent's clock starts before any worker does, however late the parent goes on.
        start = threading.Barrier(
            point.threads, action=lambda: released.append(time.monotonic_ns())
        )
        stop = threading.Event()
        workers: list[Worker | None] = [None] * point.threads

        def work(number: int) -> None:
            flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if test.makes else 0)
            file = os.open(self.options.files[number], flags)
            try:
                start.wait()
                began, done = time.monotonic_ns(), 0
                writes = test.writes and (test.key != "random_mix" or number % 2 == 1)
                for record in self.order(test, point, number):
                    if stop.is_set():
                        break
                    if writes:
                        done += os.pwrite(file, bytes(point.record), record * point.record)
                    else:
                        done += len(os.pread(file, point.record, record * point.record))
                took = time.monotonic_ns() - began
                if self.options.stonewall:
                    stop.set()
            finally:
                os.close(file)
            workers[number] = Worker(done, done // point.record, took)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(point.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic_ns() - released[0]
        progress(1.0)
        return MeasuredTest(test, point, took, tuple(worker for worker in workers if worker))

    def order(self, test: IozoneTest, point: IozonePoint, number: int) -> Iterator[int]:
        """Records in the order of a test."""
        records = list(range(point.records))
        if test.key.startswith("random"):
            random.Random(self.options.seed + number).shuffle(records)
        elif test.key == "backward_read":
            records.reverse()
        elif test.key == "stride_read":
            stride = self.options.stride
            records = [record for first in range(stride) for record in records[first::stride]]
        elif test.key == "record_rewrite":
            records = records[:1] * len(records)
        return iter(records)
