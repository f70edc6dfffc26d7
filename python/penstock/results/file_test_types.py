"""A test of files in JSON, as types. tools/result_types.py writes this file.

Fields are declared and explained in crates/run/src/result/passes.rs.
Names follow fio's where fio has one; a key that may be left out is `NotRequired`.
"""

from typing import TypedDict


class Worker(TypedDict):
    """A worker of a test."""

    bytes: int
    """Bytes that it read or wrote in its time."""
    calls: int
    """Number of records that it read or wrote."""
    ns: int
    """Nanoseconds from its first call to the end of its last, with the flush and the close if they
    are included."""


class FileTest(TypedDict):
    """A test of `penstock iozone`: every worker went through its file once."""

    test: str
    """Name of the test, as `random_read`."""
    threads: int
    """Number of workers."""
    record_bytes: int
    """Bytes of a record, the range of a call."""
    file_bytes: int
    """Bytes of each worker's file: whole records."""
    parent_ns: int
    """Nanoseconds from the common start to the end of the last worker."""
    workers: list[Worker]
    """The workers, in the order of their files."""
