"""Lines about verification: blocks written, compared and read again, and differences."""

from collections.abc import Iterator, Sequence
from itertools import islice

from penstock.results.json_types import Run
from penstock.text.units import count

SHOWN = 4
"""Most differences that are shown."""


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a summary of the verification in all runs, and the first differences."""
    results = [run["verify"] for run in runs if "verify" in run]
    if not results:
        return

    def blocks(name: str) -> int:
        return sum(result[name] for result in results)  # type: ignore[literal-required]

    parts = [
        (blocks("written"), "written"),
        (blocks("checked"), "checked when they were read"),
        (blocks("read_again"), "read again at the end"),
        (blocks("unchecked"), "read of which no verified write is recorded"),
    ]
    counts = [f"{count(number)} {label}" for number, label in parts if number]
    different = blocks("different")
    yield (
        f"verified, in blocks of 4 KiB: {', '.join(counts) or 'none'}; "
        f"{f'{count(different)} DIFFERENT' if different else 'none different'}"
    )
    differences = (difference for result in results for difference in result["differences"])
    for difference in islice(differences, SHOWN):
        place = f"at byte {count(difference['offset'])}"
        yield f"{place}: {difference['found']}; expected {difference['expected']}"
