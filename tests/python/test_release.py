"""`make release`: what it finds in a tree that is not ready, and what it would run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import ROOT
from making import make

FILES = ("Makefile", "Cargo.toml", "Cargo.lock", "CITATION.cff", "tools/release.py")

FOLDERS = ("examples/devices", "examples/machines", "papers")
"""Where the Makefile looks for files."""

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-27\n"


SOMEBODY = os.environ | {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "Somebody"), ("EMAIL", "somebody@example.org"))
}
"""The environment, with somebody who commits and tags."""


def git(copy: Path, *words: str) -> str:
    """Run git in the copy."""
    done = subprocess.run(
        ["git", *words], cwd=copy, env=SOMEBODY, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the manifests of this one, ready for version 0.1.0."""
    manifests = git(ROOT, "ls-files", "*/Cargo.toml").splitlines()
    for path in (*FILES, *manifests):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "All of it")
    return tmp_path


def test_a_release_checks_builds_and_tags_last(tree: Path) -> None:
    ended = make("release", "VERSION=0.1.0", "RELEASE_DRY=1", cwd=tree)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "$ make lint",
        "$ make test",
        "$ make wheel sdist",
        "$ git diff --exit-code HEAD",
        "$ git tag --annotate v0.1.0 --message Penstock 0.1.0",
    ]
    assert git(tree, "tag") == ""


def test_every_place_that_names_another_version_is_reported(tree: Path) -> None:
    manifest = tree / "crates/core/Cargo.toml"
    manifest.write_text(manifest.read_text().replace("version.workspace = true", 'version = "1"'))
    ended = make("release", "VERSION=0.2.0", "RELEASE_DRY=1", cwd=tree)
    assert ended.code == 2
    assert ended.out == ""
    for reason in (
        "Cargo.toml has 0.1.0, not 0.2.0",
        "crates/core/Cargo.toml has a version of its own",
        "Cargo.lock (penstock-run) has 0.1.0, not 0.2.0",
        "CITATION.cff has 0.1.0, not 0.2.0",
        "CHANGELOG.md has no section `## [0.2.0] - DATE`",
        "not committed:  M crates/core/Cargo.toml",
    ):
        assert f"error: {reason}\n" in ended.err


def test_a_version_is_released_once(tree: Path) -> None:
    git(tree, "tag", "v0.1.0")
    ended = make("release", "VERSION=0.1.0", "RELEASE_DRY=1", cwd=tree)
    assert ended.code == 2
    assert ended.err.startswith("error: the tag v0.1.0 exists\n")


@pytest.mark.parametrize("version", ["", "v0.1.0", "0.1", "0.1.0; true"])
def test_a_release_needs_a_version(tree: Path, version: str) -> None:
    ended = make("release", f"VERSION={version}", "RELEASE_DRY=1", cwd=tree)
    assert ended.code == 2
    assert ended.err.startswith(f"error: VERSION is {version!r}, not like 1.2.3\n")


def test_what_fails_leaves_no_tag(tree: Path) -> None:
    (tree / "Makefile").write_text("lint:\ntest:\n\t@exit 1\n")
    git(tree, "commit", "--all", "--quiet", "--message", "Tests that fail")
    words = [sys.executable, "tools/release.py", "0.1.0"]
    done = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("error: `make test` failed: no tag was made\n")
    assert git(tree, "tag") == ""


def test_what_passes_is_tagged(tree: Path) -> None:
    (tree / "Makefile").write_text("lint test wheel sdist:\n\t@echo $@ passed\n")
    git(tree, "commit", "--all", "--quiet", "--message", "Tests that pass")
    words = [sys.executable, "tools/release.py", "0.1.0"]
    done = subprocess.run(words, cwd=tree, env=SOMEBODY, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert git(tree, "for-each-ref", "--format=%(refname) %(subject)", "refs/tags") == (
        "refs/tags/v0.1.0 Penstock 0.1.0\n"
    )
