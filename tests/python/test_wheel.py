"""The wheel of `make wheel`, as a stranger installs it: no compiler, no repository, no terminal."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from command import ROOT

UV = Path(sys.executable).with_name("uv")

WHEELS = ROOT / "target/wheels"


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel that `make wheel` made, as `make test` does."""
    wheels = sorted(WHEELS.glob("penstock-*.whl"))
    if not wheels and "CI" not in os.environ:
        pytest.skip("there is no wheel: `make wheel` makes it")
    (path,) = wheels
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it asks for, in the versions of uv.lock."""
    folder = tmp_path_factory.mktemp("stranger")
    locked = folder / "locked.txt"
    pinned = ("--frozen", "--no-dev", "--no-emit-project", "--no-hashes", "--output-file")
    subprocess.run([UV, "--quiet", "export", *pinned, locked], cwd=ROOT, check=True)
    subprocess.run([UV, "--quiet", "venv", "--python", sys.executable, folder / "venv"], check=True)
    into = ("--python", folder / "venv", "--constraints", locked, "--only-binary", ":all:")
    subprocess.run([UV, "--quiet", "pip", "install", *into, wheel], check=True)
    return folder / "venv"


def stranger(installed: Path, folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in an empty folder, where PATH has the environment alone."""
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env={"PATH": str(installed / "bin"), "HOME": str(folder), "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_it_is_for_every_python_from_3_11_on(wheel: Path) -> None:
    assert re.search(r"-cp311-abi3-manylinux_\d+_\d+_\w+\.whl$", wheel.name), wheel.name


def tracked(*patterns: str) -> set[str]:
    """The files of the repository that match."""
    words = ["git", "ls-files", *patterns]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.splitlines())


def test_it_holds_the_package_and_what_papers_published(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {path for path in names if not path.split("/")[0].endswith(".dist-info")}
    sources = {path.removeprefix("python/") for path in tracked("python/penstock")}
    papers = {
        f"penstock/papers/data/{path.removeprefix('papers/')}"
        for path in tracked("papers/**/*.toml")
    }
    link = {"penstock/papers/data"}
    assert package == sources - link | papers | {"penstock/_native.abi3.so"}


def test_a_stranger_makes_a_job_and_compares(installed: Path, tmp_path: Path) -> None:
    ended = stranger(installed, tmp_path, "penstock new bank-day && penstock compare bank-day.toml")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("SIMULATED  bank-day.toml on hdd-7200\n")
    assert "best for online" in ended.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["bank-day.toml"]


def test_it_comes_from_the_environment(installed: Path, tmp_path: Path) -> None:
    script = "python -c 'import penstock; print(penstock.__file__)'"
    assert stranger(installed, tmp_path, script).stdout.startswith(f"{installed}/")
    assert stranger(installed, tmp_path, "command -v cargo cc git make").stdout == ""


def test_the_sources_are_whole(tmp_path: Path) -> None:
    """Checks that cargo accepts the lock file, of which the crates of tests are not packed."""
    maturin = Path(sys.executable).with_name("maturin")
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (packed,) = tmp_path.glob("penstock-*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    # Of what pip does it leaves out what takes minutes, the compiling.
    words = ("pep517", "write-dist-info", "--metadata-directory", tmp_path)
    done = subprocess.run(
        [maturin, *words, "--interpreter", sys.executable],
        cwd=packed.with_name(packed.name.removesuffix(".tar.gz")),
        env=os.environ | {"CARGO_NET_OFFLINE": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
