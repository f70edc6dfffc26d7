"""The family `ssd`: dies that work side by side behind a link."""

from collections.abc import Sequence

from penstock.calibrate.models.model import (
    Guess,
    Known,
    Model,
    Table,
    nanoseconds,
    per_second,
    within,
)

DIES = (8, 16, 32, 64, 128)
"""Dies are a power of two."""

CHANNELS = 8
PAGE = 16 << 10
PLANES = 2
CHANNEL_RATE = 1e9
"""Properties that cannot be measured from outside are as in drives of today."""

DEPTH = 256

SLOWEST = 2e6
"""Nanoseconds of a short read; no flash takes longer."""

NS = (1.0, 1e9)
"""Range of the time of a part of a drive."""


def _guesses(known: Known) -> list[Guess]:
    small, large = known.sizes("read")
    longest = max(figures.iops for figures in known.of("read", size=large))
    rate = longest * large
    (first,) = known.of("read", pattern="random", size=small, depth=1)
    single_ns = first.p50_ns
    if single_ns > SLOWEST:
        return []
    many = max(figures.iops for figures in known.of("read", size=small))
    fetch = min(60e3, single_ns * 0.6)
    begin = [
        max(single_ns - fetch, 1e3),
        fetch,
        rate,
        max(1e9 / many - small / rate * 1e9, 10.0),
    ]
    sustained = 0.0
    if known.writes:
        sustained = max(figures.iops for figures in known.of("write", size=large)) * large

    def guess(dies: int) -> Guess:
        writes = [dies * PLANES * PAGE / sustained * 1e9, 0.09] if sustained else []

        def device(values: Sequence[float]) -> Table:
            return _device(known, dies, values)

        return Guess.at([*begin, *writes], device)

    return [guess(dies) for dies in DIES]


def _device(known: Known, dies: int, values: Sequence[float]) -> Table:
    command, fetch, rate, turn = values[:4]
    program, spare = values[4:] or (700e3, 0.09)
    return {
        "model": "ssd",
        "capacity": f"{known.capacity}B",
        "dies": dies,
        "channels": min(CHANNELS, dies),
        "page": f"{PAGE}B",
        "planes": PLANES,
        "read_time": nanoseconds(within(fetch, *NS)),
        "program_time": nanoseconds(within(program, *NS)),
        "suspend_time": "20us",
        "channel_rate": per_second(CHANNEL_RATE),
        "link_rate": per_second(rate),
        "link_overhead": nanoseconds(within(turn, *NS)),
        "command_overhead": nanoseconds(within(command, *NS)),
        "over_provisioning": f"{within(100 * spare, 1, 100):.3f}%",
        "queue_depth": DEPTH,
    }


SSD = Model(
    "ssd",
    "dies that work side by side behind a link; random writes cost collection",
    (
        "Not from the probes, but as drives of today have them: channels, their rate, pages,",
        "planes, the times to erase and to suspend, the write buffer, a link of both directions.",
    ),
    _guesses,
)
