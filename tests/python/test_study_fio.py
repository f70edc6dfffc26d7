"""The table that an example makes of fio's results, and its analysis."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import ROOT, penstock

FOLDER = ROOT / "examples/studies"
SCRIPT = FOLDER / "fio_table.py"


def table(*files: Path) -> list[dict[str, str]]:
    done = subprocess.run(
        [sys.executable, SCRIPT, *files], capture_output=True, encoding="utf-8", check=True
    )
    return list(csv.DictReader(done.stdout.splitlines()))


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_row_for_each_run_of_fio(tmp_path: Path) -> None:
    files = []
    for number, (size, depth) in enumerate((("4k", "1"), ("8k", "2"), ("4k", "1")), 1):
        files.append(tmp_path / f"{number}.json")
        options = ["--name=x", "--ioengine=null", "--size=1m", "--rw=randread", f"--bs={size}"]
        options += [f"--iodepth={depth}", "--output-format=json", f"--output={files[-1]}"]
        subprocess.run(["fio", *options], check=True, cwd=tmp_path)
    # Whatever their order, rows are in that of the runs.
    rows = table(*reversed(files))
    assert [row["bs"] for row in rows] == ["4k", "8k", "4k"]
    assert [row["block"] for row in rows] == ["1", "1", "2"]
    side = json.loads(files[1].read_text())["jobs"][0]["read"]
    assert rows[1]["bw_bytes"] == str(side["bw_bytes"])
    assert rows[1]["lat_ns"] == str(round(side["lat_ns"]["mean"]))
    assert rows[1]["p99_ns"] == str(side["clat_ns"]["percentile"]["99.000000"])


def test_the_example_is_analysed_as_a_study_is() -> None:
    plain = json.loads(
        penstock("study", "analyse", FOLDER / "fio.csv", "--response", "iops", "--json").out
    )
    assert plain["n"] == 72
    assert plain["lack_of_fit"] is not None
    advice = {one["factor"]: one for one in plain["recommend"]}
    assert set(advice) == {"rw", "bs", "iodepth"}
    # Whatever the disk: more requests at once are more a second, and smaller ones too.
    assert advice["iodepth"]["best"][0] != 1
    assert advice["bs"]["best"][0] == "4k"
    by = penstock("study", "analyse", FOLDER / "fio.csv", "--response", "p99_ns", "--by", "rw")
    assert "less is better" in by.out
