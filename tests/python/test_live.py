"""The command end to end, on real files."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

import pytest

from command import JOB, NOBODY, ROOT, as_nobody, interrupted, penstock
from penstock.results.json_types import Held, KernelDisk, Run, Schedule

ENGINES = ["io_uring", "libaio", "threads", "posix-aio", "psync", "vsync", "mmap"]


@pytest.mark.parametrize("engine", ENGINES[:-1])
def test_a_measured_run_has_the_schema_of_a_modelled_one(
    job: Path, disk: Path, engine: str
) -> None:
    words = ("--on", disk, "--create", "16MiB", "--engine", engine, "--set", "duration=1s")
    ended = penstock("compare", job, "--policies", "noop,size-priority", *words, "--json")
    if ended.code == 77:
        pytest.skip(f"this machine cannot: {ended.err}")
    assert (ended.code, ended.err) == (0, "")
    result = json.loads(ended.out)
    modelled = json.loads(
        penstock("compare", job, "--policies", "noop,size-priority", "--json").out
    )
    assert list(result) == list(modelled)
    assert (result["world"], result["device"]) == ("measured", str(disk))
    assert result["machine"]["engine"] == engine
    for run, model in zip(result["runs"], modelled["runs"], strict=True):
        for name, scheduler in run.pop("schedulers", {}).items():
            # Another test may have switched the disk to another one since.
            offered = re.findall(r"[\w-]+", Path("/sys/block", name, "queue/scheduler").read_text())
            assert scheduler in (offered or [None])
        # The kernel counts for itself what reached its disks.
        kernel = run.pop("kernel", {"asked": {}, "disks": {}})
        for disk, counted in kernel["disks"].items():
            assert Path("/sys/block", disk, "stat").exists()
            assert counted.keys() == KernelDisk.__annotations__.keys()
            assert counted["write_bytes"] >= 0.9 * kernel["asked"]["write_bytes"] > 0
        # Other tests may use the same disk meanwhile, which is remarked.
        run.pop("remarks", None)
        # What the disks of a real target do cannot be seen.
        # A policy counts what it learns of costs once it knows them: a busy machine may delay that.
        run.pop("policy_stats", None)
        assert list(run) == [key for key in model if key not in ("device_stats", "policy_stats")]
        assert set(Schedule.__annotations__) - set(run["schedule"]) <= {"processor_wait_s"}
        assert list(run["schedule"]["held"]) == list(Held.__annotations__)
        assert all(one["requests"] > 0 and one["errors"] == 0 for one in run["classes"])


BUFFERED = ("--set", "agent.0.cache=buffered", "--set", "agent.1.cache=buffered")


@pytest.mark.parametrize("engine", ENGINES)
def test_buffered_agents_go_through_the_page_cache(job: Path, disk: Path, engine: str) -> None:
    words = ("--on", disk, "--create", "16MiB", "--engine", engine, "--set", "duration=1s")
    ended = penstock("run", job, "--policy", "noop", *words, *BUFFERED, "--json")
    if ended.code == 77:
        pytest.skip(f"this machine cannot: {ended.err}")
    assert (ended.code, ended.err) == (0, "")
    (run,) = json.loads(ended.out)["runs"]
    assert all(one["requests"] > 0 and one["errors"] == 0 for one in run["classes"])


def test_a_mapped_file_is_not_for_direct_agents(job: Path, disk: Path) -> None:
    words = ("--on", disk, "--create", "16MiB", "--engine", "mmap", *BUFFERED[:2])
    ended = penstock("run", job, "--policy", "noop", *words)
    assert (ended.code, ended.out) == (2, "")
    assert "the engine `mmap` goes through the page cache, and requests are direct" in ended.err
    assert 'hint: set `cache = "buffered"`, or choose another engine' in ended.err
    assert not disk.exists(), "nothing stays behind"


COLD = """\
[class.all]
[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
cache = "buffered"
count = 100
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_that_would_wait_fails_if_it_must_not(
    disk: Path, tmp_path: Path, engine: str
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(COLD)
    words = ("--on", disk, "--create", "64MiB", "--engine", engine, "--set", "live.nowait=true")
    ended = penstock("run", job, "--policy", "noop", *words, "--json")
    if ended.code == 77:
        pytest.skip(f"this machine cannot: {ended.err}")
    if engine in ("posix-aio", "mmap"):
        assert (ended.code, ended.out) == (2, "")
        assert f"the engine `{engine}` cannot ask the kernel not to wait" in ended.err
        assert "hint: set `live.nowait = false`, or choose another engine" in ended.err
        return
    # On a busy machine a fast disk may have answered before the kernel looks whether it must wait.
    for _ in range(5):
        (run,) = json.loads(ended.out)["runs"]
        if run["classes"][0]["errors"] > 0:
            break
        ended = penstock("run", job, "--policy", "noop", *words, "--json")
    else:
        assert not is_refused(disk), "a program without Penstock is refused"
        pytest.skip("this machine reads at once what its page cache does not have")
    disk.read_bytes()
    warm = penstock("run", job, "--policy", "noop", *words, "--json", *KEPT)
    assert (warm.code, warm.err) == (0, "")
    (run,) = json.loads(warm.out)["runs"]
    # A page may be busy for a moment.
    (found,) = run["classes"]
    assert found["requests"] + found["errors"] == 100
    assert found["requests"] >= 90, "what the cache has"


def is_refused(file: Path) -> bool:
    """Whether the kernel refuses to read a place without waiting that its page cache lacks."""
    with file.open("rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            os.preadv(opened.fileno(), [bytearray(4096)], 1 << 20, os.RWF_NOWAIT)
        except BlockingIOError:
            return True
    return False


KEPT = ("--set", "live.page_cache=keep")

FLUSHES = """
[class.writers]
[[agent]]
class = "writers"
op = "write"
size = "4KiB"
pattern = "sequential"
cache = "buffered"
flush = 3
count = 9
"""


@pytest.mark.parametrize("engine", ["libaio", "threads", "posix-aio", "psync", "vsync", "mmap"])
def test_a_flush_is_fsync_if_the_job_says_so(disk: Path, tmp_path: Path, engine: str) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace shows the calls")
    job = tmp_path / "job.toml"
    job.write_text(FLUSHES)
    calls = {}
    for fsync in ("true", "false"):
        trace = tmp_path / "calls"
        words = ("--on", disk, "--create", "16MiB", "--engine", engine, *KEPT)
        command: list[str | Path] = [
            strace,
            "-f",
            "-qq",
            "-e",
            "trace=fsync,fdatasync,io_submit",
            "-o",
            trace,
        ]
        command += [sys.executable, "-m", "penstock", "run", job, "--policy", "noop", *words]
        command += ["--set", f"live.fsync={fsync}"]
        ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert ended.returncode == 0, ended.stderr
        found = re.findall(r"\bfsync\(|CMD_FSYNC|\bfdatasync\(|CMD_FDSYNC", trace.read_text())
        calls[fsync] = sum("FD" in call or "fd" in call for call in found), len(found)
    data, every = calls["true"]
    assert every - data >= 3
    assert calls["false"][0] - data >= 3


@pytest.mark.parametrize("engine", ["psync", "mmap"])
def test_a_blocking_engine_holds_one_command(job: Path, disk: Path, engine: str) -> None:
    words = ("--on", disk, "--create", "16MiB", "--engine", engine, *BUFFERED)
    ended = penstock("run", job, "--policy", "noop", *words, "--set", "live.depth=2")
    assert (ended.code, ended.out) == (2, "")
    assert f"expected 1 to 1 commands in flight with the engine `{engine}`" in ended.err


def test_a_buffered_run_is_recorded_and_replayed(job: Path, disk: Path, tmp_path: Path) -> None:
    record = tmp_path / "record"
    words = ("--on", disk, "--create", "16MiB", "--set", "duration=1s", *BUFFERED[:2])
    ended = penstock("run", job, "--policy", "size-priority", *words, "--record", record)
    assert (ended.code, ended.err) == (0, "")
    replayed = penstock("replay-decisions", record)
    assert (replayed.code, replayed.err) == (0, ""), replayed.out


def test_the_table_says_measured_and_on_what_machine(job: Path, disk: Path) -> None:
    words = ("--on", disk, "--create", "16MiB", "--set", "duration=1s")
    ended = penstock("run", job, "--policy", "noop", *words)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"MEASURED  {job} on {disk}\n  set duration=1s\n")
    assert re.search(r"CPUs, Linux .*, engine \w+$", ended.out, re.MULTILINE)
    assert re.search(
        r"^  the schedule was (not )?held( but for .*)?: .* within 1 ms", ended.out, re.MULTILINE
    )


class TestSchedule:
    """How a trace's schedule was held, whatever this machine makes of it."""

    def replayed(self, disk: Path, *more: str) -> Run:
        trace = ROOT / "examples/traces/pgbench-backup.blkparse.gz"
        words = ("--on", disk, "--create", "64MiB", "--fit", "scale", "--stop", "last-arrival")
        classes = ("--classes", ROOT / "examples/pgbench-backup.toml")
        ended = penstock("replay", trace, *classes, *words, *more, "--json")
        assert ended.code == 0, ended.err
        (run,) = json.loads(ended.out)["runs"]
        return cast(Run, run)

    def test_a_replay_at_a_pace(self, disk: Path) -> None:
        run = self.replayed(disk, "--set", "trace.timing.speed=4")
        whole = run["schedule"]
        assert whole is not None
        of_classes = [one["schedule"] for one in run["classes"]]
        for one, of in zip(run["classes"], of_classes, strict=True):
            assert of is not None
            assert of["made"] == one["requests"] + one["unfinished"] + one["errors"]
            assert of["made"] <= of["due"] <= of["scheduled"]
            held = of["held"]
            assert 0 <= held["within_100us"] <= held["within_1ms"] <= held["within_10ms"] <= 1
            assert of["lateness_ns"]["max"] <= whole["lateness_ns"]["max"]
        assert whole["scheduled"] == sum(of["scheduled"] for of in of_classes if of) == 135_565
        assert whole["made"] == sum(of["made"] for of in of_classes if of)
        on_time = sum(of["due"] * of["held"]["within_1ms"] for of in of_classes if of)
        assert whole["due"] * whole["held"]["within_1ms"] == pytest.approx(on_time)
        assert whole["scheduled_s"] == pytest.approx(9.0 / 4, rel=0.01)

    def test_as_fast_as_possible_has_none(self, disk: Path) -> None:
        run = self.replayed(disk, "--set", "trace.timing.depth=8")
        assert run["schedule"] is None
        assert all(one["schedule"] is None for one in run["classes"])

    def test_a_closed_replay_has_none(self, disk: Path) -> None:
        run = self.replayed(disk, "--set", "trace.timing=closed", "--stop", "2s")
        assert run["schedule"] is None
        assert not any(one["open_loop"] or one["demand"] for one in run["classes"])
        assert sum(one["requests"] for one in run["classes"]) > 100


def test_a_recorded_run_decides_alike_again(job: Path, disk: Path, tmp_path: Path) -> None:
    record = tmp_path / "record"
    words = ("--on", disk, "--create", "16MiB", "--set", "duration=1s", "--record", record)
    assert penstock("run", job, "--policy", "size-priority", *words).code == 0
    ended = penstock("replay-decisions", record)
    assert ended.code == 0, ended.out
    assert re.match(r"size-priority: all [\d,]+ decisions alike", ended.out)
    assert penstock("replay-decisions", record, "--set", "size-priority.split=8KiB").code == 4


def test_a_recorded_closed_replay_decides_alike_again(disk: Path, tmp_path: Path) -> None:
    record, example = tmp_path / "record", ROOT / "examples/pgbench-backup.toml"
    words = ("--on", disk, "--create", "64MiB", "--set", "trace.timing=closed", "--record", record)
    ended = penstock("run", example, "--policy", "size-priority", "--set", "stop=2s", *words)
    assert ended.code == 0, ended.err
    ended = penstock("replay-decisions", record)
    assert ended.code == 0, ended.out
    assert re.match(r"size-priority: all [\d,]+ decisions alike", ended.out)


def test_an_owned_file_is_used_again_and_keeps_its_size(job: Path, disk: Path) -> None:
    words = ("run", job, "--policy", "noop", "--set", "duration=200ms", "--on", disk)
    assert penstock(*words, "--create", "16MiB").code == 0
    size = disk.stat().st_size
    assert penstock(*words).code == 0
    assert penstock(*words, "--create", "16MiB").code == 0
    ended = penstock(*words, "--create", "32MiB")
    assert (ended.code, ended.out) == (2, "")
    assert disk.stat().st_size == size


class TestInterrupt:
    """Ctrl-C ends a run with what there is."""

    def test_a_run(self, job: Path, disk: Path) -> None:
        words = ("--on", disk, "--create", "16MiB", "--set", "duration=1h", "--json")
        ended = interrupted(
            "compare", job, "--policies", "cfq,noop", *words, when=r"cfq \(1 of 2\)"
        )
        assert ended.code == 130
        (run,) = json.loads(ended.out)["runs"]
        assert (run["policy"], run["interrupted"]) == ("cfq", True)
        assert run["duration_s"] < 60
        assert "1 of 2 policies did not run" in ended.err

    def test_the_creation_of_a_file_leaves_nothing(self, job: Path, disk: Path) -> None:
        words = ("--on", disk, "--create", "4GiB", "--set", "duration=1s")
        ended = interrupted("run", job, "--policy", "noop", *words, when="writing")
        assert (ended.code, ended.out) == (130, "")
        assert "its creation was interrupted" in ended.err
        assert not disk.exists()


class TestRefused:
    """Nothing of anybody's is touched."""

    def test_a_file_that_is_not_ours(self, job: Path, disk: Path) -> None:
        disk.write_bytes(b"precious" * 4096)
        for more in ((), ("--create", "1MiB")):
            ended = penstock("run", job, "--policy", "noop", "--on", disk, *more)
            assert (ended.code, ended.out) == (5, "")
            assert f"{disk}: found a file of 32768 bytes" in ended.err
            assert "hint: it is left as it is" in ended.err
        assert disk.read_bytes() == b"precious" * 4096

    def test_a_file_that_is_not_there_is_not_made_unasked(self, job: Path, disk: Path) -> None:
        ended = penstock("run", job, "--policy", "noop", "--on", disk)
        assert (ended.code, ended.out) == (2, "")
        assert "found no file" in ended.err
        assert not disk.exists()

    def test_a_directory(self, job: Path, disk: Path) -> None:
        ended = penstock("run", job, "--policy", "noop", "--on", disk.parent)
        assert (ended.code, ended.out) == (2, "")
        assert "found a directory" in ended.err

    def test_a_file_too_small(self, job: Path, disk: Path) -> None:
        ended = penstock("run", job, "--policy", "noop", "--on", disk, "--create", "64KiB")
        assert (ended.code, ended.out) == (2, "")
        assert "region" in ended.err
        assert not disk.exists(), "wrong input writes nothing"

    @pytest.mark.parametrize(
        "wrong", [("--set", "live.depth=4096"), ("--record", "/nonexistent/day.record")]
    )
    def test_what_is_refused_after_the_file_was_made(
        self, job: Path, disk: Path, wrong: tuple[str, str]
    ) -> None:
        ended = penstock("run", job, "--policy", "noop", "--on", disk, "--create", "16MiB", *wrong)
        assert (ended.code, ended.out) == (2, "")
        assert not disk.exists(), "wrong input writes nothing"

    def test_an_empty_file(self, job: Path, disk: Path) -> None:
        disk.touch()
        ended = penstock("run", job, "--policy", "noop", "--on", disk)
        assert (ended.code, ended.out) == (2, "")
        assert "found a file of 0 bytes with nothing in it" in ended.err

    def test_no_permission(self, job: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            readable, closed = Path(folder, "job.toml"), Path(folder, "disk.img")
            readable.write_text(job.read_text())
            readable.chmod(0o644)
            closed.touch(0o400)
            words = ["run", str(readable), "--policy", "noop", "--on", str(closed)]
            ended = as_nobody(*words)
        assert f"{closed}: found no permission to" in ended.err
        assert (ended.code, ended.out) == (2, "")

    def test_only_root_may_switch_the_scheduler_of_a_disk(self) -> None:
        script = (
            "import os, sys\n"
            "from penstock import Job, PenstockError, compare\n"
            f"if os.geteuid() == 0: os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            "job, options = Job.from_toml(sys.argv[1]), dict(on=sys.argv[2], create='16MiB')\n"
            "for name in ('mq-deadline', 'kyber'):\n"
            "    try:\n"
            "        compare(job, policies=['kernel:' + name], set={'warmup': '0s'}, **options)\n"
            "    except PenstockError as error:\n"
            "        print(error.exit_code, error)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            done = subprocess.run(
                [sys.executable, "-c", script, JOB, f"{folder}/disk.img"],
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
        if "cannot switch" not in done.stdout:
            pytest.skip(f"there is no scheduler to switch to: {done.stdout}{done.stderr}")
        assert re.search(r"^77 error: \w+: cannot switch its scheduler to", done.stdout, re.M)
        assert "hint: only root may" in done.stdout


def test_a_request_that_is_no_whole_units_is_refused_before_a_file_is_made(
    job: Path, disk: Path
) -> None:
    words = ("run", job, "--policy", "noop", "--on", disk, "--create", "16MiB")
    ended = penstock(*words, "--set", "agent.0.size=5000B", "--set", "duration=1s")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: requests of 5kB; direct I/O on")
    assert "\n   = hint: the nearest that may be are 4" in ended.err
    assert not disk.exists()
    # A model has no such units.
    assert penstock(*words[:4], "--set", "agent.0.size=5000B").code == 0
