"""CONTRIBUTING.md's way to a new policy, walked to its end in a copy of the repository."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command import ROOT

BUILT = {".git", "target", ".venv", "demo-data"}
"""What lies beside the sources; deeper down a folder may have such a name of its own."""


def left_out(folder: str, names: list[str]) -> set[str]:
    """What a copy of the repository does without."""
    return {name for name in names if Path(folder) == ROOT and name in BUILT}


def cargo(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run cargo in the copy, with what the repository has built already."""
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return subprocess.run(
        ["cargo", *words],
        cwd=copy,
        env=os.environ | {"CARGO_TARGET_DIR": target, "INSTA_UPDATE": "always"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(900)
def test_a_policy_is_one_file_one_line_and_one_golden_table(tmp_path: Path) -> None:
    """The example of 60 lines becomes a registered policy that keeps the contract."""
    copy = tmp_path / "penstock"
    shutil.copytree(ROOT, copy, ignore=left_out)

    # One file: the example, told that it is inside now.
    text = (copy / "examples/policies/lifo.rs").read_text()
    assert len(text.splitlines()) <= 65
    text = text.replace("penstock_policy::{", "crate::{").replace("std::", "alloc::")
    text = text.replace("use alloc::coll", "use alloc::boxed::Box;\nuse alloc::coll")
    (copy / "crates/policy/src/lifo.rs").write_text(text)

    # One line, and its module.
    registry = copy / "crates/policy/src/registry.rs"
    last = "class_priority::ENTRY,\n"
    before = registry.read_text()
    assert before.count(last) == 1
    registry.write_text(before.replace(last, f"{last}    crate::lifo::ENTRY,\n"))
    library = copy / "crates/policy/src/lib.rs"
    library.write_text(library.read_text().replace("pub mod noop;", "pub mod lifo;\npub mod noop;"))

    # One golden table.
    golden = cargo(copy, "test", "--locked", "-p", "penstock-tests", "--test", "golden")
    assert golden.returncode == 0, golden.stdout + golden.stderr
    table = (copy / "tests/golden/lifo.snap").read_text()
    assert re.search(r"^lifo: the newest first", table, re.MULTILINE)

    # The rest follows: the contract holds it, and would not if it lost requests.
    contract = ("test", "--locked", "-p", "penstock-tests", "--test", "contract")
    held = cargo(copy, *contract)
    assert held.returncode == 0, held.stdout + held.stderr
    queued = "self.queue.push_back((now, req.id));"
    assert text.count(queued) == 1
    losing = text.replace(queued, f"if self.queue.is_empty() {{ {queued} }}")
    (copy / "crates/policy/src/lifo.rs").write_text(losing)
    broken = cargo(copy, *contract)
    assert broken.returncode != 0
    assert "lifo: " in broken.stdout
