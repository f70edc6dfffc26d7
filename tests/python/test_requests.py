"""Every request as a table: the figures of the result follow from it."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import penstock
from command import penstock as command


@pytest.mark.parametrize("repeat", [None, 2])
def test_the_figures_follow_from_the_requests(
    job: Path, tmp_path: Path, repeat: int | None
) -> None:
    path = tmp_path / "all.parquet"
    policies = ["noop", "size-priority"]
    result = penstock.compare(job, policies=policies, repeat=repeat, requests=path)
    every = pl.read_parquet(path).with_columns(
        latency=pl.col("done_ns") - pl.col("due_ns"), wait=pl.col("sent_ns") - pl.col("due_ns")
    )
    assert every["round"].unique().to_list() == ([None] if repeat is None else [0, 1])
    for run in result.runs:
        of_run = every.filter(
            pl.col("policy") == run.policy, pl.col("round").eq_missing(pl.lit(run.round))
        )
        assert of_run["done_ns"].is_sorted()
        for one in run.classes:
            own = of_run.filter(pl.col("class") == one.name)
            assert (len(own), own["length"].sum()) == (one.requests, one.bytes)
            assert own["latency"].mean() == pytest.approx(one.lat_ns.mean)
            assert own["wait"].mean() == pytest.approx(one.wait_ns.mean)
            assert own["latency"].max() == one.lat_ns.max
            assert own["op"].unique().to_list() == ["write"]
            assert own["error"].null_count() == len(own)


FAULTY = """\
[device]
name = "faulty"
model = "fixed"
capacity = "1GiB"
base = "1ms"
per_mb = "1ms"
faults = { errors = "20%" }
"""


def test_a_failed_request_has_the_name_of_its_error(job: Path, tmp_path: Path) -> None:
    device, path = tmp_path / "faulty.toml", tmp_path / "all.parquet"
    device.write_text(FAULTY)
    ended = command("run", job, "--policy", "noop", "--on", device, "--requests", path)
    assert f"wrote {path}" in ended.err
    every = pl.read_parquet(path)
    assert set(every["error"].to_list()) == {None, "EIO"}


def test_on_the_command_line(job: Path, tmp_path: Path) -> None:
    path = tmp_path / "all.parquet"
    words = ("compare", job, "--policies", "noop", "--requests", path)
    for _ in range(2):
        assert command(*words).err == f"wrote {path}\n"
    ended = command(*words[:-1], tmp_path / "all.csv")
    assert (ended.code, ended.out) == (2, "")
    assert "does not end in .parquet" in ended.err


ENDLESS = """\
duration = "%s"
device = { model = "fixed", capacity = "1GiB", base = "2us", per_mb = "0s" }
[class.reader]
[[agent]]
class = "reader"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 4 }
"""
"""Half a million requests a second."""

PEAK = """\
import resource, sys
import penstock
penstock.compare(sys.argv[1], policies=["fcfs"], repeat=int(sys.argv[2]), detail=False,
                 requests=sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    """A run has some 20 MB of requests: all but a few runs' are in the file by then."""
    job = tmp_path / "job.toml"
    job.write_text(ENDLESS % "1s")

    def peak_kib(runs: int) -> int:
        words = [sys.executable, "-c", PEAK, str(job), str(runs), str(tmp_path / "all.parquet")]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    few, many = peak_kib(3), peak_kib(9)
    assert pl.scan_parquet(tmp_path / "all.parquet").select(pl.len()).collect().item() > 9 * 300_000
    assert many - few < 60_000, "six more runs have 120 MB of requests"
