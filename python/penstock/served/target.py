"""A real target as block devices, with a policy between."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import fspath
from types import TracebackType
from typing import Any, Self

from penstock import _native
from penstock.answer.table import Table
from penstock.answer.value import Blocks, headline
from penstock.metrics.outlet import outlet
from penstock.served.metrics import ServedMetrics
from penstock.served.window import WAYS, ServedWindow
from penstock.target import Target
from penstock.text import units

WINDOW_S = 1.0

IN_FLIGHT = 32
"""Most commands at a target at once, unless an option says otherwise."""


class ServedTarget:
    """A real target as block devices behind a policy, for as long as it is entered."""

    def __init__(
        self,
        target: Target,
        policy: str,
        *,
        keep_data: bool,
        sets: Sequence[str],
        volumes: Sequence[str],
        depth: int | None,
        in_flight: int,
        timeout: str | None,
        record: str | None,
        metrics: str | None,
        lent: tuple[str, int, int] | None,
    ) -> None:
        """Take what it is to be: nothing is served before it is entered."""
        on = str(target.on)
        self._metrics = None if metrics is None else ServedMetrics(outlet(metrics), on, policy)
        self.name = f"{on} under {policy}"
        self._make: Callable[[], _native.ServedTarget] = lambda: _native.ServedTarget(
            target,
            keep_data=keep_data,
            policy=policy,
            sets=sets,
            volumes=volumes,
            depth=depth,
            in_flight=in_flight,
            timeout=timeout,
            record=record,
            lent=lent,
        )

    def __enter__(self) -> Self:
        """Serve it."""
        if self._metrics is not None:
            self._metrics.begin()
        self._served = self._make()
        self._began = self._seen = time.monotonic()
        self._before = self.report()
        if self._metrics is not None:
            self._metrics.take(self._before)
        self._nodes = [(name, fspath(node)) for name, node in self._served.nodes]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take it down."""
        if self._metrics is not None:
            self._metrics.end(self.report())
        self._served.close()

    def begun(self) -> Mapping[str, object]:
        """Return where its volumes are, for programs."""
        _, first = self._nodes[0]
        return {
            "node": first,
            "volumes": [{"name": name, "node": node} for name, node in self._nodes],
        }

    def nodes(self) -> Iterator[str]:
        """Yield the node of each volume."""
        yield from (node for _, node in self._nodes)

    def introduction(self) -> str:
        """Return what is served, and how it ends."""
        shown = ", ".join(f"{name} as {node}" for name, node in self._nodes)
        return f"serving {self.name}: {shown}; Ctrl-C takes it down"

    def await_users(self, say: Callable[[str], None]) -> None:
        """Wait until no device is mounted or held."""
        if nodes := self.in_use():
            say(
                f"{', '.join(nodes)}: unmount what is mounted there, and this ends; a second "
                "signal ends it at once, with errors for programs that use it"
            )
        while self.in_use():
            self._served.check()
            time.sleep(WINDOW_S / 5)

    def in_use(self) -> list[str]:
        """Return the nodes that are mounted or held."""
        return [fspath(node) for node in self._served.in_use()]

    def report(self) -> dict[str, Any]:
        """Return what each volume was asked for so far."""
        report: dict[str, Any] = json.loads(self._served.report())
        return report

    def window(self) -> ServedWindow | None:
        """Return the window that has ended, if one has; raise what ended the target."""
        self._served.check()
        now = time.monotonic()
        if now < self._seen + WINDOW_S:
            return None
        report = self.report()
        latencies = {volume["name"]: volume for volume in json.loads(self._served.window())}
        window = ServedWindow(
            at_s=now - self._began,
            seconds=now - self._seen,
            report=report,
            latencies=latencies,
            before=self._before,
        )
        self._before, self._seen = report, now
        if self._metrics is not None:
            self._metrics.take(report)
        return window

    def remarks(self) -> list[str]:
        """Return what this machine does not grant."""
        return self._served.remarks

    def messages(self) -> list[str]:
        """Return what went wrong and did not end it."""
        failure = None if self._metrics is None else self._metrics.failure
        return [] if failure is None else [failure]

    def blocks(self, report: Mapping[str, Any]) -> Blocks:
        """Return the answer for a person."""
        rows = [
            _row(volume["name"], WAYS[way], volume[way])
            for volume in report["volumes"]
            for way in WAYS
            if volume[way]["requests"]
        ]
        headings = ["volume", "of", "requests", "MB", "p50", "p99", "pieces", "errors"]
        table = Table(headings, rows, words=2, grouped=True) if rows else "no request"
        yield [headline("measured", self.name)]
        yield [table]
        counters = (f"{name} {units.count(value)}" for name, value in report["policy"].items())
        yield [f"policy: {', '.join(counters)}"] if report["policy"] else []


def _row(volume: str, way: str, figures: Mapping[str, Any]) -> list[str]:
    latency = figures["latency_ns"]["percentile"]
    return [
        volume,
        way,
        units.count(figures["requests"]),
        units.megabytes(figures["bytes"]),
        units.latency(latency["50.000000"]),
        units.latency(latency["99.000000"]),
        units.count(figures["pieces"]),
        units.count(figures["errors"]),
    ]
