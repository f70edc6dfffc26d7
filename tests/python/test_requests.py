"""Every request as a table: the figures of the result follow from it."""

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
