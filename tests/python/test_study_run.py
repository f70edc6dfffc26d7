"""`penstock study`: runs of studies, their records, and what is refused."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from command import COMMAND, penstock
from penstock import __version__
from penstock.study import rows
from penstock.study.definition import Definition
from penstock.study.schedule import StudySchedule

JOB = """\
device = "hdd-7200"
duration = "100ms"
stop = "last-arrival"
[class.readers]
[[agent]]
class = "readers"
op = "read"
size = "8KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 1 }
[[agent]]
class = "readers"
op = "read"
size = "8KiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 1 }
"""

STUDY = """\
[study]
job = "job.toml"
policy = "cfq"
repeat = 3
response = ["bw_bytes", "lat_ns.p99"]
[factor.A]
path = "agent.*.copies"
levels = [1, 2, 4]
[factor.S]
path = "agent.*.size"
levels = ["8KiB", "64KiB"]
"""


def study(folder: Path, text: str = STUDY, job: str = JOB) -> Path:
    (folder / "job.toml").write_text(job)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def run(path: Path, out: Path, *words: str) -> dict[str, Any]:
    ended = penstock("study", "run", path, "-o", out, "--json", *words)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def values(out: Path) -> bytes:
    """All that two executions have in common."""
    return rows.read(out).drop(rows.CLOCK).write_csv().encode()


def refused(path: Path, *words: str) -> str:
    ended = penstock("study", "run", path, "-o", path.parent / "out", *words)
    assert ended.code == 2, ended
    assert not (path.parent / "out" / "study.json").exists()
    return ended.err


def test_every_cell_runs_once_in_each_block_in_random_order(tmp_path: Path) -> None:
    path = study(tmp_path)
    found = run(path, tmp_path / "out")
    assert {**found, "seconds": 0} == {
        "study": str(path),
        "runs": 18,
        "done": 18,
        "resumed": 0,
        "failed": 0,
        "seconds": 0,
    }
    frame = rows.read(tmp_path / "out")
    assert frame.columns == [
        *("run", "order", "block", "replicate", "seed", "A", "S", "bw_bytes", "lat_ns.p99"),
        *("ended", "seconds", "world", "machine", "remarks"),
    ]
    assert frame["run"].to_list() == list(range(18))
    assert frame.group_by("A", "S", "block").len()["len"].to_list() == [1] * 18
    assert frame["seed"].n_unique() == 18
    by_order = frame.sort("order")
    assert by_order["block"].to_list() == [0] * 6 + [1] * 6 + [2] * 6
    assert len({tuple(by_order["A"][at : at + 6]) for at in (0, 6, 12)}) > 1
    assert frame["world"].unique().to_list() == ["simulated"]
    assert frame["seconds"].unique().to_list() == [0.1]
    about = json.loads((tmp_path / "out" / "study.json").read_text())
    assert [one["name"] for one in about["factors"]] == ["A", "S"]
    assert about["factors"][0]["levels"] == [1, 2, 4]


def test_a_row_is_the_run_of_its_job_and_seed(tmp_path: Path) -> None:
    path = study(tmp_path)
    run(path, tmp_path / "out")
    row = rows.read(tmp_path / "out").row(7, named=True)
    sets = [
        f"agent.{at}.{key}" for at in (0, 1) for key in (f"copies={row['A']}", f"size={row['S']}")
    ]
    words = [word for one in [*sets, f"seed={row['seed']}"] for word in ("--set", one)]
    ended = penstock("run", tmp_path / "job.toml", "--policy", "cfq", "--json", *words)
    (one,) = json.loads(ended.out)["runs"][0]["classes"]
    assert row["bw_bytes"] == one["bw_bytes"]
    assert row["lat_ns.p99"] == one["lat_ns"]["percentile"]["99.000000"]


def test_rows_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    path = study(tmp_path)
    run(path, tmp_path / "one", "--workers", "1")
    run(path, tmp_path / "three", "--workers", "3")
    assert values(tmp_path / "one") == values(tmp_path / "three")


def killed(path: Path, out: Path, whole: Path, kills: int) -> None:
    """Kills a study at random moments, resumes it, and compares it with an undisturbed one."""
    chance = random.Random(1)
    words = [*COMMAND, "study", "run", str(path), "-o", str(out), "--workers", "2"]
    began = time.monotonic()
    run(path, whole)
    lasts = time.monotonic() - began
    before: list[int] = []
    for _ in range(kills):
        command = [*words, "--resume"] if out.exists() else words
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(chance.uniform(0.2, max(0.4, lasts)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        there = sorted(rows.recorded(out))
        assert set(before) <= set(there)
        before = there
    found = run(path, out, "--resume")
    assert found["resumed"] == len(before)
    assert found["done"] == found["runs"]
    assert rows.read(out)["run"].is_unique().all()
    assert values(out) == values(whole)


def test_a_killed_study_goes_on_where_it_was(tmp_path: Path) -> None:
    job = JOB.replace("100ms", "1s")
    killed(study(tmp_path, job=job), tmp_path / "out", tmp_path / "whole", 3)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_study_of_500_cells_is_killed_at_20_moments(tmp_path: Path) -> None:
    text = (
        STUDY.replace("repeat = 3", "repeat = 1")
        .replace("[1, 2, 4]", str(list(range(1, 26))))
        .replace('["8KiB", "64KiB"]', json.dumps([f"{4 * n}KiB" for n in range(1, 21)]))
    )
    killed(study(tmp_path, text), tmp_path / "out", tmp_path / "whole", 20)
    assert rows.read(tmp_path / "out").height == 500


def test_resuming_repeats_nothing(tmp_path: Path) -> None:
    path, out = study(tmp_path), tmp_path / "out"
    run(path, out)
    before = rows.every_part(out)
    found = run(path, out, "--resume")
    assert found["resumed"] == found["done"] == 18
    assert rows.every_part(out) == before


def test_what_has_changed_is_said_and_refused(tmp_path: Path) -> None:
    path, out = study(tmp_path), tmp_path / "out"
    run(path, out)
    for old, new, said in [
        ("repeat = 3", "repeat = 4", "`repeat` was 3 and is 4"),
        ("[1, 2, 4]", "[1, 2, 8]", "the levels of factor A were [1, 2, 4] and are [1, 2, 8]"),
        ("factor.S", "factor.T", "factor S is gone; factor T is new"),
    ]:
        study(tmp_path, STUDY.replace(old, new))
        ended = penstock("study", "run", path, "-o", out, "--resume")
        assert ended.code == 2
        assert said in ended.err
    study(tmp_path, job=JOB.replace("100ms", "200ms"))
    ended = penstock("study", "run", path, "-o", out, "--resume")
    assert '`duration = "100ms"` is now `duration = "200ms"`' in ended.err


def test_a_folder_belongs_to_one_study_and_one_process(tmp_path: Path) -> None:
    path, out = study(tmp_path, job=JOB.replace("100ms", "20h")), tmp_path / "out"
    process = subprocess.Popen(
        [*COMMAND, "study", "run", str(path), "-o", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (out / "study.json").exists():
            time.sleep(0.05)
        for words in ([], ["--resume"]):
            ended = penstock("study", "run", path, "-o", out, *words)
            assert ended.code == 2
            assert f"another run writes to {out}" in ended.err
        seen = penstock("study", "watch", out, "--once")
        assert re.match(r"\d+ of 18 runs \(", seen.out)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait()
    ended = penstock("study", "run", path, "-o", out)
    assert ended.code == 2
    assert "holds a study already" in ended.err
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").touch()
    ended = penstock("study", "run", path, "-o", tmp_path / "other", "--resume")
    assert "holds no study" in ended.err


def test_watch_says_how_far_a_study_is(tmp_path: Path) -> None:
    path, out = study(tmp_path), tmp_path / "out"
    run(path, out)
    assert penstock("study", "watch", out).out == "18 of 18 runs (100.0 %): the study is complete\n"
    rows.every_part(out)[0].unlink()
    assert "no process writes to" in penstock("study", "watch", out).out
    assert "holds no study" in penstock("study", "watch", tmp_path).err


def test_plan_says_what_a_study_amounts_to(tmp_path: Path) -> None:
    path = study(tmp_path)
    found = json.loads(penstock("study", "plan", path, "--json").out)
    assert (found["cells"], found["blocks"], found["runs"]) == (6, 3, 18)
    assert found["seconds"] > 0
    assert found["noise_pct"] > 0
    text = penstock("study", "plan", path).out
    assert "6 cells (A 3 × S 2; full), 3 blocks, 18 runs" in text


def change(old: str, new: str) -> str:
    assert old in STUDY
    return STUDY.replace(old, new)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            change("agent.*.copies", "agent.*.copes"),
            [
                "the job refuses the level 1 of factor A: unknown key `copes`",
                "--set agent.*.copes=1",
                "did you mean `copies`?",
            ],
        ),
        (
            change("[1, 2, 4]", "[1, 2, 0]"),
            ["the job refuses the level 0 of factor A: expected a whole number", "found `0`"],
        ),
        (change("agent.*.copies", "program.*.n"), ["the job has no list `program` for `*`"]),
        (change("[1, 2, 4]", "[1]"), ["factor A has one level only; expected two or more"]),
        (change("[1, 2, 4]", "[1, 2, 1]"), ["factor A has the level `1` twice"]),
        (change("factor.S", "factor.A"), ["the key `A` is given twice"]),
        (change("agent.*.size", "agent.*.copies"), ["is already a path of factor A"]),
        (change("factor.A", "factor.seed"), ["`seed` is another column of the study's table"]),
        (change("bw_bytes", "bw_byte"), ["no result has the response `bw_byte`", "`bw_bytes`?"]),
        (change("lat_ns.p99", "lat_ns.p98"), ["no result has the response `lat_ns.p98`"]),
        (change("cfq", "cfg"), ["unknown policy `cfg`"]),
        (change("job.toml", "jib.toml"), ["the job", "there is no such file"]),
        (change("repeat", "repaet"), ["unknown key `repaet` in the study", "`repeat`?"]),
        (
            change("repeat = 3", 'design = "fraction"'),
            ["missing key `runs` in the study"],
        ),
        (
            change("repeat = 3", "except = [{ A = 4, T = 1 }]"),
            ["unknown factor `T`"],
        ),
        (
            change("repeat = 3", "except = [{ A = 3 }]"),
            ["factor A has no level `3`", "its levels are 1, 2, 4"],
        ),
        (
            change("repeat = 3", "except = [{ A = 4 }]"),
            ["`except` leaves no cell with the level `4` of factor A"],
        ),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(
    tmp_path: Path, text: str, said: Sequence[str]
) -> None:
    message = refused(study(tmp_path, text))
    for part in said:
        assert part in message


def test_a_response_of_one_class_among_several_names_it(tmp_path: Path) -> None:
    job = JOB.replace("[class.readers]", "[class.readers]\n[class.more]").replace(
        'class = "readers"', 'class = "more"', 1
    )
    message = refused(study(tmp_path, job=job))
    assert "`lat_ns.p99` is of one class, and the job has readers, more" in message
    text = STUDY.replace("lat_ns.p99", "more.lat_ns.p99")
    run(study(tmp_path, text, job), tmp_path / "out")
    assert rows.read(tmp_path / "out")["more.lat_ns.p99"].min() > 0  # type: ignore[operator]


def schedule(folder: Path, text: str) -> StudySchedule:
    return StudySchedule(Definition.load(study(folder, text)))


def test_designs_select_cells(tmp_path: Path) -> None:
    ends = schedule(tmp_path, change("repeat = 3", 'design = "2k"'))
    assert [ends.levels(cell) for cell in range(4)] == [
        {"A": a, "S": s} for a in (1, 4) for s in ("8KiB", "64KiB")
    ]
    some = schedule(tmp_path, change("repeat = 3", 'except = [{ A = [1, 2], S = "64KiB" }]'))
    assert [tuple(some.levels(cell).values()) for cell in range(len(some.cells))] == [
        (1, "8KiB"),
        (2, "8KiB"),
        (4, "8KiB"),
        (4, "64KiB"),
    ]
    assert not some.balanced


def test_paths_that_change_together_have_lists_as_levels(tmp_path: Path) -> None:
    text = change('"agent.*.copies"', '["agent.0.copies", "agent.1.arrivals"]').replace(
        "[1, 2, 4]", '[[1, { kind = "closed", depth = 2 }], [2, { kind = "closed", depth = 4 }]]'
    )
    path = study(tmp_path, text)
    assert list(schedule(tmp_path, text).sets(0))[:3] == [
        "agent.0.copies=1",
        "agent.1.arrivals.kind=closed",
        "agent.1.arrivals.depth=2",
    ]
    run(path, tmp_path / "first")
    levels = rows.read(tmp_path / "first")["A"].unique(maintain_order=True).to_list()
    assert levels[0] == '[1, { kind = "closed", depth = 2 }]'
    message = refused(study(tmp_path, text.replace("[[1, ", "[[1, 2, ")))
    assert "expected a list of 2 values, one for each path" in message


CROWDED = (
    JOB.partition("[[agent]]")[0]
    + """\
[[agent]]
class = "readers"
op = "read"
size = "8KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "1000/s" }
"""
)


def test_a_cell_that_fails_ends_no_other(tmp_path: Path) -> None:
    text = f'{STUDY.partition("[factor.A]")[0]}[factor.most]\npath = "max_outstanding"\n'
    path = study(tmp_path, f"{text}levels = [1, 100000]\n", CROWDED)
    out = tmp_path / "out"
    ended = penstock("study", "run", path, "-o", out, "--json", "--workers", "1")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert (found["runs"], found["done"], found["failed"]) == (6, 3, 3)
    assert ended.err.count("most = 1: class readers found 1 requests outstanding") == 3
    assert rows.read(out)["most"].to_list() == [100000] * 3


LIVE = JOB.replace('device = "hdd-7200"\n', "").replace("100ms", "50ms")


def test_live_cells_run_one_after_another_with_a_reference(tmp_path: Path, disk: Path) -> None:
    text = change("repeat = 3", f'repeat = 2\nreference = 4\non = "{disk}"')
    path, out = study(tmp_path, text, LIVE), tmp_path / "out"
    message = refused(path, "--create", "4MiB", "--workers", "2")
    assert "--workers 2 runs several cells at once" in message
    found = run(path, out, "--create", "4MiB")
    assert found["runs"] == found["done"] == 15
    frame = rows.read(out)
    assert frame["reference"].to_list() == [False] * 12 + [True] * 3
    again = frame.filter("reference")
    assert again["order"].to_list() == [0, 5, 10]
    assert again["A"].unique().to_list() == [1]
    assert frame.sort("order")["ended"].is_sorted()
    assert frame["world"].unique().to_list() == ["measured"]


def test_a_target_that_is_in_use_is_refused(tmp_path: Path, disk: Path) -> None:
    path = study(tmp_path, change("repeat = 3", f'on = "{disk}"'), LIVE.replace("50ms", "1h"))
    words = [*COMMAND, "study", "run", str(path), "-o", str(tmp_path / "one"), "--create", "4MiB"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (tmp_path / "one" / "study.json").exists():
            time.sleep(0.05)
        ended = penstock("study", "run", path, "-o", tmp_path / "two")
        assert ended.code != 0
        assert "in use by another run" in ended.err
    finally:
        process.kill()
        process.wait()


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    address = "tcp://127.0.0.1:1"
    ended = penstock("study", "run", study(tmp_path), "-o", tmp_path / "out", "--cluster", address)
    assert ended.code == 77
    assert f"the cluster at {address} does not answer" in ended.err


CLUSTER = """\
import os, signal, sys, time
from distributed import LocalCluster

def busy(cluster):
    while True:
        for one in cluster.scheduler.workers.values():
            if one.processing:
                return one.address
        time.sleep(0.01)

if __name__ == "__main__":
    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None,
                      silence_logs=50) as cluster:
        print(cluster.scheduler_address, flush=True)
        for line in sys.stdin:
            if line.strip() == "kill one":
                address = busy(cluster)
                (pid,) = [one.pid for one in cluster.workers.values()
                          if one.worker_address == address]
                os.kill(pid, signal.SIGKILL)
            else:
                cluster.scale(0)
            print("done", flush=True)
"""


class Clustered(NamedTuple):
    """A cluster of three workers."""

    address: str
    process: subprocess.Popen[str]

    def do(self, what: str) -> None:
        """Kill a worker that has runs to make, or end all."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@contextmanager
def clustered(folder: Path, modules: Path | None = None) -> Iterator[Clustered]:
    """A cluster whose workers find what is in `modules` before all else."""
    program = folder / "cluster.py"
    program.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ({} if modules is None else {"PYTHONPATH": str(modules)}),
        text=True,
    ) as process:
        assert process.stdout is not None
        yield Clustered(process.stdout.readline().strip(), process)
        process.communicate("")


def test_a_cluster_gives_the_rows_of_one_machine(tmp_path: Path) -> None:
    path = study(tmp_path)
    run(path, tmp_path / "here", "--workers", "2")
    with clustered(tmp_path) as cluster:
        found = run(path, tmp_path / "there", "--cluster", cluster.address)
    assert found["done"] == 18
    assert values(tmp_path / "here") == values(tmp_path / "there")
    assert pl.read_parquet(rows.every_part(tmp_path / "there")[0]).height > 0


def test_a_worker_that_dies_changes_nothing(tmp_path: Path) -> None:
    path = study(tmp_path, job=JOB.replace("100ms", "4s"))
    run(path, tmp_path / "here", "--workers", "2")
    with clustered(tmp_path) as cluster:
        words = ("study", "run", path, "-o", tmp_path / "there", "--cluster", cluster.address)
        process = subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.DEVNULL)
        cluster.do("kill one")
        assert process.wait(60) == 0
    assert values(tmp_path / "here") == values(tmp_path / "there")


@pytest.mark.soak
def test_a_cluster_without_workers_ends_the_study_and_another_goes_on(tmp_path: Path) -> None:
    path, out = study(tmp_path, job=JOB.replace("100ms", "4s")), tmp_path / "out"
    with clustered(tmp_path) as cluster:
        words = ("study", "run", path, "-o", out, "--cluster", cluster.address)
        process = subprocess.Popen([*COMMAND, *map(str, words)], stderr=subprocess.PIPE, text=True)
        while not rows.every_part(out):
            time.sleep(0.05)
        cluster.do("end all")
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"the cluster at {cluster.address} has no worker" in said
    assert "hint: start one; what is recorded stays, and --resume goes on with the rest" in said
    found = run(path, out, "--resume")
    assert 0 < found["resumed"] < found["done"] == 18


@pytest.mark.parametrize("version", ["0.0.9", pytest.param(None, marks=pytest.mark.soak)])
def test_workers_have_the_version_of_the_study(tmp_path: Path, version: str | None) -> None:
    modules = tmp_path / "modules"
    if version is None:
        modules.mkdir()
        (modules / "penstock.py").write_text("raise ModuleNotFoundError")
        says = f"has no penstock, and this is {__version__}"
    else:
        about = modules / f"penstock-{version}.dist-info" / "METADATA"
        about.parent.mkdir(parents=True)
        about.write_text(f"Metadata-Version: 2.1\nName: penstock\nVersion: {version}\n")
        says = f"has penstock {version}, and this is {__version__}"
    with clustered(tmp_path, modules) as cluster:
        words = ("study", "run", study(tmp_path), "-o", tmp_path / "out")
        ended = penstock(*words, "--cluster", cluster.address)
    assert (ended.code, ended.out) == (77, "")
    assert says in ended.err
    assert "hint: install the same version on all workers" in ended.err
    assert not (tmp_path / "out").exists(), "nothing stays behind"


def test_a_start_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "mine.tmp").touch()
    new = tmp_path / "a/new"
    for out, words in ((foreign, []), (foreign, ["--resume"]), (new, ["--set", "seed=x"])):
        path = study(tmp_path)
        assert penstock("study", "run", path, "-o", out, *words).code == 2
    assert [path.name for path in foreign.iterdir()] == ["mine.tmp"]
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("words", [[], ["--resume"]])
def test_a_start_that_was_killed_is_begun_anew(tmp_path: Path, words: Sequence[str]) -> None:
    """All that it left is its lock, and perhaps a file that was not whole."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "lock").touch()
    (out / "study.json.tmp").touch()
    assert run(study(tmp_path), out, *words)["done"] == 18
    assert not list(out.glob("*.tmp"))


@pytest.mark.parametrize("job", ["/dev/zero", "/dev/null", ".", "missing.toml"])
def test_a_job_that_is_no_small_file_is_refused(tmp_path: Path, job: str) -> None:
    path = study(tmp_path, STUDY.replace("job.toml", job))
    assert "job" in refused(path)
    assert not (tmp_path / "out").exists()


def test_a_description_without_end_is_none(tmp_path: Path) -> None:
    (tmp_path / "study.json").symlink_to("/dev/zero")
    ended = penstock("study", "watch", tmp_path, "--once")
    assert (ended.code, "holds no study" in ended.err) == (2, True)
