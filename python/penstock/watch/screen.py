"""A full-screen view of a run: current figures of each class, their history, and ended runs.

The engine works on its own thread; the screen reads its steps from a queue several times a second,
so that the engine never waits for the screen. The user ends the run, not the screen: the screen
closes when the engine has returned its results.
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
from typing import Any, ClassVar, TypeAlias

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.coordinate import Coordinate
from textual.css.query import NoMatches
from textual.events import Resize
from textual.theme import Theme
from textual.widgets import DataTable, Footer, ProgressBar, Static

from penstock import signals
from penstock._native import Pace
from penstock.answer.table import NONE
from penstock.charts import palette
from penstock.results.steps import Finished, Now, Running, Step
from penstock.signals import StopSignal
from penstock.text.units import seconds
from penstock.watch import progress
from penstock.watch.terminal import Driver

LOOKS_A_SECOND = 10

Engine: TypeAlias = Callable[[Callable[[Step], None]], str]
"""Runs the engine, which reports its steps and returns the result."""

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

LATENCY, THROUGHPUT, WRONG = (palette.POLICIES[number].dark for number in (1, 0, 7))
"""Colours of bars and errors; the headings carry the same information."""

COURSE_APART = 3
"""Characters between text and bars."""


class Screen(App[None]):
    """Shows the steps of one comparison."""

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
        Binding("space", "pause", "Pause", priority=True),
    ]

    def __init__(
        self, job: str, engine: Engine, *, pace: Pace, speed: str | None, stop_signal: StopSignal
    ) -> None:
        """Create a screen for this job; `engine` starts when it is shown.

        While it is shown, the screen handles the signals that `stop_signal` handles.
        """
        super().__init__(driver_class=Driver)
        self._job, self._engine, self._pace, self._speed = job, engine, pace, speed
        self._steps: deque[Step] = deque()
        self._current: Running | None = None
        self._history: list[progress.History] = []
        self._ended: list[Finished] = []
        self._ending = False
        self._stop_signal = stop_signal
        self._handlers: dict[signal.Signals, Any] = {}
        self._text: str | None = None
        self._error: BaseException | None = None
        self._worker = threading.Thread(target=self._work, daemon=True)

    def to_its_end(self) -> str:
        """Show the run until it ends, and return its result as the engine does."""
        self.run()
        if self._ending and self._worker.is_alive():
            # Asked twice: end without results.
            signal.signal(self._stop_signal.by, signal.SIG_DFL)
            os.kill(os.getpid(), self._stop_signal.by)
        self._ending = True  # if only the screen has failed
        self._worker.join()
        if self._error is not None:
            raise self._error
        assert self._text is not None, "the engine returns or raises"
        return self._text

    def _work(self) -> None:
        try:
            self._text = self._engine(self._on_step)
        except BaseException as error:
            self._error = error  # raised where the command waits

    def _on_step(self, step: Step) -> None:
        self._steps.append(step)
        if self._ending:
            raise KeyboardInterrupt

    def compose(self) -> ComposeResult:
        """Lay out the title, progress, current figures, history and ended runs."""
        with VerticalScroll():
            yield Static(Text(self._job, style="bold"), id="title")
            yield Static("beginning", id="state")
            yield ProgressBar(total=1, show_eta=False)
            yield DataTable(id="now", show_cursor=False)
            yield Static(id="span", classes="label")
            yield DataTable(id="course", show_cursor=False)
            yield Static("Runs that have ended: p99", id="before", classes="label")
            yield DataTable(id="ended", show_cursor=False)
        yield Footer()

    def on_mount(self) -> None:
        """Prepare the widgets and signal handlers, and start the engine."""
        self.register_theme(THEME)
        self.theme = THEME.name
        for table in self.query(DataTable):
            table.can_focus = False
        self.query_one("#before").display = False
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
        """End the run with the results so far."""
        self._ending = True
        self._pace.paused = False
        self._say_state()
        self.refresh_bindings()

    def action_interrupt(self) -> None:
        """End the run with the results so far; on a second call, at once."""
        if self._ending:
            self.exit()
        self.action_end()

    def action_pause(self) -> None:
        """Pause the model's time, or continue it."""
        self._pace.paused = not self._pace.paused
        self._say_state()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow a pause only for a model that runs at a limited speed."""
        if action != "pause":
            return True
        modelled = self._current is not None and self._current["world"] == "simulated"
        return modelled and self._speed != "max" and not self._ending

    def on_resize(self, _event: Resize) -> None:
        """Redraw the bars at their new length."""
        self._show_course()

    def _look(self) -> None:
        ended = not self._worker.is_alive()
        # While the screen closes, its widgets may already be gone.
        with suppress(NoMatches):
            while self._steps:
                self.show(self._steps.popleft())
        if ended:
            self.exit()

    def show(self, step: Step) -> None:
        """Show one step."""
        if step["step"] == "creating":
            self.query_one("#state", Static).update(Text(f"writing {step['path']}"))
            self.query_one(ProgressBar).update(progress=step["fraction"])
        elif step["step"] == "finished":
            self._show_ended(step)
        else:
            before, self._current = self._current, step
            if before is None:
                self._say_title(step)
                self.refresh_bindings()
            if before is None or before["number"] != step["number"]:
                self._history = []
                self._show_no_figures(step)
            self._say_state()
            self.query_one(ProgressBar).update(progress=step["fraction"])
            if "now" in step:
                self._show_now(step["now"])

    def _show_no_figures(self, step: Running) -> None:
        """Clear the figures of the run before, if this one reports none until it ends."""
        if "now" in step:
            return
        for name in ("#now", "#course"):
            self.query_one(name, DataTable).clear(columns=True)
        self.query_one("#span", Static).update(f"Figures come when {step['policy']} has ended.")

    def _say_title(self, step: Running) -> None:
        if step["world"] != "simulated":
            how = step["world"].upper()
        elif self._speed == "max":
            how = "SIMULATED, as fast as it goes"
        else:
            times = float(self._speed or 1)
            how = "SIMULATED, in real time" if times == 1 else f"SIMULATED, {times:g}× real time"
        title = Text.assemble((self._job, "bold"), f" on {step['device']}   ", (how, "bold"))
        self.query_one("#title", Static).update(title)

    def _say_state(self) -> None:
        if self._current is None:
            return
        state = Text(progress.which(self._current), style="bold")
        if "now" in self._current:
            state.append(f"   {progress.when(self._current['now'])}", style="not bold")
        if self._ending:
            state.append("   ENDING")
        elif self._pace.paused:
            state.append("   PAUSED")
        self.query_one("#state", Static).update(state)

    def _show_now(self, now: Now) -> None:
        if not self._history:
            self._history = [progress.History() for _ in now["classes"]]
        new = False
        rows = []
        fit = progress.that_fit(self.size.width, [class_["name"] for class_ in now["classes"]])
        for class_, history in zip(now["classes"], self._history, strict=True):
            new |= history.add(now["windows"], class_)
            figures = progress.figures(class_, windows=now["windows"])
            row = [Text(figures[number]) for number in fit]
            if class_["errors"]:
                row[-1].stylize(f"bold {WRONG}")
            rows.append(row)
        headings = [progress.HEADINGS[number] for number in fit]
        fill(self.query_one("#now", DataTable), headings, rows)
        if new or now["windows"] == 0:
            self._show_course()

    def _show_course(self) -> None:
        if self._current is None or "now" not in self._current:
            return
        now = self._current["now"]
        windows = progress.shown(now)
        length, axis = (seconds(now["window_s"] * many) for many in (1, windows))
        shows_all = now["planned_s"] <= now["window_s"] * windows
        stretch = (
            f"the whole run of {seconds(now['planned_s'])}" if shows_all else f"the last {axis}"
        )
        self.query_one("#span", Static).update(
            f"Figures: the last {length}; queue and errors: now. "
            f"Bars: {stretch}, all classes on one scale."
        )
        headings = ("class", "p99", "worst", "MB/s", "most")
        names = max(5, *(len(class_["name"]) for class_ in now["classes"]))
        # Each column has a blank on both sides.
        room = self.size.width - names - 2 * progress.FIGURE - 2 * len(headings) - COURSE_APART
        room //= 2
        width = progress.fitting(room, windows)
        latencies = [history.latencies(room, windows) for history in self._history]
        rates = [history.rates(room, windows) for history in self._history]
        worst, most = (progress.greatest(chain(*rows)) for rows in (latencies, rates))
        rows = [
            [
                Text(class_["name"]),
                Text(progress.bars(p99, worst).ljust(width), style=LATENCY),
                Text(progress.latency(progress.greatest(p99))),
                Text(progress.bars(rate, most).ljust(width), style=THROUGHPUT),
                Text(progress.throughput(progress.greatest(rate))),
            ]
            for class_, p99, rate in zip(now["classes"], latencies, rates, strict=True)
        ]
        fill(self.query_one("#course", DataTable), headings, rows, left=(0, 1, 3))

    def _show_ended(self, step: Finished) -> None:
        self._ended.append(step)
        self.query_one("#before").display = True
        names = list(
            dict.fromkeys(class_["name"] for run in self._ended for class_ in run["classes"])
        )
        rows = []
        for run in self._ended:
            known = {class_["name"]: progress.p99(class_) for class_ in run["classes"]}
            cells = (known.get(name, NONE) for name in names)
            rows.append([Text(progress.in_round(run)), *map(Text, cells)])
        fill(self.query_one("#ended", DataTable), ("policy", *names), rows)


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
