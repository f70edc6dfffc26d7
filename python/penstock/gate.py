"""`penstock.Gate`: an application's own writes, short ones first.

with penstock.Gate("data.img", create="256MiB", split="64KiB") as gate:
    gate.write(0, record, sync=True)

All reads and writes of all threads go through one policy, as in jobs, and one thread that carries
out what it decides. The interpreter is released while one waits.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import Self

from penstock import _native
from penstock.errors import translated
from penstock.job import Plain, plain
from penstock.results.build import build
from penstock.results.typed import Distribution
from penstock.target import Target, every_path


@dataclass(frozen=True, kw_only=True)
class LengthStats:
    """What requests of one kind got."""

    requests: int
    bytes: int
    pieces: int
    """In how many pieces they went."""
    errors: int
    wait_ns: Distribution
    """From being asked for until the first piece went."""
    service_ns: Distribution
    """Device time."""
    latency_ns: Distribution
    """From being asked for until all was done."""


@dataclass(frozen=True, kw_only=True)
class GateStats:
    """What passed a gate so far."""

    open_s: float
    """How long it has been open."""
    busy: float
    """The share of that in which the device was busy."""
    threshold: int
    """The longest short request, in bytes."""
    short: LengthStats
    """Requests up to that length."""
    long: LengthStats
    """Longer ones."""
    flush: LengthStats
    long_first: int
    """Pieces of long requests that went while a short one waited, as the guard lets them."""


class Gate:
    """One policy before the reads and writes of an application, on one disk.

    A path is a file that Penstock owns, made with `create` if it is missing; it holds the program's
    data from then on, and runs refuse it. Or it is a block device, named twice with
    `i_will_lose_data`; one that a gate has written to holds data, and is opened again with
    `even_if_not_empty`. With `adopt` it is the application's own file: whatever it holds may be
    written over, and it goes through the page cache and grows. `emulate` puts a model
    that answers in real time in front, as `"hdd-7200"` or `"hdd-7200@10"`; without a path nothing
    is kept. Every other keyword is a parameter of `policy`, as `split="64KiB"` or
    `guard={"after": 4}`.

    Exactly the bytes that are named change. Between requests under way together there is no order,
    and a long write is not atomic against short ones.
    """

    def __init__(
        self,
        *paths: str | PathLike[str],
        policy: str = "size-priority",
        create: str | None = None,
        adopt: bool = False,
        i_will_lose_data: str | PathLike[str] | None = None,
        even_if_not_empty: bool = False,
        emulate: str | None = None,
        engine: str | None = None,
        depth: int = 32,
        timeout: str | None = None,
        **parameters: Plain,
    ) -> None:
        """Open a gate before `paths`, with up to `depth` commands at the disk.

        A command that has no answer within `timeout` (`"30s"` if not given; `"off"`: for ever) ends
        the gate: every waiting and every later call raises `TimeoutError`.

        What is wrong is a `penstock.PenstockError` with the command's message.
        """
        target = Target(
            create=create,
            i_will_lose_data=every_path(i_will_lose_data),
            even_if_not_empty=even_if_not_empty,
            engine=engine,
        )
        with translated():
            self._native = _native.Gate(
                [fspath(path) for path in paths],
                target=target,
                adopt=adopt,
                policy=policy,
                sets=[part for name, value in parameters.items() for part in _sets(name, value)],
                emulate=emulate,
                depth=depth,
                timeout=timeout,
            )

    def write(
        self,
        offset: int,
        data: bytes | bytearray | memoryview,
        *,
        sync: bool = False,
        file: int = 0,
    ) -> None:
        """Write `data` from byte `offset` of the path numbered `file` on.

        With `sync` it is on stable media on return. An `OSError` of the system says in `done` how
        many bytes from the first on are certainly written, and is a `TimeoutError` if the disk
        does not answer; a range outside the file, or a gate that is closed, is a `ValueError`.
        """
        self._native.write(file, offset, bytes(data), sync)

    def read(self, offset: int, length: int, *, file: int = 0) -> bytes:
        """Read up to `length` bytes from byte `offset` of the path numbered `file` on."""
        return self._native.read(file, offset, length)

    def flush(self, *, file: int = 0) -> None:
        """What was written to the path numbered `file`, and answered, goes to stable media."""
        self._native.flush(file)

    def stats(self) -> GateStats:
        """What passed so far."""
        return build(GateStats, json.loads(self._native.stats()))

    def close(self) -> None:
        """Carry out what was asked for, and end. A second time is no error.

        A disk that does not answer is waited for until the time-out.
        """
        self._native.close()

    def __enter__(self) -> Self:
        """The gate, which closes when the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


def _sets(name: str, value: Plain) -> list[str]:
    if isinstance(value, Mapping):
        return [part for key, member in value.items() for part in _sets(f"{name}.{key}", member)]
    return [f"{name}={value if isinstance(value, str) else plain(value)}"]
