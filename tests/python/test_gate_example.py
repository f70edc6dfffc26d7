"""The example of the gate runs and prints its effect."""

import subprocess
import sys
from pathlib import Path

from command import ROOT


def test_the_example_prints_its_effect(tmp_path: Path) -> None:
    words = ("--seconds", "0.5", "--rounds", "1", "--sync-every", "8")
    done = subprocess.run(
        [sys.executable, ROOT / "examples/gate.py", tmp_path, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "medians of 1 round, with the least and the greatest"
    names = ("the database alone", "beside a copy", "through the gate")
    assert all(line.startswith(name) for line, name in zip(lines[2:5], names, strict=True))
    assert "through the gate" in lines[4]
    assert "the 99th percentile of a commit" in lines[5]
    assert not list(tmp_path.iterdir()), "nothing is left"
