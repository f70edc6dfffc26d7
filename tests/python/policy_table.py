"""Writes the tables of docs/explanation/recorded.md: traces under policies on modelled devices.

`make accept` calls it. `test_policy_table.py` compares the tables with what comes out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import penstock
from command import ROOT
from penstock.text import units

PAGE = ROOT / "docs/explanation/recorded.md"

BEGIN, END = "<!-- tables -->\n", "<!-- end of the tables -->\n"
"""Between these lines of the page stands what is written here."""

DEVICES = ("hdd-7200", "hdd-7200-ncq", "hdd-10k", "flash", "ssd-sata", "ssd-nvme")
POLICIES = ("noop", "deadline", "size-priority", "class-priority", "c-look", "sptf")


@dataclass(frozen=True)
class Recorded:
    """A trace, and how it is played."""

    file: str
    what: str
    keys: Mapping[str, str] = field(default_factory=dict)


DISKSIM = {"trace.format": "disksim"}

TRACES = (
    Recorded(
        "examples/traces/pgbench-backup.blkparse.gz",
        "PostgreSQL under pgbench, and a backup during a part of it; 135,565 requests in 9 s",
    ),
    Recorded(
        "examples/traces/tpcc-small.mqsim.gz",
        "online transactions, slowed down 100 times; 6,999 requests in 14 s",
        {"trace.timing.speed": "0.01"},
    ),
    Recorded(
        "examples/traces/wsrch-small.mqsim.gz",
        "a web search engine; 24,783 requests in 60 s",
    ),
    Recorded(
        "tests/data/disksim/traces/mix8k_50.trace.gz",
        "random 8 KiB, two thirds reads, 50 a second; made for an independent simulator, as are "
        "those below",
        DISKSIM,
    ),
    Recorded(
        "tests/data/disksim/traces/r4k_75.trace.gz", "random 4 KiB reads, 75 a second", DISKSIM
    ),
    Recorded(
        "tests/data/disksim/traces/seq64k_12.trace.gz",
        "sequential 64 KiB reads, one every 12 ms",
        DISKSIM,
    ),
    Recorded(
        "tests/data/disksim/traces/fairio2.trace.gz",
        "two streams of reads, one of 64 KiB and one that grows to 503 KiB, 200 a second",
        DISKSIM,
    ),
    Recorded(
        "tests/data/disksim/traces/raid0x4_16k_200.trace.gz",
        "random 16 KiB reads, 200 a second: too many for one disk",
        DISKSIM,
    ),
)

Cell = tuple[float, float]
"""Mean and 99th percentile of the responses, in nanoseconds."""


def cells(trace: Recorded, device: str) -> list[Cell]:
    """What each policy makes of the trace on this device."""
    job = penstock.Job.from_toml(
        f'[trace]\nfile = "{ROOT / trace.file}"\nfit = "wrap"\n'
        '[class.all]\n[[rule]]\nclass = "all"\n'
    )
    found = penstock.compare(job, policies=POLICIES, on=device, set=trace.keys, detail=False)
    every = (found[policy]["all"].lat_ns for policy in POLICIES)
    return [(one.mean, one.percentiles[99]) for one in every]


def figure(ns: float) -> str:
    """In milliseconds, to three digits."""
    return units.digits(ns / 1e6)


def row(trace: Recorded, device: str) -> str:
    """The line of one device."""
    every = (f"{figure(mean)} / {figure(p99)}" for mean, p99 in cells(trace, device))
    return f"| `{device}` | {' | '.join(every)} |"


def table(trace: Recorded, devices: Sequence[str] = DEVICES) -> Iterator[str]:
    """The trace's table, line by line."""
    yield f"### `{trace.file.rsplit('/', maxsplit=1)[-1].split('.')[0]}`: {trace.what}"
    yield ""
    yield f"| mean / p99 in ms | {' | '.join(f'`{policy}`' for policy in POLICIES)} |"
    yield "|---" * (len(POLICIES) + 1) + "|"
    yield from (row(trace, device) for device in devices)
    yield ""


def main() -> None:
    """Write all tables anew."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, behind = rest.split(END)
    lines = (line for trace in TRACES for line in table(trace))
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + behind)


if __name__ == "__main__":
    main()
