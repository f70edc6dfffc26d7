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


OVERLOAD = """\
duration = "2s"
warmup = "0s"
stop = "{stop}"
device = {{ model = "fixed", base = "10ms" }}
[class.far]
[class.near]
[[agent]]
class = "far"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = {{ kind = "poisson", rate = "150/s" }}
[[agent]]
class = "near"
op = "read"
size = "4KiB"
pattern = "random"
stop = "1s"
arrivals = {{ kind = "fixed", rate = "20/s" }}
"""
"""An open loop that asks for twice as much as the device serves, for two seconds."""


@pytest.mark.parametrize("stop", ["last-arrival", "drained"])
def test_rates_are_of_the_time_in_which_the_job_asks_and_of_the_drain(
    tmp_path: Path, stop: str
) -> None:
    job, path = tmp_path / "job.toml", tmp_path / "all.parquet"
    job.write_text(OVERLOAD.format(stop=stop))
    (run,) = penstock.compare(job, policies=["fcfs"], requests=path).runs
    every = pl.read_parquet(path)
    assert (run.duration_s > 2.5) == (stop == "drained"), "the last arrivals wait in a queue"
    for class_ in run.classes:
        done_ns = every.filter(pl.col("class") == class_.name)["done_ns"].to_list()
        rated_s = max(2_000_000_000, *done_ns) / 1e9
        assert class_.iops == pytest.approx(class_.requests / rated_s)
        assert class_.bw_bytes == pytest.approx(class_.requests * 4096 / rated_s)


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
