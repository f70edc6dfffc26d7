"""A kernel that refuses commands, memory or threads: everything ends in words, nothing aborts."""

import json
import sys
from pathlib import Path
from subprocess import run as command

import pytest

SCRIPT = f"""
import errno, itertools, json, os, sys, threading, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import penstock
from refuse import refuse

JOB = '''
duration = "{{duration}}"
[class.all]
[[agent]]
class = "all"
op = "write"
size = "4KiB"
pattern = "random"
arrivals = {{{{ kind = "closed", depth = 1 }}}}
'''

def run(path, engine, duration="1h", **more):
    job = penstock.Job.from_toml(JOB.format(duration=duration))
    result = penstock.compare(
        job, policies=["noop"], on=path, create="8MiB", engine=engine, set=more, detail=False
    )
    return result["noop"]

def later(call, error):
    calls = itertools.count()
    refuse(call, error, lambda: next(calls) >= 200)
"""
"""What the scripts below begin with."""


def script(path: Path, text: str) -> str:
    """What `text` prints; it ends by itself and well."""
    words = [sys.executable, "-c", SCRIPT + text, str(path)]
    done = command(words, capture_output=True, text=True, timeout=100, check=False)
    if "seccomp" in done.stderr:
        pytest.skip(f"this machine cannot refuse system calls: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("engine", "call", "error", "words"),
    [
        ("io_uring", "io_uring_enter", "ENOMEM", "Cannot allocate memory"),
        ("io_uring", "io_uring_enter", "EAGAIN", "Resource temporarily unavailable"),
        ("io_uring", "io_uring_enter", "EFAULT", "Bad address"),
        ("libaio", "io_submit", "EAGAIN", "Resource temporarily unavailable"),
    ],
)
def test_a_run_whose_commands_are_refused_ends_with_what_there_was(
    disk: Path, engine: str, call: str, error: str, words: str
) -> None:
    """A panic in it would meet another while its parts are dropped, and abort the process."""
    out = script(
        disk,
        f"later({call!r}, errno.{error})\n"
        f"ended = run(sys.argv[1], {engine!r}, **{{'live.timeout': '1s'}})\n"
        "print(json.dumps([ended.ended, ended.failure, ended['all'].requests]))\n",
    )
    ended, failure, requests = json.loads(out)
    assert ended == "timeout"
    assert "found no answer for 1." in failure
    assert f" (the kernel takes no commands: {words} (os error " in failure
    assert requests > 0


@pytest.mark.parametrize(
    ("engine", "call"), [("io_uring", "io_uring_enter"), ("libaio", "io_submit")]
)
def test_a_command_that_was_refused_is_tried_again_soon(disk: Path, engine: str, call: str) -> None:
    """Every other time, with nothing in flight: waits of 100 ms each would give some ten."""
    out = script(
        disk,
        "turn = itertools.cycle([True, False])\n"
        f"refuse({call!r}, errno.EAGAIN, lambda: next(turn))\n"
        f"ended = run(sys.argv[1], {engine!r}, duration='1s')\n"
        "print(json.dumps([ended.ended, ended['all'].requests, ended['all'].errors]))\n",
    )
    ended, requests, errors = json.loads(out)
    assert (ended, errors) == (None, 0)
    assert requests > 50


def test_a_gate_whose_commands_are_refused_says_so(disk: Path) -> None:
    out = script(
        disk,
        "gate = penstock.Gate(sys.argv[1], create='8MiB', engine='io_uring', timeout='1s')\n"
        "gate.write(0, b'before', sync=True)\n"
        "refuse('io_uring_enter', errno.ENOMEM)\n"
        "try:\n"
        "    gate.write(0, b'after')\n"
        "except TimeoutError as error:\n"
        "    print(error)\n"
        "gate.close()\n",
    )
    assert "(the kernel takes no commands: Cannot allocate memory (os error 12))" in out


def test_a_read_of_more_than_there_is_memory_is_a_memory_error(disk: Path) -> None:
    """The file is sparse, and as long as files may be."""
    out = script(
        disk,
        "with open(sys.argv[1], 'wb') as file:\n"
        "    file.truncate(15 << 40)\n"
        "gate = penstock.Gate(sys.argv[1], adopt=True)\n"
        "try:\n"
        "    gate.read(0, 1 << 62)\n"
        "except MemoryError as error:\n"
        "    print(error)\n"
        "print(gate.read(0, 3))\n",
    )
    assert out.endswith("no memory for that; 0 bytes are done\nb'\\x00\\x00\\x00'\n")


@pytest.mark.parametrize("policies", ["noop", "kernel:none"])
def test_a_run_without_threads_to_be_had_exits_with_77(disk: Path, policies: str) -> None:
    out = script(
        disk,
        "run(sys.argv[1], 'io_uring', duration='100ms')\n"
        "refuse('clone3', errno.EAGAIN)\n"
        "refuse('clone', errno.EAGAIN)\n"
        "try:\n"
        f"    penstock.compare(penstock.Job.from_toml(JOB.format(duration='1s')),\n"
        f"        policies=[{policies!r}], on=sys.argv[1])\n"
        "except penstock.PenstockError as error:\n"
        "    print(error.exit_code, error)\n"
        "try:\n"
        "    penstock.Gate(sys.argv[1])\n"
        "except penstock.PenstockError as error:\n"
        "    print(error.exit_code, error)\n",
    )
    first, second = (line for line in out.splitlines() if not line.startswith("hint: "))
    assert first.startswith("77 error: cannot start a thread for the run: ")
    assert second.startswith("77 error: cannot start the gate's thread: ")
