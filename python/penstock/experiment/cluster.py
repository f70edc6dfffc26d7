"""Trials on a Dask cluster: batches go to its workers, results come back.

A worker that dies loses its batches, which the cluster gives to others. Results do not depend on
which worker made them, so that they are those of one machine.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from penstock._native import __version__
from penstock.errors import CANNOT_HERE, PenstockError, needs
from penstock.experiment.batches import Batches, Sink
from penstock.experiment.trial import Setup, Trial, run_alone
from penstock.session import Variant

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 5.0
"""How long the cluster may take to answer."""

ALONE_S = 10.0
"""How long it waits for another worker when there is none."""

LOOK_S = 1.0
"""How often it looks for workers while nothing comes back."""

R = TypeVar("R")


class Cluster:
    """A cluster that answers, whose workers have this version."""

    def __init__(self, address: str) -> None:
        """Connect with its scheduler."""
        needs("distributed", feature="--cluster")
        self._address = address
        self._client = _connected(address)
        try:
            _check_versions(self._client, address)
        except PenstockError:
            self.close()
            raise

    def run(self, setup: Setup[R], trials: Iterable[Trial], count: int, sink: Sink[R]) -> None:
        """Run `count` modelled trials, and hand over what comes of each batch.

        Whatever ends it, no batch goes on running on the cluster.
        """
        running: dict[Any, list[Trial]] = {}
        try:
            _run(self._client, self._address, setup, Batches(trials, count), sink, running)
        finally:
            with suppress(OSError):
                self._client.cancel(list(running))

    @property
    def threads(self) -> int:
        """Runs that its workers make at once."""
        return max(1, _threads(self._client))

    def close(self) -> None:
        """Leave the cluster; it goes on without us."""
        self._client.close()


def _connected(address: str) -> "Client":
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_S)
    except (OSError, ValueError, ImportError) as error:
        message = f"error: the cluster at {address} does not answer: {error or 'no connection'}"
        hint = "hint: name the address of its scheduler, as tcp://host:8786"
        raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE) from None


def _threads(client: "Client") -> int:
    return sum(int(threads) for threads in client.nthreads().values())


def _version() -> str:
    from importlib.metadata import version

    return version("penstock")


def _check_versions(client: "Client", address: str) -> None:
    if not client.nthreads():
        raise _no_worker(address)
    # A worker without Penstock cannot even look.
    for worker, version in client.run(_version, on_error="return").items():
        if version != __version__:
            missing = isinstance(version, Exception)
            has = "has no penstock" if missing else f"has penstock {version}"
            message = f"error: {worker} of the cluster {has}, and this is {__version__}"
            hint = "hint: install the same version on all workers"
            raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE)


def _timed(setup: Setup[R], variants: Sequence[Variant]) -> tuple[float, list[R]]:
    began = time.monotonic()
    results = run_alone(setup, variants)
    return time.monotonic() - began, results


def _run(
    client: "Client",
    address: str,
    setup: Setup[R],
    batches: Batches,
    sink: Sink[R],
    running: dict[Any, list[Trial]],
) -> None:
    """Keep two batches for each thread of the cluster `running`, and take what ends."""
    from distributed import KilledWorker, wait

    alone_since: float | None = None
    more = True
    while True:
        threads = _threads(client)
        while more and len(running) < 2 * max(1, threads):
            batch = batches.next(max(1, threads))
            more = bool(batch)
            if batch:
                variants = [trial.variant for trial in batch]
                running[client.submit(_timed, setup, variants, pure=False)] = batch
        if not running:
            return
        try:
            done = wait(list(running), timeout=LOOK_S, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            done = set()
        taken = 0
        for future in done:
            try:
                seconds, results = future.result(timeout=LOOK_S)
            except TimeoutError:
                # Its worker died with it: another one makes it again.
                continue
            except (KilledWorker, OSError) as error:
                batch = running.pop(future)
                message = f"error: workers of the cluster died in {len(batch)} runs: {error}"
                hint = "hint: what is recorded stays; --resume goes on with the rest"
                raise PenstockError(f"{message}\n{hint}", exit_code=1) from None
            batch = running.pop(future)
            batches.took(len(batch), seconds)
            numbers = (trial.number for trial in batch)
            sink(list(zip(numbers, results, strict=True)))
            taken += 1
        if threads or taken:
            alone_since = None
        elif alone_since is None:
            alone_since = time.monotonic()
        elif time.monotonic() - alone_since > ALONE_S:
            raise _no_worker(address)


def _no_worker(address: str) -> PenstockError:
    message = f"error: the cluster at {address} has no worker"
    hint = "hint: start one; what is recorded stays, and --resume goes on with the rest"
    return PenstockError(f"{message}\n{hint}", exit_code=1)
