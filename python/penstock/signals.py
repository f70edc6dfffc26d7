r"""Signals that ask for an end: the first ends the run with what there is, the second the process.

They are the signals that a person or a terminal sends to end a process: Ctrl-C, Ctrl-\, SIGTERM,
and SIGHUP, which comes when the connection is lost.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

DEFAULTS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGQUIT: signal.SIG_DFL,
}
"""Signals to handle, with their default handlers. Others, or ignored signals, are left alone."""


AGAIN_S = 0.02
"""Seconds after which a stop comes again that Python could not raise where it came."""

SHOW_CURSOR = b"\x1b[?25h"
"""Shows the cursor of a terminal, which a progress bar hides."""


def ours() -> list[signal.Signals]:
    """Return the signals that have their default handlers, or ours of a block around this one.

    `nohup`, for example, ignores SIGHUP.
    """
    handlers = {number: signal.getsignal(number) for number in DEFAULTS}
    return [
        number
        for number, handler in handlers.items()
        if handler == DEFAULTS[number] or isinstance(handler, _Stop)
    ]


def restore(before: Mapping[signal.Signals, Any], by: signal.Signals) -> None:
    """Restore the handlers `before`, after the signal `by` has asked for the end.

    A connection is lost once, so SIGHUP stays ignored while the results are written.
    """
    for number, handler in before.items():
        if (number, by) != (signal.SIGHUP, signal.SIGHUP):
            signal.signal(number, handler)


@contextmanager
def held_back() -> Iterator[set[signal.Signals]]:
    """Hold back the signals that ask for an end, and yield them; those that still wait are dropped.

    In the block they come where it waits for them, or in a block of `let_in`.
    """
    end_signals = set(ours())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, end_signals)
    try:
        yield end_signals
    finally:
        while end_signals and signal.sigtimedwait(end_signals, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def let_in() -> Iterator[None]:
    """Let signals come that a block around this one holds back."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, DEFAULTS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def kept_from_threads() -> Iterator[None]:
    """Let threads that start in the block get no signals: the main thread gets them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, DEFAULTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def as_usual() -> None:
    """Let a new process have the signals that the one that started it holds back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, DEFAULTS)


class StopSignal:
    """The signal that asked for the end of a run."""

    def __init__(self) -> None:
        """Begin with Ctrl-C, until another signal comes."""
        self.by: signal.Signals = signal.SIGINT
        self.taken: list[signal.Signals] = []
        """Signals that are handled at the moment."""

    @property
    def exit_code(self) -> int:
        """Exit code that shells give a command ended by this signal, such as 130 for Ctrl-C."""
        return 128 + self.by

    @contextmanager
    def first_stops(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` on the first signal in the block; a second ends the process.

        A block within another one takes its signals.
        """
        before = {number: signal.getsignal(number) for number in ours()}
        stop = _Stop(self, list(before))
        for number in before:
            signal.signal(number, stop)
        self.taken = list(before)
        sys.unraisablehook = stop.discarded
        try:
            yield
        finally:
            sys.unraisablehook = stop.discard
            self.taken = []
            restore(before, self.by)


class _Stop:
    """The handler of the first signal in a block."""

    def __init__(self, block: StopSignal, taken: Sequence[signal.Signals]) -> None:
        self._block, self._taken = block, taken
        self.discard = sys.unraisablehook
        """What Python does with exceptions that it cannot raise."""

    def discarded(self, error: "sys.UnraisableHookArgs") -> None:
        """Let a signal come again that came in a finalizer or a callback of a weak reference.

        Python discards exceptions there, and the import of a module has such callbacks.
        """
        if not isinstance(error.exc_value, KeyboardInterrupt):
            self.discard(error)
            return
        signal.signal(self._block.by, self)
        again = threading.Timer(AGAIN_S, self._send)
        again.daemon = True
        again.start()

    def _send(self) -> None:
        number = self._block.by
        # Unless the block has ended, or the signal has come once more.
        if signal.getsignal(number) == self:
            signal.pthread_kill(threading.main_thread().ident or 0, number)

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self._block.by = signal.Signals(number)
        for signum in self._taken:
            signal.signal(signum, signal.SIG_DFL)
        if signal.SIGHUP in self._taken:
            detach_from_terminal()
        # The next signal may end the process while a bar is drawn.
        with suppress(OSError):
            if os.isatty(2):
                os.write(2, SHOW_CURSOR)
        raise KeyboardInterrupt


def detach_from_terminal() -> None:
    """Ignore SIGHUP, and discard output to a terminal that is gone.

    The kernel and the shell both send SIGHUP when a connection is lost, and init systems send
    it right after SIGTERM. SIGCONT comes with it, on which a screen would start again.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCONT, signal.SIG_DFL)
    for output in (1, 2):
        poll = select.poll()
        poll.register(output, 0)
        if any(events & select.POLLHUP for _, events in poll.poll(0)):
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, output)
            os.close(nowhere)
