"""Watching a run: what is said meanwhile, and that the result is that of an unwatched run."""

import asyncio
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import DataTable, Static

from command import WRITES, interrupted, on_a_terminal, penstock
from penstock._native import Pace
from penstock.results.steps import ClassNow, Finished, Now, Running, Step
from penstock.signals import StopSignal
from penstock.watch import lines, progress
from penstock.watch.screen import Screen
from sample import one_class

MS = 1_000_000

TWO = ("--policies", "noop,size-priority")

LEFT = "\x1b[?1049l"
"""What the terminal receives when the screen ends."""


def one(name: str, *, p99: int | None = 40 * MS, errors: int = 0, bw: float = 80_000) -> ClassNow:
    """A class in the middle of a run."""
    return {
        "name": name,
        "iops": 19.63,
        "bw_bytes": bw,
        "p50_ns": None if p99 is None else p99 // 2,
        "p99_ns": p99,
        "share": 0.244,
        "outstanding": 3,
        "errors": errors,
    }


def running(*classes: ClassNow, windows: int = 1, number: int = 0, measured: bool = False) -> Step:
    """A step of the first or the second of two policies."""
    now: Now = {
        "at_s": float(windows),
        "planned_s": 600.0,
        "window_s": 1.0,
        "windows": windows,
        "classes": list(classes),
    }
    step: Running = {
        "step": "running",
        "policy": ("noop", "size-priority")[number],
        "number": number,
        "of": 2,
        "fraction": windows / 600,
        "device": "./disk.img" if measured else "hdd-7200",
        "world": "measured" if measured else "simulated",
        "now": now,
    }
    return step


FINISHED: Finished = {
    "step": "finished",
    "policy": "noop",
    "number": 0,
    "of": 2,
    "device": "hdd-7200",
    "classes": [one_class("tellers", p99=241 * MS), one_class("batch", requests=0)],
}


class TestWords:
    """What is said of a class."""

    def test_each_figure_has_its_heading(self) -> None:
        said = progress.figures(one("tellers", errors=2), windows=1)
        assert said == ("tellers", "19.6", "0.0800", "20.0 ms", "40.0 ms", "3", "24.4 %", "2")
        assert len(said) == len(progress.HEADINGS)

    def test_nothing_is_claimed_before_a_window_has_ended(self) -> None:
        said = progress.figures(one("tellers", p99=None), windows=0)
        assert said == ("tellers", "–", "–", "–", "–", "3", "–", "0")

    def test_bars_go_from_nothing_to_the_greatest_and_leave_gaps(self) -> None:
        assert progress.bars([0, 50, None, 100], 100) == "▁▅ █"
        assert progress.bars([0, 50, None, 100], 200) == "▁▃ ▅", "another row has the greatest"
        assert progress.bars([], None) == ""
        assert progress.bars([None, None], None) == "  "
        assert progress.bars([None, 0], 0) == " ▁"

    def test_a_history_remembers_each_window_once_and_a_minute_of_them(self) -> None:
        history = progress.History()
        assert not history.add(0, one("a")), "none has ended"
        for number in (1, 1, 2, 4):
            history.add(number, one("a", p99=number * MS, bw=1e6 * number))
        assert history.latencies(60, 60) == [1 * MS, 2 * MS, None, 4 * MS]
        assert history.rates(60, 60) == [1e6, 2e6, None, 4e6]
        for number in range(5, 200):
            history.add(number, one("a"))
        assert history.latencies(60, 60) == [40 * MS] * 60

    def test_bars_too_many_for_the_place_stand_for_several_windows(self) -> None:
        history = progress.History()
        for number in range(60):
            history.add(number + 1, one("a", p99=(100 if number == 30 else 1) * MS))
        columns = history.latencies(20, 60)
        assert len(columns) == 20
        assert columns.count(100 * MS) == 1, "the worst is never averaged away"
        assert columns[30 // 3] == 100 * MS, "the first bar stands for as many as the others"

    @pytest.mark.parametrize(
        ("windows", "widths"),
        [(60, (1, 1, 20, 30, 30, 60, 60)), (12, (1, 1, 12, 12, 12, 12, 12)), (1, (1,) * 7)],
    )
    def test_bars_fill_what_they_take(self, windows: int, widths: tuple[int, ...]) -> None:
        rooms = (-3, 1, 21, 36, 59, 60, 99)
        assert tuple(progress.fitting(room, windows) for room in rooms) == widths

    @pytest.mark.parametrize(
        ("planned_s", "window_s", "windows"),
        [(60, 5, 12), (61, 5, 13), (600, 1, 60), (60, 1, 60), (0.5, 1, 1)],
    )
    def test_there_is_room_for_the_planned_time_and_no_more(
        self, planned_s: float, window_s: float, windows: int
    ) -> None:
        now: Now = {
            "at_s": 0.0,
            "planned_s": planned_s,
            "window_s": window_s,
            "windows": 0,
            "classes": [],
        }
        assert progress.shown(now) == windows

    def test_a_run_over_its_time_says_so(self) -> None:
        step = running(one("a"), windows=700)
        assert step["step"] == "running"
        assert progress.when(step["now"]) == "11.7 min of 10.0 min, serving what is left"


class TestLines:
    """Without a terminal."""

    def test_a_line_for_each_class_no_more_than_once_a_window(self) -> None:
        said = lines.Lines()
        step = running(one("tellers"), one("io", p99=None))
        assert list(said.of(running(one("tellers"), windows=0))) == [], "nothing is known yet"
        assert list(said.of(step)) == [
            "noop (1 of 2)  1.00 s of 10.0 min  tellers  19.6/s  0.0800 MB/s  p50 20.0 ms  "
            "p99 40.0 ms  queue 3  share 24.4 %  errors 0",
            "noop (1 of 2)  1.00 s of 10.0 min  io       19.6/s  0.0800 MB/s  p50 –  p99 –  "
            "queue 3  share 24.4 %  errors 0",
        ]
        assert list(said.of(step)) == []
        assert list(said.of(FINISHED)) == ["noop has ended: p99 tellers 241 ms, batch –"]

    @pytest.mark.parametrize("speed", ["5", "max"])
    def test_the_result_is_that_of_compare(self, job: Path, speed: str) -> None:
        ended = penstock("watch", job, *TWO, "--speed", speed)
        compared = penstock("compare", job, *TWO)
        assert (ended.code, ended.out) == (0, compared.out)
        assert re.search(r"^noop has ended: p99 tellers .* ms, batch .* ms$", ended.err, re.M)
        assert re.search(r"^size-priority has ended: p99 ", ended.err, re.M)

    def test_each_class_is_reported_while_it_runs(self, job: Path) -> None:
        err = penstock("watch", job, *TWO, "--speed", "2", "--json").err
        for name in ("tellers", "batch  "):
            assert re.search(rf"^noop \(1 of 2\)  .* of 5.00 s  {name}  .*/s  ", err, re.M), err

    def test_an_interrupt_ends_it_with_what_there_is(self, job: Path) -> None:
        words = ("watch", job, *TWO, "--set", "duration=1h", "--json")
        ended = interrupted(*words, when="tellers")
        assert ended.code == 130
        (run,) = json.loads(ended.out)["runs"]
        assert (run["policy"], run["interrupted"]) == ("noop", True)
        assert "1 of 2 policies did not run" in ended.err

    def test_a_real_file(self, job: Path, disk: Path) -> None:
        words = ("--on", disk, "--create", "16MiB", "--set", "duration=1s")
        ended = penstock("watch", job, *TWO, *words)
        assert ended.code == 0, ended.err
        assert ended.out.startswith(f"MEASURED  {job} on {disk}\n")
        assert "noop (1 of 2)" in ended.err

    def test_a_file_that_is_only_read(self, tmp_path: Path, disk: Path) -> None:
        disk.write_bytes(bytes(4 << 20))
        reads = tmp_path / "reads.toml"
        reads.write_text(WRITES.replace('op = "write"', 'op = "read"'))
        words = (reads, "--policies", "noop", "--set", "duration=200ms", "--json")
        ended = penstock("watch", *words, "--on", disk, "--read-only")
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["runs"][0]["classes"][0]["requests"] > 0


class TestWrong:
    """Wrong use: a message, nothing on stdout, nothing made."""

    @pytest.mark.parametrize("speed", ["0", "-1", "fast", "nan", "10x"])
    def test_a_speed(self, job: Path, speed: str) -> None:
        ended = penstock("watch", job, "--speed", speed)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith(f"error: --speed {speed}: expected a number above 0, or max\n")

    def test_the_speed_of_a_real_file(self, job: Path, disk: Path) -> None:
        ended = penstock("watch", job, "--on", disk, "--create", "16MiB", "--speed", "max")
        assert (ended.code, ended.out) == (2, "")
        assert f"error: --speed max does not go with {disk}" in ended.err
        assert not disk.exists()


class Run:
    """In place of the engine: reports a step, if any, over and over until released or ended."""

    def __init__(self, step: Step | None = None) -> None:
        """It begins when it is called."""
        self._step = step
        self.let_go = threading.Event()
        self.ended = False

    def __call__(self, on_step: Callable[[Step], None]) -> str:
        """Run."""
        try:
            while not self.let_go.wait(0.01):
                if self._step is not None:
                    on_step(self._step)
        except KeyboardInterrupt:
            self.ended = True
        return "{}"


def screen(run: Run, *, pace: Pace | None = None, speed: str | None = None) -> Screen:
    """A screen that shows this run."""
    return Screen("job.toml", run, pace=pace or Pace(), speed=speed, stop_signal=StopSignal())


def cells(app: Screen, table: str) -> list[list[str]]:
    """What a table says, its headings first."""
    found = app.query_one(f"#{table}", DataTable)
    headings = [str(column.label) for column in found.ordered_columns]
    return [
        headings,
        *([str(it).strip() for it in found.get_row_at(n)] for n in range(found.row_count)),
    ]


def says(app: Screen, name: str) -> str:
    """What stands in a line."""
    return str(app.query_one(f"#{name}", Static).render())


class TestScreen:
    """What the screen says, step by step."""

    STEP = running(one("tellers"), one("batch", p99=None, errors=7, bw=28.9e6))

    def shown(
        self, *steps: Step, speed: str | None = None, size: tuple[int, int] = (80, 24)
    ) -> Screen:
        """The screen after these steps."""
        run = Run()
        app = screen(run, speed=speed)

        async def look() -> None:
            async with app.run_test(size=size) as pilot:
                for step in steps:
                    app.show(step)
                await pilot.pause()
                self.look(app)
                run.let_go.set()

        asyncio.run(look())
        return app

    def look(self, app: Screen) -> None:
        """Keep what can only be read while the screen stands."""
        self.now, self.course, self.ended = (cells(app, it) for it in ("now", "course", "ended"))
        self.title, self.state, self.span = (says(app, it) for it in ("title", "state", "span"))
        self.width = max(table.virtual_size.width for table in app.query(DataTable))
        table = app.query_one("#course", DataTable)
        self.bars = len(str(table.get_row_at(0)[1])) if table.row_count else 0
        self.pauses = app.check_action("pause", ())

    def test_each_class_has_a_row(self) -> None:
        self.shown(self.STEP)
        assert self.title == "job.toml on hdd-7200   SIMULATED, in real time"
        assert self.state == "noop (1 of 2)   1.00 s of 10.0 min"
        assert self.now == [
            list(progress.HEADINGS),
            ["tellers", "19.6", "0.0800", "20.0 ms", "40.0 ms", "3", "24.4 %", "0"],
            ["batch", "19.6", "28.9", "–", "–", "3", "24.4 %", "7"],
        ]

    def test_bars_show_how_it_went(self) -> None:
        steps = [running(one("a", p99=n * MS, bw=n * 1e6), windows=n) for n in (1, 2, 4)]
        self.shown(*steps, size=(200, 40))
        assert self.course[0] == ["class", "p99", "worst", "MB/s", "most"]
        assert self.course[1] == ["a", "▃▅ █", "4.00 ms", "▃▅ █", "4.00"]
        assert "Bars: the last 60.0 s" in self.span

    def test_bars_of_all_classes_have_one_scale(self) -> None:
        classes = (one("a", p99=10 * MS, bw=40e6), one("b", p99=20 * MS, bw=20e6))
        self.shown(running(*classes), size=(200, 40))
        assert self.course[1:] == [
            ["a", "▅", "10.0 ms", "█", "40.0"],
            ["b", "█", "20.0 ms", "▅", "20.0"],
        ]
        assert "all classes on one scale" in self.span

    def test_bars_of_a_minute_have_room_for_a_minute(self) -> None:
        step = running(one("a"))
        assert step["step"] == "running"
        step["now"] |= {"planned_s": 60.0, "window_s": 5.0}
        self.shown(step, size=(200, 40))
        assert "Bars: the whole run of 60.0 s" in self.span
        assert self.bars == 12

    def test_a_run_that_has_ended_leaves_a_line_and_the_next_begins_anew(self) -> None:
        self.shown(self.STEP, FINISHED, running(one("tellers"), one("batch"), number=1, windows=0))
        assert self.ended == [["policy", "tellers", "batch"], ["noop", "241 ms", "–"]]
        assert self.state == "size-priority (2 of 2)   0 ns of 10.0 min"
        assert self.course[1] == ["tellers", "", "–", "", "–"]

    def test_where_nothing_is_known_meanwhile_nothing_old_is_shown(self) -> None:
        step = running(one("tellers"), number=1)
        assert step["step"] == "running"
        del step["now"]
        step["policy"] = "kernel:none"
        self.shown(self.STEP, step)
        assert self.now == [[]]
        assert self.span == "Figures come when kernel:none has ended."
        self.shown(step, step, self.STEP)
        assert len(self.now) == 3, "and with the next they are back"

    def test_runs_of_other_classes_stand_below_one_another(self) -> None:
        alone: Finished = {**FINISHED, "policy": "alone:batch", "classes": FINISHED["classes"][1:]}
        third: Finished = {**FINISHED, "policy": "cfq", "round": 1}
        self.shown(alone, FINISHED, third, self.STEP)
        assert self.ended == [
            ["policy", "batch", "tellers"],
            ["alone:batch", "–", "–"],
            ["noop", "–", "241 ms"],
            ["cfq, round 2", "–", "241 ms"],
        ]

    def test_an_emulated_run_says_so(self) -> None:
        step = running(one("tellers"))
        assert step["step"] == "running"
        step["world"], step["device"] = "emulated", "emulated:flash"
        self.shown(step)
        assert self.title == "job.toml on emulated:flash   EMULATED"
        assert self.pauses is False

    @pytest.mark.parametrize(
        ("columns", "left_out"),
        [(120, ()), (80, ()), (70, ("share",)), (60, ("share", "queue")), (50, progress.SPARE)],
    )
    def test_nothing_is_cut(self, columns: int, left_out: tuple[str, ...]) -> None:
        classes = [one(name) for name in ("tellers", "balance", "batch", "report")]
        self.shown(*(running(*classes, windows=n) for n in range(100)), size=(columns, 24))
        assert self.width <= columns
        assert self.now[0] == [it for it in progress.HEADINGS if it not in left_out]

    @pytest.mark.parametrize(
        ("speed", "said"),
        [("10", "10× real time"), ("0.5", "0.5× real time"), ("max", "as fast as it goes")],
    )
    def test_the_speed_is_reported(self, speed: str, said: str) -> None:
        self.shown(self.STEP, speed=speed)
        assert self.title == f"job.toml on hdd-7200   SIMULATED, {said}"
        assert self.pauses is (speed != "max")

    def test_a_measured_run_says_so_and_does_not_pause(self) -> None:
        self.shown(running(one("tellers"), measured=True))
        assert self.title == "job.toml on ./disk.img   MEASURED"
        assert self.pauses is False

    def test_the_making_of_a_file_is_reported(self) -> None:
        self.shown({"step": "creating", "path": "./disk.img", "fraction": 0.5})
        assert self.state == "writing ./disk.img"

    def test_space_pauses_and_goes_on(self) -> None:
        run, pace = Run(self.STEP), Pace()
        app = screen(run, pace=pace)

        async def press() -> None:
            async with app.run_test() as pilot:
                app.show(self.STEP)
                await pilot.press("space")
                assert pace.paused
                assert says(app, "state").endswith("PAUSED")
                await pilot.press("space")
                assert not pace.paused
                assert not says(app, "state").endswith("PAUSED")
                run.let_go.set()

        asyncio.run(press())

    @pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
    def test_a_key_ends_the_run_and_then_the_screen_goes(self, key: str) -> None:
        run = Run(self.STEP)
        app = screen(run)

        async def press() -> None:
            async with app.run_test() as pilot:
                app.show(self.STEP)
                await pilot.press(key)
                while app.is_running and not run.ended:
                    await pilot.pause(0.01)

        asyncio.run(press())
        assert run.ended


class TestTerminal:
    """The whole command on a terminal."""

    def test_the_result_is_that_of_compare(self, job: Path) -> None:
        ended = on_a_terminal("watch", job, *TWO, "--speed", "5", "--json")
        assert ended.code == 0
        screen, left, result = ended.out.rpartition(LEFT)
        assert left, ended.out
        assert "tellers" in screen
        assert "noop (1 of 2)" in screen
        compared = json.loads(penstock("compare", job, *TWO, "--json").out)
        assert json.loads(plain(result)) == compared

    def test_ctrl_c_ends_it_with_what_there_is(self, job: Path) -> None:
        words = ("watch", job, *TWO, "--set", "duration=1h")
        ended = on_a_terminal(*words, press=[("share", "\x03")])
        assert ended.code == 130
        table = plain(ended.out.rpartition(LEFT)[2])
        assert "PARTIAL: interrupted" in table
        assert "1 of 2 policies did not run" in table

    def test_a_failure_is_reported_when_the_screen_is_gone(self, job: Path) -> None:
        ended = on_a_terminal("watch", job, "--policies", "nop")
        assert ended.code == 2
        assert plain(ended.out.rpartition(LEFT)[2]).startswith("error: unknown policy `nop`\n")

    def test_without_textual_it_says_what_is_missing(self, job: Path) -> None:
        ended = on_a_terminal("watch", job, lacking="textual")
        assert ended.code == 77
        assert ended.out == (
            "error: the live view needs the package textual, which is not installed\n"
            "hint: install it with `pip install textual`\n"
        )


def plain(text: str) -> str:
    """Text without what only a terminal understands."""
    return re.sub(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[=>]", "", text)
