"""Passes over files, from Python: results, refusals, and what a run that ends early leaves."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema_rs import Draft202012Validator

from command import penstock
from penstock import _native
from penstock.passes import PassSettings
from penstock.results.file_test_types import FileTest
from penstock.target import Target

RESULT = Draft202012Validator(json.loads(_native.schema("file-test")))

RECORD = 16 << 10

SIZE = 1 << 20

ENDLESS = """
import sys
from penstock import _native
from penstock.passes import PassSettings

settings = PassSettings(
    tests=["write", "rewrite"], threads=1, size=64 << 20, records=[4096], files=[sys.argv[1]]
)
session = _native.PassSession(settings)
session.run("write", threads=1, record=4096, size=64 << 20)
print("written", flush=True)
while True:
    session.run("rewrite", threads=1, record=4096, size=64 << 20)
"""
"""A program that writes over its file until it is ended."""


def settings(
    folder: Path, *tests: str, keep: bool = False, verify: bool = True, stonewall: bool = True
) -> PassSettings:
    """Two workers with files in `folder`."""
    files = [str(folder / name) for name in "ab"]
    return PassSettings(
        tests=tests,
        threads=2,
        size=SIZE,
        records=[RECORD],
        files=files,
        keep=keep,
        verify=verify,
        stonewall=stonewall,
    )


def run(session: _native.PassSession, test: str) -> FileTest:
    result: FileTest = json.loads(session.run(test, threads=2, record=RECORD, size=SIZE))
    RESULT.validate(result)
    return result


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def endless(file: Path) -> "subprocess.Popen[bytes]":
    """Start a process that writes over `file`, which is written once by now."""
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(file)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"written\n"
    return process


def test_tests_run_one_after_another_and_remove_their_files(tmp_path: Path) -> None:
    session = _native.PassSession(settings(tmp_path, "write", "reread", "random_write"))
    for test in ("write", "reread", "random_write", "reread"):
        result = run(session, test)
        assert result["test"] == test
        assert max(worker["bytes"] for worker in result["workers"]) == SIZE
    assert names(tmp_path) == ["a", "b"]
    session.finish()
    assert names(tmp_path) == []
    session.finish()
    with pytest.raises(RuntimeError, match="the session has ended"):
        run(session, "write")


def test_files_are_kept_for_a_later_run_that_finds_what_changed_in_them(tmp_path: Path) -> None:
    session = _native.PassSession(settings(tmp_path, "write", keep=True))
    run(session, "write")
    session.finish()
    reads_all = settings(tmp_path, "read", stonewall=False)
    run(_native.PassSession(reads_all), "read")
    file = tmp_path / "b"
    data = bytearray(file.read_bytes())
    data[99_999] ^= 4
    file.write_bytes(data)
    session = _native.PassSession(reads_all)
    with pytest.raises(_native.Failure) as failure:
        run(session, "read")
    assert failure.value.exit_code == 4
    assert f"{file}: found 0x" in str(failure.value)
    assert f"at byte {99_999 // 8 * 8}; expected 0x" in str(failure.value)


def test_a_session_that_is_dropped_removes_its_files(tmp_path: Path) -> None:
    session = _native.PassSession(settings(tmp_path, "write", keep=True))
    run(session, "write")
    del session
    assert names(tmp_path) == []


def test_an_exception_of_progress_ends_the_test(tmp_path: Path) -> None:
    session = _native.PassSession(settings(tmp_path, "write"))

    def progress(fraction: float) -> None:
        assert 0 <= fraction <= 1
        raise KeyError

    with pytest.raises(KeyError):
        session.run("write", threads=2, record=RECORD, size=SIZE, progress=progress)
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_test_and_removes_the_file(tmp_path: Path, number: int) -> None:
    program = "import signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
    file = tmp_path / "file"
    words = [sys.executable, "-c", f"import sys; {program}{ENDLESS}", str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        os.kill(process.pid, number)
        assert process.wait(timeout=30) != 0
    assert names(tmp_path) == []


def test_what_a_killed_run_leaves_is_refused_with_its_reason_and_reported(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with endless(file) as process:
        process.kill()
    assert names(tmp_path) == ["a"]
    with pytest.raises(_native.Failure) as failure:
        _native.PassSession(settings(tmp_path, "write"))
    assert failure.value.exit_code == 5
    assert "that a run which was killed seems to have left" in str(failure.value)
    assert "remove this one" in str(failure.value)
    assert str(file) in penstock("doctor", tmp_path).out


def test_two_runs_do_not_use_one_file_at_a_time(tmp_path: Path) -> None:
    session = _native.PassSession(settings(tmp_path, "write", keep=True))
    run(session, "write")
    session.finish()
    held = _native.PassSession(settings(tmp_path, "rewrite"))
    with pytest.raises(_native.Failure) as failure:
        _native.PassSession(settings(tmp_path, "rewrite"))
    assert failure.value.exit_code == 5
    assert "in use by another run" in str(failure.value)
    run(held, "rewrite")


@pytest.mark.parametrize(
    ("changed", "exit_code", "text"),
    [
        ({"tests": ["wirte"]}, 2, "unknown test wirte"),
        ({"form": "map"}, 2, "unknown form of calls: map"),
        ({"tests": ["read"]}, 2, "write it first: -i 0 -w"),
        ({"files": ["."]}, 2, "found a directory"),
        ({"files": [], "target": Target(on="/dev/null")}, 2, "is no block device"),
    ],
)
def test_wrong_settings_are_refused(
    tmp_path: Path, changed: dict[str, object], exit_code: int, text: str
) -> None:
    fields = {"tests": ["write"], "threads": 1, "size": SIZE, "records": [RECORD]}
    fields = {**fields, "files": [str(tmp_path / "file")], **changed}
    with pytest.raises(_native.Failure) as failure:
        _native.PassSession(PassSettings(**fields))  # type: ignore[arg-type]
    assert failure.value.exit_code == exit_code
    assert text in str(failure.value)
    assert names(tmp_path) == []
