"""How much of the online-batch table hangs on what the paper does not say.

The batch jobs begin at another phase of the transactions' period, 40 of them, in each variant of
the model: nine runs each.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from statistics import median, quantiles
from typing import TypedDict

from penstock.papers.online_batch.claims import IDS, claims
from penstock.papers.online_batch.simulation import farthest, rows

PHASES_MS = range(0, 200, 5)

VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "A": ("as it is set", {}),
    "A-pre": ("a transaction takes a processor from a batch job at once", {"preempt": "true"}),
    "A0": ("all four transactions at one instant", {"online.offsets": "0ms,0ms,0ms,0ms"}),
    "B": (
        "3 transactions every 150 ms at one instant, 6 batch jobs 100 ms apart, lowest processor",
        {
            "online.offsets": "0ms,0ms,0ms",
            "online.period": "150ms",
            "batch.n": "6",
            "batch.stagger": "100ms",
            "cpu_pick": "lowest",
        },
    ),
    "C": ("the disk serves one unit of each request in turn", {"disk": "rr"}),
}
"""What each changes, in words and as settings."""


class Sensitivity(TypedDict):
    """Of one variant over all phases: how often each claim held, and the farthest cell.

    `farthest_pp` has the median and the 90th percentile, in percentage points.
    """

    variant: str
    text: str
    phases: int
    holds: dict[str, int]
    farthest_pp: dict[str, float]


def sensitivity(
    given: Mapping[str, str], told: Callable[[str], object] = lambda _: None
) -> list[Sensitivity]:
    """Every variant on top of what is set; `told` hears which one is next."""
    found = []
    for name, (text, changes) in VARIANTS.items():
        told(f"{name}: {text}")
        found.append(_variant(name, text, {**given, **changes}))
    return found


def _variant(name: str, text: str, given: Mapping[str, str]) -> Sensitivity:
    def at(phase: int) -> tuple[Sequence[bool], float]:
        ours = rows({**given, "batch.start": f"{phase}ms"})
        return [claim["holds"] for claim in claims(ours)], farthest(ours)

    with ThreadPoolExecutor(cpu_count()) as pool:
        results = list(pool.map(at, PHASES_MS))
    held = zip(*(holds for holds, _ in results), strict=True)
    far = [farthest for _, farthest in results]
    return {
        "variant": name,
        "text": text,
        "phases": len(PHASES_MS),
        "holds": {one: sum(holds) for one, holds in zip(IDS, held, strict=True)},
        "farthest_pp": {"median": median(far), "p90": quantiles(far, n=10)[-1]},
    }
