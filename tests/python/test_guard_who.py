"""Selectors of programs, and the threads of the classes that they name."""

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from command import NOBODY
from penstock.errors import CANNOT_HERE, WRONG_INPUT, PenstockError
from penstock.guard.processes import Process, Thread
from penstock.guard.selectors import Selector, selectors
from penstock.guard.who import Members, Scan
from test_devices import losetup

LIMIT_S = 20

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@contextmanager
def started(*words: str | Path, user: int | None = None, cwd: Path | None = None) -> Iterator[int]:
    """A process and those that it starts, which are killed after the block."""
    with subprocess.Popen(
        [*map(str, words)], user=user, cwd=cwd, start_new_session=True, stdin=subprocess.DEVNULL
    ) as process:
        try:
            yield process.pid
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a program of a name that no other process here has, which sleeps."""

    def make(name: str) -> Path:
        sleep = shutil.which("sleep")
        assert sleep is not None
        return Path(shutil.copy(sleep, tmp_path / f"{name}-{os.getpid() % 10_000}"))

    return make


def online(*texts: str) -> tuple[Selector, ...]:
    return selectors("--online", texts)


def pids(scan: Scan, name: str = "online") -> set[int]:
    return {thread.pid for thread in scan.threads[name]}


def until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + LIMIT_S
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def until_named(pid: int, name: str) -> None:
    """Wait until a process runs the program of this name."""
    until(lambda: Process(pid).name == name[:15])


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


THREADS = """
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)
"""


def test_a_process_is_selected_with_all_its_threads() -> None:
    with started(sys.executable, "-c", THREADS) as pid:
        until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 4)
        scan = Members({"online": online(f"pid:{pid}")}).scan()
        threads = scan.threads["online"]
        assert {thread.tid for thread in threads} == set(map(int, os.listdir(f"/proc/{pid}/task")))
        assert {thread.pid for thread in threads} == {pid}
        assert scan.class_of() == {thread.tid: "online" for thread in threads}
        assert all(thread.lives() for thread in threads)
        tid, start, _ = threads[-1]
        assert not Thread(tid, start - 1, pid).lives()
    assert not any(thread.lives() for thread in threads)


def test_a_command_is_known_by_its_name_and_by_its_first_word(
    program: Callable[[str], Path],
) -> None:
    path = program("a-name-of-more-than-15")
    with started(path, "60") as pid:
        until_named(pid, path.name)
        for name in (path.name, path.name[:15]):
            assert pids(Members({"online": online(f"command:{name}")}).scan()) == {pid}
        none = online(f"command:{path}")
        scan = Members({"online": none}).scan()
        assert (pids(scan), list(scan.waiting)) == (set(), list(none))


def test_a_program_that_starts_later_is_waited_for(program: Callable[[str], Path]) -> None:
    path = program("later")
    there = online(f"pid:{os.getppid()}")
    (awaited,) = online(f"command:{path.name}")
    members = Members({"online": (*there, awaited), "batch": ()})
    assert list(members.scan().waiting) == [awaited]
    with started(path, "60") as pid:
        until_named(pid, path.name)
        scan = members.scan()
        assert pid in pids(scan)
        assert scan.waiting == []


def test_children_stay_when_they_run_another_program_and_when_their_parent_ends(
    program: Callable[[str], Path],
) -> None:
    path = program("shell")
    shutil.copy(shutil.which("bash") or "", path)
    script = "(sleep 61; sleep 62) & (sleep 63; true) & wait"
    with started(path, "-c", script) as pid:
        until(lambda: len(children(pid)) == 2 and all(map(children, children(pid))))
        members = Members({"online": online(f"command:{path.name}")})
        shells = {pid, *children(pid)}
        sleepers = {child for shell in children(pid) for child in children(shell)}
        assert pids(members.scan()) == shells | sleepers
        for shell in shells:
            os.kill(shell, 9)
        until(lambda: not any(Process(sleeper).parent in shells for sleeper in sleepers))
        assert pids(members.scan()) - shells == sleepers
        # A process whose parent has ended before the first scan cannot be known.
        later = Members({"online": online(f"command:{path.name}")})
        assert pids(later.scan()) - shells == set()


@pytest.mark.parametrize("follows", [True, False])
def test_what_has_started_since_a_scan_has_the_class_of_who_started_it(follows: bool) -> None:
    with started("sh", "-c", "sleep 61; sleep 62 & sleep 63") as pid:
        until(lambda: children(pid))
        (first,) = children(pid)
        selector = dataclasses.replace(*online(f"pid:{pid}"), follows=follows)
        scan = Members({"online": [selector]}).scan()
        before = {pid, first} if follows else {pid}
        assert scan.class_of() == dict.fromkeys(before, "online")
        os.kill(first, 9)
        until(lambda: len(children(pid)) == 2)
        since = {pid, first, *children(pid)} if follows else {pid}
        assert scan.class_of() == dict.fromkeys(since, "online")


def test_a_child_that_another_class_names_belongs_to_that(program: Callable[[str], Path]) -> None:
    path = program("batch")
    with started("bash", "-c", f"{path} 60 & sleep 60; true") as pid:
        until(lambda: len(children(pid)) == 2)
        until(lambda: path.name[:15] in [Process(child).name for child in children(pid)])
        classes = {
            "online": online(f"pid:{pid}"),
            "batch": selectors("--batch", [f"command:{path.name}"]),
        }
        scan = Members(classes).scan()
        (background,) = (child for child in children(pid) if Process(child).name != "sleep")
        assert pids(scan, "batch") == {background}
        assert pids(scan) == {pid, *children(pid)} - {background}


def test_a_process_in_two_classes_is_refused(program: Callable[[str], Path]) -> None:
    path = program("both")
    with started(path, "60") as pid:
        until_named(pid, path.name)
        batch = selectors("--batch", [f"command:{path.name}"])
        with pytest.raises(PenstockError) as refused:
            Members({"online": online(f"pid:{pid}"), "batch": batch}).scan()
    assert refused.value.exit_code == WRONG_INPUT
    assert str(refused.value).startswith(
        f"error: process {pid} ({path.name[:15]}) is online by pid:{pid} and batch by "
        f"command:{path.name}; expected one class\nhint: "
    )


MAPPED = """
import mmap, sys, time
file = open(sys.argv[1], "rb")
mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
file.close()
time.sleep(60)
"""


def test_a_folder_selects_who_works_there(tmp_path: Path) -> None:
    folder, like = tmp_path / "data", tmp_path / "data2"
    for place in (folder / "below", like):
        place.mkdir(parents=True)
        (place / "file").write_bytes(b"text")
    opens = f"exec sleep 60 < {folder}/below/file"
    with (
        started("sleep", "60", cwd=folder / "below") as inside,
        started("bash", "-c", opens) as reader,
        started(sys.executable, "-c", MAPPED, folder / "below/file") as mapper,
        started("sleep", "60", cwd=like) as elsewhere,
    ):
        until_named(reader, "sleep")
        until_named(elsewhere, "sleep")
        until(lambda: str(folder) in Path(f"/proc/{mapper}/maps").read_text())
        link = tmp_path / "link"
        link.symlink_to(folder)
        for name in (folder, link):
            scan = Members({"online": online(f"path:{name}")}).scan()
            assert pids(scan) == {inside, reader, mapper}


@as_root
def test_a_volume_selects_who_uses_its_files_or_itself(tmp_path: Path) -> None:
    losetup("--list")
    file, at = tmp_path / "volume.img", tmp_path / "at"
    at.mkdir()
    with file.open("wb") as made:
        made.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", file], check=True)
    node = losetup("--find", "--show", file)
    try:
        with started("bash", "-c", f"exec sleep 60 < {node}") as raw:
            until_named(raw, "sleep")
            assert pids(Members({"online": online(f"volume:{node}")}).scan()) == {raw}
        subprocess.run(["mount", node, at], check=True)
        with (
            started("sleep", "60", cwd=at) as inside,
            started("bash", "-c", f"exec sleep 60 > {at}/open") as writer,
            started("sleep", "60", cwd=tmp_path),
        ):
            until_named(inside, "sleep")
            until_named(writer, "sleep")
            assert pids(Members({"online": online(f"volume:{node}")}).scan()) == {inside, writer}
    finally:
        subprocess.run(["umount", at], check=False, capture_output=True)
        losetup("--detach", node)


@as_root
def test_a_user_selects_processes_but_no_thread_of_the_kernel() -> None:
    with started("sleep", "60", user=NOBODY) as pid:
        until_named(pid, "sleep")
        assert pid in pids(Members({"online": online(f"user:{NOBODY}")}).scan())
        everything = Members({"online": online("user:root,user:nobody")}).scan()
        assert pid in pids(everything)
        # The thread that starts the kernel's, and those that it has started.
        assert not {2, *children(2)} & pids(everything)
        assert os.getpid() not in pids(everything)


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with the name of a unit."""
    for tree in (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup")):
        folder = tree / "penstock-test.slice" / f"penstock-test-{os.getpid()}.service"
        if (tree / "cgroup.procs").exists():
            try:
                folder.mkdir(parents=True)
            except OSError:
                continue
            yield folder
            folder.rmdir()
            folder.parent.rmdir()
            return
    pytest.skip("no control group can be made here")


@as_root
def test_a_control_group_and_a_unit_select_what_is_in_them(group: Path) -> None:
    with started("bash", "-c", "sleep 60; true") as pid:
        until(lambda: children(pid))
        (child,) = children(pid)
        shown = f"/{group.parent.name}/{group.name}"
        for text in (
            f"cgroup:{group}", f"cgroup:{group.parent}", f"cgroup:{shown}", f"unit:{group.name}",
            f"unit:{group.name.removesuffix('.service')}",
        ):  # fmt: skip
            members = Members({"online": online(text)})
            assert pids(members.scan()) == set()
            (group / "cgroup.procs").write_text(str(pid))
            # The child was there before, and the kernel has left it where it was.
            assert pids(members.scan()) == {pid}
            (group / "cgroup.procs").write_text(str(child))
            assert pids(members.scan()) == {pid, child}
            for moved in (pid, child):
                (group.parent.parent / "cgroup.procs").write_text(str(moved))
            assert pids(members.scan()) == set()
            assert [selector.text for selector in members.scan().waiting] == [text]


AS_NOBODY = f"""
import os
from penstock.guard.selectors import selectors
from penstock.guard.who import Members
mine, theirs = selectors("", ["pid:" + str(os.getppid()), "path:/"])
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
scan = Members({{"online": [mine], "batch": [theirs]}}).scan()
assert os.getppid() in {{thread.pid for thread in scan.threads["online"]}}
assert scan.unreadable > 1
"""


@as_root
def test_processes_of_others_that_may_not_be_read_are_counted() -> None:
    subprocess.run([sys.executable, "-c", AS_NOBODY], check=True)


def test_selectors_are_divided_at_commas_and_named_once(tmp_path: Path) -> None:
    odd = tmp_path / "a,b"
    odd.mkdir()
    texts = [f"path:{odd},command:a", "command:a", "command:b,user:root"]
    parsed = [selector.text for selector in online(*texts)]
    assert parsed == [f"path:{odd}", "command:a", "command:b", "user:root"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("postgres", "found 'postgres'; expected one of pid:, command:, ", "as command:postgres"),
        ("comand:x", "found 'comand:x'; expected one of pid:, ", "did you mean command:x?"),
        ("user:", "found 'user:'; expected a name behind it", "as user:postgres"),
        ("pid:x", "found pid:x; expected the number of a process", "as pid:4711; "),
        ("pid:1,2", "found pid:1,2; expected the number of a process", "as pid:4711; "),
        ("pid:4194305", "there is no process 4194305", "`ps -e` lists them"),
        ("user:roott", "there is no user roott", "did you mean root?"),
        ("path:/proc/version", "/proc/version is no folder", "name a folder: "),
        ("volume:/dev/null", "/dev/null is no block device", "`lsblk` lists "),
        ("volume:/dev/none", "/dev/none cannot be read: No such file", "`lsblk` lists "),
        ("cgroup:a", "found cgroup:a; expected a path", "as cgroup:/system.slice/"),
        ("unit:a/b", "a/b is no name of a unit", "as unit:postgresql.service"),
        ("", "found ''; expected one of pid:, ", "as command:postgres"),
    ],
)
def test_what_selects_nothing_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(PenstockError) as refused:
        online(text)
    assert refused.value.exit_code == WRONG_INPUT
    first, second = str(refused.value).splitlines()
    assert first.startswith(f"error: --online: {message}")
    assert second.startswith(f"hint: {hint}")


def test_a_thread_is_refused_with_its_process() -> None:
    with started(sys.executable, "-c", THREADS) as pid:
        until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 4)
        tid = max(map(int, os.listdir(f"/proc/{pid}/task")))
        with pytest.raises(PenstockError, match=f"{tid} is a thread of process {pid}\n.*pid:{pid}"):
            online(f"pid:{tid}")


def systemctl(folder: Path, script: Sequence[str]) -> None:
    """Place a `systemctl` of the test's own before that of the machine."""
    path = folder / "systemctl"
    path.write_text("\n".join(["#!/bin/sh", *script]))
    path.chmod(0o755)


def test_a_unit_is_known_to_systemd_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    systemctl(tmp_path, ['[ "$5" = db.service ] && echo loaded || echo not-found'])
    (known,) = online("unit:db")
    assert known.text == "unit:db"
    with pytest.raises(
        PenstockError, match=r"there is no unit bd\.service\nhint: `systemctl "
    ) as e:
        online("unit:bd")
    assert e.value.exit_code == WRONG_INPUT
    systemctl(tmp_path, ["exit 1"])
    with pytest.raises(PenstockError, match="systemd does not answer here\nhint: ") as e:
        online("unit:db")
    assert e.value.exit_code == CANNOT_HERE
