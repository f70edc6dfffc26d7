"""What agents of a job ask for: as a trace, as an amount, and next to fio."""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from command import penstock

JOB = """\
device = "hdd-7200"

[class.mixed]
[class.scan]

[[agent]]
class = "mixed"
mix = 0.7
size = [["4KiB", 60], ["64KiB", 40]]
pattern = "random"
spread = { zipf = { theta = 1.2 } }
flush = 10
call = "async"
buffers = 4
count = 1000

[[agent]]
class = "scan"
op = "read"
size = "1MiB"
pattern = "backwards"
region = ["0%", "1GiB"]
passes = 1

[[agent]]
class = "scan"
op = "read"
size = "1MiB"
pattern = "random"
total = "10MB"
"""

SPREAD = """\
[device]
model = "fixed"
base = "1ms"
capacity = "{capacity}KiB"

[class.a]

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
spread = {spread}
count = {count}
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return path


def made(job: Path, *more: str) -> str:
    """The trace of a job, as a log of fio's."""
    log = job.with_suffix(".log")
    log.unlink(missing_ok=True)
    ended = penstock("trace", "make", job, "-o", log, *more)
    assert ended.code == 0, ended.err
    return log.read_text()


def requests(log: str) -> list[tuple[str, int, int]]:
    """Operation, first byte and bytes of each request of a log."""
    lines = (line.split()[-3:] for line in log.splitlines())
    known = ("read", "write", "trim", "sync")
    return [(op, int(start), int(size)) for op, start, size in (*lines,) if op in known]


def test_a_trace_has_what_the_job_asks_for(job: Path) -> None:
    asked = requests(made(job))
    writes = [one for one in asked if one[0] == "write"]
    flushes = [one for one in asked if one[0] == "sync"]
    scan = [(start, size) for _, start, size in asked if size > 64 << 10]
    assert len(flushes) == len(writes) // 10
    assert {size for op, _, size in asked if op == "write"} == {4 << 10, 64 << 10}
    backwards = [start for start, _ in scan if start < 1 << 30]
    assert backwards[:3] == [1023 << 20, 1022 << 20, 1021 << 20]
    assert len(backwards) >= 1024
    assert sum(size for _, size in scan) == (1 << 30) + 10_000_000
    assert len(asked) == 1000 + len(flushes) + 1024 + 10


def test_equal_seeds_make_equal_bytes(job: Path) -> None:
    assert made(job) == made(job)
    assert made(job, "--set", "seed=2") != made(job)


@pytest.mark.parametrize("name", ["fio-iolog3", "disksim", "msr"])
def test_every_format_that_is_written(job: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "made"
    ended = penstock("trace", "make", job, "-o", out, "--format", name, "--json")
    found = json.loads(ended.out)
    assert (found["into"], found["file"]) == (name, str(out))
    described = json.loads(penstock("trace", "info", out, "--json").out)
    assert (described["format"], described["requests"]) == (name, found["requests"])


def test_a_file_that_exists_stays_as_it_is(job: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.write_text("mine")
    ended = penstock("trace", "make", job, "-o", out)
    assert (ended.code, out.read_text()) == (2, "mine")
    assert "exists" in ended.err


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["agent.0.count=5", "agent.0.total=1MiB"], "a total of 1MiB and with a count of 5"),
        (["duration=1s"], None),
    ],
)
def test_what_is_wrong_with_a_job_is_said(job: Path, sets: list[str], said: str | None) -> None:
    words = [word for one in sets for word in ("--set", one)]
    ended = penstock("trace", "make", job, "-o", job.with_suffix(".out"), *words)
    assert (ended.code == 0) == (said is None)
    assert said is None or said in ended.err


def test_a_loop_without_end_is_refused(job: Path) -> None:
    job.write_text(JOB.replace("count = 1000", ""))
    out = job.with_suffix(".out")
    ended = penstock("trace", "make", job, "-o", out, "--set", "duration=1s")
    assert ended.code == 2
    assert "an agent of class mixed asks without end" in ended.err
    assert not out.exists()


def test_what_is_no_job_of_agents_is_refused(tmp_path: Path) -> None:
    job = tmp_path / "merge.toml"
    job.write_text('[merge]\njobs = 2\n[device]\nmodel = "fixed"\nbase = "1ms"\n')
    for words in (("trace", "make", job, "-o", tmp_path / "out"), ("job", "show", job)):
        ended = penstock(*words)
        assert ended.code == 2
        assert "has merges, and no agents" in ended.err


def test_show_says_what_a_job_amounts_to(job: Path) -> None:
    ended = penstock("job", "show", job)
    assert ended.code == 0, ended.err
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["mixed", "1", "4", "1,000", "28.7", "MB"] in lines
    assert ["scan", "2", "2", "1,034", "1.08", "GB"] in lines
    found = json.loads(penstock("job", "show", job, "--json").out)
    assert found["all"] == {
        "agents": 3,
        "in_flight": 6,
        "requests": 2034,
        "bytes": 1000 * 28_672 + (1 << 30) + 10_000_000,
    }
    assert (found["seconds"], found["device"]) == (None, "hdd-7200")


def test_show_of_schedules_and_of_a_job_without_a_device(job: Path) -> None:
    text = JOB.replace('device = "hdd-7200"', "").replace("count = 1000", "")
    job.write_text(text.replace("buffers = 4\n", 'arrivals = { kind = "fixed", rate = "9/s" }\n'))
    found = json.loads(penstock("job", "show", job, "--set", "duration=1min", "--json").out)
    mixed, scan = found["classes"]
    assert (found["device"], found["seconds"]) == (None, 60.0)
    assert (mixed["in_flight"], mixed["requests"]) == (None, 540)
    # A pass is as long as the region.
    assert (scan["in_flight"], scan["requests"], found["all"]["bytes"]) == (2, None, None)


FILES = """\
file = [{ name = "data", count = 2, size = "1MiB", device = "flash" }]
[class.all]
[[agent]]
class = "all"
copies = 3
op = "read"
size = "4KiB"
pattern = "sequential"
buffers = 2
passes = 2
"""


def test_show_and_make_of_a_job_with_files_and_copies(tmp_path: Path) -> None:
    job, trace = tmp_path / "job.toml", tmp_path / "trace"
    job.write_text(FILES)
    found = json.loads(penstock("job", "show", job, "--json").out)
    assert (found["all"]["agents"], found["all"]["in_flight"]) == (6, 12)
    assert (found["all"]["requests"], found["all"]["bytes"]) == (6 * 512, 6 * (2 << 20))
    made = penstock("trace", "make", job, "-o", trace)
    assert made.code == 0, made.err
    reads = [line.split()[1] for line in trace.read_text().splitlines() if " read " in line]
    assert Counter(reads) == {"data.0": 3 * 512, "data.1": 3 * 512}
    described = json.loads(penstock("trace", "stats", trace, "--json").out)
    assert described["classes"][0]["footprint_bytes"] == 2 << 20


def test_show_of_files_without_a_device(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(FILES.replace(', device = "flash"', ""))
    found = json.loads(penstock("job", "show", job, "--json").out)
    assert (found["device"], found["all"]["requests"]) == (None, 6 * 512)


def test_results_have_the_operations_of_a_mix(job: Path) -> None:
    ended = penstock("run", job, "--policy", "fcfs", "--json")
    mixed, scan = json.loads(ended.out)["runs"][0]["classes"]
    ops = mixed["ops"]
    assert sum(one["requests"] for one in ops.values()) == mixed["requests"]
    assert sum(one["bytes"] for one in ops.values()) == mixed["bytes"]
    assert abs(sum(one["iops"] for one in ops.values()) - mixed["iops"]) < 1e-6
    assert ops["flush"]["requests"] == ops["write"]["requests"] // 10
    assert "discard" not in ops
    assert "ops" not in scan
    assert "its last has 562816 bytes" in ended.out


def drawn(tmp_path: Path, spread: str, places: int, count: int) -> list[int]:
    """How often each place was asked for, the most frequent first."""
    job = tmp_path / "spread.toml"
    job.write_text(SPREAD.format(spread=spread, capacity=places * 4, count=count))
    starts = Counter(start for _, start, _ in requests(made(job)))
    return [number for _, number in starts.most_common()]


def test_a_hundred_thousand_requests_of_the_command_follow_their_law(tmp_path: Path) -> None:
    ranks = drawn(tmp_path, "{ pareto = { h = 0.2 } }", places=100, count=100_000)
    assert sum(ranks[:20]) / 100_000 == pytest.approx(0.8, abs=0.005)
    ranks = drawn(tmp_path, '{ zoned = [["10%", 60], ["90%", 40]] }', places=100, count=100_000)
    assert sum(ranks[:10]) / 100_000 == pytest.approx(0.6, abs=0.008)


@pytest.mark.skipif(
    shutil.which("fio") is None and "CI" not in os.environ, reason="fio is not installed"
)
@pytest.mark.parametrize(
    ("ours", "theirs", "apart", "count"),
    [
        # Only the first two ranks of its law are exact.
        ("{ zipf = { theta = 1.2 } }", "zipf:1.2", 0.05, 300_000),
        ("{ pareto = { h = 0.2 } }", "pareto:0.2", 0.02, 500_000),
    ],
)
def test_ranks_are_as_frequent_as_fio_has_them(
    tmp_path: Path, ours: str, theirs: str, apart: float, count: int
) -> None:
    """Ranks of fio's may share a place, which counts for more the more alike ranks are."""
    places = 10_000
    log = tmp_path / "fio.log"
    words = ["--name=peer", "--thread", "--ioengine=null", "--rw=randread", "--bs=4k"]
    words += [f"--size={places * 4}k", "--filename=none", f"--io_size={count * 4}k"]
    words += ["--norandommap", f"--random_distribution={theirs}", f"--write_iolog={log}"]
    done = subprocess.run(
        ["fio", *words, "--output=out"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = Counter(start for _, start, _ in requests(log.read_text()))
    peer = [number for _, number in found.most_common()]
    own = drawn(tmp_path, ours, places, count)
    for rank in (1, 2, 3, 5, 10, 20, 50, 100):
        mine, others = sum(own[:rank]), sum(peer[:rank])
        assert mine / sum(own) == pytest.approx(others / sum(peer), rel=apart), rank


def test_a_job_of_agents_with_a_stop_needs_no_duration(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    agent = '[[agent]]\nclass = "{}"\nop = "read"\nsize = "4KiB"\npattern = "random"\n'
    stops = agent.format("a") + 'stop = "2s"\narrivals = { kind = "fixed", rate = "100/s" }\n'
    goes_on = agent.format("b") + 'start = "1s"\ncount = 2000\n'
    job.write_text(f"[class.a]\n[class.b]\n{stops}{goes_on}")
    (run,) = json.loads(penstock("run", job, "--policy", "fcfs", "--on", "hdd-7200", "--json").out)[
        "runs"
    ]
    assert [one["requests"] for one in run["classes"]] == [200, 2000]
    job.write_text(f"[class.a]\n{stops}")
    shown = json.loads(penstock("job", "show", job, "--on", "hdd-7200", "--json").out)
    assert (shown["seconds"], shown["all"]["requests"]) == (2.0, 200)
    job.write_text(job.read_text().replace('stop = "2s"\n', ""))
    assert "`stop` to each agent" in penstock("job", "show", job, "--on", "hdd-7200").err
