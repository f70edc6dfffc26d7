"""Metrics of a run that is watched, for Prometheus."""

import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from penstock.metrics.by_class import ClassTotals, of_classes
from penstock.metrics.outlet import EVERY_S, Outlet
from penstock.metrics.text import Metric, Sample
from penstock.results.buckets import LatencyBuckets
from penstock.results.steps import Now, Step

Engine: TypeAlias = Callable[[Callable[[Step], None] | None], str]
"""Runs policies, reports its steps, and returns the result."""


class WatchMetrics:
    """The metrics of the runs of one command; the rounds of a policy count together."""

    def __init__(self, outlet: Outlet) -> None:
        """Write them to `outlet`."""
        self._outlet = outlet
        self._device = ""
        self._runs: dict[int, list[ClassTotals]] = {}
        """Totals of each run, by its number."""
        self._next_s = 0.0

    @property
    def failure(self) -> str | None:
        """Message of the first write that failed: the runs go on without."""
        return self._outlet.failure

    def of(self, engine: Engine) -> Engine:
        """Begin, and return an engine that runs `engine` with metrics of its steps.

        # Errors
        Metrics cannot be written there.
        """
        # Before there is a screen, which would hide what is wrong.
        self._outlet.open()
        self._put(is_running=True)

        def measured(on_step: Callable[[Step], None] | None) -> str:
            def take(step: Step) -> None:
                self.take(step)
                if on_step is not None:
                    on_step(step)

            try:
                return engine(take)
            finally:
                self._put(is_running=False)
                self._outlet.close()

        return measured

    def take(self, step: Step) -> None:
        """Count a step, and write the metrics if a second has passed."""
        if step["step"] == "creating" or "now" not in step:
            return
        self._device = step["device"]
        self._runs[step["number"]] = list(_classes(step["policy"], step["now"]))
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + EVERY_S
            self._put(is_running=True)

    def _put(self, *, is_running: bool) -> None:
        meaning = "Whether policies run; 0 once all have ended."
        running = Metric("penstock_watch_running", "gauge", meaning, [Sample({}, int(is_running))])
        classes = list(self._totals(is_running=is_running))
        self._outlet.put([*of_classes("watch", self._device, classes), running])

    def _totals(self, *, is_running: bool) -> Iterator[ClassTotals]:
        """Yield the totals of each policy and class; levels are of the run that goes on."""
        current = max(self._runs, default=0) if is_running else None
        totals: dict[tuple[str, ...], ClassTotals] = {}
        for number, classes in self._runs.items():
            for class_ in classes:
                key = tuple(class_.labels.values())
                latest = class_ if number == current else class_.ended()
                totals[key] = totals[key].then(latest) if key in totals else latest
        yield from totals.values()


def _classes(policy: str, now: Now) -> Iterator[ClassTotals]:
    for class_ in now["classes"]:
        yield ClassTotals(
            labels={"policy": policy, "class": class_["name"]},
            requests=class_["requests"] + class_["errors"],
            bytes=class_["bytes"],
            errors=class_["errors"],
            latency=LatencyBuckets(**class_["latency_buckets"]),
            outstanding=class_["outstanding"],
            queued=class_.get("queued"),
            in_flight=class_.get("in_flight"),
        )
