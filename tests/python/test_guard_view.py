"""How a guard is watched: its screen, its lines, its metrics, and its answer in words."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.widgets import DataTable, Static

from exposed import checked
from guard_samples import GOAL, decided, status
from penstock.advise.goal import Goal
from penstock.answer.table import NONE
from penstock.guard import words
from penstock.guard.lines import GuardLines
from penstock.guard.means import NOTHING, possible
from penstock.guard.metrics import GuardMetrics
from penstock.guard.screen import HEADINGS, GuardScreen
from penstock.guard.selectors import Selector
from penstock.guard.session import Guarded, GuardPlan, GuardStatus
from penstock.guard.steps import GuardStep
from penstock.guard.used_disks import UsedDisk
from penstock.metrics.outlet import outlet
from penstock.signals import StopSignal

POSTGRES = Selector("command:postgres", lambda: lambda _: False)


def said(result: Guarded) -> str:
    """The lines of an answer."""
    *_, lines = words.blocks(result)
    return "\n".join(map(str, lines))


def test_a_change_has_its_reason_and_what_it_brought() -> None:
    assert (
        "     4.0 s  idle: it misses (50.0 → 0.500 × the limit, batch 1,000 → 800 MB/s)"
        in said(decided()).splitlines()
    )
    assert words.change(GuardStep(1.0, "idle", "it misses")) == "   1.0 s  idle: it misses"


def test_of_many_changes_the_last_are_shown() -> None:
    result = decided()
    result.steps += [GuardStep(float(n), "idle", f"reason {n}.") for n in range(100)]
    text = said(result)
    assert "reason 79." not in text
    assert "reason 80." in text
    assert "… 82 changes before these" in text


def test_the_disk_below_and_figures_of_a_plan_are_named() -> None:
    result = decided()
    result.note, result.remembered = "dm-0 lies on sda: guarded there", True
    assert said(result).startswith(f"{result.note}\nthe figures of nothing are those of the plan")


def idle(*used: UsedDisk) -> Guarded:
    """A guard whose online programs asked for nothing."""
    result = decided(met=False, is_decided=False)
    result.standings.clear()
    result.idle_windows, result.used = result.windows, list(used)
    return result


def test_programs_of_another_disk_are_named_with_it() -> None:
    elsewhere = UsedDisk("command:postgres", "sdb", "/var/lib/postgresql")
    line = "command:postgres works on sdb (/var/lib/postgresql), not on sda"
    answer = said(idle(elsewhere)).splitlines()
    assert answer == [
        "the online programs asked for nothing in 9 windows, so there was nothing to protect",
        line,
    ]
    assert words.seen(status(idle(elsewhere), p99=None)) == f"nothing was asked for online; {line}"
    here = UsedDisk("command:postgres", "sda", "/")
    assert "has files open on sda and asks it for nothing" in said(idle(elsewhere, here))


def test_a_line_for_each_change_and_for_each_thing_that_it_waits_for() -> None:
    lines = GuardLines(endless=True)
    waits = status(idle(), p99=None, waiting=[POSTGRES], is_running=False)
    waits.so_far.changes = 0
    assert list(lines.of(waits)) == [
        "guarding sda; Ctrl-C ends it and puts everything back",
        "no online process runs: waiting for command:postgres",
    ]
    assert list(lines.of(waits)) == []
    change = words.change(decided().steps[-1])
    assert list(lines.of(status(decided()))) == [change]
    assert list(lines.of(status(decided()))) == []


def test_metrics_count_and_keep_to_the_rules_of_prometheus(tmp_path: Path) -> None:
    path = tmp_path / "guard.prom"
    metrics = GuardMetrics(outlet(str(path)), "sda")
    metrics.begin()
    assert checked(path.read_text()).values == {
        ("penstock_guard_running", frozenset({("target", "sda")})): 1
    }, "nothing is measured yet"
    for _ in range(3):
        metrics.take(status(decided()))
    exposed = checked(path.read_text())
    online = {"source": "guard", "target": "sda", "class": "online", "direction": "read"}
    read = exposed.value
    # The meter counts latencies from its beginning on, and bytes window by window.
    assert read("penstock_requests_total", **online) == 200
    assert read("penstock_latency_seconds_count", **online) == 200
    assert read("penstock_latency_seconds_bucket", le="0.005", **online) == 200
    assert read("penstock_bytes_total", **online) == 600 * 4096
    assert read("penstock_requests_total", **(online | {"direction": "write"})) == 0
    assert read("penstock_outstanding_requests", **online) == 1
    assert read("penstock_guard_goal_ratio", goal=GOAL) == 1.5
    assert read("penstock_guard_goals_met") == 0
    assert read("penstock_guard_means_info", means="idle") == 1
    assert read("penstock_guard_decided") == read("penstock_guard_running") == 1
    assert read("penstock_guard_changes_total") == 1
    assert read("penstock_guard_windows_total") == 9


def test_metrics_without_online_requests_have_no_goals_and_end_without_gauges(
    tmp_path: Path,
) -> None:
    path = tmp_path / "guard.prom"
    metrics = GuardMetrics(outlet(str(path)), "sda")
    metrics.take(status(idle(), p99=None))
    exposed = checked(path.read_text())
    assert "penstock_guard_goals_met" not in exposed.kinds
    assert "penstock_guard_goal_ratio" not in exposed.kinds
    metrics.end()
    ended = checked(path.read_text())
    assert ended.value("penstock_guard_running") == 0
    assert {name for name, kind in ended.kinds.items() if kind == "gauge"} == {
        "penstock_guard_running"
    }


def test_a_guard_goes_on_if_its_metrics_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    metrics = GuardMetrics(outlet(str(folder / "guard.prom")), "sda")
    folder.rmdir()
    metrics.take(status(decided()))
    assert metrics.failure is not None
    assert "guard.prom cannot be written: No such file" in metrics.failure


def test_no_means_reads_further_ahead_than_the_disk_does() -> None:
    queue = {"scheduler": "none [mq-deadline]", "max_sectors_kb": "1280", "nr_requests": "64"}
    ahead: dict[str, list[str | None]] = {}
    for kib in ("128", "256", "8192"):
        left_out, means = possible({**queue, "read_ahead_kb": kib}, lambda _: "no groups")
        assert left_out.get("idle, read-ahead 512 KiB") == (
            None if kib == "8192" else f"the disk reads no more than {kib} KiB ahead"
        )
        ahead[kib] = [tried.queue.get("read_ahead_kb") for tried in means]
    # Nothing, the idle class, read-ahead of 512 and 128 KiB, and three lengths of the queue.
    assert ahead == {
        "128": [None, None, "128", "128", "128"],
        "256": [None, None, "128", "256", "256", "256"],
        "8192": [None, None, "512", "128", "1024", "1024", "1024"],
    }


def test_a_disk_without_a_scheduler_says_why_each_means_is_left_out() -> None:
    left_out, means = possible({"scheduler": "none", "read_ahead_kb": "128"}, lambda _: "no groups")
    assert means[0] == NOTHING
    assert left_out["idle"] == "no scheduler of the disk heeds I/O classes"
    assert left_out["bfq, idle"] == "the disk has no scheduler bfq"
    result = decided(kept="nothing")
    result.left_out = left_out
    assert "not tried: idle; idle, read-ahead 512 KiB;" in said(result)
    assert ": no scheduler of the disk heeds I/O classes" in said(result)


PLAN = GuardPlan(
    disk="sda",
    online=[POSTGRES],
    batch=[POSTGRES],
    goals=[Goal.parse(GOAL)],
    keep=0.5,
    seconds=60.0,
)


class Shown:
    """What a screen says after some windows."""

    def __init__(self, *windows: GuardStatus, size: tuple[int, int] = (100, 30)) -> None:
        """Show them."""
        result = decided()

        def work(show: Callable[[GuardStatus], None]) -> Guarded:
            for window in windows:
                show(window)
            return result

        app = GuardScreen(PLAN, work, stop_signal=StopSignal())

        async def look() -> None:
            async with app.run_test(size=size) as pilot:
                for window in windows:
                    app.show(window)
                await pilot.pause()
                self.tables = {str(table.id): rows(table) for table in app.query(DataTable)}
                self.lines = {str(line.id): str(line.render()) for line in app.query(Static)}

        asyncio.run(look())


def rows(table: DataTable[object]) -> list[list[str]]:
    """What a table says, its headings first."""
    headings = [str(column.label) for column in table.ordered_columns]
    cells = ([str(it).strip() for it in table.get_row_at(n)] for n in range(table.row_count))
    return [headings, *cells]


def test_the_screen_shows_both_classes_the_goals_what_is_set_and_the_changes() -> None:
    shown = Shown(status(decided()))
    assert shown.tables["now"] == [
        list(HEADINGS),
        ["online", "200", "0.819", "750 µs", "3.00 ms", "1"],
        ["batch", "800", "3.28", "7.50 ms", "30.0 ms", "8"],
    ]
    assert shown.tables["goals"][1:] == [[GOAL, "3.00 ms", "missed by 1.50 times"]]
    assert shown.lines["title"] == "guard of sda, the batch keeps 50.0 %"
    assert shown.lines["state"].startswith("set: idle (the batch in the idle I/O class)   kept")
    assert "idle: it misses (50.0 → 0.500 × the limit" in shown.lines["changes"]


def test_the_screen_says_if_nothing_is_asked_for() -> None:
    waiting = status(idle(), p99=None, waiting=[POSTGRES], is_running=False)
    shown = Shown(status(decided()), waiting)
    assert shown.tables["now"][1] == ["online", "0", "0", NONE, NONE, "0"]
    assert shown.tables["goals"][1:] == []
    assert shown.lines["state"].endswith("no online process runs: waiting for command:postgres")
