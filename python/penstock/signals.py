r"""Signals that ask for an end: the first ends the run with what there is, the second the process.

Taken over are those that a person or a terminal sends and that end a process: Ctrl-C, Ctrl-\,
SIGTERM, and SIGHUP, which comes when the connection is lost.
"""

import os
import select
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

DEFAULTS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGQUIT: signal.SIG_DFL,
}
"""What is taken over, and from which handler. Ignored, or with another handler: it stays so."""


def ours() -> list[signal.Signals]:
    """Those with their default handlers. `nohup`, for one, ignores SIGHUP, and that stays so."""
    return [number for number, usual in DEFAULTS.items() if signal.getsignal(number) == usual]


def restore(before: Mapping[signal.Signals, Any], by: signal.Signals) -> None:
    """Give signals back, after `by` has asked for the end.

    A connection is lost once: SIGHUP is still ignored while what there is gets written.
    """
    for number, handler in before.items():
        if (number, by) != (signal.SIGHUP, signal.SIGHUP):
            signal.signal(number, handler)


class Asked:
    """Which signal asked for the end of a run."""

    def __init__(self) -> None:
        """Ctrl-C, until another comes."""
        self.by: signal.Signals = signal.SIGINT
        self.taken: list[signal.Signals] = []
        """The signals that are taken over at the moment."""

    @property
    def exit_code(self) -> int:
        """What shells say of a command that this signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.by

    @contextmanager
    def first_stops(self) -> Iterator[None]:
        """Within this, the first of them raises `KeyboardInterrupt`, and a second ends us."""
        before = {number: signal.getsignal(number) for number in ours()}

        def stop(number: int, _frame: FrameType | None) -> None:
            self.by = signal.Signals(number)
            for signum in before:
                signal.signal(signum, signal.SIG_DFL)
            if signal.SIGHUP in before:
                detach_from_terminal()
            raise KeyboardInterrupt

        for number in before:
            signal.signal(number, stop)
        self.taken = list(before)
        try:
            yield
        finally:
            self.taken = []
            restore(before, self.by)


def detach_from_terminal() -> None:
    """Let no SIGHUP end us any more, and words for a terminal that is gone go nowhere.

    The kernel and the shell both send the signal when a connection is lost, and init systems send
    it right after SIGTERM. With it comes SIGCONT, on which a screen would begin anew.
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
