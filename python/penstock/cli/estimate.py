"""How long a modelled run still takes, as lines on stderr where no terminal shows a bar."""

import time
from collections.abc import Iterator

from penstock.results.steps import Step
from penstock.text.units import percent, seconds
from penstock.watch.progress import which

FIRST_S = 1.0
"""What takes less needs no estimate."""

EVERY_S = 10.0
"""Seconds between two lines."""


class Estimate:
    """Makes lines of steps: the first after a second, then one every ten."""

    def __init__(self) -> None:
        """All runs begin now."""
        self._began_s = time.monotonic()
        self._next_s = self._began_s + FIRST_S

    def of(self, step: Step) -> Iterator[str]:
        """What there is to say of a step; mostly nothing, and of a real target never anything."""
        now_s = time.monotonic()
        if step["step"] != "running" or step["world"] != "simulated" or now_s < self._next_s:
            return
        self._next_s = now_s + EVERY_S
        done = (step["number"] + step["fraction"]) / step["of"]
        if done <= 0:
            left = "how long it takes is not known yet"
        elif step["fraction"] < 1:
            left = f"about {seconds((now_s - self._began_s) * (1 - done) / done)} left"
        else:
            left = "serving what is left"
        yield f"{which(step)}: {percent(done)} done, {left}"
