"""Memory that runs out ends the command with words and exit code 1."""

import re
import signal
import subprocess
import sys
from pathlib import Path

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


def test_what_can_do_without_is_reported(tmp_path: Path) -> None:
    trace = tmp_path / "long.spc"
    trace.write_text("".join(f"0,{8 * n},4096,R,0.{n:07}\n" for n in range(4_000_000)))
    ended = limited("trace", "info", trace)
    assert ended.returncode in (1, 2), ended.stderr
    assert ended.stderr.startswith(f"error: {trace}"), ended.stderr
    assert "memory" in ended.stderr


def test_an_abort_for_another_reason_is_one() -> None:
    ended = limited(before="import os; _native.exit_without_memory(); os.abort()")
    assert ended.returncode == -signal.SIGABRT
    assert "memory" not in ended.stderr


def test_memory_that_python_lacks_is_reported_alike(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(BACKLOG)
    words = ("--policy", "fcfs", "--set", "duration=10ms", "--set", "stop=10ms")
    before = "import penstock.cli.job; penstock.cli.job.verdict = lambda _: bytearray(1 << 40)"
    ended = limited("run", tmp_path / "job.toml", *words, before=before)
    assert (ended.returncode, ended.stderr) == (1, f"error: out of memory\n{HINT}")
