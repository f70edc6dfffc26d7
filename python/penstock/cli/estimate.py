"""How long runs still take, as lines on stderr where no terminal shows a bar."""

import time
from collections.abc import Iterator

from penstock.results.steps import Step
from penstock.text.units import percent, seconds
from penstock.watch.progress import which

FIRST_S = 1.0
"""What takes less needs no estimate."""

EVERY_S = 10.0
"""Seconds between two lines. What takes less in real time needs none either."""


class Estimate:
    """Makes lines of steps: the first after a second, then one every ten."""

    def __init__(self) -> None:
        """All runs begin now, or once their file is written."""
        self._began_s = time.monotonic()
        self._next_s = self._began_s + FIRST_S
        self._first: tuple[float, float] | None = None
        """When work first reported a share, and which."""

    def of(self, step: Step) -> Iterator[str]:
        """Yields a line about a step if one is due; mostly nothing."""
        now_s = time.monotonic()
        if step["step"] == "creating":
            if now_s >= max(self._next_s, self._began_s + EVERY_S):
                self._next_s = now_s + EVERY_S
                yield f"writing {step['path']}: {percent(step['fraction'])} done"
            if step["fraction"] >= 1:
                self._began_s, self._next_s = now_s, now_s + FIRST_S
            return
        if step["step"] != "running" or now_s < self._next_s:
            return
        done = (step["number"] + step["fraction"]) / step["of"]
        so_far_s = now_s - self._began_s
        # A share of nothing gives no estimate of the whole.
        if step["world"] != "simulated" and so_far_s < EVERY_S * (done or 1):
            return
        self._next_s = now_s + EVERY_S
        if done <= 0:
            left = "how long it takes is not known yet"
        elif step["fraction"] < 1:
            left = f"about {seconds(so_far_s * (1 - done) / done)} left"
        else:
            left = "serving what is left"
        yield f"{which(step)}: {percent(done)} done, {left}"

    def of_share(self, part: str, share: float) -> Iterator[str]:
        """Yields a line every ten seconds about a part of work and the share that is done."""
        now_s = time.monotonic()
        if self._first is None:
            self._first, self._next_s = (now_s, share), now_s + EVERY_S
        began_s, before = self._first
        if now_s >= self._next_s and share > before:
            self._next_s = now_s + EVERY_S
            left_s = (now_s - began_s) * (1 - share) / (share - before)
            yield f"{part}: {percent(share)} done, about {seconds(left_s)} left"
