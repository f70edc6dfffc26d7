"""Remarks on what a command measures by accident: memory, or a drive's cache, for the disk."""

from collections.abc import Iterator

from penstock.iozone.flags import KIB
from penstock.iozone.options import IozoneOptions
from penstock.iozone.plan import points, tests_of
from penstock.results.merge_types import World
from penstock.text import units

DRIVE_CACHE = 256 * KIB**2
"""The cache of large drives of today. A drive does not say how much it has."""


def remarks(options: IozoneOptions, world: World, memory_bytes: int) -> Iterator[str]:
    """Yield the notes of the options, then a remark for each accident."""
    yield from options.notes
    yield from _left_over(options)
    if world == "simulated":
        yield (
            f"the figures are simulated, on a model of {options.on} in virtual time: no disk of "
            "this machine was measured"
        )
    tested = points(options)
    least = min(point.size * point.threads for point in tested)
    cached = not (options.direct or options.drop is not None)
    tests = tests_of(options)
    reads = [test.key.replace("_", " ") for test in tests if not test.writes]
    if world != "simulated" and reads and cached and least < memory_bytes:
        yield (
            f"files of {units.size(least)} are smaller than memory ({units.size(memory_bytes)}): "
            f"{', '.join(reads)} may be the speed of memory; -s of twice the memory, -I or -U "
            "measures the disk"
        )
    elif world == "measured" and reads and least < DRIVE_CACHE:
        yield (
            f"files of {units.size(least)} may fit in the cache of the drive, which has up to "
            f"{units.size(DRIVE_CACHE)}: then reads are its speed, not that of the medium"
        )
    writes = any(test.writes for test in tests)
    durable = options.flush or options.close or options.sync or options.direct
    if writes and not durable:
        yield (
            "writes are timed until they are in memory: -e includes the flush, -o makes each "
            "durable, -I bypasses the page cache"
        )
    elif writes and options.close and not (options.flush or options.sync or options.direct):
        yield "-c includes close, which on a local file system does not wait for the disk: add -e"


def _left_over(options: IozoneOptions) -> Iterator[str]:
    """Yield a note for the first file that is no multiple of a record."""
    for point in points(options):
        if left := point.size % point.record:
            yield (
                f"a file of {point.size // KIB} KiB is no multiple of {point.record // KIB} KiB "
                f"records: {point.records} records are used, and the last {left // KIB} KiB are not"
            )
            return
