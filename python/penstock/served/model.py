"""A modelled disk as a block device."""

import json
from collections.abc import Callable, Iterator, Mapping
from os import fspath
from types import TracebackType
from typing import Any, Self

from penstock import _native
from penstock.answer.value import Blocks, headline
from penstock.text import places


class ServedModel:
    """A modelled disk as a block device, for as long as it is entered."""

    def __init__(
        self, device: str, *, size: str | None, depth: int | None, keep: str | None
    ) -> None:
        """Take what it is to be: nothing is served before it is entered."""
        self._device = device
        self._make: Callable[[], _native.Served] = lambda: _native.Served(
            device, size=size, depth=depth, keep=keep
        )

    def __enter__(self) -> Self:
        """Serve it."""
        self._served = self._make()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take it down."""
        self._served.close()

    def begun(self) -> Mapping[str, object]:
        """Return where it is, for programs."""
        node, report = map(fspath, self._served.places)
        return {"node": node, "report": report}

    def nodes(self) -> Iterator[str]:
        """Yield its node."""
        yield fspath(self._served.places[0])

    def introduction(self) -> str:
        """Return what is served, and how it ends."""
        return f"serving {self._device} as {fspath(self._served.places[0])}; Ctrl-C takes it down"

    def await_users(self, say: Callable[[str], None]) -> None:
        """Warn those that use it: a model keeps nothing that they could lose."""
        for node in self.in_use():
            say(f"{node} is mounted or held: programs that use it get errors from now on")

    def in_use(self) -> list[str]:
        """Return its node if it is mounted or held."""
        return list(self.nodes()) if self._served.is_in_use() else []

    def report(self) -> dict[str, Any]:
        """Return how late it answered so far; raise what ended it."""
        report: dict[str, Any] = json.loads(self._served.report())
        return report

    def remarks(self) -> list[str]:
        """Return nothing: a model needs no more than it has."""
        return []

    def window(self) -> None:
        """Raise what ended it; a model has no windows."""
        self.report()

    def messages(self) -> list[str]:
        """Return nothing: what goes wrong ends it."""
        return []

    def blocks(self, report: Mapping[str, Any]) -> Blocks:
        """Return the answer for a person."""
        yield [headline("emulated", self._device), places.served(report)]
