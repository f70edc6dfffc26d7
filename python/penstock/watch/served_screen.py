"""A full-screen view of a served target: its volumes, their last minute, and the policy."""

from collections.abc import Callable
from typing import Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Footer, Static

from penstock.served.window import ServedWindow
from penstock.signals import StopSignal
from penstock.text import units
from penstock.watch import progress
from penstock.watch.work_screen import WorkScreen, fill, fill_course

MESSAGE_S = 3600
"""Seconds for which a message is shown."""

HEADINGS = ("volume", "requests/s", "MB/s", "p50", "p99", "outstanding", "errors")

SHOWN = ("name", "requests/s", "MB/s", "p50", "p99", "queue", "errors")
"""The columns of `progress.HEADINGS` that they are."""


class ServedScreen(WorkScreen[ServedWindow, dict[str, Any]]):
    """Shows a served target window by window."""

    def __init__(
        self,
        title: str,
        work: Callable[[Callable[[ServedWindow], None]], dict[str, Any]],
        *,
        stop_signal: StopSignal,
    ) -> None:
        """Create a screen with this title; `work` starts when it is shown."""
        super().__init__(work, stop_signal=stop_signal)
        self._title = title
        self._windows = 0
        self._history: dict[str, progress.History] = {}

    def compose(self) -> ComposeResult:
        """Lay out the volumes, their history and the policy's counters."""
        with VerticalScroll():
            yield Static(Text(self._title, style="bold"), id="title")
            yield Static("beginning", id="state")
            yield DataTable(id="now", show_cursor=False)
            yield Static(f"Bars: the last {progress.WINDOWS} windows", classes="label")
            yield DataTable(id="course", show_cursor=False)
            yield Static("Counters of the policy", classes="label")
            yield Static(id="policy")
        yield Footer()

    def say(self, text: str) -> None:
        """Show a message until it is over; for the thread of the work."""
        self.call_from_thread(self.notify, text, timeout=MESSAGE_S)

    def on_resize(self) -> None:
        """Redraw the bars at their new length."""
        self._show_course()

    def show(self, step: ServedWindow) -> None:
        """Show a window."""
        self._windows += 1
        ending = "   ENDING" if self._ending else ""
        self.query_one("#state", Static).update(f"{units.seconds(step.at_s)}{ending}")
        rows = []
        for now in step.volumes():
            self._history.setdefault(now["name"], progress.History()).add(self._windows, now)
            figures = dict(zip(progress.HEADINGS, progress.figures(now, windows=1), strict=True))
            rows.append([Text(now["name"]), *(Text(figures[name]) for name in SHOWN[1:])])
        fill(self.query_one("#now", DataTable), HEADINGS, rows)
        self._show_course()
        counters = step.report["policy"].items()
        shown = ", ".join(f"{name} {units.count(value)}" for name, value in counters)
        self.query_one("#policy", Static).update(Text(shown or "none"))

    def _show_course(self) -> None:
        if self._history:
            names, histories = list(self._history), list(self._history.values())
            table = self.query_one("#course", DataTable)
            fill_course(table, names, histories, self.size.width, progress.WINDOWS)
