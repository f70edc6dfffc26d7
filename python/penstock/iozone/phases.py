"""The tests by their phases: numbers, names and words of IOzone.

A phase is a number of `-i`; it has a test, and mostly a second that does the same again. Words of
lines and of the report are those of published outputs. For tests that IOzone does not run with
several workers they are made in the same way.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class IozoneTest:
    """A test, and how outputs name it."""

    key: str
    phase: int
    """The number of `-i`."""
    workers: str
    """The word of the lines about throughput, as `initial writers`."""
    label: str
    """The row of the report about throughput."""
    table: str
    """The name of the report by sizes, as `Writer`."""
    heading: tuple[str, str]
    """The two lines above its column of the wide table, as wide as the column."""
    again: bool = False
    """Whether it only repeats the test before it."""
    wide: bool = False
    """Whether the lines pad the number of its workers to two digits."""
    makes: bool = False
    """Whether it makes the file."""
    writes: bool = False


def _alone(heading: str) -> tuple[str, str]:
    """Return the two lines above a column with one word."""
    return " " * len(heading), heading


TESTS = (
    IozoneTest(
        *("write", 0, "initial writers", "Initial write", "Writer", _alone("    write")),
        wide=True,
        makes=True,
        writes=True,
    ),
    IozoneTest(
        *("rewrite", 0, "rewriters", "Rewrite", "Re-writer", _alone("  rewrite")),
        again=True,
        wide=True,
        writes=True,
    ),
    IozoneTest("read", 1, "readers", "Read", "Reader", _alone("    read "), wide=True),
    IozoneTest("reread", 1, "re-readers", "Re-read", "Re-Reader", _alone("   reread"), again=True),
    IozoneTest(
        *("random_read", 2, "random readers", "Random read", "Random read"),
        ("  random ", "    read "),
    ),
    IozoneTest(
        *("random_write", 2, "random writers", "Random write", "Random write"),
        ("   random", "    write"),
        writes=True,
    ),
    IozoneTest(
        *("backward_read", 3, "reverse readers", "Reverse Read", "Backward read"),
        ("     bkwd", "     read"),
    ),
    IozoneTest(
        *("record_rewrite", 4, "record rewriters", "Record rewrite", "Record rewrite"),
        ("    record", "   rewrite"),
        writes=True,
    ),
    IozoneTest(
        *("stride_read", 5, "stride readers", "Stride read", "Stride read"),
        ("    stride", "      read"),
    ),
    IozoneTest(
        *("fwrite", 6, "fwriters", "Fwrite", "Fwrite", _alone("   fwrite")),
        wide=True,
        makes=True,
        writes=True,
    ),
    IozoneTest(
        *("frewrite", 6, "re-fwriters", "Re-Fwrite", "Re-Fwrite", _alone(" frewrite")),
        again=True,
        writes=True,
    ),
    IozoneTest("fread", 7, "freaders", "Fread", "Fread", _alone("    fread"), wide=True),
    IozoneTest(
        *("freread", 7, "re-freaders", "Re-Fread", "Re-Fread", _alone("  freread")), again=True
    ),
    IozoneTest(
        *("random_mix", 8, "mixed workload", "Mixed workload", "Mixed workload"),
        _alone("      mix"),
        writes=True,
    ),
    IozoneTest(
        *("pwrite", 9, "pwrite writers", "Pwrite", "Pwrite", _alone("   pwrite")),
        makes=True,
        writes=True,
    ),
    IozoneTest(
        *("re_pwrite", 9, "re-pwrite writers", "Re-Pwrite", "Re-Pwrite", _alone(" repwrite")),
        again=True,
        writes=True,
    ),
    IozoneTest("pread", 10, "pread readers", "Pread", "Pread", _alone("    pread")),
    IozoneTest(
        *("re_pread", 10, "re-pread readers", "Re-Pread", "Re-Pread", _alone("  repread")),
        again=True,
    ),
    IozoneTest(
        *("pwritev", 11, "pwritev writers", "Pwritev", "Pwritev", _alone("  pwritev")),
        makes=True,
        writes=True,
    ),
    IozoneTest(
        *("re_pwritev", 11, "re-pwritev writers", "Re-Pwritev", "Re-Pwritev"),
        _alone(" repwritev"),
        again=True,
        writes=True,
    ),
    IozoneTest("preadv", 12, "preadv readers", "Preadv", "Preadv", _alone("   preadv")),
    IozoneTest(
        *("re_preadv", 12, "re-preadv readers", "Re-Preadv", "Re-Preadv", _alone("  repreadv")),
        again=True,
    ),
)
"""All tests, in the order in which one worker runs them."""

BY_KEY = {test.key: test for test in TESTS}

PHASES = range(13)

USUAL = tuple(range(8))
"""Phases of one worker if none are chosen: those that have a column of the usual wide table."""

USUAL_OF_SEVERAL = (0, 1, 2, 3, 5, 6, 7, 8, 9, 10)
"""Phases of several workers if none are chosen."""

MIX = 8
"""The phase that takes several workers."""

_ORDER_OF_SEVERAL = (
    *("write", "rewrite", "read", "reread", "backward_read", "record_rewrite", "stride_read"),
    *("random_read", "random_mix", "random_write", "pwrite", "re_pwrite", "pread", "re_pread"),
    *("pwritev", "re_pwritev", "preadv", "re_preadv", "fwrite", "frewrite", "fread", "freread"),
)
"""Keys of the tests in the order in which several workers run them, as published outputs show."""

ORDER_OF_SEVERAL = tuple(BY_KEY[key] for key in _ORDER_OF_SEVERAL)


def meaning(phase: int) -> str:
    """Return the tests of a phase, as `write/rewrite`."""
    return "/".join(test.key.replace("_", " ") for test in TESTS if test.phase == phase)


def chosen(
    tests: Sequence[IozoneTest], phases: Collection[int], *, again: bool
) -> Iterator[IozoneTest]:
    """Yield the tests of the phases, without those that only repeat one unless `again`."""
    for test in tests:
        if test.phase in phases and (again or not test.again):
            yield test


def columns(phases: Collection[int]) -> list[IozoneTest]:
    """Return the columns of the wide table: the usual ones, and those of other phases."""
    return [test for test in TESTS if test.phase in USUAL or test.phase in phases]
