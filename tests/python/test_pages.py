"""What README.md and the pages under docs/ say works: their commands and programs are run.

A ```console block holds commands, each behind a `$`, and below them their output. The commands of a
block run in one folder, one after another. A line of `…` alone stands for any lines. Commands that
run for minutes are run shortened (`SHORTENED`); of what they and live runs print only the beginning
is compared, as no two measurements are alike. Where the machine cannot run a shortened command the
block is skipped. A ```python block is a program. Commands outside such blocks name a device of the
reader's, and so cannot be run.
"""

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.main import get_command

import site_hooks
from command import ROOT, penstock
from forking import Ended
from penstock.cli.app import app
from penstock.cli.verb import commands

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

DOCUMENTS = (
    *PAGES,
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")),
)

NAMING_PATHS = (
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")),
    ROOT / "docs/explanation/checks.md",
    ROOT / "docs/explanation/engine.md",
)
"""Pages that name files and folders of the repository."""

PATH = re.compile(
    r"`((?:benches|crates|docs|examples|fuzz|papers|python|tests|validation)/"
    r"(?![\w./-]*(?:NAME|TARGET))[\w./-]+)`"
)
"""A path from the repository's root, without a placeholder (`NAME`, `TARGET`)."""

PROGRAMS_OF_A_PAPER = ("--repeat", "1", "--modes", "fifo", "--online", "1", "--batch", "0")

LOADS_OF_A_PAPER = ("--repeat", "1", "--set", "cycles=50ms", "--set", "horizon=200ms")

STUDY_OF_A_PAPER = (
    *("--budget", "1min", "--set", "patterns=random-read", "--set", "D=1"),
    *("--set", "A=1,8", "--set", "B=1,8", "--set", "S=8,128"),
)

ONE_SHORT_RUN = ("--repeat", "1", "--set", "duration=500ms", "--set", "warmup=0s")

SHORTENED = {
    ("paper", "online-batch", "live"): PROGRAMS_OF_A_PAPER,
    # A disk may answer nothing for a second: this one is short as it stands.
    ("paper", "fairio", "live", "--on"): ("--set", "cycles=50ms"),
    ("paper", "fairio", "live"): LOADS_OF_A_PAPER,
    ("paper", "ioagent", "live"): STUDY_OF_A_PAPER,
    ("calibrate",): ("--create", "32MiB", "--rounds", "1"),
    ("duration=3s", "--on"): ("--set", "duration=300ms"),
    ("duration=4s", "--on"): ONE_SHORT_RUN,
    ("compare", "--repeat"): ONE_SHORT_RUN,
    ("--beside", "sort"): ("--set", "merge.run=100blocks", "--rounds", "1"),
    ("examples/gate.py",): ("--seconds", "0.5", "--rounds", "1", "--sync-every", "8"),
}
"""Words that a long command has, and those that are added here, where the last one wins."""

SOAKED = (
    ("calibrate",),
    ("--plots", "arms"),
    ("paper", "ioagent"),
    ("advise", "shares"),
    ("study", "run", "-o", "runs"),
)
"""Words of commands that take longest, of kinds that other tests run too."""

CANNOT = 77
"""What the command says of a machine that cannot run it."""

LIVE = ("MEASURED", "EMULATED")
"""How output begins that is another one each time."""

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")

GENERATED = {ROOT / "docs" / page.path for page in (*site_hooks.REFERENCE, site_hooks.RUST)}
"""Pages that are there in the built site only, which checks links to them."""


class Shown(NamedTuple):
    """A command and the output shown below it."""

    words: list[str]
    output: str


class Block(NamedTuple):
    """Commands that stand together on a page."""

    page: Path
    commands: list[Shown]


def fenced(text: str, language: str) -> list[str]:
    """What the blocks of this language hold."""
    return [inside for name, inside in FENCED.findall(text) if name == language]


def shown(text: str) -> list[list[Shown]]:
    """The commands of each console block."""
    found = []
    for block in fenced(text, "console"):
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


BLOCKS = [Block(page, commands) for page in PAGES for commands in shown(page.read_text())]

PROGRAMS = [(page, text) for page in PAGES for text in fenced(page.read_text(), "python")]


def named(value: object) -> str:
    """What a test is called: its page, and the first command of a block."""
    if isinstance(value, Block):
        return f"{value.page.relative_to(ROOT)}: {' '.join(value.commands[0].words)}"
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else "program"


def test_there_are_commands_on_pages_of_every_kind() -> None:
    folders = {block.page.parent.name for block in BLOCKS}
    assert folders >= {ROOT.name, "tutorial", "how-to", "devices", "papers"}


def tried(block: Block) -> object:
    """The block, or what marks it as one that `make soak` runs."""
    words = {word for command in block.commands for word in command.words}
    long = any(set(soaked) <= words for soaked in SOAKED)
    return pytest.param(block, marks=pytest.mark.soak) if long else block


@pytest.mark.parametrize("block", [tried(block) for block in BLOCKS], ids=named)
def test_commands(block: Block, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    for one in block.commands:
        run(one, tmp_path)


@pytest.mark.parametrize(("page", "program"), PROGRAMS, ids=named)
def test_programs(
    page: Path, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, str(page), "exec"), {})
    for name in re.findall(r'save_report\("(.+?)"\)', program):
        assert (tmp_path / name).exists()


def shortening(words: list[str]) -> tuple[str, ...]:
    """What is added to a command that runs for minutes."""
    return next((more for has, more in SHORTENED.items() if set(has) <= set(words)), ())


def run(one: Shown, folder: Path) -> None:
    """Run one command in `folder` and compare what it prints."""
    name, *words = one.words
    if name == "make":
        # Only that there is such a target: some run for minutes, one runs this test.
        outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
        environment = {key: value for key, value in os.environ.items() if key not in outer}
        subprocess.run(["make", "-n", *words], cwd=ROOT, env=environment, check=True)
        return
    more = shortening(words)
    ended = script(*words, *more, cwd=folder) if name == "python" else None
    if ended is None:
        assert name == "penstock", f"no way to try {name}"
        ended = penstock(*words, *more, cwd=folder)
    if more and ended.code == CANNOT:
        pytest.skip(f"this machine cannot: {ended.err}")
    assert ended.code == 0, ended.err
    if not one.output:
        return
    if more or one.output.startswith(LIVE):
        beginning = one.output.split(maxsplit=1)[0]
        assert beginning == "…" or ended.out.startswith(beginning)
    else:
        assert same(one.output, ended.out), ended.out


def script(*words: str, cwd: Path) -> Ended:
    """Run a program of the repository."""
    done = subprocess.run(
        [sys.executable, *words], cwd=cwd, capture_output=True, encoding="utf-8", check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_command_stands_on_one_page_only() -> None:
    many = Counter(
        shlex.join(one.words) for block in BLOCKS for one in block.commands if len(one.words) > 2
    )
    assert [command for command, count in many.items() if count > 1] == []


def test_a_command_that_is_not_run_names_a_device_of_the_readers() -> None:
    for page in PAGES:
        for language, inside in FENCED.findall(page.read_text()):
            if language != "console":
                for line in re.findall(r"^\$ .*", inside, re.MULTILINE):
                    assert "/dev/" in line, f"{page}: {line}"


def test_commands_in_sentences_exist_with_their_options() -> None:
    known = {
        tuple(name.split()[1:]): {option for one in command.params for option in one.opts}
        for name, command in commands(get_command(app), "penstock")
    }
    for page in DOCUMENTS:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for command in re.findall(r"`penstock ([a-z][^`]*)`", text):
            words = command.split()
            depth = next((n for n in (3, 2, 1) if tuple(words[:n]) in known), 0)
            groups = {verb[:1] for verb in known}
            assert depth or tuple(words) in groups, f"{page}: penstock {command}"
            options = {word for word in words if word.startswith("--")} - {"--help"}
            if depth:
                assert options <= known[tuple(words[:depth])], f"{page}: penstock {command}"


def anchors(page: Path) -> set[str]:
    """Places in a page that a link may lead to."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", DOCUMENTS, ids=named)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for path, anchor in LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        if target in GENERATED:
            continue
        assert target.exists(), f"{page} links to {path}, which is not there"
        if anchor:
            assert anchor in anchors(target), f"{page} links to {path}#{anchor}"


def test_no_page_is_an_orphan() -> None:
    linked = {
        (page.parent / path).resolve()
        for page in DOCUMENTS
        for path, _ in LINK.findall(page.read_text())
    }
    linked |= {page for folder in linked if folder.is_dir() for page in folder.glob("*.md")}
    assert [page for page in PAGES if page not in linked and page != ROOT / "README.md"] == []


def test_the_documents_are_short_enough_to_be_read() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 12 * 1024
    for release in (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]:
        assert len(release.splitlines()) <= 120


@pytest.mark.parametrize("page", NAMING_PATHS, ids=named)
def test_a_path_that_a_page_names_exists(page: Path) -> None:
    missing = [path for path in PATH.findall(page.read_text()) if not (ROOT / path).exists()]
    assert missing == []


def test_a_block_is_read_as_it_is_meant() -> None:
    text = "```console\n$ a b \\\n    'c d'\nout\n$ e # why\n```\n```toml\n$ no\n```\n"
    assert shown(text) == [[Shown(["a", "b", "c d"], "out\n"), Shown(["e"], "")]]
    assert same("a\n…\nb\n", "a\nx\ny\nb  \n")
    assert not same("a\nb\n", "a\nc\n")
    assert shortening(["paper", "online-batch", "live", "--repeat", "3"])[-1] == "0"
    assert shortening(["compare", "job.toml"]) == ()
