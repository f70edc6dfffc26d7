"""What was verified, in words: blocks written, compared and read again, and differences."""

from collections.abc import Iterator, Sequence
from itertools import islice

from penstock.results.json_types import Run
from penstock.text.units import count

SHOWN = 4
"""Differences that are shown."""


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """A line of what was verified in all runs, and one for each of the first differences."""
    all_of = [run["verify"] for run in runs if "verify" in run]
    if not all_of:
        return

    def blocks(name: str) -> int:
        return sum(one[name] for one in all_of)  # type: ignore[literal-required]

    parts = [
        (blocks("written"), "written"),
        (blocks("checked"), "checked when they were read"),
        (blocks("read_again"), "read again at the end"),
        (blocks("unchecked"), "read of which no verified write is recorded"),
    ]
    said = [f"{count(number)} {what}" for number, what in parts if number]
    different = blocks("different")
    yield (
        f"verified, in blocks of 4 KiB: {', '.join(said) or 'none'}; "
        f"{f'{count(different)} DIFFERENT' if different else 'none different'}"
    )
    found = (one for verified in all_of for one in verified["differences"])
    for one in islice(found, SHOWN):
        yield f"at byte {count(one['offset'])}: {one['found']}; expected {one['expected']}"
