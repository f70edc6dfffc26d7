"""Files on several real targets, from the command: owned files, loop devices, block devices."""

import json
import os
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from command import ROOT, penstock, running
from penstock import compare
from penstock.results.json_types import Comparison, Run
from test_devices import gone, losetup

JOB = ROOT / "examples/four-disks.toml"

SMALL = ("--set", "file.data.size=4MiB", "--set", "duration=300ms")

CREATE = ("--create", "4MiB")

NAMES = [f"data.{number}" for number in range(4)]


@pytest.fixture
def folder(disk: Path) -> Path:
    """A folder on the file system of the repository: /tmp may be memory."""
    return disk.parent


def images(folder: Path, count: int = 4) -> list[Path]:
    return [folder / f"disk{number}.img" for number in range(count)]


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


def on(*places: str | Path) -> tuple[str, str]:
    """The words that put the files there, in their order."""
    return "--on", "data=" + ",".join(map(str, places))


def ran(*words: str | Path) -> Comparison:
    ended = penstock("compare", JOB, *SMALL, "--json", *words)
    assert ended.code == 0, ended.err
    result: Comparison = json.loads(ended.out)
    return result


def check(run: Run) -> None:
    """The files have what the classes have, and all of them have something."""
    classes, files = run["classes"], run["files"]
    assert all(one["errors"] == 0 for one in classes)
    assert [file["name"] for file in files] == NAMES
    assert all(file["requests"] > 0 for file in files)
    assert sum(file["requests"] for file in files) == sum(one["requests"] for one in classes)
    assert sum(file["bytes"] for file in files) == sum(one["bytes"] for one in classes)


def test_the_densest_cell_runs_on_four_loop_devices_and_on_a_model(folder: Path) -> None:
    text = JOB.read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 12
    (file,), (agent,) = tomllib.loads(text)["file"], tomllib.loads(text)["agent"]
    assert (file["count"], agent["copies"], agent["arrivals"]["depth"]) == (4, 32, 32)
    losetup("--list")
    loops = [f"loop:{path}" for path in images(folder)]
    policies = ("--policies", "fcfs,deadline,cfq,kyber")
    result = ran(*on(*loops), *CREATE, *policies)
    assert result["world"] == "measured"
    assert len(result["runs"]) == 4
    for run in result["runs"]:
        check(run)
        assert [file["path"] for file in run["files"]] == loops
        assert len([disk for disk in run["schedulers"] if disk.startswith("loop")]) == 4
    assert all(gone(path.resolve()) for path in images(folder))
    modelled = ran(*policies)
    assert modelled["world"] == "simulated"
    for run in modelled["runs"]:
        check(run)


def test_a_path_in_the_job_has_the_number_of_the_file(tmp_path: Path, folder: Path) -> None:
    text = JOB.read_text().replace('size = "4GiB"', f'size = "4GiB", path = "{folder}/disk%d.img"')
    job = tmp_path / "job.toml"
    job.write_text(text)
    words = (*SMALL, "--policy", "noop", "--json")
    ended = penstock("run", job, *words, *CREATE)
    assert ended.code == 0, ended.err
    result: Comparison = json.loads(ended.out)
    (run,) = result["runs"]
    check(run)
    assert [file["path"] for file in run["files"]] == [str(path) for path in images(folder)]
    assert all(path.exists() for path in images(folder))
    assert f"data.3={folder}/disk3.img" in result["device"]
    assert f"{folder}/disk%d.img" in result["job"]["text"]
    modelled = penstock("run", job, *words, "--on", "hdd-10k")
    assert json.loads(modelled.out)["world"] == "simulated"
    single = penstock("run", job, *words, "--on", f"data.2={folder}/other.img", *CREATE)
    (run,) = json.loads(single.out)["runs"]
    assert run["files"][2]["path"] == f"{folder}/other.img"
    shown = penstock("job", "show", job)
    assert shown.code == 0, shown.err


def test_the_table_says_which_targets_lie_on_one_disk(folder: Path) -> None:
    words = (*SMALL, "--policies", "noop", *on(*images(folder)), *CREATE)
    ended = penstock("compare", JOB, *words)
    assert ended.code == 0, ended.err
    assert "MEASURED" in ended.out
    below = [line for line in ended.out.splitlines() if "under the kernel's scheduler" in line]
    said = [line for line in ended.out.splitlines() if "4 of 4 targets lie on one disk, " in line]
    assert bool(said) == bool(below)


def test_block_devices_are_named_once_more_each(folder: Path) -> None:
    with nodes(folder, 2) as devices:
        two = ("--set", "file.data.count=2", "--policies", "noop", *on(*devices))
        first, second = devices
        both = ("--i-will-lose-data", second, "--i-will-lose-data", first)
        for names, said in (
            ((), f"{first}: found a block device (16777216 bytes), named once"),
            (both[:2], f"{first}: found a block device (16777216 bytes), named once"),
            (("--i-will-lose-data", "/dev/null", *both), "/dev/null names no target of --on"),
            ((*both, *CREATE), f"--create does not go with {first}, which is a block device"),
        ):
            ended = penstock("compare", JOB, *SMALL, *two, *names)
            assert ended.code in {2, 5}
            assert said in ended.err
        assert not any((folder / "device0").read_bytes())
        result = ran(*two, *both)
        (run,) = result["runs"]
        assert all(file["requests"] > 0 for file in run["files"])
        # The job only reads: the devices are as they were.
        mixed = (*on(first, folder / "disk.img"), *CREATE, "--i-will-lose-data", first)
        (run,) = ran("--set", "file.data.count=2", "--policies", "noop", *mixed)["runs"]
        assert [file["path"] for file in run["files"]] == [first, str(folder / "disk.img")]


def test_devices_have_the_kernels_scheduler_meanwhile(folder: Path) -> None:
    losetup("--list")
    loops = [f"loop:{path}" for path in images(folder)]
    ended = penstock(
        *("compare", JOB, *SMALL, "--json", *on(*loops), *CREATE, "--set", "live.depth=4"),
        *("--policies", "kernel:mq-deadline,kernel:as-is"),
    )
    if ended.code == 77:
        pytest.skip(ended.err)
    assert ended.code == 0, ended.err
    switched, as_is = json.loads(ended.out)["runs"]
    check(switched)
    check(as_is)
    own = {disk: name for disk, name in switched["schedulers"].items() if disk.startswith("loop")}
    assert set(own.values()) == {"mq-deadline"}


@contextmanager
def memory(folder: Path) -> Iterator[Path]:
    """A file system without direct I/O."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    at = folder / "memory"
    at.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "ramfs", "ramfs", at], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield at
    finally:
        subprocess.run(["umount", at], check=True)


def test_a_file_system_without_direct_io_is_named(folder: Path) -> None:
    with memory(folder) as at:
        ours, (*others, theirs) = at / "disk.img", images(folder)
        # An owned file is known by its bytes, wherever it lies.
        one = ("--set", "file.data.count=1", "--policies", "noop")
        assert penstock("compare", JOB, *SMALL, *CREATE, *one, *on(theirs)).code == 0
        shutil.copyfile(theirs, ours)
        theirs.unlink()
        places = on(*others, ours)
        ended = penstock("run", JOB, *SMALL, "--policy", "noop", *places, *CREATE)
        assert ended.code != 0
        assert f"{ours}: found that ramfs refuses O_DIRECT" in ended.err
        assert not any(path.exists() for path in others)


WRONG = {
    "too few paths": (
        ("--on", "data=./a.img,./b.img"),
        "found 2 paths for the 4 files of `data`; expected one for each",
    ),
    "one path without a number": (
        ("--on", "data=./a.img"),
        "found one path for the 4 files of `data`; expected one for each",
    ),
    "an unknown file": (("--on", "dat=./a.img,./b.img"), "did you mean `data`?"),
    "an unknown number": (("--on", "data.4=./a.img"), "there is no file data.4"),
    "one place twice": (
        ("--on", "data=./a.img,./b.img,./a.img,./c.img"),
        "file data.2 begins at 4MiB and has 4MiB: it ends past its device, which has 4MiB",
    ),
    "a file and its loop device": (
        ("--on", "data=./a.img,./b.img,./c.img,loop:./a.img"),
        "files data.0 and data.3 are on ./a.img and loop:./a.img, which are the same",
    ),
    "another's file": (
        ("--on", "data=./a.img,./theirs.img,./c.img,./d.img"),
        "./theirs.img: found a file of 9 bytes without Penstock's mark",
    ),
    "a model among targets": (
        ("--on", "data=./disk%d.img", "--on", "data.2=flash"),
        "file data.0 is on a real target, and data.2 names none",
    ),
    "an emulated device": (("--on", "data=emulated:flash"), "name real targets with `path`"),
    "an emulated device over all": (
        ("--on", "emulated:flash"),
        "the job has 4 files, each on a device of its own; emulated:flash is one",
    ),
    "the whole twice": (
        ("--on", "./a.img", "--on", "data=./disk%d.img"),
        "are for the whole job and for one file of it",
    ),
    "a folder that is missing": (
        ("--on", "data=./disk%d.img", "--on", "data.3=./none/disk.img"),
        "./none/disk.img",
    ),
    "a file that holds less": (
        ("--on", "data=./disk%d.img", "--set", "file.data.size=5MiB"),
        "file data.0 has 5MiB; its device has 4MiB",
    ),
    "a record": (
        ("--on", "data=./disk%d.img", "--record", "run.record"),
        "a record is of one loop",
    ),
    "a class that ends it": (
        ("--on", "data=./disk%d.img", "--set", "agent.0.count=9", "--set", "stop=sent:readers"),
        'stop = "sent:readers" ends one loop at a request',
    ),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_is_refused_and_nothing_is_made(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    (folder / "theirs.img").write_text("not yours")
    ended = penstock("run", JOB, "--policy", "noop", *SMALL, *CREATE, *words, cwd=folder)
    assert ended.code in {2, 5}, ended.err
    assert said in ended.err
    assert [path.name for path in folder.iterdir()] == ["theirs.img"]


def test_all_targets_are_watched_together(folder: Path) -> None:
    ended = penstock("watch", JOB, "--policies", "noop", *SMALL, *on(*images(folder)), *CREATE)
    assert ended.code == 0, ended.err
    assert "MEASURED" in ended.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all(tmp_path: Path, folder: Path, number: signal.Signals) -> None:
    words = (*SMALL, "--set", "duration=1h", "--policies", "noop", *on(*images(folder)), *CREATE)
    with running(tmp_path, "compare", JOB, *words, "--json") as command:
        command.wait_for(lambda: all(path.exists() for path in images(folder)))
        time.sleep(1)
        ended = command.end(number)
    assert ended.code == 128 + number
    (run,) = json.loads(ended.out)["runs"]
    assert (run["interrupted"], run["ended"]) == (True, "asked")
    check(run)
    again = penstock("run", JOB, *SMALL, "--policy", "noop", *on(*images(folder)))
    assert again.code == 0, again.err


def test_a_target_that_is_cut_ends_the_run_and_is_named(tmp_path: Path, folder: Path) -> None:
    words = (*SMALL, "--set", "duration=1h", "--policies", "noop", *on(*images(folder)), *CREATE)
    with running(tmp_path, "compare", JOB, *words) as command:
        command.wait_for(lambda: all(path.exists() for path in images(folder)))
        time.sleep(1)
        os.truncate(images(folder)[2], 4096)
        ended = command.end()
    assert ended.code == 1
    assert f"{images(folder)[2]}: found a file of 4096 bytes" in ended.err


def test_python_puts_files_on_targets(folder: Path) -> None:
    paths = [str(path) for path in images(folder)]
    small = {"file.data.size": "4MiB", "duration": "300ms"}
    found = compare(
        JOB, policies=["noop"], create="4MiB", set={**small, "file.data.path": ",".join(paths)}
    )
    (run,) = found.runs
    assert [file.path for file in run.files] == paths


def test_the_ioprio_of_a_class_ends_at_a_loop_device(tmp_path: Path, folder: Path) -> None:
    losetup("--list")
    job = tmp_path / "job.toml"
    job.write_text((ROOT / "examples/agreement/two-streams.toml").read_text())
    words = ("--on", f"loop:{folder}/own.img", "--create", "8MiB", "--policy", "kernel:none")
    sets = ("duration=1s", "agent.*.region=0MiB,7MiB")
    remarks = []
    for more in ((), ("class.near.ioprio=rt:4",)):
        words_of_sets = [word for text in (*sets, *more) for word in ("--set", text)]
        ended = penstock("run", job, *words, *words_of_sets, "--json")
        assert ended.code == 0, ended.err
        (run,) = json.loads(ended.out)["runs"]
        remarks.append([text for text in run["remarks"] if "a loop device does not pass" in text])
    assert [len(said) for said in remarks] == [0, 1]
