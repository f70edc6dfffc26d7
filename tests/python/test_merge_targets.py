"""Merges on targets without files: owned files, loop devices, block devices."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from command import penstock, running
from penstock.results.merge_types import Merged, Merges
from test_devices import gone, loops_over, losetup
from test_merge import contents, merge, sort_m

IMAGES = [f"disk{number}.img" for number in range(5)]

MADE = ("--set", "merge.jobs=2", "--set", "merge.runs=6", "--set", "merge.run=50blocks")
"""Runs of 200 KiB; outputs of 1200 KiB."""

CREATE = ("--create", "4MiB")


@pytest.fixture
def folder(disk: Path) -> Path:
    """A folder on the file system of the repository: /tmp may be memory."""
    return disk.parent


def images(folder: Path) -> list[Path]:
    return [folder / name for name in IMAGES]


def made(placement: str, *to: str | Path, words: tuple[str, ...] = MADE) -> tuple[str | Path, ...]:
    """The words that make and merge runs on targets."""
    return ("--make", "--placement", placement, *words, "--to", *to)


def placed(name: str) -> tuple[Path, int]:
    """The target and the first byte of what a result calls `PATH@BYTE`."""
    path, _, start = name.rpartition("@")
    return Path(path), int(start)


def range_of(name: str, size: int) -> bytes:
    """The bytes there."""
    path, start = placed(name)
    with path.open("rb") as file:
        file.seek(start)
        return file.read(size)


def runs_of(one: Merged) -> list[bytes]:
    """The runs of a merge on targets."""
    size = one["bytes"] // len(one["inputs"])
    return [range_of(name, size) for name in one["inputs"]]


def check(result: Merges, folder: Path) -> None:
    """Every output has the bytes of `sort -m`, and no two ranges share a byte."""
    ranges = []
    for one in result["merges"]:
        runs = runs_of(one)
        paths = [folder / f"run{number}" for number in range(len(runs))]
        for path, run in zip(paths, runs, strict=True):
            path.write_bytes(run)
        assert range_of(one["output"], one["bytes"]) == sort_m(paths)
        for path in paths:
            path.unlink()
        sizes = [*map(len, runs), one["bytes"]]
        for name, size in zip((*one["inputs"], one["output"]), sizes, strict=True):
            target, start = placed(name)
            ranges.append((target, start, start + size))
    for (target, _, end), (other, start, _) in pairwise(sorted(ranges)):
        assert target != other or end <= start


def eventually(done: Callable[[], bool]) -> bool:
    """Whether that comes to be within some seconds."""
    end = time.monotonic() + 10
    while not (found := done()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


LISTED = "[{ inputs = [1, 2], output = 3 }, { inputs = [3], output = 3 }]"


@pytest.mark.parametrize("placement", ["dedicated", "separate", "shared", "all", LISTED])
def test_runs_and_outputs_are_those_in_folders(folder: Path, placement: str) -> None:
    words = (*MADE, "--make", "--placement", placement, "--set", "seed=5")
    result = merge("--to", *images(folder), *CREATE, *words)
    check(result, folder)
    assert result["disks"] == [str(path.resolve()) for path in images(folder)]
    assert (result["world"], result["direct"]) == ("measured", True)
    folders = [folder / f"folder{number}" for number in range(5)]
    for path in folders:
        path.mkdir()
    filed = merge("--to", *folders, *words)
    for one, other in zip(result["merges"], filed["merges"], strict=True):
        assert (one["disks"], one["output_disk"]) == (other["disks"], other["output_disk"])
        assert runs_of(one) == [Path(path).read_bytes() for path in other["inputs"]]
        assert range_of(one["output"], one["bytes"]) == Path(other["output"]).read_bytes()


SETTINGS = {
    "half a block at once": ("--set", "merge.block=512B", "--set", "merge.write=3"),
    "a partition": ("--memory", "partition=211", "--policy", "round-robin"),
    "random keys": ("--set", "merge.depletion.keys=64", "--policy", "read-first"),
    "outputs first": ("--set", "merge.layout=output-first", "--engine", "threads"),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_the_output_is_that_of_sort(folder: Path, settings: tuple[str, ...]) -> None:
    words = (*MADE, "--make", "--placement", "all", *settings)
    check(merge("--to", *images(folder)[:2], *CREATE, *words), folder)


def test_rounds_and_other_programs_use_the_same_ranges_and_nothing_else(folder: Path) -> None:
    words = made("shared", *images(folder))
    merge(*words, *CREATE)
    before = [path.read_bytes() for path in images(folder)]
    command = "sort -m {inputs} -o {output}"
    result = merge(*words, "--beside", "sort", "--beside", command, "--rounds", "3")
    check(result, folder)
    assert [path.read_bytes() for path in images(folder)] == before
    assert [beside["command"] for beside in result["beside"]] == ["sort", command]
    assert len(result["rounds"]) == 3
    for one in result["rounds"]:
        assert all(beside["identical"] and beside["cpu_s"] > 0 for beside in one["beside"])
    assert any(
        one.startswith("the other programs used the targets through") for one in result["remarks"]
    )
    assert not any("page cache" in one for one in result["remarks"])
    assert set(folder.iterdir()) == set(images(folder)), "nothing else is made"


def program(folder: Path, text: str) -> str:
    """A program that gets its output and its inputs."""
    script = folder / "program.sh"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return f"{script} {{output}} {{inputs}}"


@pytest.mark.parametrize("text", ['cat "$2" > "$1"', ":", 'cat "$2" | head -c 9 > "$1"'])
def test_a_program_that_writes_other_bytes_or_fewer_is_found_out(folder: Path, text: str) -> None:
    words = (*made("shared", *images(folder)), *CREATE)
    result = merge(*words, "--beside", program(folder, text), "--beside", "sort")
    assert [beside["identical"] for beside in result["beside"]] == [False, True]


def test_a_program_cannot_write_beyond_its_output(folder: Path) -> None:
    words = made("shared", *images(folder))
    merge(*words, *CREATE, "--set", "merge.layout=output-first")
    before = [path.read_bytes() for path in images(folder)]
    text = 'cat /dev/zero > "$1"'
    layout = ("--set", "merge.layout=output-first")
    done = penstock("merge", *words, *layout, "--beside", program(folder, text))
    assert done.code == 1
    assert "ended with exit code" in done.err
    for path, was in zip(images(folder)[:2], before, strict=False):
        assert path.read_bytes()[6 * 50 * 4096 :] == was[6 * 50 * 4096 :]


def test_another_program_writes_nothing_more_once_the_command_is_killed(
    tmp_path: Path, folder: Path
) -> None:
    targets = looped(folder)
    text = 'touch "$0.begun"; sleep 2; cat /dev/zero > "$1"; touch "$0.over"'
    words = (*made("shared", *targets), *CREATE, "--beside", program(tmp_path, text))
    with running(tmp_path, "merge", *words) as command:
        command.wait_for((tmp_path / "program.sh.begun").exists)
        before = [path.read_bytes() for path in images(folder)]
        command.end(signal.SIGKILL)
    assert all(gone(path.resolve()) for path in images(folder))
    assert not (tmp_path / "program.sh.over").exists()
    assert eventually((tmp_path / "program.sh.over").exists)
    assert [path.read_bytes() for path in images(folder)] == before


def test_targets_on_one_disk_are_named_and_the_answer_has_their_ranges(folder: Path) -> None:
    words = (*made("shared", *images(folder)), *CREATE)
    done = penstock("merge", *words, "--beside", "sort")
    assert (done.code, done.err) == (0, "")
    first, _, row, *rest = done.out.splitlines()
    assert first.startswith("MEASURED  5 disks, fcfs: all merged in ")
    path, start = placed(row.split()[0])
    assert (path, start % 4096) == (images(folder)[0].resolve(), 0)
    assert any(line.endswith("; the same bytes") for line in rest)
    below = [line for line in rest if line.startswith("  below: ")]
    remarks = [line for line in rest if "5 of 5 targets lie on one disk, " in line]
    assert len(remarks) == len(below)
    assert all(line.endswith("do not show the effect of placement") for line in remarks)


def looped(folder: Path) -> list[str]:
    """Loop devices over owned files, where they can be made; else the test is skipped."""
    losetup("--list")
    return [f"loop:{path}" for path in images(folder)]


def test_loop_devices_are_used_and_gone_afterwards(folder: Path) -> None:
    words = made("shared", *looped(folder))
    result = merge(*words, *CREATE, "--beside", "sort", "--rounds", "2")
    check(result, folder)
    assert result["disks"] == [f"loop:{path.resolve()}" for path in images(folder)]
    assert all(beside["identical"] for one in result["rounds"] for beside in one["beside"])
    loops = [name for name in result.get("schedulers", {}) if name.startswith("loop")]
    assert len(loops) == 5
    assert all(gone(path.resolve()) for path in images(folder))
    assert merge(*made("shared", *images(folder)))


@contextmanager
def nodes(folder: Path, count: int) -> Iterator[list[str]]:
    """Block devices with nothing on them."""
    with ExitStack() as stack:
        found = []
        for number in range(count):
            file = folder / f"device{number}"
            with file.open("wb") as image:
                image.truncate(16 << 20)
            found.append(losetup("--find", "--show", file))
            stack.callback(losetup, "--detach", found[-1])
        yield found


def test_block_devices_are_named_once_more_each(folder: Path) -> None:
    with nodes(folder, 2) as devices:
        words = made("all", *devices)
        first, second = devices
        both = ("--i-will-lose-data", first, "--i-will-lose-data", second)
        for names, message in (
            ((), f"{first}: found a block device (16777216 bytes), named once"),
            (both[:2], f"{second}: found a block device (16777216 bytes), named once"),
            (
                ("--i-will-lose-data", "Z1Z2", *both[2:]),
                f'{first}: found a block device (16777216 bytes), named and then as "Z1Z2"',
            ),
            (
                ("--i-will-lose-data", "/dev/null", *both),
                "--i-will-lose-data /dev/null names no target of --to",
            ),
            ((*both, *CREATE), f"--create does not go with {first}, which is a block device"),
        ):
            done = penstock("merge", *words, *names)
            assert done.code in {2, 5}
            assert message in done.err
        assert not any((folder / "device0").read_bytes())
        result = merge(*words, *both, "--beside", "sort", "--rounds", "2")
        check(result, folder)
        assert result["beside"][0]["identical"]
        done = penstock("merge", *words, *both)
        assert (done.code, done.out) == (5, "")
        assert "found data at byte 0; " in done.err
        check(merge(*words, *both, "--even-if-not-empty"), folder)


def test_a_device_and_a_file_that_is_made_go_together(folder: Path) -> None:
    with nodes(folder, 1) as devices:
        path = folder / "disk.img"
        words = ("--placement", "all", *MADE, *CREATE, "--i-will-lose-data", *devices)
        check(merge("--make", "--to", *devices, path, *words), folder)
        done = penstock("merge", "--make", "--to", *devices, *devices, *words)
        assert (done.code, done.out) == (2, "")
        assert f"--to names {devices[0]} twice" in done.err


SLOW = (
    *("--make", "--set", "merge.jobs=2", "--set", "merge.runs=8", "--set", "merge.run=6000blocks"),
    *("--set", "merge.block=512B", "--set", "merge.read=1", "--set", "merge.write=1"),
    *("--placement", "all", "--set", "live.depth=1", "--set", "merge.stagger=10s"),
)
"""Merges of many small requests, of which the second begins after ten seconds."""


def merges(path: Path) -> bool:
    """Whether the first of them has written something, on the target at `path`."""
    return range_of(f"{path}@{8 * 6000 * 512}", 16) == b"0" * 16


@pytest.mark.parametrize("loops", [True, False], ids=["loop devices", "owned files"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_targets_are_free_again_however_merges_end(
    tmp_path: Path, folder: Path, number: signal.Signals, loops: bool
) -> None:
    targets = looped(folder)[:2] if loops else [str(path) for path in images(folder)[:2]]
    merge(*made("all", *targets), "--create", "64MiB")
    with running(tmp_path, "merge", *SLOW, "--to", *targets) as command:
        command.wait_for(lambda: merges(images(folder)[0]))
        if loops:
            assert len(loops_over(images(folder)[0].resolve())) == 1
        done = command.end(number)
    assert done.code == (-number if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        assert done.err == "interrupted: no output is complete\n"
    assert all(gone(path.resolve()) for path in images(folder)[:2])
    assert set(folder.iterdir()) == set(images(folder)[:2])
    words = made("all", *targets)
    # The kernel closes the ring of a process that was killed a little later.
    assert eventually(lambda: penstock("merge", *words).code == 0)
    check(merge(*words), folder)


def test_a_target_that_is_cut_meanwhile_ends_the_merges(tmp_path: Path, folder: Path) -> None:
    targets = images(folder)[:2]
    merge(*made("all", *targets), "--create", "64MiB")
    with running(tmp_path, "merge", *SLOW, "--to", *targets) as command:
        command.wait_for(lambda: merges(targets[0]))
        os.truncate(targets[0], 4096)
        done = command.end()
    assert done.code == 1
    assert str(targets[0]) in done.err
    assert done.err.count("% merged; it is not complete") == 2


def test_a_file_that_is_being_made_leaves_nothing_when_that_is_ended(
    tmp_path: Path, folder: Path
) -> None:
    words = ("--make", "--to", folder / "disk.img", "--create", "20GiB", "--placement", "all")
    with running(tmp_path, "merge", *words, "--set", "merge.jobs=1") as command:
        time.sleep(1)
        done = command.end(signal.SIGINT)
    assert (done.code, done.err) == (130, "interrupted: no output is complete\n")
    assert not list(folder.iterdir())


ON_A_FILE = ("--make", "--set", "merge.jobs=1", "--placement", "all")

WRONG = {
    "a run that is a file": (
        ("short", "--to", "disk.img"),
        "--to disk.img names a file; expected a folder, as the runs are files",
    ),
    "a run that is a file, and a new target": (
        ("short", "--to", "new.img", "--create", "1MiB"),
        "--to new.img names a file; expected a folder, as the runs are files",
    ),
    "a file of merges": (
        ("--jobs", "jobs.toml", "--to", "loop:disk.img"),
        "--to loop:disk.img names a file; expected a folder, as those of --jobs are files",
    ),
    "a target that is too small": (
        (*ON_A_FILE, "--to", "disk.img", "--set", "merge.run=40blocks"),
        "6400KiB are to lie on disk.img, which holds 1MiB\nhint: a new file with --create 7MiB is "
        "large enough",
    ),
    "a new target that would be too small": (
        (*ON_A_FILE, "--to", "new.img", "--create", "3MiB", "--set", "merge.run=40blocks"),
        "6400KiB are to lie on new.img, which holds 3MiB",
    ),
    "a target of another size": (
        (
            *ON_A_FILE,
            "--to",
            "disk.img",
            "--create",
            "2MiB",
            "--set",
            "merge.run=40blocks",
            "--set",
            "merge.runs=2",
        ),
        "disk.img: found an owned file of 1048576 usable bytes; expected 2097152",
    ),
    "a target that is not there": (
        (*ON_A_FILE, "--to", "new.img"),
        "--to new.img: found nothing there; expected a folder\nhint: make it first: mkdir -p "
        "new.img; or `--create SIZE` makes a file for runs and outputs",
    ),
    "a second target that is not there": (
        (
            *ON_A_FILE,
            "--to",
            "disk.img",
            "new.img",
            "--set",
            "merge.run=10blocks",
            "--set",
            "merge.runs=2",
            "--set",
            "merge.read=1",
            "--set",
            "merge.write=1",
        ),
        "new.img: found no file; expected one that an earlier run made\nhint: give a size",
    ),
    "a target twice": ((*ON_A_FILE, "--to", "disk.img", "inner/../disk.img"), "twice"),
    "a target and its loop device": (
        (*ON_A_FILE, "--to", "disk.img", "loop:disk.img"),
        "--to names loop:disk.img twice",
    ),
    "a new target twice": (
        (*ON_A_FILE, "--to", "new.img", "new.img", "--create", "1MiB"),
        "--to names new.img twice",
    ),
    "a folder and a target": (
        (*ON_A_FILE, "--to", "inner", "disk.img"),
        "--to names a folder, inner, and a file, disk.img",
    ),
    "a size for a folder": (
        (*ON_A_FILE, "--to", "inner", "--create", "1MiB"),
        "--create does not go with --to inner",
    ),
    "a folder that is named twice": (
        (*ON_A_FILE, "--to", "inner", "--i-will-lose-data", "inner"),
        "--i-will-lose-data does not go with --to inner",
    ),
    "a target that is no device and may lose data": (
        (*ON_A_FILE, "--to", "disk.img", "--even-if-not-empty"),
        "--even-if-not-empty does not go with --to disk.img, which is not named twice",
    ),
    "a model before a target": (
        (*ON_A_FILE, "--to", "disk.img", "--on", "emulated:linear-1992@20"),
        "--on emulated:linear-1992@20 does not go with --to disk.img",
    ),
    "a target that is only read": ((*ON_A_FILE, "--to", "disk.img", "--read-only"), "--read-only"),
    "a file of somebody else": (
        (*ON_A_FILE, "--to", "short"),
        "short: found a file of 4 bytes without Penstock's mark",
    ),
    "no file for a loop device": ((*ON_A_FILE, "--to", "loop:"), "--to loop: names no file"),
    "blocks that are no units": (
        (
            *ON_A_FILE,
            "--to",
            "disk.img",
            "--set",
            "merge.block=1000B",
            "--set",
            "merge.run=40blocks",
            "--set",
            "merge.runs=2",
            "--set",
            "merge.depletion.keys=10",
        ),
        "direct I/O on disk.img moves whole units of",
    ),
    "two outputs and one disk": (
        (*ON_A_FILE, "--to", "disk.img", "--set", "merge.jobs=2"),
        "2 jobs have a disk for the output of each, and there is 1 disk",
    ),
}


@pytest.fixture
def wrong(folder: Path) -> Path:
    """A folder with an owned file, a folder and files of somebody else."""
    (folder / "inner").mkdir()
    (folder / "short").write_text("a\nb\n")
    (folder / "jobs.toml").write_text('[[merge]]\nruns = ["short"]\n')
    few = ("--set", "merge.run=10blocks", "--set", "merge.runs=2", "--set", "merge.jobs=1")
    one = ("--set", "merge.read=1", "--set", "merge.write=1", "--placement", "all")
    merge("--make", "--to", folder / "disk.img", "--create", "1MiB", *few, *one)
    return folder


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_and_leaves_nothing(
    wrong: Path, words: tuple[str, ...], message: str
) -> None:
    before = contents(wrong)
    done = penstock("merge", *words, cwd=wrong)
    assert done.code in {2, 5}, done
    assert message in done.err
    assert done.err.startswith(("error: ", "Usage: "))
    assert not done.out
    assert contents(wrong) == before


def test_a_target_in_use_is_refused(tmp_path: Path, folder: Path) -> None:
    targets = images(folder)[:2]
    merge(*made("all", *targets), "--create", "64MiB")
    with running(tmp_path, "merge", *SLOW, "--to", *targets) as command:
        command.wait_for(lambda: merges(targets[0]))
        done = penstock("merge", *made("all", *targets))
        command.end(signal.SIGKILL)
    assert (done.code, done.out) == (5, "")
    assert f"{targets[0]}: found it in use by another run" in done.err


@pytest.mark.soak
@pytest.mark.parametrize("loops", [True, False], ids=["loop devices", "owned files"])
def test_on_five_targets_of_one_disk(folder: Path, loops: bool) -> None:
    targets = looped(folder) if loops else [str(path) for path in images(folder)]
    words = ("--set", "merge.jobs=5", "--placement", "shared", "--beside", "sort")
    result = merge("--make", "--to", *targets, "--create", "160MiB", *words)
    check(result, folder)
    assert result["beside"][0]["identical"]
    if result.get("schedulers"):
        assert any("5 of 5 targets lie on one disk, " in one for one in result["remarks"])
