"""The full screen of work that goes on: it shows the steps that the work reports.

The work has a thread of its own; the screen reads its steps from a queue several times a second, so
that the work never waits for the screen. The user ends the work, not the screen: the screen closes
when the work has returned its result.
"""

import asyncio
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from types import FrameType
from typing import Any, ClassVar, Generic, TypeVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.css.query import NoMatches
from textual.theme import Theme
from textual.widgets import DataTable

from penstock import signals
from penstock.charts import palette
from penstock.signals import StopSignal
from penstock.watch import progress
from penstock.watch.terminal import Driver

LOOKS_A_SECOND = 10

LATENCY, THROUGHPUT = (palette.POLICIES[number].dark for number in (1, 0))
"""Colours of bars; the headings carry the same information."""

APART = 3
"""Characters between text and bars."""

StepT = TypeVar("StepT")
"""A step that the work reports."""

ResultT = TypeVar("ResultT")

THEME = Theme(
    name="penstock",
    primary=palette.POLICIES[0].dark,
    accent=palette.POLICIES[1].dark,
    foreground=palette.INK.dark,
    background=palette.GROUND.dark,
    surface=palette.GROUND.dark,
    panel=palette.GRID.dark,
    dark=True,
    variables={"footer-key-foreground": palette.POLICIES[1].dark},
)


class WorkScreen(App[None], Generic[StepT, ResultT]):
    """Shows work until it ends; `show` draws a step."""

    CSS = f"""
    Static {{ height: auto; padding: 0 1; }}
    .label {{ color: {palette.FAINT.dark}; margin-top: 1; }}
    DataTable {{ height: auto; background: $background; overflow-y: hidden; }}
    DataTable > .datatable--header {{
        background: $background; color: {palette.FAINT.dark}; text-style: none;
    }}
    ProgressBar {{ margin: 0 1 1 1; width: 100%; }}
    ProgressBar Bar {{ width: 1fr; }}
    ProgressBar Bar > .bar--bar {{ color: $primary; }}
    VerticalScroll {{ scrollbar-size-vertical: 1; }}
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "end", "End with what there is"),
        Binding("ctrl+q", "end", show=False, priority=True),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    def __init__(
        self, work: Callable[[Callable[[StepT], None]], ResultT], *, stop_signal: StopSignal
    ) -> None:
        """Create a screen; `work` starts when it is shown.

        While it is shown, the screen handles the signals that `stop_signal` handles.
        """
        super().__init__(driver_class=Driver)
        self._to_do = work
        self._steps: deque[StepT] = deque()
        self._ending = False
        self._stop_signal = stop_signal
        self._handlers: dict[signal.Signals, Any] = {}
        self._result: ResultT | None = None
        self._error: BaseException | None = None
        self._worker = threading.Thread(target=self._work, daemon=True)

    def to_its_end(self) -> ResultT:
        """Show the work until it ends, and return its result."""
        self.run()
        if self._ending and self._worker.is_alive():
            # Asked twice: end without results.
            signal.signal(self._stop_signal.by, signal.SIG_DFL)
            os.kill(os.getpid(), self._stop_signal.by)
        self._ending = True  # if only the screen has failed
        self._worker.join()
        if self._error is not None:
            raise self._error
        assert self._result is not None, "the work returns or raises"
        return self._result

    def _work(self) -> None:
        try:
            self._result = self._to_do(self._on_step)
        except BaseException as error:
            self._error = error  # raised where the command waits

    def _on_step(self, step: StepT) -> None:
        self._steps.append(step)
        if self._ending:
            raise KeyboardInterrupt

    def on_mount(self) -> None:
        """Prepare the widgets and signal handlers, and start the work."""
        self.register_theme(THEME)
        self.theme = THEME.name
        for table in self.query(DataTable):
            table.can_focus = False
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()

            def on_signal(number: int, _frame: FrameType | None) -> None:
                self._stop_signal.by = signal.Signals(number)
                if signal.SIGHUP in self._handlers:
                    signals.detach_from_terminal()
                loop.call_soon_threadsafe(self.action_interrupt)

            # The loop's own handlers would run only after all drawing, on a terminal that may be
            # gone.
            for number in self._stop_signal.taken:
                self._handlers[number] = signal.signal(number, on_signal)
        self.set_interval(1 / LOOKS_A_SECOND, self._look)
        self._worker.start()

    def on_unmount(self) -> None:
        """Restore the signal handlers."""
        signals.restore(self._handlers, self._stop_signal.by)

    def action_end(self) -> None:
        """End the work with the results so far."""
        self._ending = True
        self.refresh_bindings()

    def action_interrupt(self) -> None:
        """End the work with the results so far; on a second call, at once."""
        if self._ending:
            self.exit()
        self.action_end()

    def _look(self) -> None:
        ended = not self._worker.is_alive()
        # While the screen closes, its widgets may already be gone.
        with suppress(NoMatches):
            while self._steps:
                self.show(self._steps.popleft())
        if ended:
            self.exit()

    def show(self, step: StepT) -> None:
        """Show one step."""
        raise NotImplementedError


def fill(
    table: DataTable[Text],
    headings: Sequence[str],
    rows: Sequence[Sequence[Text]],
    *,
    left: Sequence[int] = (0,),
) -> None:
    """Fill a table: figures to the right, the columns of `left` to the left."""
    shown = [str(column.label) for column in table.ordered_columns]
    if shown != list(headings):
        table.clear(columns=True)
        for number, heading in enumerate(headings):
            table.add_column(Text(heading, justify="left" if number in left else "right"))
    if table.row_count != len(rows):
        table.clear()
        for row in rows:
            table.add_row(*row)
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            cell.justify = "left" if x in left else "right"
            if table.get_cell_at(Coordinate(y, x)) != cell:
                table.update_cell_at(Coordinate(y, x), cell, update_width=True)


def fill_course(
    table: DataTable[Text],
    names: Sequence[str],
    histories: Sequence[progress.History],
    columns: int,
    windows: int,
) -> None:
    """Fill a table with the last windows of each class as bars, all classes on one scale."""
    headings = ("class", "p99", "worst", "MB/s", "most")
    # Each column has a blank on both sides.
    room = columns - max(5, *map(len, names)) - 2 * progress.FIGURE - 2 * len(headings) - APART
    room //= 2
    width = progress.fitting(room, windows)
    latencies = [history.latencies(room, windows) for history in histories]
    rates = [history.rates(room, windows) for history in histories]
    worst, most = (progress.greatest(chain(*rows)) for rows in (latencies, rates))
    rows = [
        [
            Text(name),
            Text(progress.bars(p99, worst).ljust(width), style=LATENCY),
            Text(progress.latency(progress.greatest(p99))),
            Text(progress.bars(rate, most).ljust(width), style=THROUGHPUT),
            Text(progress.throughput(progress.greatest(rate))),
        ]
        for name, p99, rate in zip(names, latencies, rates, strict=True)
    ]
    fill(table, headings, rows, left=(0, 1, 3))
