"""The Makefile's own checks: which Rust there must be, and which sanitizers."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command import ROOT
from making import make

NEEDED = re.search(r'^rust-version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
"""The oldest Rust that builds Penstock."""

USED = ("awk", "bash", "dirname", "env", "find", "head", "make", "sed", "sh", "sort")
"""Programs that the checks need."""

LEAKS = ROOT / "tools/leaks.supp"
"""What may leak, by the modules of the tests."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder to be PATH: it has the programs of any machine, and no cargo."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in USED:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    return folder


def put(folder: Path, name: str, script: str) -> None:
    """Make a program of a shell script."""
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_setup_says_which_rust_is_missing(programs: Path) -> None:
    assert NEEDED is not None
    ended = make("setup", env={"PATH": str(programs)})
    assert ended.code == 2
    assert ended.err.startswith(
        f"error: there is no cargo in PATH; Penstock needs Rust {NEEDED[1]} or later\n"
        "hint: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh\n"
    )


@pytest.mark.parametrize("found", ["1.63.0", "1.9.0", "0.100.0"])
def test_setup_says_which_rust_is_too_old(programs: Path, found: str) -> None:
    assert NEEDED is not None
    put(programs, "cargo", f"echo 'cargo {found} (fd9c4297c 2022-07-01)'")
    path = {"PATH": str(programs)}
    ended = make("setup", env=path)
    assert ended.code == 2
    error = f"error: {programs}/cargo is of Rust {found}; Penstock needs Rust {NEEDED[1]} or later"
    assert ended.err.startswith(f"{error}\nhint: curl ")
    put(programs, "rustup", "exit 1")
    assert make("setup", env=path).err.startswith(f"{error}\nhint: rustup update stable\n")


def test_setup_passes_on_what_rustup_says(programs: Path) -> None:
    put(programs, "cargo", "echo \"error: toolchain 'stable' is not installed\" >&2; exit 1")
    ended = make("setup", env={"PATH": str(programs)})
    assert ended.code == 2
    assert "`cargo --version` failed: error: toolchain 'stable' is not installed;" in ended.err
    assert "\nhint: rustup toolchain install stable\n" in ended.err


@pytest.mark.parametrize("found", ["{}.0", "{}", "1.100.0", "2.0.0", "1.100.0-nightly"])
def test_a_rust_that_is_new_enough_is_taken(programs: Path, found: str) -> None:
    assert NEEDED is not None
    put(programs, "cargo", f"echo 'cargo {found.format(NEEDED[1])} (4d1f98451 2026-05-15)'")
    assert make("rust", env={"PATH": str(programs)}) == (0, "", "")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_pages_name_the_rust_that_is_needed(page: str) -> None:
    assert NEEDED is not None
    assert f"Rust {NEEDED[1]} or later" in (ROOT / page).read_text()


def test_a_sanitizer_that_is_missing_is_a_failure(programs: Path) -> None:
    put(programs, "rustc", "echo 'host: x86_64-unknown-linux-gnu'")
    put(programs, "cargo", 'echo "$@"; [ "$2" != miri ]')
    ended = make("sanitize", env={"PATH": str(programs)})
    assert ended.code == 2
    assert "+nightly test --locked --no-fail-fast --target x86_64-unknown-linux-gnu" in ended.out
    assert "error: Miri was NOT run: Rust's nightly toolchain is here without its" in ended.err
    assert "\nhint: rustup component add --toolchain nightly miri rust-src\n" in ended.err
    put(programs, "rustc", "exit 1")
    ended = make("sanitize", env={"PATH": str(programs)})
    assert ended.code == 2
    assert "error: NOTHING was run: both sanitizers need Rust's nightly" in ended.err
    # What fails in one part does not hide the other.
    put(programs, "rustc", "echo 'host: x86_64-unknown-linux-gnu'")
    put(programs, "cargo", 'echo "$@"; [ "$2" != test ]')
    ended = make("sanitize", env={"PATH": str(programs)})
    assert ended.code == 2
    assert "+nightly miri test --locked --no-fail-fast --lib -p penstock-live -- " in ended.out
    assert "error: failed: AddressSanitizer: live and capi\n" in ended.err
    put(programs, "cargo", 'echo "$@"')
    assert make("sanitize", env={"PATH": str(programs)}).code == 0


def test_the_modules_that_the_sanitizers_name_have_tests() -> None:
    """A name that is no longer there would select nothing, or suppress nothing."""
    source = ROOT / "crates/live/src"
    tested = {
        "::".join(file.relative_to(source).with_suffix("").parts).removesuffix("::mod")
        for file in source.rglob("*.rs")
        if "#[cfg(test)]" in file.read_text()
    }
    (listed,) = re.findall(r"^MODULES=\((.+)\)$", (ROOT / "tools/sanitize").read_text(), re.M)
    for name in (word.removesuffix("::tests") for word in listed.split()):
        assert any(module == name or module.endswith(f"::{name}") for module in tested), name
    leaks = re.findall(r"^leak:penstock_live::(.+)::tests$", LEAKS.read_text(), re.M)
    assert leaks
    assert set(leaks) <= tested


def test_the_forge_runs_what_there_is() -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    commands = re.findall(r"^ +run: (.+)$", text, re.MULTILINE)
    assert "bash .ci/run" in commands
    targets = [command.removeprefix("make ") for command in commands if command.startswith("make ")]
    assert targets == ["demo", "wheel"]
    assert make("--dry-run", *targets).code == 0


def test_the_slowest_programs_of_cargo_test_are_named() -> None:
    said = "".join(
        f"     Running tests/t{number}.rs (target/debug/deps/t{number}-0b1c445fec610476)\n"
        f"test result: ok. 1 passed; 0 failed; finished in {number}.25s\n"
        for number in range(12)
    )
    said += "   Doc-tests penstock_core\ntest result: ok. 1 passed; finished in 100.50s\n"
    done = subprocess.run(
        [ROOT / "tools/slowest"], input=said, capture_output=True, text=True, check=True
    )
    named = [f"{number:5}.25 s  t{number}" for number in range(11, 2, -1)]
    heading = ["slowest test programs:", "  100.50 s  doc tests of penstock_core"]
    assert done.stdout.removeprefix(said).splitlines() == [*heading, *named]
