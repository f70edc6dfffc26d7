"""A full-screen view of a run: current figures of each class, their history, and ended runs."""

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widgets import DataTable, Footer, ProgressBar, Static

from penstock._native import Pace
from penstock.answer.table import NONE
from penstock.charts import palette
from penstock.results.steps import Finished, Now, Running, Step
from penstock.signals import StopSignal
from penstock.text.units import seconds
from penstock.watch import progress
from penstock.watch.work_screen import WorkScreen, fill, fill_course

Engine: TypeAlias = Callable[[Callable[[Step], None]], str]
"""Runs the engine, which reports its steps and returns the result."""

WRONG = palette.POLICIES[7].dark
"""Colour of errors; the headings carry the same information."""


class Screen(WorkScreen[Step, str]):
    """Shows the steps of one comparison."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "pause", "Pause", priority=True)]

    def __init__(
        self, job: str, engine: Engine, *, pace: Pace, speed: str | None, stop_signal: StopSignal
    ) -> None:
        """Create a screen for this job; `engine` starts when it is shown."""
        super().__init__(engine, stop_signal=stop_signal)
        self._job, self._pace, self._speed = job, pace, speed
        self._current: Running | None = None
        self._history: list[progress.History] = []
        self._ended: list[Finished] = []

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
        """Hide the table of ended runs until there are some."""
        self.query_one("#before").display = False

    def action_end(self) -> None:
        """End the run with the results so far."""
        self._pace.paused = False
        super().action_end()
        self._say_state()

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
        names = [class_["name"] for class_ in now["classes"]]
        fill_course(
            self.query_one("#course", DataTable), names, self._history, self.size.width, windows
        )

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
