"""Merges of more runs than can be open at once, and of many."""

import json
import random
import resource
import subprocess
from pathlib import Path

import pytest

from command import COMMAND, penstock
from forking import Ended

LIMIT = 40
"""Files that a merge may have open."""


def runs(folder: Path, count: int, lines: int) -> list[Path]:
    """Sorted files of that many lines each; with many they are longer than a block of a disk."""
    source = random.Random(3)
    paths = [folder / f"{number:03}.run" for number in range(count)]
    for path in paths:
        path.write_text("".join(sorted(f"{source.randrange(10**4)} x\n" for _ in range(lines))))
    return paths


def sort_m(paths: list[Path]) -> bytes:
    """What GNU sort makes of them."""
    words = ["sort", "-m", *map(str, paths)]
    return subprocess.run(words, env={"LC_ALL": "C"}, check=True, capture_output=True).stdout


def limited(*words: object) -> Ended:
    """Run the command with few open files."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))

    done = subprocess.run(
        [*COMMAND, "merge", *map(str, words)],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_many_short_runs_are_as_long_as_they_are(tmp_path: Path) -> None:
    paths = runs(tmp_path, 300, 3)
    (tmp_path / "to").mkdir()
    ended = penstock("merge", *paths, "--to", tmp_path / "to")
    assert ended.code == 0, ended.err
    assert "passes" not in ended.err
    assert (tmp_path / "to/merged").read_bytes() == sort_m(paths)


def test_more_runs_than_can_be_open_are_merged_in_passes(tmp_path: Path) -> None:
    paths = runs(tmp_path, 100, 800)
    (tmp_path / "to").mkdir()
    ended = limited(*paths, "--to", tmp_path / "to", "--json")
    assert ended.code == 0, ended.err
    assert ended.err.startswith("note: 100 runs take several passes, as 40 files can be open")
    assert (tmp_path / "to/merged").read_bytes() == sort_m(paths)
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["merged"]
    result = json.loads(ended.out)
    assert result["merges"][0]["inputs"] == list(map(str, paths))
    assert any("several passes" in remark for remark in result["remarks"])


@pytest.mark.parametrize("bad", [0, 99])
def test_a_refusal_in_any_pass_leaves_nothing(tmp_path: Path, bad: int) -> None:
    paths = runs(tmp_path, 100, 800)
    paths[bad].write_text("b\na\n" + paths[bad].read_text())
    (tmp_path / "to").mkdir()
    ended = limited(*paths, "--to", tmp_path / "to")
    assert ended.code == 2
    assert f"{paths[bad].name} is not sorted: line 2" in ended.err
    assert list((tmp_path / "to").iterdir()) == []


def test_what_does_not_go_with_passes_is_refused_before_the_first(tmp_path: Path) -> None:
    paths = runs(tmp_path, 100, 800)
    ended = limited(*paths, "--to", tmp_path, "--placement", "all")
    assert ended.code == 2
    assert "hint: passes do not go with --on or --placement" in ended.err
