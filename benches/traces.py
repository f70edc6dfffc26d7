"""Speed of reading a trace, compared with polars reading the same CSV: best of 7 runs each.

Ours goes on to describe the trace; polars only reads columns of numbers and names. Then the speed
at which a meter takes the kernel's events.
"""

import json
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import polars

from penstock import _native

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "examples/traces/pgbench-backup.blkparse.gz"
RUNS = 7


def best(work: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds: whatever disturbs a run only slows it."""

    def timed() -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    return min(timed() for _ in range(RUNS))


HEADER = """\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
FORMAT = """\
ID: {id}
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:38;\tsize:16;\tsigned:0;
"""
DEVICE = 8 << 20
EVENT = struct.Struct("<IHxxIIxxxxQI10s16sxx")
REQUESTS = 1 << 17
IN_FLIGHT = 256


def pages(action: int) -> Iterator[bytes]:
    """The pages of a processor that queues (0) or completes (1) requests, one a microsecond."""
    random, most = Random(1), (4096 - 16) // EVENT.size
    sectors = [random.randrange(1 << 20) << 3 for _ in range(REQUESTS)]
    # Word of the page: its events have 56 bytes, and the time since the one before.
    word = (EVENT.size - 4) // 4 | 1000 << 5
    for first in range(0, REQUESTS, most):
        events = [
            EVENT.pack(word, action + 1, 4000 + sector % 64, DEVICE, sector, 8, b"RS", b"postgres")
            for sector in sectors[first : first + most]
        ]
        begun_ns = (first + action * IN_FLIGHT) * 1000
        yield struct.pack("<QQ", begun_ns, sum(map(len, events))) + b"".join(events)


def metered() -> None:
    """Measure and print the speed of a meter."""
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events"
        for number, name in enumerate(("block_bio_queue", "block_rq_complete"), 1):
            (events / "block" / name).mkdir(parents=True)
            (events / "block" / name / "format").write_text(FORMAT.format(id=number))
        (events / "header_page").write_text(HEADER)
        both = list(zip(pages(0), pages(1), strict=True))

        def meter() -> None:
            engine = _native.Meter(folder, "8,0", [DEVICE], 0)
            engine.assign({4000 + thread: "online" for thread in range(64)})
            for count, (queued, completed) in enumerate(both):
                engine.add(0, queued)
                engine.add(1, completed)
                if count % 100 == 99:
                    engine.take((count - 9) * (4080 // EVENT.size) * 1000)
            window = json.loads(engine.window(1 << 60))
            assert window["classes"]["online"]["read"]["count"] == REQUESTS

        millions = 2 * REQUESTS / best(meter) / 1e6
        print(f"A meter of {IN_FLIGHT} requests in flight: {millions:.1f} million events a second")


def main() -> None:
    """Measure and print."""
    metered()
    with tempfile.TemporaryDirectory() as folder:
        csv = Path(folder) / "trace.csv"
        _native.trace_convert(TRACE, csv, into="msr")
        megabytes = csv.stat().st_size / 1e6
        ours = best(lambda: _native.trace_describe(csv, format="msr"))
        peer = best(lambda: polars.read_csv(csv, has_header=False))
        print(f"MSR CSV of {megabytes:.1f} MB: read and described at {megabytes / ours:.0f} MB/s,")
        print(f"  {peer / ours:.2f} x polars.read_csv ({megabytes / peer:.0f} MB/s, all cores)")


if __name__ == "__main__":
    main()
