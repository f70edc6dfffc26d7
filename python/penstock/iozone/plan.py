"""The plan of a command: its tests at their sizes, in the order in which they run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from penstock.errors import wrong
from penstock.iozone.flags import KIB
from penstock.iozone.options import IozoneOptions
from penstock.iozone.phases import ORDER_OF_SEVERAL, TESTS, IozoneTest, chosen
from penstock.iozone.runner import IozonePoint

Plan: TypeAlias = Sequence[tuple[IozoneTest, IozonePoint]]

LARGE_FILE = 32 * KIB**2
"""From this size of a file on, the automatic mode leaves out small records."""

SMALL_RECORD = 64 * KIB
"""Records below this are small."""


def plan(options: IozoneOptions) -> Plan:
    """Return every test with its point."""
    tests = tests_of(options)
    return [(test, point) for point in points(options) for test in tests]


def tests_of(options: IozoneOptions) -> Sequence[IozoneTest]:
    """Return the tests that run at each point, in their order."""
    order = ORDER_OF_SEVERAL if options.several else TESTS
    return list(chosen(order, options.phases, again=options.again))


def points(options: IozoneOptions) -> Sequence[IozonePoint]:
    """Return the points in the order in which they are tested."""
    tested = [
        IozonePoint(threads, record, size)
        for threads in options.threads
        for size in _sizes(options)
        for record in _records(options)
        if record <= size and (size < LARGE_FILE or record >= SMALL_RECORD or _all(options))
    ]
    if not tested:
        raise wrong(
            "the automatic mode has nothing to test: all records are larger than the files, or "
            f"small records on files from {LARGE_FILE // KIB**2}m on",
            "add -z, or change -n, -g, -y or -q",
        )
    return tested


def _all(options: IozoneOptions) -> bool:
    """Whether small records are tested on large files."""
    return options.all_records or options.record is not None


def _sizes(options: IozoneOptions) -> Iterator[int]:
    if options.size is not None:
        yield options.size
    else:
        yield from _doubled(*options.sizes)


def _records(options: IozoneOptions) -> Iterator[int]:
    if options.record is not None:
        yield options.record
    else:
        yield from _doubled(*options.records)


def _doubled(least: int, most: int) -> Iterator[int]:
    while least <= most:
        yield least
        least *= 2


def check_files(options: IozoneOptions) -> None:
    """Raise an error if the first test needs files that are not there."""
    for name in options.files:
        if Path(name).is_dir():
            raise wrong(f"{name} is a directory", f"name a file in it, as {Path(name) / 'test'}")
    first, point = plan(options)[0]
    if first.makes or options.on is not None:
        return
    for name in options.files[: point.threads]:
        try:
            size = Path(name).stat().st_size
        except OSError as error:
            raise wrong(
                f"-i {first.phase} needs {name}: {error.strerror}", "write it first: -i 0 -w"
            ) from None
        needed = point.records * point.record
        if size < needed:
            raise wrong(
                f"-i {first.phase} needs {needed // KIB} KiB in {name}, which has {size // KIB}",
                "write it first with the same -s: -i 0 -w",
            )
