"""Control groups as means of a guard: which are possible, what they write, and the way back."""

import os
import signal
import subprocess
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from guard_killed import Ionice, Steps, make_deadly
from penstock.errors import PenstockError
from penstock.guard import dirty_limit
from penstock.guard.change import GroupSetting
from penstock.guard.changes import Changes
from penstock.guard.dirty_limit import DirtyLimit, dirty_limits
from penstock.guard.group_changes import MadeGroup, MovedProcess, members, moves
from penstock.guard.group_means import GroupControl
from penstock.guard.groups import BatchGroups, GroupTree, batch_groups, trees
from penstock.guard.held_groups import HeldGroups
from penstock.guard.leftovers import checks
from penstock.guard.means import GROUP_MEANS, NOTHING, Means, possible
from penstock.guard.processes import Process, Thread
from penstock.guard.rate import FLOOR, START, Rate
from penstock.guard.search import GuardWindow, Search, TrialLength
from penstock.guard.selectors import Selector
from penstock.guard.who import Scan
from test_guard_who import as_root, children, started, until

IONICE = Ionice()

MEANS = {means.name: means for means in GROUP_MEANS}

FILES = {
    "io.bfq.weight": "default 100\n",
    "io.latency": "",
    "io.max": "",
    "io.stat": "8:0 rbytes=3000 wbytes=400 rios=9 wios=9 dbytes=50 dios=1\n",
    "memory.high": "max\n",
    "memory.stat": "anon 5000\nfile 70000\n",
}


def unit(name: str) -> Selector:
    return Selector(f"unit:{name}", lambda: lambda _: False, group=name)


@pytest.fixture
def tree(tmp_path: Path) -> GroupTree:
    """A made-up hierarchy of version 2 with two units."""
    at = tmp_path / "cgroup"
    for name in ("backup.service", "db.service"):
        folder = at / "system.slice" / name
        folder.mkdir(parents=True)
        for file, text in FILES.items():
            (folder / file).write_text(text)
    return GroupTree(version=2, at=at, controllers=["io", "memory"])


def scan(**pids: int) -> Scan:
    threads: dict[str, list[Thread]] = {"online": [], "batch": []}
    for name, pid in pids.items():
        threads[name] = list(Process(pid).threads())
    return Scan(threads=threads, waiting=[], unreadable=0)


def control(
    io: BatchGroups | str,
    memory: BatchGroups | str = "no memory here",
    device: str = "8:0",
) -> GroupControl:
    return GroupControl(io=io, memory=memory, device=device, target_us=2000)


def written(groups: GroupControl, means: str, rate: float = 0) -> Mapping[str, str]:
    settings = groups.settings(MEANS[means], rate=rate)
    return {f"{path.parent.name}/{path.name}": value for path, value in settings}


def named(tree: GroupTree) -> BatchGroups:
    groups = batch_groups(tree, "sdx", [unit("db.service")], [unit("backup.service")], scan())
    assert isinstance(groups, BatchGroups), groups
    return groups


def test_units_of_version_2_have_all_means_with_the_files_of_the_kernel(tree: GroupTree) -> None:
    groups = control(named(tree), named(tree))
    assert [groups.why_not(means) for means in GROUP_MEANS] == [None] * len(GROUP_MEANS)
    assert written(groups, "bfq, weight 10") == {"backup.service/io.bfq.weight": "default 10"}
    assert written(groups, "io.latency") == {"db.service/io.latency": "8:0 target=2000"}
    assert written(groups, "memory.high") == {
        "backup.service/memory.high": str(5000 + (64 << 20)),
    }
    assert written(groups, "throttle", 7e6) == {
        "backup.service/io.max": "8:0 rbps=7000000 wbps=7000000"
    }
    assert groups.sent() == 3400


def test_several_groups_share_the_rate(tree: GroupTree) -> None:
    both = [unit("db.service"), unit("backup.service")]
    groups = batch_groups(tree, "sdx", [], both, scan())
    assert isinstance(groups, BatchGroups)
    assert set(written(control(groups), "throttle", 8e6).values()) == {
        "8:0 rbps=4000000 wbps=4000000"
    }


def test_programs_of_version_2_are_not_moved_out_of_their_units(tree: GroupTree) -> None:
    for batch in ([Selector("pid:1", lambda: lambda _: True)], [unit("not-started.service")]):
        groups = batch_groups(tree, "sdx", [], batch, scan())
        assert groups == "the batch has no control group of its own; name it by unit: or cgroup:"


def test_what_the_kernel_lacks_is_left_out_with_the_reason(tree: GroupTree) -> None:
    groups = named(tree)
    folder = groups.folders[0]
    (folder / "io.bfq.weight").unlink()
    (groups.online[0] / "io.latency").unlink()
    known = control(groups, "no memory here")
    left_out, means = possible({"scheduler": "[none] bfq", "read_ahead_kb": "128"}, known.why_not)
    assert left_out["bfq, weight 10"] == f"the kernel has no io.bfq.weight for {folder}"
    assert left_out["io.latency"] == f"the kernel has no io.latency for {groups.online[0]}"
    assert left_out["memory.high"] == "no memory here"
    assert [tried.name for tried in means][-1] == "throttle"


def test_io_cost_is_never_tried_and_named_where_the_kernel_has_it(tree: GroupTree) -> None:
    groups = control(named(tree))
    assert groups.never() == {}
    (tree.at / "io.cost.qos").write_text("")
    assert list(groups.never()) == ["io.cost.qos"]


def test_weights_need_groups_that_compete(tree: GroupTree) -> None:
    with started("sleep", "600") as pid:
        # It is in the topmost group of this tree, not next to the units.
        groups = batch_groups(tree, "sdx", [], [unit("backup.service")], scan(online=pid))
    assert isinstance(groups, BatchGroups)
    weighed = "the kernel weighs the batch's control group against others than the online ones"
    assert control(groups).why_not(MEANS["bfq, weight 10"]) == weighed
    assert control(groups).why_not(MEANS["throttle"]) is None


def test_the_files_of_a_unit_that_starts_again_are_set_anew(
    tree: GroupTree, tmp_path: Path
) -> None:
    groups = named(tree)
    path = groups.folders[0] / "io.max"
    with Changes.of_disk("sdx", "x", priorities=IONICE, folder=tmp_path / "notes") as changes:
        held = HeldGroups(changes, control(groups), batch="batch", keep=0.5)
        held.set(MEANS["throttle"], before=40e6)
        assert path.read_text() == "8:0 rbps=20000000 wbps=20000000"
        assert held.sent() == 0
        held.regulate(missed=False, batch=20e6)
        assert path.read_text() == "8:0 rbps=22000000 wbps=22000000"
        path.parent.rename(tmp_path / "ended")
        held.regulate(missed=False, batch=22e6)
        held.follow(scan())
        path.parent.mkdir()
        path.write_text("")
        held.follow(scan())
        assert path.read_text() == "8:0 rbps=24200000 wbps=24200000"
        assert len(changes.made) == 1, "a rate is noted once"
    assert path.read_text() == "8:0 rbps=max wbps=max riops=max wiops=max"


def test_a_rate_is_halved_when_a_goal_is_missed_and_raised_while_it_is_used() -> None:
    rate = Rate(400e6)
    assert rate.bytes_s == START * 400e6
    rate.take(missed=True, batch=100e6)
    assert rate.bytes_s == START * 200e6
    rate.take(missed=False, batch=1e6)
    assert rate.bytes_s == START * 200e6, "it holds nothing back"
    rate.take(missed=False, batch=50e6)
    assert START * 200e6 < rate.bytes_s < START * 400e6
    for _ in range(50):
        rate.take(missed=True, batch=0)
    assert rate.bytes_s == FLOOR


def test_a_rate_leaves_the_batch_what_it_keeps() -> None:
    rate = Rate(400e6, keep=0.5)
    rate.take(missed=True, batch=200e6)
    assert rate.bytes_s == 200e6
    assert Rate(0).bytes_s == FLOOR


def test_a_rate_finds_what_the_disk_bears() -> None:
    rate, taken = Rate(1000e6), []
    for _ in range(200):
        taken.append(rate.bytes_s)
        rate.take(missed=rate.bytes_s > 30e6, batch=rate.bytes_s)
    assert 15e6 <= min(taken[20:]) < max(taken[20:]) <= 33e6


def test_a_means_may_be_tried_for_longer() -> None:
    search = Search(1, trials={1: TrialLength(windows=5, settling=4)})
    tried = 0
    while not search.decided:
        tried += search.number
        search.take(GuardWindow(1.0, 0.5 if search.number else 9.0, 50.0, 0, 100.0))
    assert tried == 4 + 2 * 5
    for _ in range(4):
        search.take(GuardWindow(1.0, 9.0, 50.0, 0, 100.0))
    assert search.decided, "its rate may come down meanwhile"
    search.take(GuardWindow(1.0, 9.0, 50.0, 0, 100.0))
    assert not search.decided


@pytest.mark.parametrize(
    ("has", "back", "had"),
    [
        ({"bytes": "0", "ratio": "20"}, "ratio", "20"),
        ({"bytes": "8192", "ratio": "0"}, "bytes", "8192"),
        ({"bytes": "0", "ratio": "0"}, "ratio", "0"),
    ],
)
def test_dirty_pages_go_back_to_the_limit_that_was_in_force(
    tmp_path: Path, has: Mapping[str, str], back: str, had: str
) -> None:
    for name in ("dirty", "dirty_background"):
        for kind, text in has.items():
            (tmp_path / f"{name}_{kind}").write_text(f"{text}\n")
    background, dirty = dirty_limits(64 << 20, tmp_path)
    assert dirty == DirtyLimit(
        path=str(tmp_path / "dirty_bytes"),
        back=str(tmp_path / f"dirty_{back}"),
        had=had,
        gets=str(64 << 20),
    )
    assert background.gets == str(32 << 20)
    dirty.make(IONICE)
    dirty.revert(IONICE)
    assert (tmp_path / f"dirty_{back}").read_text() == had


def test_without_the_limits_of_dirty_pages_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as error:
        list(dirty_limits(64 << 20, tmp_path))
    path = tmp_path / "dirty_background_bytes"
    reason = f"error: the limit of dirty pages {path} cannot be read: No such file or directory\n"
    assert str(error.value).startswith(f"{reason}hint: ")
    assert error.value.exit_code == 77


@pytest.fixture
def v1() -> Iterator[tuple[GroupTree, Path]]:
    """The hierarchy of version 1 with the I/O controller, and a new group of it."""
    tree = next((tree for tree in trees() if "blkio" in tree.controllers), None)
    if os.geteuid() != 0 or tree is None or tree.is_read_only():
        pytest.skip("needs root and control groups of version 1")
    folder = tree.at / f"penstock-test-{os.getpid()}"
    (folder / "origin").mkdir(parents=True)
    try:
        yield tree, folder
    finally:
        # A process that was killed is of its group until its parent has waited for it.
        for path in (folder / "origin", folder):
            until(partial(removed, path))


def removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def put(pid: int, folder: Path) -> None:
    (folder / "cgroup.procs").write_text(str(pid))


SHELL = "read line; sleep 600 & wait"


@as_root
def test_processes_and_their_children_go_back_to_where_they_came_from(
    v1: tuple[GroupTree, Path], tmp_path: Path
) -> None:
    tree, folder = v1
    made = folder / "penstock.sdx"
    with (
        subprocess.Popen(["bash", "-c", SHELL], stdin=subprocess.PIPE, text=True) as shell,
        started("sleep", "600") as orphan,
    ):
        assert shell.stdin is not None
        put(shell.pid, folder / "origin")
        with Changes.of_disk("sdx", "x", priorities=IONICE, folder=tmp_path / "notes") as changes:
            changes.make(MadeGroup(path=str(made)))
            changes.make(*moves([], [shell.pid], {shell.pid: str(folder / "origin")}, str(made)))
            assert members(made) == [shell.pid]
            print(file=shell.stdin, flush=True)
            until(lambda: len(children(shell.pid)) == 1)
            (child,) = children(shell.pid)
            # A child that was born there goes back with its parent, noted or not.
            (noted,) = moves(changes.made, [shell.pid, child], {child: str(made)}, str(made))
            assert (noted.pid, noted.had) == (child, str(folder / "origin"))
            put(orphan, made)
        assert tree.folder_of(child) == tree.folder_of(shell.pid) == folder / "origin"
        assert tree.folder_of(orphan) == folder
        assert not made.exists()
        for pid in (child, shell.pid):
            os.kill(pid, 9)


@as_root
def test_groups_and_processes_that_have_gone_are_no_errors(v1: tuple[GroupTree, Path]) -> None:
    _, folder = v1
    made, gone = MadeGroup(path=str(folder / "penstock.sdx")), folder / "gone"
    with started("sleep", "600") as pid:
        moved = MovedProcess(
            pid=pid, start=Process(pid).start, had=str(gone), gets=str(folder / "penstock.sdx")
        )
        for change in (made, moved):
            change.revert(IONICE)
            change.make(IONICE)
        moved.revert(IONICE)
        assert members(folder) == [pid], "its group has gone, and that above has it"
        made.revert(IONICE)
        made.revert(IONICE)
    moved.make(IONICE)
    moved.revert(IONICE)


@as_root
def test_version_1_makes_a_group_where_the_kernel_weighs_it_against_the_online_programs(
    v1: tuple[GroupTree, Path], tmp_path: Path
) -> None:
    tree, folder = v1
    origin = folder / "origin"
    with started("sleep", "600") as batch, started("sleep", "600") as online:
        put(batch, origin)
        put(online, folder)
        members_now = scan(online=online, batch=batch)
        selector = Selector("pid:1", lambda: lambda _: True)
        groups = batch_groups(tree, "sdx", [selector], [selector], members_now)
        assert isinstance(groups, BatchGroups)
        assert (groups.folders, groups.made) == ([folder / "penstock.sdx"], True)
        by_group = Selector("cgroup:x", lambda: lambda _: True, group=f"/{folder.name}/origin")
        as_it_is = batch_groups(tree, "sdx", [selector], [by_group], members_now)
        assert isinstance(as_it_is, BatchGroups)
        assert (as_it_is.folders, as_it_is.made, as_it_is.peers) == ([origin], False, True)
        partly = batch_groups(tree, "sdx", [selector], [by_group, selector], members_now)
        assert partly == ("part of the batch is in other groups than unit: and cgroup: name")
        assert control(groups).why_not(MEANS["io.latency"]) is not None
        disks = Path("/sys/block").glob("*/dev")
        device = next(disk.read_text().strip() for disk in disks if not disk.match("*/loop*/*"))
        _hold(control(groups, device=device), tmp_path, members_now)
        assert tree.folder_of(batch) == origin
        assert not (folder / "penstock.sdx").exists()


def _hold(groups: GroupControl, folder: Path, members_now: Scan) -> None:
    """Hold each means that is possible, and look at what it does."""
    batch = members_now.threads["batch"][0].pid
    tried: Sequence[Means] = [means for means in GROUP_MEANS if groups.why_not(means) is None]
    assert tried
    with Changes.of_disk("sdx", "x", priorities=IONICE, folder=folder / "notes") as changes:
        held = HeldGroups(changes, groups, batch="batch", keep=0)
        for means in (*tried, NOTHING):
            changes.undo()
            held.set(means, before=40e6)
            held.follow(members_now)
            moved = [change for change in changes.made if isinstance(change, MovedProcess)]
            assert [change.pid for change in moved] == ([batch] if means.grouped else [])
            for path, value in groups.settings(means, rate=10e6):
                assert value in path.read_text()


def write_limit(path: str | Path, value: str) -> None:
    """Write one file of a made-up pair, and zero the other, as the kernel does."""
    file = Path(path)
    name, _, kind = file.name.rpartition("_")
    if file.read_text() != value:
        file.write_text(value)
        file.with_name(f"{name}_{'bytes' if kind == 'ratio' else 'ratio'}").write_text("0")


def change_all(notes: Path, folder: Path, pids: Sequence[int]) -> None:
    """Make a change of each kind, take all back, and make them again."""
    made = folder / "penstock.sdx"
    weight = GroupSetting(path=str(made / "blkio.bfq.weight"), had="100", gets="300")
    with Changes.of_disk("sdx", "x", priorities=IONICE, folder=notes) as changes:
        for _ in range(2):
            origins = dict.fromkeys(pids, str(folder / "origin"))
            limits = dirty_limits(1 << 20, notes.parent / "vm")
            moved = moves([], pids, origins, str(made))
            changes.make(*limits, MadeGroup(path=str(made)), weight, *moved)
            changes.undo()


def killed_at(last: int, work: Callable[[], None]) -> bool:
    """Do some work in a process that is killed at a step; returns whether it came so far."""
    child = os.fork()
    if child == 0:
        steps = Steps(last)
        make_deadly(steps)
        vars(dirty_limit)["write_value"] = steps.deadly(write_limit)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


@as_root
def test_a_kill_at_any_step_leaves_groups_and_limits_as_they_were(
    v1: tuple[GroupTree, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, folder = v1
    notes, limits = tmp_path / "notes", tmp_path / "vm"
    monkeypatch.setattr(dirty_limit, "write_value", write_limit)
    limits.mkdir()
    for name, text in (("dirty_bytes", "0"), ("dirty_ratio", "20")):
        (limits / name).write_text(text)
        (limits / name.replace("dirty", "dirty_background")).write_text(text)

    def state() -> object:
        texts = {path.name: path.read_text() for path in limits.iterdir()}
        return texts, list(map(tree.folder_of, pids)), (folder / "penstock.sdx").exists()

    with started("sleep", "600") as first, started("sleep", "600") as second:
        pids = [first, second]
        for pid in pids:
            put(pid, folder / "origin")
        before, last, changed = state(), 1, 0
        while killed_at(last, lambda: change_all(notes, folder, pids)):
            changed += state() != before
            list(checks(clean=True, priorities=IONICE, folder=notes))
            assert state() == before, f"killed at step {last}"
            assert list(notes.glob("*")) == []
            last += 1
        assert state() == before
    assert changed > 40, "most kills left something to put back"
