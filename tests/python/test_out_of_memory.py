"""Memory that runs out ends the command with words and exit code 1."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BACKLOG = """\
duration = "10s"
max_outstanding = 4_000_000

[device]
model = "fixed"
base = "1s"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "fixed", rate = "1000000/s" }
"""
"""A million requests a second for a device that serves one."""

LIMITED = """\
import resource, sys
from penstock import _native, command
from penstock.cli import app
{before}
with open("/proc/self/statm") as statm:
    now = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (160 << 20), resource.RLIM_INFINITY))
command.main()
"""
"""The command with 160 MiB more than it has when it begins."""

HINT = (
    "hint: let the run be shorter, the rates or `max_outstanding` lower, or use a machine with "
    "more memory\n"
)


def limited(*words: str | Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command in little memory, with something done before."""
    script = LIMITED.format(before=before)
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_backlog_that_fills_the_memory_is_no_abort(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(BACKLOG)
    ended = limited("run", tmp_path / "job.toml", "--policy", "fcfs")
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout == ""
    said = r"error: out of memory: asked for (\d+) bytes more than this process may have\n"
    asked = re.search(said + re.escape(HINT) + "$", ended.stderr)
    assert asked, ended.stderr
    assert int(asked[1]) > 1 << 20


def test_the_same_job_with_less_to_hold_runs(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(BACKLOG)
    words = ("--policy", "fcfs", "--set", "duration=10ms", "--set", "stop=10ms")
    assert limited("run", tmp_path / "job.toml", *words).returncode == 0


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two million requests, half of them earlier than the line before, with completions."""
    trace = tmp_path_factory.mktemp("long") / "long.csv"
    lines = (
        f"{n ^ 1},{'rw'[n % 2]},{n * 7919 % 250_000 * 4096},4096,50\n" for n in range(2_000_000)
    )
    trace.write_text("time_us,op,offset,size,latency_us\n" + "".join(lines))
    return trace


# In a list each of these requests would take 48 bytes, and 40 more when it is played.
@pytest.mark.parametrize(
    "words",
    [
        ("trace", "info", "TRACE"),
        ("trace", "convert", "TRACE", "OUT", "--to", "msr"),
        ("replay", "TRACE", "--on", "ssd-nvme", "--set", "trace.timing.depth=8"),
        ("replay", "TRACE", "--on", "ssd-nvme", "--set", "trace.timing=closed"),
    ],
    ids=["info", "convert", "replay", "closed"],
)
def test_a_trace_longer_than_memory_is_streamed(
    tmp_path: Path, long_trace: Path, words: tuple[str, ...]
) -> None:
    names = {"TRACE": long_trace, "OUT": tmp_path / "out.csv"}
    ended = limited(*(names.get(word, word) for word in words))
    assert ended.returncode == 0, ended.stderr


def test_an_abort_for_another_reason_is_one() -> None:
    ended = limited(before="import os; _native.exit_without_memory(); os.abort()")
    assert ended.returncode == -signal.SIGABRT
    assert "memory" not in ended.stderr


def test_memory_that_python_lacks_is_reported_alike(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(BACKLOG)
    words = ("--policy", "fcfs", "--set", "duration=10ms", "--set", "stop=10ms")
    before = (
        "import penstock.cli.running; penstock.cli.running.verdict = lambda _: bytearray(1 << 40)"
    )
    ended = limited("run", tmp_path / "job.toml", *words, before=before)
    assert (ended.returncode, ended.stderr) == (1, f"error: out of memory\n{HINT}")
