"""Faults planted into the models, one at a time: each is caught by the test that is named for it.

The project is copied, a few words of a model are changed, and the named test must fail. A check
that cannot fail is worth nothing, and this is how we know.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from command import ROOT


class Fault(NamedTuple):
    """What is changed, and who must notice."""

    name: str
    file: str
    right: str
    wrong: str
    package: str
    target: str
    test: str


DISK = "crates/device/src/hdd/disk.rs"
MECHANISM = "crates/device/src/hdd/mechanism.rs"
PLATTER = "crates/device/src/hdd/platter.rs"
GEOMETRY = "crates/device/src/hdd/geometry.rs"
SEEK = "crates/device/src/hdd/seek.rs"
LIBRARY = ""
"""The target of tests that lie next to what they test."""

ACCESSES = ("penstock-validation", "accesses")

CANARY = Fault(
    "stripes one unit off",
    "crates/device/src/array/raid0.rs",
    "let disk = (unit % self.disks) as usize;",
    "let disk = ((unit + 1) % self.disks) as usize;",
    "penstock-device",
    LIBRARY,
    "array::tests::every_byte_of_a_stripe_lies_where_the_rule_puts_it",
)
"""The fault that is planted in every test run; the others take as long as all other tests."""

FAULTS = [
    CANARY,
    Fault(
        "track skew ignored",
        GEOMETRY,
        ".plus(zone.track_skew.times(tracks))",
        ".plus(zone.track_skew.times(0 * tracks))",
        *ACCESSES,
        "blocks_lie_where_disksim_puts_them",
    ),
    Fault(
        "cylinder skew ignored",
        GEOMETRY,
        ".plus(zone.cyl_skew.times(cylinder))",
        ".plus(zone.cyl_skew.times(0 * cylinder))",
        *ACCESSES,
        "blocks_lie_where_disksim_puts_them",
    ),
    Fault(
        "slipped sectors not passed over",
        GEOMETRY,
        "(interval * full + rest + passed, together)",
        "(interval * full + rest + 0 * passed, together)",
        *ACCESSES,
        "blocks_lie_where_disksim_puts_them",
    ),
    Fault(
        "capacity off by one zone",
        GEOMETRY,
        "map.blocks = zone.end;",
        "map.blocks = zone.start;",
        *ACCESSES,
        "capacities_are_the_published_ones",
    ),
    Fault(
        "write settling dropped",
        SEEK,
        "moved.saturating_add_signed(self.write_settle)",
        "moved.saturating_add_signed(0 * self.write_settle)",
        *ACCESSES,
        "seeks_take_what_disksim_takes",
    ),
    Fault(
        "head switches for nothing",
        SEEK,
        "let switch = if other_head { self.head_switch } else { 0 };",
        "let switch = if other_head { 0 * self.head_switch } else { 0 };",
        *ACCESSES,
        "every_access_is_disksims_but_for_what_its_platter_is_behind",
    ),
    Fault(
        "the arm goes home after each access",
        DISK,
        "self.mechanism.arm = access.arm;",
        "self.mechanism.arm = super::access::Arm { cylinder: 0, ..access.arm };",
        *ACCESSES,
        "every_access_is_disksims_but_for_what_its_platter_is_behind",
    ),
    Fault(
        "the platter waits for the arm",
        PLATTER,
        "angle.0.wrapping_sub(ns.wrapping_mul(self.rate))",
        "angle.0.wrapping_sub(0 * ns.wrapping_mul(self.rate))",
        *ACCESSES,
        "every_access_is_disksims_but_for_what_its_platter_is_behind",
    ),
    Fault(
        "command overheads dropped",
        MECHANISM,
        "self.overheads[usize::from(op != Op::Read)][usize::from(self.wrote)]",
        "0 * self.overheads[usize::from(op != Op::Read)][usize::from(self.wrote)]",
        "penstock-validation",
        "page",
        "every_check_holds_and_the_page_says_so",
    ),
    Fault(
        "flush acknowledged early",
        "crates/device/src/hdd/buffer.rs",
        "written.map_or(now, |written| written.at.max(now))",
        "written.map_or(now, |written| written.at.min(now))",
        "penstock-device",
        LIBRARY,
        "hdd::buffer::tests::after_a_flush_everything_answered_is_on_the_platter",
    ),
    Fault(
        "read-ahead that never happens",
        "crates/device/src/hdd/buffer.rs",
        "ReadAhead::Segment => most,",
        "ReadAhead::Segment => end,",
        "penstock-validation",
        "page",
        "every_check_holds_and_the_page_says_so",
    ),
    Fault(
        "queue not sorted by distance",
        "crates/policy/src/sstf.rs",
        "Some(if distance(up) <= distance(down) { up } else { down })",
        "Some(up.min(down))",
        "penstock-validation",
        "decisions",
        "every_decision_of_shortest_seek_first_is_disksims",
    ),
]


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """The project's sources, to be spoilt. At the same path each time: cargo knows them again."""
    copy = ROOT / "target" / "planted"
    shutil.rmtree(copy, ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    yield copy
    shutil.rmtree(copy)


def ran(copy: Path, fault: Fault) -> subprocess.CompletedProcess[str]:
    """The test that is named, on the sources as they are now."""
    return subprocess.run(
        [
            *("cargo", "test", "--locked", "--quiet", "-p", fault.package),
            *(("--test", fault.target) if fault.target else ("--lib",)),
            *("--", "--exact", fault.test),
        ],
        cwd=copy,
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")},
        capture_output=True,
        text=True,
        check=False,
    )


def caught(copy: Path, fault: Fault) -> None:
    """Plant the fault, and check that its test fails."""
    path = copy / fault.file
    sound = path.read_text()
    path.write_text(sound.replace(fault.right, fault.wrong))
    try:
        ended = ran(copy, fault)
    finally:
        path.write_text(sound)
    assert "test result: FAILED. 0 passed; 1 failed" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_its_place(fault: Fault) -> None:
    assert (ROOT / fault.file).read_text().count(fault.right) == 1, "plant it anew"


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_canary_is_caught(copy: Path) -> None:
    caught(copy, CANARY)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(copy: Path, fault: Fault) -> None:
    caught(copy, fault)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_without_a_fault_they_pass(copy: Path) -> None:
    for target in dict.fromkeys((fault.package, fault.target, fault.test) for fault in FAULTS):
        ended = ran(copy, Fault("none", "", "", "", *target))
        assert "test result: ok. 1 passed" in ended.stdout, ended.stdout + ended.stderr
