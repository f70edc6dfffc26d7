"""Changes of a guard: noted before they are made, and taken back whatever happens."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from command import NOBODY, penstock
from guard_killed import Ionice
from penstock.errors import CANNOT_HERE, RUN_FAILED, UNSAFE_TARGET, WRONG_INPUT, PenstockError
from penstock.guard import changes as module
from penstock.guard.change import WAYS_BACK, GroupSetting, ThreadPriority
from penstock.guard.changes import Changes, as_line
from penstock.guard.leftovers import checks
from penstock.guard.notes import NOTES, Note, Owner
from penstock.guard.processes import Process, Thread
from test_guard_who import THREADS, as_root, children, started, until

pytestmark = pytest.mark.skipif(shutil.which("ionice") is None, reason="needs ionice")

KILLED = Path(__file__).with_name("guard_killed.py")

IONICE = Ionice()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def process() -> Iterator[int]:
    """A process of four threads, one of which has a priority of its own."""
    with started(sys.executable, "-c", THREADS) as pid:
        until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 4)
        last = max(map(int, os.listdir(f"/proc/{pid}/task")))
        IONICE.set_io_priority(last, "be:2")
        yield pid


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group whose block I/O can be weighed or throttled."""
    for tree in ("/sys/fs/cgroup/blkio", "/sys/fs/cgroup"):
        folder = Path(tree, f"penstock-test-{os.getpid()}")
        if os.geteuid() == 0 and Path(tree, "cgroup.procs").exists():
            folder.mkdir()
            yield folder
            folder.rmdir()
            return
    pytest.skip("needs root and control groups of block I/O")


def guard(notes: Path) -> Changes:
    return Changes.of_disk("sdx", "penstock guard sdx", priorities=IONICE, folder=notes)


def threads(pid: int) -> list[Thread]:
    return sorted(Process(pid).threads())


def priorities(pid: int) -> list[str]:
    return [IONICE.io_priority(thread.tid) for thread in threads(pid)]


def cleaned(notes: Path) -> list[str]:
    """What the doctor says about each note that it cleans."""
    found = list(checks(clean=True, priorities=IONICE, folder=notes))
    assert all(check["facts"]["removed"] for check in found)
    assert list(notes.glob("*")) == []
    return [check["found"] for check in found]


def test_all_is_as_it_was_after_the_block(notes: Path, process: int) -> None:
    before = priorities(process)
    with guard(notes) as changes:
        changes.set_priority(threads(process), "idle")
        assert priorities(process) == ["idle"] * 4
        changes.set_priority(threads(process), "be:7")
        assert priorities(process) == ["be:7"] * 4
        assert list(checks(clean=True, priorities=IONICE, folder=notes)) == [], "it lives"
    assert priorities(process) == before
    assert "be:2" in before
    assert list(notes.iterdir()) == []


def test_the_last_changes_are_taken_back_alone(notes: Path, process: int) -> None:
    with guard(notes) as changes:
        changes.set_priority(threads(process)[:2], "be:7")
        between = priorities(process)
        mark = changes.mark()
        changes.set_priority(threads(process), "idle")
        changes.undo(mark)
        assert priorities(process) == between
        assert [change.gets for change in changes.made] == ["be:7", "be:7"]


def test_an_error_in_the_block_takes_all_back(notes: Path, process: int) -> None:
    before = priorities(process)

    def work() -> None:
        with guard(notes) as changes:
            changes.set_priority(threads(process), "idle")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (priorities(process), list(notes.iterdir())) == (before, [])


def test_a_thread_that_has_it_already_is_left_alone(notes: Path, process: int) -> None:
    for thread in threads(process):
        IONICE.set_io_priority(thread.tid, "idle")
    with guard(notes) as changes:
        changes.set_priority(threads(process), "idle")
        assert changes.made == []


def test_threads_that_have_ended_are_no_errors(notes: Path) -> None:
    with guard(notes) as changes:
        with started("sleep", "600") as pid:
            known = threads(pid)
            changes.set_priority(known, "idle")
        changes.set_priority(known, "be:7")
    assert list(notes.iterdir()) == []


def test_a_thread_with_the_number_of_another_is_left_alone(notes: Path, process: int) -> None:
    tid, start, pid = threads(process)[0]
    change = ThreadPriority(tid=tid, start=start - 1, pid=pid, had="be:1", gets="idle")
    before = priorities(process)
    with guard(notes) as changes:
        changes.make(change)
        assert priorities(process) == before
    assert priorities(process) == before


SHELL = "read line; sleep 600 & read line; sleep 600 & wait"


def test_what_a_thread_has_inherited_goes_back_to_what_its_creator_had(notes: Path) -> None:
    with subprocess.Popen(["bash", "-c", SHELL], stdin=subprocess.PIPE, text=True) as shell:
        assert shell.stdin is not None
        IONICE.set_io_priority(shell.pid, "be:5")
        with guard(notes) as changes:
            changes.set_priority(threads(shell.pid), "idle")
            print(file=shell.stdin, flush=True)
            until(lambda: len(children(shell.pid)) == 1)
            (noted,) = children(shell.pid)
            assert IONICE.io_priority(noted) == "idle"
            changes.set_priority(threads(noted), "idle")
            made = [change for change in changes.made if isinstance(change, ThreadPriority)]
            assert [(change.pid, change.had) for change in made] == [
                (shell.pid, "be:5"),
                (noted, "be:5"),
            ]
            # As one that starts when its guard is gone.
            print(file=shell.stdin, flush=True)
            until(lambda: len(children(shell.pid)) == 2)
        family = [shell.pid, *children(shell.pid)]
        for pid in family:
            assert IONICE.io_priority(pid) == "be:5"
        for pid in reversed(family):
            os.kill(pid, 9)


def test_notes_of_threads_that_have_ended_are_dropped(
    notes: Path, process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY", 3)
    before = priorities(process)
    with guard(notes) as changes:
        first = changes.mark()
        with started("sleep", "600") as pid:
            changes.set_priority(threads(pid), "idle")
        changes.set_priority(threads(process)[:2], "idle")
        mark = changes.mark()
        changes.set_priority(threads(process), "idle")
        assert {change.pid for change in changes.made if isinstance(change, ThreadPriority)} == {
            process
        }
        assert len((notes / "guard.sdx").read_text().splitlines()) == 1 + 4
        changes.undo(mark)
        assert priorities(process) == ["idle", "idle", *before[2:]]
        changes.undo(first)
        assert priorities(process) == before


def test_a_second_guard_of_a_disk_is_refused_and_says_who_has_it(notes: Path) -> None:
    with guard(notes):
        with pytest.raises(PenstockError) as refused:
            guard(notes)
        Changes.of_disk("sdy", "another", folder=notes).close()
    assert refused.value.exit_code == UNSAFE_TARGET
    assert str(refused.value) == (
        f"error: sdx has a guard: process {os.getpid()}, `penstock guard sdx`\n"
        "hint: a disk has one guard: end that one first"
    )
    guard(notes).close()


def test_a_note_that_cannot_be_written_leaves_all_as_it_was(notes: Path, process: int) -> None:
    before = priorities(process)
    full = "import os, resource, sys\n" + (
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"sys.path.insert(0, {str(KILLED.parent)!r})\n"
        "from guard_killed import *\n"
        f"changes = Changes.of_disk('sdx', 'x', priorities=Ionice(), folder=Path({str(notes)!r}))\n"
        f"changes.set_priority(Process({process}).threads(), 'idle')\n"
    )
    done = subprocess.run([sys.executable, "-c", full], capture_output=True, text=True, check=False)
    assert "guard.sdx cannot be written: File too large" in done.stderr
    assert priorities(process) == before
    cleaned(notes)


@as_root
def test_only_root_may_note_changes() -> None:
    script = (
        "from penstock.guard.changes import Changes\n"
        "from pathlib import Path\n"
        f"import os; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try: Changes.of_disk('sdx', 'x', folder=Path('/sys/penstock'))\n"
        "except ValueError as error: print(error, error.exit_code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert first == "error: /sys/penstock/guard.sdx cannot be written: Permission denied"
    assert second.startswith("hint: ")
    assert second.endswith(f" {CANNOT_HERE}")


class Refusing(Ionice):
    """Refuses to give threads their old priority."""

    def set_io_priority(self, tid: int, priority: str, /) -> None:
        if priority != "idle":
            raise PermissionError(1, "Operation not permitted")
        super().set_io_priority(tid, priority)


def test_what_cannot_be_put_back_stays_noted(notes: Path, process: int) -> None:
    before = priorities(process)
    changes = Changes.of_disk("sdx", "x", priorities=Refusing(), folder=notes)
    changes.set_priority(threads(process)[:2], "idle")
    with pytest.raises(PenstockError, match="cannot be put back: Operation not permitted, and 1 m"):
        changes.close()
    (check,) = checks(clean=True, priorities=Refusing(), folder=notes)
    assert check["found"].startswith(
        "2 changes for sdx, of a guard that is gone: the I/O priority of "
    )
    assert (check["state"], check["facts"]["removed"]) == ("limited", False)
    assert cleaned(notes) == ["put back: 2 changes for sdx, of a guard that is gone"]
    assert priorities(process) == before


def test_a_priority_that_is_refused_says_of_which_thread(notes: Path, process: int) -> None:
    first = threads(process)[:1]
    changes = Changes.of_disk("sdx", "x", priorities=Refusing(), folder=notes)
    with pytest.raises(PenstockError) as refused:
        changes.set_priority(first, "be:7")
    with pytest.raises(PenstockError, match="cannot be put back"):
        changes.close()
    cleaned(notes)
    assert refused.value.exit_code == CANNOT_HERE
    assert str(refused.value).startswith(
        f"error: the I/O priority of thread {process} of process {process} cannot be changed to be:"
    )


def run_killed(notes: Path, last: int, file: str, pids: Sequence[int]) -> int | None:
    """Run the program that is killed at step `last`; returns its steps if it came to its end."""
    words = [sys.executable, str(KILLED), str(notes), str(last), file, *map(str, pids)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == -9:
        return None
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def weight(group: Path) -> Path | None:
    """The file with the weight of a control group, if it takes a plain number."""
    path = group / "blkio.bfq.weight"
    return path if path.exists() else None


@as_root
@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_a_kill_at_any_step_ends_in_the_old_state(
    notes: Path, process: int, group: Path, stride: int
) -> None:
    file = weight(group)
    with started("sleep", "600") as other:
        before = (priorities(process), priorities(other), file and file.read_text())
        steps = run_killed(notes, 0, str(file or "-"), [process, other])
        assert steps is not None
        assert (priorities(process), priorities(other), file and file.read_text()) == before
        changed = 0
        for last in range(1, steps + 1, stride):
            assert run_killed(notes, last, str(file or "-"), [process, other]) is None
            now = (priorities(process), priorities(other), file and file.read_text())
            changed += now != before
            # The next guard does it, or the doctor.
            if last % 2:
                guard(notes).close()
            cleaned(notes)
            now = (priorities(process), priorities(other), file and file.read_text())
            assert now == before, f"killed at step {last} of {steps}"
    assert changed > 10 / stride, "most kills left something to put back"


def is_free(path: Path) -> bool:
    """Whether no process has a note locked."""
    note = Note.lock(path)
    if note is not None:
        note.release()
    return note is not None


def kill_at_random(notes: Path, process: int, times: int) -> None:
    draw = random.Random(7)
    before = priorities(process)
    words = [sys.executable, str(KILLED), str(notes), "0", "-", str(process)]
    for _ in range(times):
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True) as running:
            until((notes / "guard.sdx").exists)
            time.sleep(draw.uniform(0, 0.06))
            # With a command that it may just have started, which has the note locked too.
            os.killpg(running.pid, signal.SIGKILL)
            until(lambda: is_free(notes / "guard.sdx"))
        cleaned(notes)
        assert priorities(process) == before


def test_kills_at_random_moments_end_in_the_old_state(notes: Path, process: int) -> None:
    kill_at_random(notes, process, 25)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_kills_at_200_random_moments_end_in_the_old_state(notes: Path, process: int) -> None:
    kill_at_random(notes, process, 200)


def test_a_line_that_a_kill_has_cut_does_not_count(notes: Path, process: int) -> None:
    with guard(notes) as changes:
        changes.set_priority(threads(process)[:2], "idle")
        text = (notes / "guard.sdx").read_text()
    lines = text.splitlines(keepends=True)
    for cut in range(len(text)):
        (notes / "guard.sdx").write_text(text[:cut])
        whole = sum(cut >= len("".join(lines[: number + 1])) for number in range(len(lines)))
        found = list(checks(clean=False, priorities=IONICE, folder=notes))
        assert [check["found"].split()[0] for check in found] == ([str(whole - 1)] * (whole > 1))
    cleaned(notes)


def test_a_note_of_another_version_is_left_alone(notes: Path) -> None:
    note = Note.lock(notes / "guard.sdx")
    assert note is not None
    note.replace(Owner(command="x"), [{"kind": "gravity", "had": "9.81"}])
    note.release()
    with pytest.raises(
        PenstockError, match=r"'gravity'.* is no change that this version knows\nhi"
    ):
        guard(notes)
    (check,) = checks(clean=True, folder=notes)
    assert (check["state"], check["facts"]["removed"]) == ("limited", False)


def test_a_value_of_a_device_goes_back_to_none(group: Path, notes: Path) -> None:
    names = ("blkio.throttle.read_bps_device", "io.max")
    path = next((group / name for name in names if (group / name).exists()), None)
    if path is None:
        pytest.skip("no control group here limits a device")
    disks = Path("/sys/block").glob("*/dev")
    device = next(disk.read_text().strip() for disk in disks if not disk.match("*/loop*/*"))
    value = "1048576" if path.name.startswith("blkio") else "rbps=1048576"
    before = path.read_text()
    with guard(notes) as changes:
        changes.make(GroupSetting.of(path, f"{device} {value}"))
        between = path.read_text()
        assert between != before
        changes.make(GroupSetting.of(path, f"{device} {value.replace('1048576', '2097152')}"))
        changes.undo(1)
        assert path.read_text() == between
    assert path.read_text() == before


def test_a_value_that_the_kernel_refuses_is_said_and_leaves_all(group: Path, notes: Path) -> None:
    path = weight(group)
    if path is None:
        pytest.skip("no weights of bfq here")
    before = path.read_text()
    many = GroupSetting.of(path, "many")
    with guard(notes) as changes:
        changes.make(GroupSetting.of(path, "200"))
        with pytest.raises(PenstockError) as refused:
            changes.make(many)
    assert refused.value.exit_code == RUN_FAILED
    assert str(refused.value) == (
        f"error: {path} cannot be changed to many: Invalid argument\n"
        "hint: the kernel refuses this value"
    )
    assert path.read_text() == before


def test_a_group_that_has_gone_is_no_error(group: Path, notes: Path) -> None:
    below = group / "below"
    below.mkdir()
    path = weight(below)
    with guard(notes) as changes:
        if path is not None:
            changes.make(GroupSetting.of(path, "200"))
        below.rmdir()
    assert list(notes.iterdir()) == []


def test_a_file_without_a_known_way_back_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PenstockError, match=r"found cgroup\.procs; expected one of blkio"
    ) as refused:
        GroupSetting.of(tmp_path / "cgroup.procs", "1")
    assert refused.value.exit_code == WRONG_INPUT
    assert list(WAYS_BACK) == sorted(WAYS_BACK)


@as_root
@pytest.mark.usefixtures("leftovers")
def test_the_doctor_reports_what_a_killed_guard_has_left_and_puts_it_back(group: Path) -> None:
    path = weight(group)
    if path is None:
        pytest.skip("no weights of bfq here")
    before = path.read_text()
    change = GroupSetting.of(path, "321")
    note = Note.lock(NOTES / "guard.penstock-test")
    assert note is not None
    note.replace(Owner(pid=4_000_000, command="penstock guard"), [as_line(change)])
    note.release()
    change.make(IONICE)
    assert path.read_text() != before

    def guards(*more: str) -> list[dict[str, object]]:
        report = json.loads(penstock("doctor", "/", "--json", *more).out)
        names = [check["name"] for check in report["checks"] if check["group"] == "leftovers"]
        assert "guard" not in names or "leftovers" not in names
        return [check for check in report["checks"] if check["name"] == "guard"]

    (check,) = guards()
    assert check["found"] == "1 change for penstock-test, of a guard that is gone"
    assert check["advice"] == "put them back with `penstock doctor --clean`"
    assert check["facts"] == {"disk": "penstock-test", "process": 4_000_000, "removed": False}
    (check,) = guards("--clean")
    assert (check["state"], check["advice"]) == ("ok", None)
    assert check["found"] == "put back: 1 change for penstock-test, of a guard that is gone"
    assert path.read_text() == before
    assert guards() == []
