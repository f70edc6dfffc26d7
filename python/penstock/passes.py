"""Passes over files: what threads read and write, call by call, and how."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from penstock.target import Target


@dataclass(frozen=True, kw_only=True)
class PassSettings:
    """The files of all passes of a plan, and the options that do not change between them.

    Sizes are bytes. A pass is one test of one worker over its file.
    """

    tests: Sequence[str]
    """The tests of the plan in their order, each once: `write`, `reread`, `random_read`…"""
    threads: int
    """The largest number of workers."""
    size: int
    """The largest size of a worker's file."""
    records: Sequence[int]
    """Every length of a record."""
    files: Sequence[str] = ()
    """The file of each worker; none on a block device."""
    target: Target = field(default_factory=Target)
    """The block device, or `loop:` and the path of a file, in place of files."""
    starts: Sequence[int] = ()
    """The first byte of each worker on the device; by default one follows the other."""
    form: Literal["calls", "mmap", "aio"] = "calls"
    """Plain calls; copies from and to a mapping; POSIX asynchronous calls."""
    depth: int = 1
    """Asynchronous calls in flight."""
    copies: bool = True
    """Asynchronous calls have buffers of their own, from and to which records are copied."""
    stride: int = 17
    """Records from one to the next of `stride_read`."""
    read_percent: int = 50
    """Percentage of the workers that read in `random_mix`."""
    scheduler: str | None = None
    """The kernel's scheduler of the device for the time of the session; if `None`, its own."""
    tunables: Sequence[tuple[str, str]] = ()
    """Tunables of that scheduler, each with its value."""
    direct: bool = False
    """Read and write past the page cache."""
    sync: bool = False
    """Write with `O_SYNC`."""
    include_flush: bool = False
    """The time has the flush at the end of a test that writes."""
    include_close: bool = False
    """The time has the close of the file."""
    stonewall: bool = True
    """The first worker that ends stops the others."""
    verify: bool = False
    """Writes stamp their data, and reads compare it."""
    drop_cache: bool = False
    """Drop the pages of the files before each test."""
    keep: bool = False
    """Keep the files at the end, as owned files."""
    seed: int = 42
    """Seed of the random orders and of the data."""
