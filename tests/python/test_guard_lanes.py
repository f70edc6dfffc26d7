"""Lanes: volumes with a short queue of their own, and what stays of them: nothing."""

import fcntl
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from command import NOBODY, ROOT, penstock
from forking import Ended
from penstock.errors import CANNOT_HERE, RUN_FAILED, UNSAFE_TARGET, WRONG_INPUT, PenstockError
from penstock.guard import lane_unit, lanes
from penstock.guard.lanes import Lane, NewLane
from penstock.guard.leftovers import checks, restore
from penstock.guard.mounts import mounts
from penstock.guard.notes import NOTES, Note
from test_guard_who import started, until, until_named

HERE = (
    os.geteuid() == 0
    and Path("/dev/loop-control").exists()
    and all(shutil.which(name) for name in lanes.TOOLS)
)

pytestmark = [
    pytest.mark.skipif(not HERE, reason="needs root, loop devices, util-linux and e2fsprogs"),
    pytest.mark.usefixtures("leftovers"),
]

SIZE = 64 << 20

BLOCKS = Path("/sys/block")

NOTHING: Mapping[str, Sequence[str]] = {"files": [], "mounts": [], "loops": [], "notes": []}
"""The state of a folder without a lane."""

KILLED = Path(__file__).with_name("lane_killed.py")

AS_VERB = """
from penstock.cli.app import VERBS, main
VERBS["guard-lane"] = "Make, show and remove lanes."
main()
"""


def lane(*words: str | Path, env: Mapping[str, str] | None = None) -> Ended:
    """Run a command of lanes as a verb of its own."""
    words_of = [sys.executable, "-c", AS_VERB, "guard-lane", *map(str, words)]
    env = os.environ | {"COLUMNS": "300"} | dict(env or {})
    done = subprocess.run(words_of, capture_output=True, text=True, check=False, env=env)
    return Ended(done.returncode, done.stdout, done.stderr)


def fake(folder: Path, name: str, script: str) -> None:
    """Place a tool of the test's own, which may call the real one as `$REAL`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\nREAL={shutil.which(name)}\n{script}\n")
    path.chmod(0o755)


LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81


@pytest.fixture(autouse=True)
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A loop device for the lanes of the test alone: others change those that are free."""
    number = 1000 + os.getpid() % 10_000
    with Path("/dev/loop-control").open("rb+", buffering=0) as control:
        fcntl.ioctl(control, LOOP_CTL_ADD, number)
        folder = tmp_path / "own"
        folder.mkdir()
        fake(
            folder, "losetup", f'[ "$*" = --find ] && exec echo /dev/loop{number}; exec $REAL "$@"'
        )
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        try:
            yield f"/dev/loop{number}"
        finally:
            fcntl.ioctl(control, LOOP_CTL_REMOVE, number)


@pytest.fixture
def place(node: str) -> Iterator[Path]:
    """A folder on the file system of the repository; lanes below it are removed after the test."""
    base = ROOT / "demo-data"
    base.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        try:
            yield Path(folder)
        finally:
            for left in list(lanes.lanes()):
                if left.at.startswith(folder):
                    lanes.remove(left.name)


def state(place: Path) -> dict[str, Sequence[str]]:
    """What a lane below a folder changes."""
    attached = [
        file.parts[3]
        for file in BLOCKS.glob("loop*/loop/backing_file")
        if file.read_text().startswith(str(place))
    ]
    return {
        "files": sorted(str(path) for path in place.rglob("*")),
        "mounts": [mount.at for mount in mounts() if mount.at.startswith(str(place))],
        "loops": attached,
        "notes": sorted(path.name for path in notes_of(place)),
    }


def notes_of(place: Path) -> list[Path]:
    return [path for path in NOTES.glob("*lane.*") if lanes._name(place) in path.name]


def queue(node: str) -> dict[str, str]:
    """The settings of a loop device that stay for its next file."""
    folder = BLOCKS / Path(node).name / "queue"
    names = ("scheduler", "nr_requests", "max_sectors_kb")
    return {name: (folder / name).read_text().strip() for name in names}


def make(place: Path, **more: object) -> Lane:
    return lanes.make(NewLane(**{"at": place / "spill", "size": SIZE, **more}))  # type: ignore[arg-type]


def refused(work: Callable[[], object], code: int) -> str:
    """The message of an error with this exit code; it has a hint."""
    with pytest.raises(PenstockError) as caught:
        work()
    assert caught.value.exit_code == code, str(caught.value)
    first, second = str(caught.value).splitlines()
    assert second.startswith("hint: ")
    return first.removeprefix("error: ")


def test_a_lane_is_made_listed_and_removed_and_its_data_stays(place: Path, node: str) -> None:
    before, free = state(place), queue(node)
    made = lane("make", "--size", "64MiB", "--at", place / "spill", "--json")
    assert (made.code, made.err) == (0, "")
    shown = json.loads(made.out)
    name = shown["name"]
    assert shown["node"] == node
    assert (shown["mounted"], shown["size"], shown["unit"]) == (True, SIZE, None)
    assert (shown["depth"], shown["piece"], shown["read_ahead"]) == (4, 128 << 10, 512 << 10)
    assert queue(node) | {"nr_requests": "4", "max_sectors_kb": "128"} == queue(node)
    assert queue(node)["scheduler"].startswith("[none]")
    assert (BLOCKS / Path(node).name / "loop/dio").read_text() == "1\n"
    file = place / "spill.lane"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.stat().st_blocks * 512 >= SIZE, "its room is taken at once"
    options = subprocess.run(
        ["findmnt", "-no", "OPTIONS", node], capture_output=True, text=True, check=True
    ).stdout
    assert "nosuid" in options
    assert "discard" not in options.replace("nodiscard", "")
    (place / "spill/data").write_text("kept")
    assert shown in json.loads(lane("list", "--json").out)["lanes"]
    assert str(place / "spill") in lane("list").out

    removed = lane("remove", place / "spill")
    assert (removed.code, removed.err) == (0, "")
    assert removed.out == f"removed lane {name} from {place}/spill\nits data stays in {file}\n"
    assert state(place) == before | {"files": [str(file)]}
    assert queue(node) == free

    again = lane("make", file, "--at", place / "other", "--depth", "8", "--piece", "256KiB")
    assert (again.code, again.err) == (0, "")
    assert (place / "other/data").read_text() == "kept"
    (there,) = (one for one in lanes.lanes() if one.at == str(place / "other"))
    assert (there.depth, there.piece, there.read_ahead) == (8, 256 << 10, 2 << 20)
    assert lane("remove", there.name, "--data").code == 0
    assert state(place) == before


def test_long_writes_reach_the_disk_in_pieces(place: Path) -> None:
    made = make(place)
    counters = BLOCKS / Path(made.node).name / "stat"

    def writes() -> int:
        return int(counters.read_text().split()[4])

    before = writes()
    words = ["dd", "if=/dev/zero", f"of={place}/spill/long", "bs=4M", "count=1", "oflag=direct"]
    subprocess.run(words, check=True, capture_output=True)
    assert writes() - before >= 32


def test_its_folder_belongs_to_the_user_that_is_named(place: Path) -> None:
    make(place, user=str(NOBODY))
    assert (place / "spill").stat().st_uid == NOBODY


def test_a_folder_that_was_there_stays(place: Path) -> None:
    (place / "spill").mkdir()
    before = state(place)
    make(place)
    lanes.remove(str(place / "spill"), data=True)
    assert state(place) == before


def test_a_scheduler_that_the_loop_device_had_comes_back(place: Path, node: str) -> None:
    scheduler = BLOCKS / Path(node).name / "queue/scheduler"
    if "mq-deadline" not in scheduler.read_text():
        pytest.skip("the kernel has no mq-deadline for it")
    scheduler.write_text("mq-deadline")
    tunable = BLOCKS / Path(node).name / "queue/iosched/fifo_batch"
    tunable.write_text("5")
    before = queue(node)
    made = make(place)
    assert queue(node)["nr_requests"] == "4"
    assert queue(node)["scheduler"].startswith("[none]")
    lanes.remove(made.name)
    assert queue(node) == before
    assert tunable.read_text() == "5\n"


def test_a_lane_in_use_is_not_removed_and_says_by_whom(place: Path) -> None:
    made = make(place)
    before = state(place), queue(made.node)
    with started("sleep", "60", cwd=place / "spill") as pid:
        until_named(pid, "sleep")
        message = refused(lambda: lanes.remove(made.name), UNSAFE_TARGET)
        assert message == f"{place}/spill is in use by {pid} (sleep)"
        assert (state(place), queue(made.node)) == before
    # Which no process shows.
    (place / "bind").mkdir()
    subprocess.run(["mount", "--bind", place / "spill", place / "bind"], check=True)
    try:
        message = refused(lambda: lanes.remove(made.name), RUN_FAILED)
        assert message == f"{made.node} over {made.file} cannot be put back: it is mounted or held"
        assert [one.mounted for one in lanes.lanes() if one.name == made.name] == [False]
    finally:
        subprocess.run(["umount", place / "bind"], check=True)
    lanes.remove(made.name)
    assert state(place)["notes"] == state(place)["loops"] == []


def test_what_was_taken_down_by_hand_can_be_removed(place: Path) -> None:
    made = make(place)
    subprocess.run(["umount", place / "spill"], check=True)
    subprocess.run(["losetup", "--detach", made.node], check=True)
    (there,) = (one for one in lanes.lanes() if one.name == made.name)
    assert (there.mounted, there.depth) == (False, None)
    assert f"{place}/spill (not mounted)" in lane("list").out
    lanes.remove(made.name, data=True)
    assert state(place) == NOTHING


def test_what_is_in_the_way_is_refused_before_anything_changes(place: Path) -> None:
    theirs, full, folder = place / "theirs", place / "full", place / "folder"
    theirs.write_bytes(b"theirs" * 1000)
    full.mkdir()
    (full / "file").touch()
    folder.mkdir()
    other = make(place / "folder", file=place / "used.lane")
    before = state(place)
    cases = [
        (UNSAFE_TARGET, {"file": theirs}, f"{theirs} exists and is no lane's"),
        (UNSAFE_TARGET, {"file": place}, f"{place} exists and is no lane's"),
        (
            UNSAFE_TARGET,
            {"file": place / "used.lane", "size": None},
            f"{place}/used.lane is behind {other.node} already",
        ),
        (WRONG_INPUT, {"file": place / "used.lane", "size": 2 * SIZE}, f"--size: {place}/used.la"),
        (WRONG_INPUT, {"size": None}, f"there is no file {place}/spill.lane"),
        (WRONG_INPUT, {"size": 1 << 20}, "--size: found 1048576 bytes; expected 64MiB or more"),
        (WRONG_INPUT, {"size": SIZE + 1}, f"--size: found {SIZE + 1} bytes; expected 64MiB or"),
        (WRONG_INPUT, {"size": 1 << 50}, f"--size: {place} has "),
        (WRONG_INPUT, {"file": place / "none/x"}, f"there is no directory {place}/none for x"),
        (WRONG_INPUT, {"piece": 1000}, "--piece: found 1000 bytes; expected a multiple of 4KiB"),
        (WRONG_INPUT, {"depth": 2}, "--depth: found 2; expected 4 or more"),
        (WRONG_INPUT, {"user": "roott"}, "--user: there is no user roott"),
        (WRONG_INPUT, {"at": theirs}, f"--at: {theirs} is no folder"),
        (WRONG_INPUT, {"at": place / "a/b"}, f"--at: there is no directory {place}/a for b"),
        (UNSAFE_TARGET, {"at": full}, f"--at: {full} is not empty"),
        (UNSAFE_TARGET, {"at": Path("/")}, "--at: / is in use"),
        (UNSAFE_TARGET, {"at": place / "folder/spill"}, f"--at: {place}/folder/spill is in use: a"),
    ]
    for code, more, message in cases:
        said = refused(lambda more=more: make(place, **more), code)  # type: ignore[misc]
        assert said.startswith(message), said
    assert state(place) == before
    assert theirs.read_bytes() == b"theirs" * 1000


def test_a_file_system_that_is_full_is_refused(place: Path) -> None:
    small = place / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32M", "none", small], check=True)
    try:
        message = refused(lambda: make(place, file=small / "x"), WRONG_INPUT)
        assert message == f"--size: {small} has 33.6 MB free; expected 67.1 MB"
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_two_lanes_with_a_name_are_refused(place: Path) -> None:
    (place / "a").mkdir()
    make(place, at=place / "a" / "b")
    message = refused(lambda: make(place, at=place / "a-b"), UNSAFE_TARGET)
    assert message.startswith("there is a lane ")


def test_a_lane_that_is_being_made_is_refused_and_says_by_whom(place: Path) -> None:
    note = Note.lock(NOTES / f"lane.{lanes._name(place / 'spill')}")
    assert note is not None
    try:
        message = refused(lambda: make(place), UNSAFE_TARGET)
        assert " is being changed: process " in message
    finally:
        note.remove()


def test_a_lane_that_is_not_there_is_refused() -> None:
    assert refused(lambda: lanes.remove("/none"), WRONG_INPUT) == "there is no lane /none"


@pytest.mark.parametrize(
    ("name", "script", "message"),
    [
        ("mkfs.ext4", "echo no mkfs >&2; exit 1", "{file} cannot be made: no mkfs"),
        (
            "fallocate",
            "echo fallocate: fallocate failed: No space left on device >&2; exit 1",
            "{file} cannot be made: fallocate failed: No space left on device",
        ),
        (
            "losetup",
            '[ $# -gt 4 ] && { echo losetup: no loop >&2; exit 1; }; exec $REAL "$@"',
            "{file} cannot be put behind ",
        ),
        ("mount", "echo mount: no ext4 here >&2; exit 32", " cannot be mounted at "),
        ("mount", '$REAL "$@"; echo mount: too late >&2; exit 32', " at {at}: too late"),
    ],
)
def test_if_a_step_fails_those_before_it_are_undone(
    place: Path, node: str, tmp_path: Path, name: str, script: str, message: str
) -> None:
    before, free = state(place), queue(node)
    fake(tmp_path, name, script)
    words = ("make", "--size", "64MiB", "--at", place / "spill")
    ended = lane(*words, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (ended.code, ended.out) == (RUN_FAILED, "")
    first, second = ended.err.splitlines()
    assert message.format(file=place / "spill.lane", at=place / "spill") in first
    assert second == "hint: what was done before is undone"
    assert state(place) == before
    assert queue(node) == free


def test_room_is_not_taken_where_the_file_system_cannot(place: Path, tmp_path: Path) -> None:
    fake(tmp_path, "fallocate", "echo fallocate: Operation not supported >&2; exit 1")
    words = ("make", "--size", "64MiB", "--at", place / "spill")
    ended = lane(*words, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (ended.code, ended.err) == (0, "")
    assert (place / "spill.lane").stat().st_size == SIZE


def test_a_tool_that_is_missing_is_named_with_its_package(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in lanes.TOOLS:
        if name != "mkfs.ext4":
            (tmp_path / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(lambda: make(place), CANNOT_HERE) == "mkfs.ext4 is not installed"
    assert state(place)["files"] == []


def test_only_root_makes_and_removes_lanes(place: Path) -> None:
    made = make(place)
    words = ("make", "--size", "64MiB", "--at", "/tmp/none")
    for command in (words, ("remove", made.name)):
        script = (
            "import os, sys\n"
            "from penstock.cli.app import VERBS, app, main\n"
            "import penstock.cli.guard_lane, penstock.answer.terminal, penstock.cli.console\n"
            f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            "VERBS['guard-lane'] = ''\nmain()\n"
        )
        words_of = [sys.executable, "-c", script, "guard-lane", *command]
        done = subprocess.run(words_of, capture_output=True, text=True, check=False)
        assert done.returncode == CANNOT_HERE, done.stderr
        assert done.stderr.startswith("error: only root may "), done.stderr


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for units."""
    folder = tmp_path / "system"
    folder.mkdir()
    monkeypatch.setattr(lane_unit, "FOLDER", folder)
    return folder


def test_a_unit_makes_the_lane_again(place: Path, units: Path) -> None:
    at = place / 'a 100% $HOME "lane"'
    made = make(place, at=at, unit=True)
    (path,) = units.iterdir()
    assert made.unit == str(path)
    assert path.name == f"penstock-lane-{made.name}.service"
    if shutil.which("systemd-analyze"):
        verify = ["systemd-analyze", "verify", "--man=no", str(path)]
        said = subprocess.run(verify, capture_output=True, text=True, check=False)
        assert path.name not in said.stderr, said.stderr
    lanes.remove(made.name, keep_unit=True)
    text = path.read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("ExecStart="))
    words = [
        word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line.partition("=")[2])
    ]
    assert words[1:6] == ["-m", "penstock", "guard", "lane", "make"]
    ended = lane(*words[6 - 1 :])
    assert (ended.code, ended.err) == (0, "")
    (again,) = (one for one in lanes.lanes() if one.at == str(at))
    assert (again.depth, again.piece) == (made.depth, made.piece)
    # As `systemctl enable` does.
    (units / "multi-user.target.wants").mkdir()
    link = units / "multi-user.target.wants" / path.name
    link.symlink_to(path)
    lanes.remove(again.name)
    assert not path.exists()
    assert not link.is_symlink()


def test_a_unit_of_another_is_not_replaced(place: Path, units: Path) -> None:
    path = units / lane_unit.name_of(lanes._name(place / "spill"))
    path.write_text("[Unit]\n")
    before = state(place)
    message = refused(lambda: make(place, unit=True), UNSAFE_TARGET)
    assert message == f"--unit: {path} exists and is not penstock's"
    assert (state(place), path.read_text()) == (before, "[Unit]\n")


def test_without_systemd_there_is_no_unit(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_unit, "FOLDER", tmp_path / "none")
    assert refused(lambda: make(place, unit=True), CANNOT_HERE).startswith("--unit: there is no ")
    assert state(place)["files"] == []


def killed(place: Path, last: int) -> int | None:
    """Run the program that is killed at step `last`; returns its steps if it came to its end."""
    words = [sys.executable, str(KILLED), str(place / "spill"), str(last)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def is_free(path: Path) -> bool:
    note = Note.lock(path)
    if note is not None:
        note.release()
    return note is not None


def put_right(place: Path) -> None:
    """Do what the doctor does with a note, or remove a lane that is whole."""
    path = NOTES / f"lane.{lanes._name(place / 'spill')}"
    # A tool that was running goes on, and has the note locked.
    until(lambda: is_free(path))
    restore(path)
    for one in lanes.lanes():
        if one.at == str(place / "spill"):
            lanes.remove(one.name)
    for file in place.glob(".spill.lane.*.penstock-unfinished"):
        # Made, and not noted yet: the doctor finds it by its name.
        assert file.stat().st_size == 0
        file.unlink()
    # A file that is whole is kept on purpose.
    assert lanes.is_lane(place / "spill.lane") or not (place / "spill.lane").exists()
    (place / "spill.lane").unlink(missing_ok=True)


def check_killed(place: Path, node: str, steps: range) -> None:
    free = queue(node)
    for last in steps:
        assert killed(place, last) is None
        put_right(place)
        assert state(place) == NOTHING, f"at step {last}"
        assert queue(node) == free, f"at step {last}"


def test_a_kill_at_some_steps_leaves_nothing(place: Path, node: str) -> None:
    steps = killed(place, 0)
    assert steps is not None
    check_killed(place, node, range(3, steps + 1, 7))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_kill_at_any_step_leaves_nothing(place: Path, node: str) -> None:
    steps = killed(place, 0)
    assert steps is not None
    check_killed(place, node, range(1, steps + 1))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_kill_at_a_random_moment_leaves_nothing(place: Path, node: str) -> None:
    draw = random.Random(11)
    free = queue(node)
    for _ in range(100):
        words = [sys.executable, str(KILLED), str(place / "spill"), "0"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as running:
            time.sleep(draw.uniform(0.1, 0.7))
            running.kill()
        put_right(place)
        assert state(place) == NOTHING
        assert queue(node) == free


def test_the_doctor_removes_a_lane_that_is_half_made(place: Path) -> None:
    steps = killed(place, 0)
    assert steps is not None
    name = lanes._name(place / "spill")
    # The middle of it: the lane is there in part.
    assert killed(place, steps // 2) is None
    until(lambda: is_free(NOTES / f"lane.{name}"))
    (check,) = (one for one in checks(clean=False) if one["facts"].get("lane") == name)
    assert check["found"] == f"{name}, half made or half removed, of a command that is gone"
    assert check["advice"] == "remove it with `penstock doctor --clean`"
    assert name not in [one.name for one in lanes.lanes()]
    (check,) = (one for one in checks(clean=True) if one["facts"].get("lane") == name)
    assert (check["state"], check["facts"]["removed"]) == ("ok", True)
    assert state(place) == NOTHING


def test_the_doctor_leaves_a_lane_alone(place: Path) -> None:
    make(place)
    before = state(place)
    report = json.loads(penstock("doctor", place, "--clean", "--json").out)
    assert not [check for check in report["checks"] if str(place) in json.dumps(check["facts"])]
    assert state(place) == before
