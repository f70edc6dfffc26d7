"""What the machine can do: on this one, and where something is taken away."""

import json
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
import typer

from command import penstock, running
from penstock import __version__, _native
from penstock.cli import doctor
from penstock.errors import CANNOT_HERE
from penstock.results.answers import Diagnosis, DoctorCheck

GROUPS = ["machine", "engines", "path", "kernel", "time", "leftovers", "extras"]

WITHOUT_LOCKED_MEMORY = """
import resource
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK)
"""

WITHOUT_A_RING = f"""
import errno, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from refuse import refuse
refuse("io_uring_setup", errno.EPERM)
"""
"""As containers do it: the call is refused by the system's own filter."""


def diagnosis(text: str) -> Diagnosis:
    """The diagnosis, in the shape that the types say."""
    report: Diagnosis = json.loads(text)
    assert set(report) == set(Diagnosis.__annotations__)
    for check in report["checks"]:
        assert set(check) == set(DoctorCheck.__annotations__)
        assert check["group"] in GROUPS
        assert check["state"] in doctor.STYLES
        assert check["found"]
        assert check["advice"] or check["state"] == "ok"
    return report


def named(report: Diagnosis, name: str) -> DoctorCheck:
    (found,) = [check for check in report["checks"] if check["name"] == name]
    return found


def test_this_machine_is_reported_and_nothing_stays_behind(tmp_path: Path) -> None:
    ended = penstock("doctor", "--json", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert list(tmp_path.iterdir()) == []
    report = diagnosis(ended.out)
    assert (report["penstock"], report["path"], report["able"]) == (__version__, ".", True)
    assert sorted({check["group"] for check in report["checks"]}) == sorted(GROUPS)
    assert named(report, "simulation")["state"] == "ok"
    assert set(named(report, "timers")["facts"]) == {"p50_ns", "p99_ns", "max_ns"}


def test_a_person_reads_each_finding_and_what_to_do(tmp_path: Path) -> None:
    ended = penstock("doctor", tmp_path)
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert lines[0][0] == "MEASURED"
    for group in GROUPS:
        assert [group] in lines
    for name in ("simulation", "io_uring", "libaio", "threads", "timers"):
        assert any(line[1:2] == [name] and line[0] in doctor.STYLES for line in lines)


def test_a_file_is_asked_about_as_its_folder_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("theirs")
    report = diagnosis(penstock("doctor", "--json", tmp_path / "file").out)
    folder = diagnosis(penstock("doctor", "--json", tmp_path).out)
    for name in ("file system", "direct I/O"):
        assert named(report, name) == named(folder, name)
    assert (tmp_path / "file").read_text() == "theirs"


def test_a_path_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    ended = penstock("doctor", tmp_path / "none")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {tmp_path}/none cannot be read: No such file")
    assert "\nhint: " in ended.err


def test_a_folder_that_takes_no_files_is_a_finding() -> None:
    ended = penstock("doctor", "/proc", "--json")
    assert ended.code == 0
    report = diagnosis(ended.out)
    assert named(report, "direct I/O")["state"] == "no"
    assert named(report, "disk")["state"] == "limited"


def confined(confine: str) -> Diagnosis:
    """The diagnosis where something was taken away before."""
    words = [sys.executable, "-m", "penstock", "doctor", "--json"]
    program = f"import ctypes, os\n{confine}\nos.execv({words[0]!r}, {words!r})"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return diagnosis(ended.stdout)


def test_without_a_ring_threads_are_left() -> None:
    report = confined(WITHOUT_A_RING)
    ring = named(report, "io_uring")
    assert ring["state"] == "no"
    assert "the system forbids io_uring" in ring["found"]
    assert "engine `threads`" in str(ring["advice"])
    assert named(report, "threads")["state"] == "ok"
    assert report["able"]


def test_without_locked_memory_buffers_are_not_registered() -> None:
    report = confined(WITHOUT_LOCKED_MEMORY)
    if named(report, "io_uring")["state"] != "ok":
        pytest.skip("no io_uring here")
    buffers = named(report, "registered buffers")
    assert buffers["state"] == "limited"
    assert buffers["facts"]["locked_memory_limit_bytes"] == 65536
    assert "ulimit -l" in str(buffers["advice"])
    if named(report, "privileges")["facts"]["user"] == 0:
        assert "CAP_IPC_LOCK" in named(report, "privileges")["found"]


def test_the_exit_code_says_that_a_machine_can_run_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unable = {"penstock": __version__, "path": ".", "able": False, "checks": []}
    monkeypatch.setattr(_native, "doctor", lambda _, clean: json.dumps(unable))
    with pytest.raises(typer.Exit) as ended:
        doctor.doctor(as_json=True)
    assert ended.value.exit_code == CANNOT_HERE
    assert json.loads(capsys.readouterr().out)["able"] is False


def test_an_extra_that_lacks_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    assert {"xlsx"} <= {one["name"] for one in doctor.extras()}
    monkeypatch.setattr(metadata, "distribution", none)
    for one in doctor.extras():
        assert (one["state"], one["facts"]["lacking"]) != ("ok", [])
        lacking = one["facts"]["lacking"]
        assert isinstance(lacking, list)
        assert one["advice"] == f"install it with `pip install {' '.join(lacking)}`"


HANGS = """
import os, sys, time
from pathlib import Path
from penstock.report import files
os.fsync = lambda _: time.sleep(60)
files.write(Path(sys.argv[1]), b"half of it")
"""
"""A command that does not come to the end of writing an output."""


@pytest.mark.usefixtures("leftovers")
def test_an_output_that_was_being_written_when_its_command_was_killed_is_removed(
    tmp_path: Path,
) -> None:
    theirs = [tmp_path / name for name in (".x.html.123", ".notes.penstock-unfinished", "own")]
    for path in theirs:
        path.write_text("another's")
    found = "unfinished output"

    def checks(*more: str) -> list[DoctorCheck]:
        report = diagnosis(penstock("doctor", tmp_path, *more, "--json").out)
        return [check for check in report["checks"] if check["name"] == found]

    with running(tmp_path.parent, tmp_path / "x.html", script=HANGS) as command:
        command.wait_for(lambda: any(tmp_path.glob(".x.html.*.penstock-unfinished")))
        (path,) = tmp_path.glob(".x.html.*.penstock-unfinished")
        time.sleep(0.2)
        assert checks("--clean") == [], "it is being written"
        command.process.kill()
        command.process.wait()
    (check,) = checks()
    assert check["facts"] == {"file": str(path), "removed": False}
    (check,) = checks("--clean")
    assert (check["state"], check["facts"]["removed"]) == ("ok", True)
    assert checks() == []
    assert sorted(tmp_path.iterdir()) == sorted(theirs)
