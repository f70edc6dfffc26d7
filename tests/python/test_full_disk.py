"""A full disk: whatever was to be written there, the run failed, and the message names the path."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from command import ROOT, penstock
from hostile import FIO, JOB, STUDY, TABLE
from penstock.papers.paper import load

RUN_FAILED = 1

TRACE = ROOT / "examples/traces/pgbench-backup.blkparse.gz"

RUN = ("run", "JOB", "--policy", "noop", "--set", "duration=100ms")
QUICK = [word for setting in load("merge-placement").quick for word in ("--set", setting)]
TABLES = ("--parquet", "OUT.parquet")
LIVE = ("live", "--modes", "fifo", "--batch", "0", "--repeat", "1", "--no-overlap")

WRITERS = {
    "create": (*RUN, "--on", "OUT.img", "--create", "16MiB"),
    "record": (*RUN, "--record", "OUT.json"),
    "report": (*RUN, "--report", "OUT.html"),
    "plots": (*RUN, "--plots", "OUT"),
    "xlsx": (*RUN, "--xlsx", "OUT.xlsx"),
    "convert": ("trace", "convert", TRACE, "OUT.csv", "--to", "fio-iolog3"),
    "picture of a trace": ("trace", "plot", TRACE, "--out", "OUT.png"),
    "page of a trace": ("trace", "plot", TRACE, "--out", "OUT.html"),
    "pictures of a trace": ("trace", "plot", TRACE, "--plots", "OUT"),
    "report of a paper": ("paper", "merge-placement", *QUICK, "--report", "OUT.html"),
    "writes of a paper": (
        *("paper", "online-batch", *LIVE),
        *("--on", "emulated:paper-disk@100", "--csv", "OUT.csv"),
    ),
    "requests": (*RUN, "--requests", "OUT.parquet"),
    "sweep": ("sweep", "JOB", "--vary", "policy=noop,fcfs", "--set", "duration=100ms", *TABLES),
    "make": ("trace", "make", "OPEN", "-o", "OUT.log"),
    "study": ("study", "run", "STUDY", "-o", "OUT"),
    "report of a study": ("study", "analyse", "TABLE", "--report", "OUT.html"),
    "pictures of a study": ("study", "analyse", "TABLE", "--plots", "OUT"),
    "merge": ("merge", "TABLE", "TABLE", "--to", "FULL"),
    "merge with sort": ("merge", "TABLE", "TABLE", "--to", "FULL", "--beside", "sort"),
    "new": ("new", "OUT.toml"),
    "job of fio": ("job", "from-fio", "FIO", "-o", "OUT.toml"),
    "device file": ("calibrate", "fast.toml", "--rounds", "1", "--output", "OUT.toml"),
}


@pytest.fixture(params=["no space", "no inodes"])
def full(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system without room for data, or for another file."""
    if os.geteuid() != 0:
        pytest.skip("to mount a file system takes root")
    folder = tmp_path / "full"
    folder.mkdir()
    size = "size=64k" if request.param == "no space" else "nr_inodes=1"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        if request.param == "no space":
            with suppress(OSError), (folder / "full").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def files(folder: Path) -> dict[str, Path]:
    """Write the files that the commands read."""
    texts = {
        "OPEN": JOB.replace("size", "count = 20\nsize"),
        "STUDY": STUDY.replace("FILE", "open"),
        "TABLE": TABLE,
        "FIO": FIO,
    }
    for name, text in texts.items():
        (folder / name.lower()).write_text(text)
    return {name: folder / name.lower() for name in texts}


IN_SHORT = {"create", "record", "report", "convert", "study", "merge", "new", "device file"}
"""What `make test` tries; `make soak` tries all."""


@pytest.mark.parametrize(
    "writer",
    [
        pytest.param(writer, marks=[] if writer in IN_SHORT else pytest.mark.soak)
        for writer in WRITERS
    ],
)
def test_the_run_failed_whatever_was_to_be_written(
    job: Path, tmp_path: Path, full: Path, writer: str
) -> None:
    if writer == "device file":
        fast = '[device]\nmodel = "fixed"\nbase = "10us"\ncapacity = "1GiB"\n'
        (tmp_path / "fast.toml").write_text(fast)
    places = {"JOB": job, "OUT": full / "out", "FULL": full, **files(tmp_path)}
    words = []
    for word in map(str, WRITERS[writer]):
        name = next((name for name in places if word.startswith(name)), "")
        words.append(f"{places[name]}{word.removeprefix(name)}" if name else word)
    ended = penstock(*words, cwd=tmp_path)
    assert ended.code == RUN_FAILED, ended.err
    assert "Traceback" not in ended.err
    assert str(full) in ended.err
    assert {path.name for path in full.iterdir()} <= {"full", "out"}, "nothing is left behind"


def test_a_long_trace_without_room_for_its_requests(tmp_path: Path, full: Path) -> None:
    """The folder of temporary files has no room: the trace is right, and the run failed."""
    trace = tmp_path / "long.spc"
    trace.write_text("".join(f"0,{8 * n},4096,R,0.{n:06}\n" for n in range(200_000)))
    for words in (("replay", trace, "--on", "flash"), ("trace", "info", trace)):
        ended = penstock(*words, env={"TMPDIR": str(full)})
        assert ended.code == RUN_FAILED, ended.err
        assert ended.out == ""
        assert ended.err.startswith(f"error: {trace}: its requests cannot be kept in {full}: "), (
            ended.err
        )
        assert ended.err.endswith("hint: make room there, or set TMPDIR to a folder with more\n")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "JOB", "--policy", "noop"),
        ("run", "JOB", "--policy", "noop", "--json"),
        ("list", "policies"),
        ("schema", "job"),
        ("doctor", "--json"),
        ("trace", "info", str(TRACE)),
        ("--version",),
        ("--help",),
    ],
)
def test_a_result_that_cannot_be_printed_fails_the_command(
    job: Path, words: tuple[str, ...]
) -> None:
    line = " ".join(word.replace("JOB", str(job)) for word in words)
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m penstock {line} > /dev/full"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == RUN_FAILED, done.stderr
    assert "error: the output cannot be written: No space left on device" in done.stderr
