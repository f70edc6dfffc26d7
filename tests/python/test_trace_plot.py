"""Pictures of a trace: they show what the trace holds, and nothing of anybody's is overwritten."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from command import ROOT, penstock
from penstock import _native
from penstock.charts import trace as trace_charts
from reading import Page

TRACE = ROOT / "examples/traces/pgbench-backup.blkparse.gz"
JOB = ROOT / "examples/pgbench-backup.toml"
CLASSES = ("online", "backup", "background", "other")

LITTLE = """\
0.0 0 0 8 0
1.0 0 8 8 0
5.0 0 800 256 1
"""


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """The real trace with its series."""
    text = _native.trace_describe(TRACE, classes=JOB, drawn=True)
    described: dict[str, Any] = json.loads(text)
    return described


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """A trace of three requests, in a format without latencies."""
    path = tmp_path / "little.txt"
    path.write_text(LITTLE)
    return path


def test_the_series_hold_every_request_once(described: dict[str, Any]) -> None:
    for one in described["classes"]:
        series = one["series"]
        for operation, column in (("reads", 1), ("writes", 2), ("discards", 4)):
            for of in ("arrivals", "size_bytes"):
                count = sum(row[column] for row in series[of])
                assert count == one[operation]["requests"], (one["name"], of)
        assert sum(row[3] for row in series["arrivals"]) == one["flushes"]
        with_data = one["requests"] - one["flushes"]
        assert sum(n for *_, n in series["places"]) == with_data
        assert sum(n for _, n in series["run_requests"]) == with_data
        assert sum(n for _, n in series["gap_ns"]) == one["requests"] - 1
        known = sum(sum(counts) for _, *counts in series["latency_ns"])
        assert known == one["recorded_latency"]["known"]


def test_without_being_asked_the_series_are_left_out() -> None:
    plain = json.loads(_native.trace_describe(TRACE))
    assert "frame" not in plain
    assert "series" not in plain["classes"][0]


def test_no_picture_has_more_rows_than_can_be_drawn(described: dict[str, Any]) -> None:
    for one in trace_charts.all_of(described):
        datasets = json.loads(one.chart.to_json())["datasets"]
        assert 0 < sum(map(len, datasets.values())) <= 5_000, one.name


def test_a_page_with_a_picture_for_each_question(tmp_path: Path, described: dict[str, Any]) -> None:
    out = tmp_path / "out.html"
    ended = penstock("trace", "plot", TRACE, "--classes", JOB, "-o", out)
    assert (ended.code, ended.out, ended.err) == (0, "", f"wrote {out}\n")
    page = Page(out.read_text())
    each = [f"{kind}-{one}" for kind in ("rate", "addresses", "sizes") for one in CLASSES]
    assert page.pictures() == [*each, "mix", "gaps", "runs", "latency"]
    assert json.loads(page.data) == described
    assert page.picture("gaps").labels() == list(CLASSES)
    assert penstock("trace", "plot", TRACE, "-o", out).code == 0, "an earlier one is replaced"


@pytest.mark.parametrize("ending", ["png", pytest.param("svg", marks=pytest.mark.soak)])
def test_one_picture_of_all(little: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out.{ending}"
    for _ in range(2):
        ended = penstock("trace", "plot", little, "-o", out)
        assert (ended.code, ended.out, ended.err) == (0, "", f"wrote {out}\n")
    if ending == "png":
        with Image.open(out) as image:
            assert image.size[0] > 500
    else:
        text = out.read_text()
        assert "Requests over time: all" in text
        assert "Recorded latency" not in text, "none was recorded"
        assert "<script" not in text
        assert not re.search(r"(href|src)=", text)


@pytest.mark.soak
def test_a_picture_each(little: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    ended = penstock("trace", "plot", little, "--plots", folder)
    assert (ended.code, ended.err) == (0, f"wrote 12 pictures in {folder}\n")
    names = ["addresses-all", "gaps", "mix", "rate-all", "runs", "sizes-all"]
    files = sorted(path.name for path in folder.iterdir())
    assert files == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    assert "Requests over time: all" in (folder / "rate-all.svg").read_text()


def test_a_trace_of_one_flush_can_be_drawn(tmp_path: Path) -> None:
    trace, out = tmp_path / "one.txt", tmp_path / "out.svg"
    trace.write_text("254,0 1 1 0.000000000 10 Q FWS 0 + 0 [j]\n")
    assert penstock("trace", "plot", trace, "-o", out).code == 0


@pytest.mark.parametrize("ending", ["html", "png", "svg"])
def test_what_is_not_ours_is_left_alone(little: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out.{ending}"
    out.write_text("precious")
    ended = penstock("trace", "plot", little, "-o", out)
    assert (ended.code, ended.out) == (2, "")
    assert "exists and is no" in ended.err
    assert out.read_text() == "precious"


def test_what_is_wrong_is_reported(little: Path, tmp_path: Path) -> None:
    ended = penstock("trace", "plot", little)
    assert (ended.code, ended.out) == (2, "")
    assert "hint: name a file, as in -o trace.html" in ended.err
    ended = penstock("trace", "plot", little, "-o", tmp_path / "out.pdf")
    assert ended.code == 2
    assert "name it .html, .png or .svg" in ended.err
