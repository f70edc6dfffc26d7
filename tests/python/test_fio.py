"""fio as a peer: it reads the logs that are written here, and what it writes is read here."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from command import ROOT, penstock

pytestmark = pytest.mark.skipif(
    shutil.which("fio") is None and "CI" not in os.environ, reason="fio is not installed"
)

SAMPLE = ROOT / "tests/data/traces/pgbench.blkparse"

LITTLE = """\
254,0 1 1 0.000000000 10 Q WS 0 + 8 [my sql]
254,0 1 2 0.001000000 11 Q R 800 + 256 [tar]
254,0 1 3 0.002000000 11 Q W 1600 + 16 [tar]
254,0 1 4 0.003000000 11 Q FWS 0 + 0 [tar]
254,0 1 5 0.004000000 11 Q R 8 + 8 [tar]
"""

Counts = dict[str, tuple[int, int]]
"""Requests and bytes by operation."""


def fio(folder: Path, *words: str) -> Counts:
    """What fio counted, of a job in `folder`."""
    command = ["fio", "--name=peer", "--thread", "--output-format=json", "--output=found.json"]
    done = subprocess.run([*command, *words], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (folder / "found.json").read_text()
    # Notes may stand before the object.
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    assert job["error"] == 0
    counts = {of: (job[of]["total_ios"], job[of]["io_bytes"]) for of in ("read", "write")}
    return counts | {"sync": (job["sync"]["total_ios"], 0)}


def counted(trace: Path) -> Counts:
    """What is counted here of a trace."""
    (one,) = json.loads(penstock("trace", "stats", trace, "--json").out)["classes"]
    reads, writes = one["reads"], one["writes"]
    return {
        "read": (reads["requests"], reads["bytes"]),
        "write": (writes["requests"], writes["bytes"]),
        "sync": (one["flushes"], 0),
    }


def converted(trace: Path, folder: Path) -> Path:
    """The same as a log of fio's."""
    log = folder / "trace.log"
    assert penstock("trace", "convert", trace, log, "--to", "fio-iolog3").code == 0
    return log


def test_fio_replays_a_converted_trace_on_a_file(tmp_path: Path) -> None:
    trace = tmp_path / "little.txt"
    trace.write_text(LITTLE)
    log = converted(trace, tmp_path)
    with (tmp_path / "disk").open("wb") as disk:
        disk.truncate(1 << 20)
    words = ("--ioengine=psync", f"--read_iolog={log}", "--replay_redirect=disk")
    counts = fio(tmp_path, *words)
    assert counts == {"read": (2, 33 * 4096), "write": (2, 3 * 4096), "sync": (1, 0)}
    assert counts == counted(trace) == counted(log)


def test_fio_reads_a_real_trace(tmp_path: Path) -> None:
    log = converted(SAMPLE, tmp_path)
    words = ("--ioengine=null", f"--read_iolog={log}", "--replay_no_stall=1")
    assert fio(tmp_path, *words, "--replay_redirect=nothing") == counted(SAMPLE)


def test_a_log_that_fio_wrote_is_read(tmp_path: Path) -> None:
    sizes = ("--rw=randrw", "--bssplit=4k/50:16k/50", "--size=1M", "--io_size=256k", "--fsync=8")
    counts = fio(tmp_path, "--ioengine=psync", *sizes, "--filename=disk", "--write_iolog=out.log")
    log = tmp_path / "out.log"
    assert counted(log) == counts
    what = json.loads(penstock("trace", "info", log, "--json").out)
    version = log.read_text().split()[2]
    assert what["format"] == f"fio-iolog{version}"
    assert what["devices"] == ["disk"]


@pytest.mark.parametrize(
    "options",
    [
        "rate_iops=400 thinktime=10ms",
        "rate_iops=50 thinktime=1ms",
        "thinktime=10ms thinktime_blocks=20",
        "rate=2m bssplit=4k/50:16k/50",
        "rw=randrw rate_iops=100,50 rate_ignore_thinktime=1 rwmixread=90",
        "number_ios=5 io_size=20k rate_iops=1000",
    ],
)
def test_a_job_asks_for_as_much_as_fio_does(options: str, tmp_path: Path) -> None:
    words = ["ioengine=null", "size=1m", "time_based=1", "runtime=800ms", *options.split()]
    job, device = tmp_path / "job.fio", tmp_path / "device.toml"
    job.write_text("\n".join(["[peer]", *words]))
    device.write_text('[device]\nmodel = "fixed"\nbase = "1us"\n')
    made = tmp_path / "job.toml"
    assert penstock("job", "from-fio", job, "-o", made).code == 0
    ran = penstock("run", made, "--on", device, "--policy", "fcfs", "--json")
    (run,) = json.loads(ran.out)["runs"]
    ours = run["classes"][0]
    # fio waits in real time: on a busy machine it falls behind, but it never asks for more.
    for _ in range(12):
        theirs = fio(tmp_path, *(f"--{word}" for word in words))
        requests, size = (sum(theirs[op][of] for op in ("read", "write")) for of in (0, 1))
        if ours["requests"] <= 1.1 * requests:
            break
    assert ours["requests"] == pytest.approx(requests, rel=0.1)
    assert ours["bytes"] == pytest.approx(size, rel=0.1)
