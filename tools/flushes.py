"""Measures how long a flush of a disk takes after writes, and how long reads wait for it.

A disk with a volatile cache stores at a flush all that is in there, whoever wrote it.
"""

import mmap
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

AMOUNTS = (1, 16, 64)
"""MiB that are written before a flush."""

REPEATS = 5

MIB = 1 << 20

PAGE = 4096


def flushes(file: Path) -> str:
    """Return a sentence on flushes after direct writes to a file, which is written over."""
    figures = [flush_ms(file, amount) for amount in AMOUNTS]
    flushed, waited = (
        " / ".join(f"{ms:,.1f}" for ms in column) for column in zip(*figures, strict=True)
    )
    amounts = " / ".join(map(str, AMOUNTS))
    return (
        f"A flush after {amounts} MiB of direct writes takes {flushed} ms here, and the slowest "
        f"read of 4 KiB meanwhile {waited} ms."
    )


def flush_ms(file: Path, amount: int) -> tuple[float, float]:
    """Return the medians of a flush after `amount` MiB and of the slowest read meanwhile, in ms."""
    length = file.stat().st_size
    descriptor = os.open(file, os.O_RDWR | os.O_DIRECT)
    pairs = []
    try:
        with mmap.mmap(-1, MIB) as piece:
            for start in range(0, REPEATS * amount * MIB, amount * MIB):
                for at in range(start, start + amount * MIB, MIB):
                    os.pwrite(descriptor, piece, at % length)
                with reading(descriptor, length) as reads:
                    began = time.perf_counter()
                    os.fdatasync(descriptor)
                    ended = time.perf_counter()
                slowest = max(took for at, took in reads if at < ended and at + took > began)
                pairs.append((ended - began, slowest))
    finally:
        os.close(descriptor)
    flush, read = (1000 * median(column) for column in zip(*pairs, strict=True))
    return flush, read


@contextmanager
def reading(descriptor: int, length: int) -> Iterator[list[tuple[float, float]]]:
    """Read pages at random during a block, one at a time: when each began, and its seconds."""
    reads: list[tuple[float, float]] = []
    is_over = threading.Event()

    def read() -> None:
        with mmap.mmap(-1, PAGE) as page:
            while not is_over.is_set():
                began = time.perf_counter()
                os.preadv(descriptor, [page], PAGE * random.randrange(length // PAGE))
                reads.append((began, time.perf_counter() - began))

    thread = threading.Thread(target=read)
    thread.start()
    try:
        while not reads:
            time.sleep(0.001)
        yield reads
    finally:
        is_over.set()
        thread.join()
