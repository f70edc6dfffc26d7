"""Ctrl-C and SIGTERM: the first ends the run with what there is, the second the process."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What is taken over, and from whom. Ignored, or somebody else's: it stays so."""


class Asked:
    """Which signal asked for the end of a run."""

    def __init__(self) -> None:
        """Ctrl-C, until another comes."""
        self.by: signal.Signals = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """What shells say of a command that this signal ended: 130 or 143."""
        return 128 + self.by

    @contextmanager
    def first_stops(self) -> Iterator[None]:
        """Within this, the first of them raises `KeyboardInterrupt`, and a second ends us."""
        before = {number: signal.getsignal(number) for number in DEFAULTS}
        ours = [number for number, usual in DEFAULTS.items() if before[number] == usual]

        def stop(number: int, _frame: FrameType | None) -> None:
            self.by = signal.Signals(number)
            for each in ours:
                signal.signal(each, signal.SIG_DFL)
            raise KeyboardInterrupt

        for number in ours:
            signal.signal(number, stop)
        try:
            yield
        finally:
            for number in ours:
                signal.signal(number, before[number])
