"""Hostile files: every verb answers in words, in little time and memory, and leaves nothing."""

import shutil
from pathlib import Path

import pytest

from command import limited
from forking import Ended
from hostile import (
    ENDLESS,
    KINDS,
    NAME,
    NAMES,
    READERS,
    REFUSED,
    lay_out,
    lay_out_named,
    listing,
    words_of,
)

SECONDS = 20
MEMORY = 4 << 30
"""Address space of a command. The interpreter's modules and threads reserve one GiB of it."""

CODES = {0, 1, 2, 3, 4, 5, 77}

IN_SHORT = {("run", "endless device"), ("trace convert", "gzip cut"), ("merge", "fifo")}
"""What `make test` tries; `make soak` tries all."""


def in_words(ended: Ended, *codes: int) -> None:
    """Check that a command ended as documented, and if it failed, with a message."""
    assert "Traceback" not in ended.err, ended.err
    assert "panicked" not in ended.err, ended.err
    assert ended.code in CODES | {*codes}, ended
    assert ended.code == 0 or ended.err.strip(), ended


def attacks() -> list[object]:
    every = [(use, kind) for use in READERS for kind in KINDS]
    return [
        pytest.param(use, kind, marks=[] if (use, kind) in IN_SHORT else pytest.mark.soak)
        for use, kind in every
    ]


@pytest.mark.parametrize(("use", "kind"), attacks())
def test_a_hostile_file(tmp_path: Path, use: str, kind: str) -> None:
    lay_out(tmp_path)
    KINDS[kind](tmp_path / "FILE")
    before = listing(tmp_path)
    endless = kind in ENDLESS
    seconds = 2 if endless else SECONDS
    ended = limited(*words_of(READERS[use], "FILE"), cwd=tmp_path, seconds=seconds, memory=MEMORY)
    in_words(ended, *([130] if endless else []))
    if ended.code != 0:
        assert listing(tmp_path) == before


NAMED_IN_SHORT = {"run", "trace convert", "merge in rounds", "study run in a folder", "missing"}


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files whose names are not UTF-8."""
    folder = tmp_path_factory.mktemp("named")

    def tools(*words: str) -> None:
        ended = limited(*words, cwd=folder, seconds=SECONDS)
        assert ended.code == 0, ended

    lay_out_named(folder, tools)
    return folder


@pytest.mark.parametrize(
    "use",
    [pytest.param(use, marks=[] if use in NAMED_IN_SHORT else pytest.mark.soak) for use in NAMES],
)
def test_a_name_that_is_not_utf_8(named: Path, tmp_path: Path, use: str) -> None:
    folder = tmp_path / "here"
    shutil.copytree(named, folder, symlinks=True)
    before = listing(folder)
    words = [word.replace("N", NAME) if "N" in word else word for word in NAMES[use]]
    ended = limited(*words, cwd=folder, seconds=3 * SECONDS)
    in_words(ended)
    assert (ended.code != 0) == (use in REFUSED), ended
    assert "\\udc" not in ended.out + ended.err
    made = listing(folder) - before
    wanted = [word for word in words if word.startswith(("made-", "./made-"))]
    assert len(made) > 0 or not wanted
    for word in wanted:
        assert (folder / word).exists(), made
    left = [name for name in made if "unfinished" in name or name.endswith(".tmp")]
    assert left == []
