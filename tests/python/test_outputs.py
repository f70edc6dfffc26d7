"""Where something is to be written is tried before anything runs, whatever the verb."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import ROOT, penstock

TRACE = ROOT / "examples/traces/pgbench-backup.blkparse.gz"

RUN = ("run", "JOB", "--policy", "noop", "--set", "duration=1h", "--on", "null")
GUARD = ("guard", "sda", "--online", "user:0", "--batch", "pid:1", "--goal", "online.p99 <= 1s")
LIVE = ("paper", "online-batch", "live", "--on", "emulated:paper-disk")

WRITERS = {
    "record": (*RUN, "--record", "OUT.json"),
    "report": (*RUN, "--report", "OUT.html"),
    "plots": (*RUN, "--plots", "OUT"),
    "plots in a folder": (*RUN, "--plots", "FOLDER"),
    "workbook": (*RUN, "--xlsx", "OUT.xlsx"),
    "report of a watched run": ("watch", *RUN[1:2], "--on", "null", "--report", "OUT.html"),
    "report of a replay": ("replay", TRACE, "--on", "null", "--report", "OUT.html"),
    "writes of a paper": (*LIVE, "--csv", "OUT.csv"),
    "report of a paper": ("paper", "online-batch", "--report", "OUT.html"),
    "device file": ("calibrate", "DISK", "--create", "16MiB", "--output", "OUT.toml"),
    "record of a run on a file": (*RUN[:-1], "DISK", "--create", "16MiB", "--record", "OUT.json"),
    "picture of a trace": ("trace", "plot", TRACE, "--out", "OUT.png"),
    "metrics of a guard": (*GUARD, "--metrics", "OUT.prom"),
    "plan of a guard": (*GUARD, "--plan", "OUT.toml"),
    "trace in another format": ("trace", "convert", "missing.trace", "OUT.csv", "--to", "msr"),
}
"""An hour of work each, or a file that is made, if it began."""


@pytest.mark.parametrize("writer", WRITERS)
def test_a_place_that_cannot_be_written_ends_the_command_before_its_work(
    job: Path, tmp_path: Path, writer: str
) -> None:
    folder = Path("/proc/self") if os.geteuid() == 0 else tmp_path / "closed"
    folder.mkdir(mode=0o500, exist_ok=True)
    disk = tmp_path / "disk.img"
    places = {"JOB": job, "OUT": folder / "out", "FOLDER": folder, "DISK": disk}
    words = [str(word) for word in WRITERS[writer]]
    for name, place in places.items():
        words = [word.replace(name, str(place)) for word in words]
    ended = penstock(*words)
    assert ended.code in (1, 2), ended.err
    assert (ended.out, "Traceback" in ended.err) == ("", False)
    assert str(folder) in ended.err
    assert "cannot be written" in ended.err
    assert not disk.exists()


NAMES = [300, 246]
"""Characters: more than a file system takes, and more with what is added until a file is whole."""


@pytest.mark.parametrize("length", NAMES)
@pytest.mark.parametrize("writer", ["record", "report", "workbook", "device file"])
def test_a_name_that_is_too_long_is_wrong_use(
    job: Path, tmp_path: Path, writer: str, length: int
) -> None:
    disk = tmp_path / "disk.img"
    places = {"JOB": str(job), "OUT": str(tmp_path / ("n" * length)), "DISK": str(disk)}
    words = [places.get(str(word), str(word)) for word in WRITERS[writer]]
    words = [word.replace("OUT.", f"{places['OUT']}.") for word in words]
    ended = penstock(*words)
    assert (ended.code, ended.out) == (2, "")
    assert "nnn" in ended.err
    assert "cannot be written: File name too long" in ended.err
    assert not disk.exists()


SEVERAL = """
import json, sys
from typer.testing import CliRunner
from penstock.cli.app import app
for words in json.loads(sys.argv[1]):
    assert CliRunner().invoke(app, words).exit_code == 0, words
"""
"""Several commands in one interpreter."""


def test_equal_runs_write_equal_bytes(job: Path, writes: Path, tmp_path: Path) -> None:
    """Sets of text have another order in each interpreter."""
    written = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        two = ("compare", job, "--policies", "noop,cfq", "--report", "r.html", "--xlsx", "r.xlsx")
        few = ("run", writes, "--policy", "noop", "--on", "flash", "--plots", "p")
        trace = ("trace", "plot", TRACE, "--out")
        commands = [
            [*two, "--set", "duration=1s"],
            [*few, "--set", "duration=1s"],
            [*trace, "t.png"],
        ]
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "PYTHONWARNINGS": "ignore"}
        script = [sys.executable, "-c", SEVERAL, json.dumps(commands, default=str)]
        subprocess.run(script, cwd=folder, env=environment, check=True)
        time.sleep(1.1)  # dates have seconds
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        written.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert written[0].keys() == written[1].keys()
    assert [path for path in written[0] if written[0][path] != written[1][path]] == []


@pytest.mark.parametrize("option", ["--report", "--xlsx", "--requests"])
@pytest.mark.parametrize("path", [".", "..", "/", "x/.."])
def test_a_folder_is_no_file(job: Path, tmp_path: Path, option: str, path: str) -> None:
    ended = penstock("run", job, "--policy", "noop", option, path, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "is a directory" in ended.err or "there is no directory" in ended.err


@pytest.mark.parametrize("words", [("--plots", ""), ("--plots=",), ("--on=",), ("--report", "")])
def test_an_empty_argument_is_refused_at_once(job: Path, words: tuple[str, ...]) -> None:
    """A path without a name would be the current folder."""
    ended = penstock("run", job, "--policy", "noop", *words)
    assert (ended.code, ended.out) == (2, "")
    option = words[0].removesuffix("=")
    assert ended.err.startswith(f"error: the argument of {option} is empty\nhint: ")


def test_pictures_go_into_the_current_folder(job: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    words = ("run", job, "--policy", "noop", "--set", "duration=1s", "--plots", ".")
    assert penstock(*words, cwd=here).code == 0
    assert {path.suffix for path in here.iterdir()} == {".png", ".svg"}
