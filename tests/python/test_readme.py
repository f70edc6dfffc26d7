"""What README.md says works: its commands are run, and what it shows of a model is what comes out.

A ```console block holds commands, each behind a `$`, and below them their output. The commands of a
block run in one folder, one after another. A line of `…` alone stands for any lines. A command with
`--repeat` runs for minutes: here it runs one short round, and where the machine cannot the block is
skipped. A ```python block is a program.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from command import ROOT, penstock

README = ROOT / "README.md"

ONE_SHORT_ROUND = ("--repeat", "1", "--set", "duration=500ms", "--set", "warmup=0s")
"""What a command with rounds runs instead."""

CANNOT = 77
"""What the command says of a machine that cannot run it."""

LEFT_OUT = {"git", "cd"}
"""Words of a shell that there is nothing to say about."""


class Shown(NamedTuple):
    """A command and the output shown below it."""

    words: list[str]
    output: str


def shown(text: str) -> list[list[Shown]]:
    """The commands of each console block."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        whole = block.replace("\\\n", "")
        parts = [part.partition("\n") for part in re.split(r"^\$ ", whole, flags=re.MULTILINE)[1:]]
        found.append(
            [Shown(shlex.split(command, comments=True), output) for command, _, output in parts]
        )
    return found


def same(expected: str, found: str) -> bool:
    """Whether `found` is what is shown, lines of `…` left open and spaces at ends ignored."""

    def tidy(text: str) -> list[str]:
        return [line.rstrip() for line in text.strip().splitlines()]

    parts = [".*" if line == "…" else re.escape(line) for line in tidy(expected)]
    return re.fullmatch("\n".join(parts), "\n".join(tidy(found)), re.DOTALL) is not None


BLOCKS = shown(README.read_text()) if README.exists() else []


def test_there_are_commands() -> None:
    assert README.exists()
    assert any(one.words[0] == "penstock" for block in BLOCKS for one in block)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(block[0].words))
def test_block(block: list[Shown], tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for one in block:
        run(one, tmp_path)


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert programs
    for program in programs:
        exec(compile(program, str(README), "exec"), {})
    assert (tmp_path / "day.html").exists()


def run(one: Shown, folder: Path) -> None:
    """Run one command in `folder` and compare what it prints."""
    name, *words = one.words
    name = Path(name).name
    if name in LEFT_OUT:
        return
    if name == "make":
        # Only that there is such a target: some run for minutes, one runs this test.
        outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
        environment = {key: value for key, value in os.environ.items() if key not in outer}
        subprocess.run(["make", "-n", *words], cwd=ROOT, env=environment, check=True)
        return
    assert name == "penstock", f"no way to try {name}"
    repeated = "--repeat" in words
    ended = penstock(*words, *(ONE_SHORT_ROUND if repeated else ()), cwd=folder)
    if repeated and ended.code == CANNOT:
        pytest.skip(f"this machine cannot: {ended.err}")
    assert ended.code == 0, ended.err
    if one.output.startswith("MEASURED"):
        # No two measurements are alike.
        assert ended.out.startswith("MEASURED")
    elif one.output:
        assert same(one.output, ended.out), ended.out


def test_a_block_is_read_as_it_is_meant() -> None:
    text = "```console\n$ a b \\\n    'c d'\nout\n$ e # why\n```\n```toml\n$ no\n```\n"
    assert shown(text) == [[Shown(["a", "b", "c d"], "out\n"), Shown(["e"], "")]]
    assert same("a\n…\nb\n", "a\nx\ny\nb  \n")
    assert not same("a\nb\n", "a\nc\n")
