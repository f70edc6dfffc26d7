"""A full-screen view of a guard: both classes, the goals, what is set, and the last changes."""

from collections.abc import Callable

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Footer, ProgressBar, Static

from penstock.guard import words
from penstock.guard.session import WINDOW_S, Guarded, GuardPlan, GuardStatus
from penstock.guard.who import BATCH, ONLINE
from penstock.metering import ClassFigures, MeterWindow
from penstock.results.steps import ClassNow
from penstock.signals import StopSignal
from penstock.text import units
from penstock.watch import progress
from penstock.watch.work_screen import WorkScreen, fill, fill_course

HEADINGS = ("class", "requests/s", "MB/s", "p50", "p99", "waiting")

CHANGES = 5
"""Most changes that are shown."""


class GuardScreen(WorkScreen[GuardStatus, Guarded]):
    """Shows a guard window by window."""

    def __init__(
        self,
        plan: GuardPlan,
        work: Callable[[Callable[[GuardStatus], None]], Guarded],
        *,
        stop_signal: StopSignal,
    ) -> None:
        """Create a screen for this plan; `work` starts when it is shown."""
        super().__init__(work, stop_signal=stop_signal)
        self._plan = plan
        self._status: GuardStatus | None = None
        self._history = {name: progress.History() for name in (ONLINE, BATCH)}

    def compose(self) -> ComposeResult:
        """Lay out the classes, their history, the goals, what is set and the last changes."""
        plan = self._plan
        keep = f", the batch keeps {units.percent(plan.keep)}" if plan.keep else ""
        with VerticalScroll():
            yield Static(Text.assemble((f"guard of {plan.disk}", "bold"), keep), id="title")
            yield Static("beginning", id="state")
            if plan.seconds is not None:
                yield ProgressBar(total=1, show_eta=False)
            yield DataTable(id="now", show_cursor=False)
            yield Static(f"Bars: the last {progress.WINDOWS} windows", classes="label")
            yield DataTable(id="course", show_cursor=False)
            yield Static("Goals, in the last window", classes="label")
            yield DataTable(id="goals", show_cursor=False)
            yield Static("Last changes, with the medians before and after", classes="label")
            yield Static(id="changes")
        yield Footer()

    def action_end(self) -> None:
        """End the guard, which puts everything back."""
        super().action_end()
        self._say_state()

    def on_resize(self) -> None:
        """Redraw the bars at their new length."""
        if self._status is not None:
            self._show_course()

    def show(self, step: GuardStatus) -> None:
        """Show a window."""
        self._status = step
        self._say_state()
        if self._plan.seconds is not None:
            self.query_one(ProgressBar).update(progress=step.at_s / self._plan.seconds)
        rows = []
        for name, history in self._history.items():
            now = _now(name, step.measured)
            history.add(step.so_far.windows, now)
            rows.append([Text(cell) for cell in progress.figures(now, windows=1)[: len(HEADINGS)]])
        fill(self.query_one("#now", DataTable), HEADINGS, rows)
        self._show_course()
        goals = [
            [Text(state.goal.text), Text(words.figure(state)), Text(words.met(state.missed_by))]
            for state in step.goals
        ]
        fill(self.query_one("#goals", DataTable), ("goal", "now", "is"), goals, left=(0, 2))
        lines = "\n".join(map(words.change, step.so_far.steps[-CHANGES:]))
        self.query_one("#changes", Static).update(Text(lines))

    def _show_course(self) -> None:
        table = self.query_one("#course", DataTable)
        histories = list(self._history.values())
        fill_course(table, list(self._history), histories, self.size.width, progress.WINDOWS)

    def _say_state(self) -> None:
        status = self._status
        if status is None:
            return
        state = Text.assemble("set: ", (status.means.name, "bold"), f" ({status.means.words})")
        state.append(f"   {_stage(status)}")
        state.append(f"   {units.seconds(status.at_s)}")
        if self._ending:
            state.append("   ENDING")
        if status.window is None:
            state.append(f"\n{words.seen(status)}")
        self.query_one("#state", Static).update(state)


def _stage(status: GuardStatus) -> str:
    if not status.decided:
        return "searching"
    return "kept" if status.so_far.met else "kept as the nearest: no means meets the goals"


def _now(name: str, window: MeterWindow) -> ClassNow:
    """Return the figures of a class in a window: of latencies the worse of reads and writes."""
    figures: ClassFigures | None = window.classes.get(name)
    both = [] if figures is None else [figures.read, figures.write]
    known = [way.latency_ns for way in both if way.latency_ns is not None]
    seconds = (window.to_ns - window.from_ns) / 1e9 or WINDOW_S
    return {
        "name": name,
        "iops": sum(way.count for way in both) / seconds,
        "bw_bytes": sum(way.bytes for way in both) / seconds,
        "p50_ns": max((latencies.p50 for latencies in known), default=None),
        "p99_ns": max((latencies.p99 for latencies in known), default=None),
        "share": 0.0,
        "outstanding": sum(way.waiting for way in both),
        "errors": 0,
    }
