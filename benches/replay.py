"""What a user gets of a trace: `penstock replay` from its start to its last line, and its memory.

Traces of random 4 KiB in DiskSim's text form, two thirds reads, which leave the disk half idle;
best of some runs. DiskSim's figure is that of its simulation alone, without reading the trace. It
was measured on another machine, so the ratio is an order of magnitude.
"""

import random
import tempfile
from pathlib import Path

from timed import Aim, Timed, timed

DISKSIM = 223_000
"""Requests a second of DiskSim 4.0 on one mechanical disk, quoted."""

BLOCKS = 17_000_000
"""All of them lie on the disk."""

GAP_MS = 16.0

TEN = "fcfs,noop,deadline,cfq,class-priority,size-priority,look,c-look,scan,sstf"

CASES = (
    (10_000, "ibm18es", "fcfs", 5),
    (1_000_000, "ibm18es", "fcfs", 3),
    (1_000_000, "hdd-10k", "fcfs", 3),
    (10_000_000, "hdd-10k", "fcfs", 2),
    (10_000_000, "hdd-10k", TEN, 1),
)
"""Requests, device, policies, and how often each runs."""

AIMS = {(10_000_000, TEN): Aim(seconds=8, megabytes=250)}
"""What requests under policies are to take."""


def trace(requests: int, path: Path) -> None:
    """Write a trace of so many requests."""
    rng = random.Random(5)
    at = 0.0
    with path.open("w") as file:
        for _ in range(requests):
            at += rng.expovariate(1 / GAP_MS)
            block = rng.randrange(BLOCKS // 8) * 8
            file.write(f"{at:.6f} 0 {block} 8 {int(rng.random() < 2 / 3)}\n")


def run(path: Path, device: str, policies: str) -> Timed:
    """A replay of the trace."""
    words = ("replay", str(path), "--format", "disksim", "--on", device, "--policies", policies)
    return timed(*words)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        for requests, device, policies, times in CASES:
            path = Path(folder) / f"{requests}.trace"
            if not path.exists():
                trace(requests, path)
            least = min(run(path, device, policies) for _ in range(times))
            played = requests * len(policies.split(","))
            what = policies if policies != TEN else "ten policies"
            print(
                f"{requests:>12,} requests, {device}, {what}: "
                f"{AIMS.get((requests, policies), Aim()).judge([least])}, "
                f"{1e9 * least.seconds / played:,.0f} ns each; by processor time "
                f"{played / least.cpu_seconds / DISKSIM:.1f} x DiskSim's simulation alone"
            )


if __name__ == "__main__":
    main()
