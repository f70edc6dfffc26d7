"""Merges of real files: the bytes of `sort -m`, no input touched, nothing half-made."""

import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from jsonschema_rs import Draft202012Validator

from command import penstock, running
from forking import Ended
from penstock import _native
from penstock.results.merge_types import Merges
from penstock.session import Variant, compare
from penstock.target import Target
from test_faults import ext4, frozen

SORTED = {**os.environ, "LC_ALL": "C"}

RESULT = Draft202012Validator(json.loads(_native.schema("merge")))

DISKS = [f"disk{number}" for number in range(5)]


@pytest.fixture
def folder(disk: Path) -> Path:
    """A folder on the file system of the repository: /tmp may be memory."""
    return disk.parent


def sort_m(runs: Sequence[str | Path]) -> bytes:
    """What `sort -m` makes of `runs`."""
    command = ["sort", "-m", f"--batch-size={max(len(runs), 2)}", "--", *runs]
    return subprocess.run(command, env=SORTED, check=True, capture_output=True).stdout


def merge(*words: str | Path) -> Merges:
    """Merge, and return the JSON of it."""
    done = penstock("merge", *words, "--json")
    assert done.code == 0, done.err
    result: Merges = json.loads(done.out)
    RESULT.validate(result)
    for one in result["merges"]:
        blocked = one["blocked_s"]
        assert blocked["read"] + blocked["memory"] <= one["finish_s"] <= result["makespan_s"]
    return result


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Every file below `folder`, hidden ones too: its bytes, and when it was last changed."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def runs(folder: Path) -> list[Path]:
    """Sorted lines of every kind: empty, equal, long, of any bytes, the last without its end."""
    source = random.Random(5)
    paths = []
    for number, count in enumerate((4000, 2500, 1, 0, 6000, 40)):
        lengths = source.choices((0, 1, 5, 9, 30, 300), k=count)
        lines = sorted(
            bytes(source.choices(b"ab\x00\x01\xffxyz \t", k=length)) for length in lengths
        )
        if number == 5:
            lines.append(b"\xff" * 200_000)
        path = folder / f"on{number % 2}" / f"run{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\n".join(lines) + (b"\n" if number % 2 and lines else b""))
        paths.append(path)
    return paths


SETTINGS = {
    "as usual": (),
    "one block at once": ("--set", "merge.read=1", "--set", "merge.write=1"),
    "half a block at once": ("--set", "merge.block=512B", "--set", "merge.write=3"),
    "long blocks": ("--set", "merge.block=64KiB", "--set", "live.depth=1"),
    "a partition": ("--memory", "partition=211", "--policy", "round-robin"),
    "a pool": ("--memory", "pool=300", "--policy", "read-first"),
    "few writes": ("--memory", "writes=40", "--set", "merge.when_full=defer"),
    "threads": ("--engine", "threads"),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_the_output_is_that_of_sort(
    folder: Path, runs: list[Path], settings: tuple[str, ...]
) -> None:
    before = contents(folder)
    (folder / "to").mkdir()
    result = merge(*runs, "--to", folder / "to", folder / "on1", *settings)
    (one,) = result["merges"]
    path = folder / "to" / "merged"
    assert Path(one["output"]).samefile(path)
    assert path.read_bytes() == sort_m(runs)
    assert one["bytes"] == path.stat().st_size
    after = contents(folder)
    assert after.pop(path)
    assert after == before, "runs are only read, and nothing else is made"
    assert result["world"] == "measured"
    assert result["makespan_s"] == one["finish_s"] > 0


def test_records_are_merged_by_their_keys_and_equal_ones_stay_in_order(folder: Path) -> None:
    source = random.Random(7)
    runs: list[list[bytes]] = []
    for number in range(5):
        records = [
            source.randbytes(3) + bytes([source.randrange(6)]) + source.randbytes(9)
            for _ in range(3000)
        ]
        runs.append(sorted(records, key=lambda record: record[3:5]))
        (folder / f"run{number}").write_bytes(b"".join(runs[-1]))
    paths = [folder / f"run{number}" for number in range(5)]
    merge(*paths, "--to", folder, "--record", "13", "--key", "3:2", "--set", "merge.read=2")
    want = sorted(chain(*runs), key=lambda record: record[3:5])
    assert (folder / "merged").read_bytes() == b"".join(want)


def test_several_merges_with_rounds_and_sort_beside(folder: Path, runs: list[Path]) -> None:
    lists = (runs[:2], runs[2:])
    sections = [
        f'[[merge]]\nruns = {json.dumps([str(run) for run in some])}\noutput = "{name}"\n'
        for some, name in zip(lists, ("first", "second"), strict=True)
    ]
    (folder / "merges.toml").write_text("".join(sections))
    words = ("--beside", "sort", "--rounds", "3")
    result = merge("--jobs", folder / "merges.toml", "--to", folder / "on0", folder / "on1", *words)
    for some, name, to in zip(lists, ("first", "second"), ("on0", "on1"), strict=True):
        assert (folder / to / name).read_bytes() == sort_m(some)
    assert [beside["command"] for beside in result["beside"]] == ["sort"]
    spans = [one["makespan_s"] for one in result["rounds"]]
    assert len(spans) == 3
    assert result["makespan_s"] == statistics.median(spans)
    for one in result["rounds"]:
        assert all(beside["identical"] and beside["cpu_s"] > 0 for beside in one["beside"])
    hidden = [path for path in folder.rglob(".*") if path.is_file()]
    assert not hidden, "what sort wrote is gone"


def test_the_answer_is_printed_first_and_then_what_it_depends_on(
    folder: Path, runs: list[Path]
) -> None:
    done = penstock("merge", *runs, "--to", folder, folder / "on0", "--beside", "sort")
    assert (done.code, done.err) == (0, "")
    first, _, _, row, *rest = done.out.splitlines()
    assert first.startswith("MEASURED  2 disks, fcfs: all merged in ")
    assert row.split()[:2] == [str((folder / "merged").resolve()), "6"]
    writes = r"  up to (1 write|\d+ writes) at one disk; processors worked .+ m?s"
    assert re.fullmatch(writes, rest[0])
    assert rest[1].startswith("  for comparison: sort took ")
    assert rest[1].endswith("; the same bytes")


def test_folders_on_one_disk_are_named(folder: Path, runs: list[Path]) -> None:
    result = merge(*runs, "--to", folder, folder / "on0")
    if not result.get("schedulers"):
        pytest.skip("no disk is listed here")
    (remark,) = (one for one in result["remarks"] if " lie on one disk, " in one)
    assert remark.startswith("2 of 2 folders")
    assert remark.endswith("do not show the effect of placement")


def test_runs_that_stay_in_memory_for_another_program_are_counted(
    small: Path, runs: list[Path]
) -> None:
    (small / "run").write_text("a\n" * 5000)
    result = merge(small / "run", "--to", small, "--beside", "sort")
    assert any(
        one.startswith("1 of 1 runs could not be dropped from the page cache")
        for one in result["remarks"]
    )
    result = merge(*runs, "--to", runs[0].parent, "--beside", "sort")
    assert not any("page cache" in one for one in result["remarks"])


def test_a_sort_that_merges_wrongly_or_fails_is_found_out(
    folder: Path, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = folder / "bin" / "sort"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\ncp "$6" "$4"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    words: list[str | Path] = [*runs[:2], "--beside", "sort", "--to"]
    result = merge(*words, folder)
    assert [beside["identical"] for beside in result["beside"]] == [False]
    script.write_text("#!/bin/sh\nexit 3\n")
    done = penstock("merge", *words, folder / "on0")
    assert (done.code, done.err) == (1, "error: --beside sort ended with exit code 3\n")


MADE = ("--make", "--to", *DISKS, "--set", "merge.runs=6", "--set", "merge.run=150blocks")


def emulated(folder: Path, *words: str, speed: int = 5) -> Merges:
    """Merge runs that are made on five modelled disks, and check the bytes."""
    result = merge(*words, "--on", f"emulated:linear-1992@{speed}:{folder}")
    for one in result["merges"]:
        assert Path(one["output"]).read_bytes() == sort_m(one["inputs"])
    return result


def simulated(jobs: int, placement: str, seed: int, *sets: str) -> float:
    """The makespan of the same job on the same disks, simulated."""
    merges = f'[merge]\njobs = {jobs}\nplacement = "{placement}"\n'
    job = f'seed = {seed}\ndevice = "linear-1992"\n{merges}'
    array = ("disks=5", "level=jbod", "scheduler=each")
    of_array = [f"device.array.{setting}" for setting in array]
    variant = Variant(name="job", text=job, policies=["fcfs"], sets=[*of_array, *sets])
    text = compare(variant, Target())
    makespan: float = json.loads(text)["runs"][0]["merge"]["makespan_s"]
    return makespan


@pytest.mark.parametrize(
    ("placement", "reads_its_own"), [("dedicated", False), ("shared", True), ("all", True)]
)
def test_modelled_disks_take_as_long_as_simulated_ones(
    folder: Path, placement: str, reads_its_own: bool
) -> None:
    want = simulated(2, placement, 1, "merge.runs=6", "merge.run=150blocks")
    # A busy machine holds up what merges: a test run next to it may cost a run half a second.
    for attempt in range(3):
        placed = folder / str(attempt)
        placed.mkdir()
        result = emulated(placed, *MADE, "--set", "merge.jobs=2", "--placement", placement)
        assert result["world"] == "emulated"
        assert result["model"] == "linear-1992@5"
        models = result["emulation"]
        assert models["lateness"]["completions"] >= 2 * 6 * 150 / 12
        assert models["file_waits"]["completions"] <= models["lateness"]["completions"]
        for one in result["merges"]:
            assert (one["output_disk"] in one["disks"]) == reads_its_own
            parents = [Path(path).parent.name for path in one["inputs"]]
            assert parents == [DISKS[disk] for disk in one["disks"]]
        assert result["makespan_s"] > 0.85 * want
        if result["makespan_s"] < 1.15 * want:
            break
    else:
        pytest.fail(f"takes {result['makespan_s']} s, simulated {want} s")


@pytest.mark.parametrize("policy", [one["name"] for one in json.loads(_native.policies())])
def test_no_policy_mixes_up_what_requests_carry(folder: Path, policy: str) -> None:
    """A backlog of neighbouring writes, which most policies would merge."""
    words = ("--set", "merge.jobs=2", "--set", "merge.write=2", "--placement", "separate")
    result = emulated(folder, *MADE, *words, "--policy", policy, speed=100)
    assert result["policy"] == policy
    assert result["max_queued_writes"] > 2


def test_runs_of_random_keys_are_merged_too(folder: Path) -> None:
    sets = ("--set", "merge.jobs=1", "--set", "merge.depletion.keys=64")
    result = emulated(folder, *MADE, *sets, speed=200)
    lines = Path(result["merges"][0]["output"]).read_bytes().splitlines()
    assert len(lines) == 6 * 150 * 64
    assert len(set(lines)) == len(lines)


SMALL_BLOCKS = '[device]\nmodel = "linear"\nblock = "512B"\n'
"""The same disk with short blocks: files of which each takes less to write than on the model."""

CELLS = (
    ("separate", 2, 0.03),
    ("shared", 2, 0.03),
    ("shared", 5, 0.03),
    ("all", 5, 0.03),
    ("separate", 5, 0.08),
)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("speed", [20, 10])
def test_live_makespans_are_those_of_the_simulator(folder: Path, speed: int) -> None:
    device = folder / "disk.toml"
    device.write_text(SMALL_BLOCKS)
    live: dict[tuple[str, int], float] = {}
    model: dict[tuple[str, int], float] = {}
    for placement, jobs, within in CELLS:
        spans, wanted = [], []
        for seed in range(1, 6):
            place = folder / f"{placement}{jobs}{seed}"
            sets = (f"merge.jobs={jobs}", "merge.block=512B", f"seed={seed}")
            words = [word for one in sets for word in ("--set", one)]
            result = merge(
                *("--make", "--to", *DISKS, "--placement", placement, *words),
                *("--on", f"emulated:{device}@{speed}:{place}"),
            )
            for one in result["merges"]:
                assert Path(one["output"]).read_bytes() == sort_m(one["inputs"])
            spans.append(result["makespan_s"])
            wanted.append(simulated(jobs, placement, seed))
        live[placement, jobs], model[placement, jobs] = map(statistics.mean, (spans, wanted))
        assert live[placement, jobs] == pytest.approx(model[placement, jobs], rel=within)
    for cell, other in combinations(live, 2):
        if cell[1] == other[1] and abs(model[cell] / model[other] - 1) > 0.03:
            assert (live[cell] < live[other]) == (model[cell] < model[other])


WRONG = {
    "a run that is not sorted": (
        ("unsorted", "short", "--to", "."),
        'unsorted is not sorted: line 3 ("b") is below line 2 ("c")',
    ),
    "a truncated record": (
        ("short", "--to", ".", "--record", "3"),
        "short ends in the middle of a record: 1 records of 3 bytes and 1 bytes more",
    ),
    "more merges than disks": (
        ("--make", "--to", ".", "--set", "merge.jobs=2", "--placement", "all"),
        "2 jobs have a disk for the output of each, and there is 1 disk",
    ),
    "no disk to read from": (
        ("short", "--to", ".", "--placement", "dedicated"),
        "no disk is left to read from: it takes 2, and there is 1 disk",
    ),
    "runs on the target of an output": (
        ("inner/short", "--to", "inner", ".", "--placement", "separate"),
        "inner/short lies on FOLDER/inner, which is also the target of the output of merge 0",
    ),
    "a disk that is not there": (
        ("short", "--to", ".", "--placement", "[{ inputs = [0], output = 3 }]"),
        "job 0 is to use disk 3, and there is 1 disk, counted from 0",
    ),
    "too little memory for anything": (
        (
            "--make",
            "--to",
            ".",
            "--set",
            "merge.jobs=1",
            "--memory",
            "partition=279",
            "--placement",
            "all",
        ),
        "with 279 blocks of memory no job can end: it takes",
    ),
    "more read at once than a run has": (
        ("short", "--to", ".", "--set", "merge.read=2"),
        "2 blocks are read at once, and a run has 1",
    ),
    "more written at once than a run has": (
        ("short", "--to", ".", "--set", "merge.write=2"),
        "2 blocks are written at once, and a run has 1",
    ),
    "an output that is there": (
        ("short", "--to", "taken"),
        "taken/merged: found something there; expected no file",
    ),
    "no such run": (("none", "--to", "."), "none cannot be read"),
    "a folder as a run": (("inner", "--to", "."), "inner: found a directory; expected a file"),
    "no such folder": (
        ("short", "--to", "none"),
        "--to none: found nothing there; expected a folder",
    ),
    "a file as a folder": (
        ("short", "--to", "short"),
        "--to short names a file; expected a folder",
    ),
    "a folder twice": (("short", "--to", ".", "inner/.."), "twice"),
    "nothing to merge": (("--to", "."), "there is nothing to merge"),
    "no folder": (("short",), "nothing says where outputs go"),
    "runs and a file of merges": (("short", "--jobs", "short", "--to", "."), "do not go together"),
    "a key outside": (
        ("short", "--to", ".", "--record", "4", "--key", "2:3"),
        "a key of 3 bytes at byte 2 of a record of 4 bytes",
    ),
    "a key of nothing": (("short", "--to", ".", "--key", "2:3"), "--key does not go without"),
    "lines that are sorted by a number": (
        ("numbers", "--to", "."),
        "hint: lines have to be in the order of their bytes",
    ),
    "a key that is none": (
        ("short", "--to", ".", "--record", "4", "--key", "x"),
        "--key x is no place in a record",
    ),
    "a place of another kind": (("short", "--to", ".", "--on", "hdd-7200"), "--on hdd-7200"),
    "a policy that is not there": (("short", "--to", ".", "--policy", "fcsf"), "fcsf"),
    "sort beside records": (
        ("short", "--to", ".", "--record", "4", "--beside", "sort"),
        "--beside sort does not go with --record",
    ),
    "another program beside": (
        ("short", "--to", ".", "--beside", "cat"),
        "Invalid value for '--beside': 'cat' is not one of 'sort'",
    ),
    "a misspelt key of a file of merges": (
        ("--jobs", "jobs.toml", "--to", "."),
        "unknown key `run` in a merge of files",
    ),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_and_leaves_nothing(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "unsorted").write_text("a\nc\nb\n")
    (tmp_path / "short").write_text("a\nb\n")
    (tmp_path / "numbers").write_text("9\n10\n")
    (tmp_path / "jobs.toml").write_text('[[merge]]\nrun = ["short"]\n')
    for name in ("inner/short", "taken/merged"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("a\n")
    before = contents(tmp_path)
    done = penstock("merge", *words, cwd=tmp_path)
    assert done.code == 2, done
    assert message.replace("FOLDER", str(tmp_path.resolve())) in done.err
    assert done.err.startswith(("error: ", "Usage: "))
    assert not done.out
    assert contents(tmp_path) == before


def test_memory_that_nobody_frees_ends_the_merges(folder: Path) -> None:
    words = ("--make", "--to", *DISKS, "--set", "merge.jobs=2", "--set", "merge.run=100blocks")
    on = ("--on", f"emulated:linear-1992@200:{folder}", "--memory", "partition=420")
    done = penstock("merge", *words, *on)
    assert done.code == 1
    assert "the cache is too small (deadlock): merge 0 holds" in done.err
    assert "511 are always enough" in done.err
    assert not list(folder.rglob("merged*"))


def test_memory_that_may_not_be_enough_is_told_before_and_after(folder: Path) -> None:
    words = (*MADE, "--set", "merge.jobs=1", "--memory", "partition=186")
    result = emulated(folder, *words, speed=200)
    assert result["remarks"] == [
        "with 186 blocks of memory a merge may wait for memory for ever (deadlock); 189 "
        "are always enough"
    ]


SLOW = ("--set", "merge.jobs=2", "--on")


def slow(folder: Path) -> tuple[str, ...]:
    """A merge that takes a minute."""
    return (*MADE, *SLOW, f"emulated:linear-1992@0.1:{folder}")


def made(folder: Path) -> list[Path]:
    """The runs, once all of them are there."""
    return sorted(folder.rglob("merge*-run*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_merge_that_is_ended_leaves_no_output(
    tmp_path: Path, folder: Path, number: signal.Signals
) -> None:
    with running(tmp_path, "merge", *slow(folder)) as command:
        command.wait_for(lambda: len(made(folder)) == 12)
        time.sleep(0.5)
        done: Ended = command.end(number)
    assert done.code == (-number if number == signal.SIGKILL else 128 + number)
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {
        path.name for path in made(folder)
    }
    if number != signal.SIGKILL:
        assert done.err == "interrupted: no output is complete\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_runs_that_are_being_made_leave_nothing_when_that_is_ended(
    tmp_path: Path, folder: Path, number: signal.Signals
) -> None:
    words = ("--make", "--to", folder, "--placement", "all", "--set", "merge.run=20000blocks")
    before = shutil.disk_usage(folder).used
    with running(tmp_path, "merge", *words) as command:
        command.wait_for(lambda: shutil.disk_usage(folder).used > before + (1 << 30))
        done: Ended = command.end(number)
    assert done.code in {-signal.SIGKILL, 130}
    assert not list(folder.iterdir())


def test_a_run_that_is_cut_meanwhile_ends_the_merges(tmp_path: Path, folder: Path) -> None:
    with running(tmp_path, "merge", *slow(folder)) as command:
        command.wait_for(lambda: len(made(folder)) == 12)
        time.sleep(0.5)
        os.truncate(made(folder)[0], 4096)
        done = command.end()
    assert str(made(folder)[0]) in done.err
    states_are_listed_and_outputs_gone(done, folder, ["merged0", "merged1"])


def states_are_listed_and_outputs_gone(done: Ended, folder: Path, names: Sequence[str]) -> None:
    """The message has the state of each merge, and no output is left."""
    assert done.code == 1
    for name in names:
        assert f"/{name}: " in done.err
    assert done.err.count("% merged; it was not made") == len(names)
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert not {name for name in left if "merged" in name}


def test_a_disk_that_answers_with_errors_ends_the_merges(folder: Path) -> None:
    for number in range(3):
        (folder / f"run{number}").write_bytes(keys_of_16_bytes(1_000_000, number))
    runs = [folder / f"run{number}" for number in range(3)]
    with (
        ext4(folder / "outer.img", "32M") as outer,
        ext4(outer.path / "inner.img", "128M", "-O", "^has_journal") as inner,
    ):
        # The file system has room. What it lies on has not, and so cannot take what is written.
        done = penstock("merge", *runs, "--to", inner.path)
        assert re.search(rf"write of \d+ bytes at byte \d+ of {inner.path}/merged: ", done.err)
        states_are_listed_and_outputs_gone(done, inner.path, ["merged"])


def test_a_disk_that_does_not_answer_ends_the_merges(tmp_path: Path, folder: Path) -> None:
    with ext4(folder / "own.img", "96M") as system:
        words = (*slow(system.path), "--set", "live.timeout=1s")
        with running(tmp_path, "merge", *words) as command:
            command.wait_for(lambda: len(made(system.path)) == 12)
            time.sleep(0.5)
            with frozen(system):
                command.wait_for(lambda: "% merged" in command.err.read_text())
            done = command.end()
        assert "found no answer for 1." in done.err
        states_are_listed_and_outputs_gone(done, system.path, ["merged0", "merged1"])


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    if os.geteuid() != 0:
        pytest.skip("to mount a file system takes root")
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_no_room_for_an_output_is_found_before_anything_is_written(
    small: Path, runs: list[Path]
) -> None:
    done = penstock("merge", *runs, "--to", small)
    assert done.code == 1
    assert f"{small}/merged: " in done.err
    assert "bytes" in done.err
    assert not list(small.iterdir())


def test_a_file_system_without_direct_io_is_used_through_the_page_cache(
    small: Path, folder: Path
) -> None:
    for number in range(3):
        text = "".join(f"{key:08}\n" for key in range(number, 9000, 7))
        (folder / f"run{number}").write_text(text)
    runs = [folder / f"run{number}" for number in range(3)]
    merge(*runs, "--to", small)
    assert (small / "merged").read_bytes() == sort_m(runs)


@pytest.mark.soak
@pytest.mark.parametrize("loops", [True, False], ids=["loop devices", "folders"])
def test_on_five_targets_of_one_disk(folder: Path, loops: bool) -> None:
    with ExitStack() as stack:
        disks = [folder / name for name in DISKS]
        if loops:
            images = [folder / f"{name}.img" for name in DISKS]
            disks = [stack.enter_context(ext4(image, "512M")).path for image in images]
        for disk in disks:
            disk.mkdir(exist_ok=True)
        words = ("--set", "merge.jobs=5", "--placement", "shared", "--beside", "sort")
        result = merge("--make", "--to", *disks, *words)
        for one in result["merges"]:
            assert Path(one["output"]).read_bytes() == sort_m(one["inputs"])
        assert result["beside"][0]["identical"]
        if result.get("schedulers"):
            assert any(
                one.startswith("5 of 5 folders lie on one disk, ") for one in result["remarks"]
            )


def keys_of_16_bytes(count: int, seed: int) -> bytes:
    """So many sorted lines of 16 hexadecimal digits."""
    keys = np.random.default_rng(seed).integers(0, 1 << 63, size=count, dtype=np.uint64)
    keys.sort()
    digits = np.frombuffer(keys.astype(">u8").tobytes().hex().encode(), dtype=np.uint8)
    lines = np.full((count, 17), ord("\n"), dtype=np.uint8)
    lines[:, :16] = digits.reshape(count, 16)
    return lines.tobytes()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_merging_costs_no_more_of_a_processor_than_sort(folder: Path) -> None:
    for number in range(20):
        (folder / f"run{number:02}").write_bytes(keys_of_16_bytes((1 << 30) // 17 // 20, number))
    runs = [str(folder / f"run{number:02}") for number in range(20)]
    result = merge(*runs, "--to", str(folder), "--beside", "sort", "--rounds", "3")
    ratios = [one["cpu_s"] / one["beside"][0]["cpu_s"] for one in result["rounds"]]
    walls = [one["makespan_s"] / one["beside"][0]["makespan_s"] for one in result["rounds"]]
    assert statistics.median(ratios) <= 1
    assert statistics.median(walls) <= 1.1


def test_a_run_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for run, kind in (("pipe", "pipe"), ("/dev/zero", "character device")):
        ended = penstock("merge", run, run, "--to", ".", cwd=tmp_path)
        assert ended.code == 2
        assert ended.err.startswith(f"error: {run}: found a {kind}; expected a regular file, as ")
        assert "penstock made" not in ended.err.lower()


def test_a_line_of_many_writes(tmp_path: Path) -> None:
    """Its writes were cut off one after another, each with a copy of the rest."""
    (tmp_path / "long").write_text("b" * (8 << 20) + "\n")
    (tmp_path / "short").write_text("a\nc\n")
    ended = penstock("merge", "long", "short", "--to", ".", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (tmp_path / "merged").read_text() == "a\n" + "b" * (8 << 20) + "\nc\n"


def test_a_record_of_any_length_that_can_be_given(tmp_path: Path) -> None:
    words = ("merge", "a", "b", "--to", ".", "--record")
    for length in ("18446744073709551615", "4294967296", "-1", "0"):
        ended = penstock(*words, length, cwd=tmp_path)
        assert (ended.code, "Traceback" in ended.err) == (2, False), ended.err
