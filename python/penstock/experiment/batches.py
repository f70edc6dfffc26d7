"""Batches of trials: as long each as it takes to be worth handing over, on threads of this machine.

What is killed loses its unfinished batches. Results are handed over by the thread that called, one
batch after another, whichever thread made them.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Generic, TypeAlias, TypeVar

from penstock.experiment.trial import Setup, Trial
from penstock.results.steps import Step

BATCH_S = 0.5
"""Seconds that the runs of a batch take together, about."""

BATCH_MOST = 500
"""Runs of a batch at most."""

LOOK_S = 0.1
"""Seconds between two looks for a signal while no batch ends."""

R = TypeVar("R")

Sink: TypeAlias = Callable[[Sequence[tuple[int, R]]], object]
"""Takes what is kept of the runs of a batch, each with the number of its trial."""


class Batches:
    """Trials that are still to run; any thread may take some."""

    def __init__(self, trials: Iterable[Trial], count: int) -> None:
        """Take `count` trials, which are made as they are needed."""
        self._waiting = iter(trials)
        self._left = count
        self._lock = threading.Lock()
        self._each_s: float | None = None

    def next(self, shared_by: int) -> list[Trial]:
        """The next batch, if the rest is shared by so many; empty at the end."""
        with self._lock:
            size = 1 if self._each_s is None else int(BATCH_S / max(self._each_s, 1e-6))
            fair = -(-self._left // (2 * shared_by))
            batch = list(islice(self._waiting, max(1, min(size, fair, BATCH_MOST))))
            self._left -= len(batch)
        return batch

    def took(self, count: int, seconds: float) -> None:
        """Learn how long a batch of so many trials has taken."""
        with self._lock:
            trial_s = seconds / count
            self._each_s = trial_s if self._each_s is None else (self._each_s + trial_s) / 2


class _Stopped(Exception):
    """The experiment has ended before this batch."""


class _Threads(Generic[R]):
    """Threads that run batches and hand over what comes of them."""

    def __init__(self, setup: Setup[R], batches: Batches, count: int) -> None:
        self._setup, self._batches, self._count = setup, batches, count
        self._stop = threading.Event()
        self.ended: SimpleQueue[list[tuple[int, R]] | BaseException | None] = SimpleQueue()
        """Batches; what a thread has raised; and None for each thread that has ended."""
        self._threads = [threading.Thread(target=self._work) for _ in range(count)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all threads; their batches are lost."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _work(self) -> None:
        try:
            with closing(self._setup.session(workers=1)) as session:
                while not self._stop.is_set() and (batch := self._batches.next(self._count)):
                    began = time.monotonic()
                    variants = [trial.variant for trial in batch]
                    results = self._setup.run(session, variants, self._step)
                    self._batches.took(len(batch), time.monotonic() - began)
                    numbers = (trial.number for trial in batch)
                    self.ended.put(list(zip(numbers, results, strict=True)))
        except _Stopped:
            pass
        except BaseException as error:
            self.ended.put(error)
        finally:
            self.ended.put(None)

    def _step(self, _step: Step) -> None:
        if self._stop.is_set():
            raise _Stopped


def on_processors(
    setup: Setup[R], trials: Iterable[Trial], count: int, sink: Sink[R], workers: int | None = None
) -> None:
    """Run `count` modelled trials on so many processors, all if not given.

    `sink` is called by this thread alone.
    """
    workers = min(workers or len(os.sched_getaffinity(0)), count)
    threads = _Threads(setup, Batches(trials, count), workers)
    try:
        threads.start()
        while workers:
            try:
                # Without a timeout no signal would be handled meanwhile.
                ended = threads.ended.get(timeout=LOOK_S)
            except Empty:
                continue
            if isinstance(ended, BaseException):
                raise ended
            if ended is None:
                workers -= 1
            else:
                sink(ended)
    finally:
        threads.stop()
