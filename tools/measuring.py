"""What a machine keeps while it is measured: huge pages, and its memory if it is a virtual one."""

import mmap
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

HUGE = Path("/sys/kernel/mm/transparent_hugepage")
"""Settings of huge pages."""

REPORTED = Path("/sys/module/page_reporting/parameters/page_reporting_order")
"""Order of the smallest stretch of free pages that a virtual machine gives back to its host."""

LARGER_THAN_ANY = "11"
"""An order that no stretch of free pages has."""

SPARE = 1 << 30
"""Bytes of memory that are left to others while the rest is taken from the host."""


@contextmanager
def measuring() -> Iterator[None]:
    """A block that SIGTERM leaves as Ctrl-C does, in which memory is huge pages and stays here."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with huge_pages(), own_memory():
        yield


@contextmanager
def own_memory() -> Iterator[None]:
    """All of the memory of a virtual machine for a block, whose host gets none back meanwhile.

    A page of the cache that the host must find first makes a request of the disk wait for that.
    """
    with ExitStack() as stack:
        # A kernel without reports has no such file, and some refuse the order.
        with suppress(OSError):
            before = REPORTED.read_text()
            REPORTED.write_text(LARGER_THAN_ANY)
            stack.callback(REPORTED.write_text, before)
            take_memory()
        yield


def take_memory() -> None:
    """Write to each page of the free memory, so that the host must give it."""
    words = Path("/proc/meminfo").read_text().split()
    free = 1024 * int(words[words.index("MemAvailable:") + 1]) - SPARE
    if free > 0:
        with mmap.mmap(-1, free) as memory:
            memory[:: mmap.PAGESIZE] = bytes(len(range(0, free, mmap.PAGESIZE)))


@contextmanager
def huge_pages() -> Iterator[None]:
    """Huge pages for every program during a block, in each size that the kernel has.

    A buffer of single pages is one segment of a request for each page, which a virtual disk pays
    for; how many lie side by side depends on how long the machine has been up.
    """
    with ExitStack() as stack:
        stack.enter_context(choice(HUGE / "enabled", "always"))
        for path in HUGE.glob("hugepages-*/enabled"):
            stack.enter_context(choice(path, "inherit"))
        yield


@contextmanager
def choice(path: Path, value: str) -> Iterator[None]:
    """A value that one of the kernel's lists of choices has for a block."""
    before = next(word[1:-1] for word in path.read_text().split() if word.startswith("["))
    path.write_text(value)
    try:
        yield
    finally:
        path.write_text(before)
