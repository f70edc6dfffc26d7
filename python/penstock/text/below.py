"""Lines about classes that wait in the queue of the drive, which no policy orders."""

from collections.abc import Iterator, Sequence

from penstock.results.below import WaitsBelow
from penstock.text import units

SHORTER = "--set live.depth=1"
"""Option for the shortest queue of the drive, on a model too."""


def lines(entries: Sequence[WaitsBelow], policies: int) -> Iterator[str]:
    """Say for each class how long it waits there; the run has so many policies."""
    by_name: dict[str, list[WaitsBelow]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    for name, waits in by_name.items():
        worst = max(waits, key=lambda entry: entry.queued_ns)
        every = len(waits) == policies and policies > 1
        under = "any policy" if every else ", ".join(entry.label for entry in waits)
        at_worst = " at worst" if len(waits) > 1 else ""
        yield (
            f"{name} waits below the policy under {under}: {units.latency(worst.queued_ns)} of "
            f"its {units.latency(worst.latency_ns)}{at_worst} are spent in the drive's queue, "
            f"which no policy can reorder; a shorter queue would help ({SHORTER})"
        )
