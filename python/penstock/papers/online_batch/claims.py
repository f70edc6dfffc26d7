"""What section V.E of the online-batch paper says of its figures."""

from collections.abc import Sequence

from penstock.papers.claims import Rule, alike, grow
from penstock.papers.online_batch.simulation import CONTROLS

FLAT_MS = 0.1
"""Waits that are nearer to one another are called flat."""


def _flat(cases: Sequence[float]) -> bool:
    return max(cases) - min(cases) < FLAT_MS


RULES = (
    Rule(
        id="1A-none",
        text="without priority, transactions take longer from case to case",
        figure="online_ms",
        series=("none",),
        holds=lambda figures: grow(figures["none"]),
    ),
    Rule(
        id="1A-cpu",
        text="with priority on the processors only, they do too",
        figure="online_ms",
        series=("cpu",),
        holds=lambda figures: grow(figures["cpu"]),
    ),
    Rule(
        id="1A-cpu+io",
        text="with priority on processors and disk they take nearly as long in case 3 as in case 1",
        figure="online_ms",
        series=("cpu+io",),
        holds=lambda figures: alike([figures["cpu+io"][2], figures["cpu+io"][0]]),
    ),
    Rule(
        id="1B-longer",
        text="batch jobs take longer under both priorities than without, in all cases",
        figure="batch_s",
        series=CONTROLS,
        holds=lambda figures: all(
            cpu > none and io > none
            for none, cpu, io in zip(
                figures["none"], figures["cpu"], figures["cpu+io"], strict=True
            )
        ),
    ),
    Rule(
        id="1B-alike",
        text="batch jobs take about as long under both priorities, in all cases",
        figure="batch_s",
        series=("cpu", "cpu+io"),
        holds=lambda figures: all(map(alike, zip(figures["cpu"], figures["cpu+io"], strict=True))),
    ),
    Rule(
        id="2A-flat",
        text="with priority on processors and disk the wait of transactions does not grow",
        figure="online_wait_ms",
        series=("cpu+io",),
        holds=lambda figures: _flat(figures["cpu+io"]),
    ),
    Rule(
        id="2A-grows",
        text="under the other two controls it grows from case to case",
        figure="online_wait_ms",
        series=("none", "cpu"),
        holds=lambda figures: grow(figures["none"]) and grow(figures["cpu"]),
    ),
    Rule(
        id="2B-flat",
        text="the wait of batch jobs does not differ between the cases",
        figure="batch_wait_ms",
        series=CONTROLS,
        holds=lambda figures: all(map(alike, figures.values())),
    ),
    Rule(
        id="2B-shorter",
        text="it is shorter with priority on the disk too than with it on the processors only, "
        "but for one case",
        figure="batch_wait_ms",
        series=("cpu", "cpu+io"),
        holds=lambda figures: (
            sum(io < cpu for cpu, io in zip(figures["cpu"], figures["cpu+io"], strict=True)) >= 2
        ),
    ),
)
