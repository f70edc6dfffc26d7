"""The disk of a guard below a partition or a mapped device, over trees that stand for /sys."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from command import penstock
from penstock.errors import WRONG_INPUT, PenstockError
from penstock.guard.disks import GuardedDisk, guarded_disk
from test_devices import losetup


class Machine:
    """Block devices as `/sys` shows them."""

    def __init__(self, sys: Path) -> None:
        """Begin with none."""
        self.sys = sys

    def disk(self, name: str, scheduler: str = "[none] mq-deadline", **files: str) -> Path:
        """Add a device with a queue, and other files of its folder."""
        folder = self.sys / "devices" / name
        self._files(folder, {"queue/scheduler": f"{scheduler}\n", **files})
        (folder / "slaves").mkdir()
        self._listed(folder)
        return folder

    def partition(self, name: str, disk: Path) -> Path:
        self._files(disk / name, {"partition": "1\n"})
        self._listed(disk / name)
        return disk / name

    def mapped(self, name: str, below: Sequence[Path], uuid: str = "LVM-1") -> Path:
        folder = self.disk(name, "none", **{"dm/name": "vg-data\n", "dm/uuid": f"{uuid}\n"})
        for lower in below:
            (folder / "slaves" / lower.name).symlink_to(lower)
        return folder

    def _files(self, folder: Path, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def _listed(self, folder: Path) -> None:
        names = self.sys / "class/block"
        names.mkdir(parents=True, exist_ok=True)
        (names / folder.name).symlink_to(folder)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_disk_is_guarded_itself(machine: Machine) -> None:
    machine.disk("sda")
    machine.disk("zram0", "none")
    for named in ("sda", "/dev/sda"):
        assert guarded_disk(named, machine.sys) == GuardedDisk("sda")
    assert guarded_disk("zram0", machine.sys) == GuardedDisk("zram0")
    assert guarded_disk("sdq", machine.sys) == GuardedDisk("sdq"), "the engine refuses it"


def test_of_a_partition_the_whole_disk_is_guarded(machine: Machine) -> None:
    machine.partition("sda1", machine.disk("sda"))
    note = "sda1 is a partition of sda: the whole disk is guarded"
    assert guarded_disk("/dev/sda1", machine.sys) == GuardedDisk("sda", note)


def test_a_mapped_device_is_guarded_on_the_disk_below(machine: Machine) -> None:
    part = machine.partition("sda2", machine.disk("sda"))
    crypt = machine.mapped("dm-0", [part], uuid="CRYPT-LUKS2-1")
    machine.mapped("dm-1", [crypt])
    machine.mapped("dm-2", [part])
    note = "dm-2 (vg-data) lies on sda: guarded there"
    assert guarded_disk("dm-2", machine.sys) == GuardedDisk("sda", note)
    for named in ("dm-0", "dm-1"):
        disk, said = guarded_disk(named, machine.sys)
        assert disk == "sda"
        assert said is not None
        assert said.startswith(f"{named} (vg-data) lies on sda: guarded there; threads of the kern")


def test_a_device_with_a_scheduler_of_its_own_is_guarded_itself(machine: Machine) -> None:
    folder = machine.mapped("dm-0", [machine.disk("sda"), machine.disk("sdb")])
    (folder / "queue/scheduler").write_text("none [mq-deadline]\n")
    assert guarded_disk("dm-0", machine.sys) == GuardedDisk("dm-0")


def test_a_device_on_several_disks_is_refused_and_they_are_named(machine: Machine) -> None:
    machine.mapped("dm-0", [machine.disk("sda"), machine.partition("sdb1", machine.disk("sdb"))])
    with pytest.raises(PenstockError) as error:
        guarded_disk("dm-0", machine.sys)
    assert error.value.exit_code == WRONG_INPUT
    assert str(error.value) == (
        "error: dm-0 (vg-data) lies on sda, sdb; expected a device on one disk\n"
        "hint: a guard sets one disk: guard each of them, as with `penstock guard sda`"
    )


def test_a_partition_of_a_mapped_device_lies_on_the_disk_below(machine: Machine) -> None:
    machine.partition("md0p1", machine.mapped("md0", [machine.disk("sda")]))
    assert guarded_disk("md0p1", machine.sys) == GuardedDisk(
        "sda", "md0p1 lies on sda: guarded there"
    )


@pytest.fixture
def mapped(tmp_path: Path, leftovers: None) -> Iterator[tuple[str, str]]:
    """A mapped device, and the loop device below it."""
    if os.geteuid() != 0 or shutil.which("dmsetup") is None:
        pytest.skip("needs root and dmsetup")
    if "device-mapper" not in Path("/proc/misc").read_text():
        pytest.skip("needs a kernel with device-mapper")
    file = tmp_path / "below.img"
    with file.open("wb") as made:
        made.truncate(16 << 20)
    node, name = losetup("--find", "--show", file), f"penstock-test-{os.getpid()}"
    try:
        table = f"0 {(16 << 20) // 512} linear {node} 0"
        subprocess.run(["dmsetup", "create", name, "--table", table], check=True)
        try:
            yield f"/dev/mapper/{name}", Path(node).name
        finally:
            subprocess.run(["dmsetup", "remove", name], check=True)
    finally:
        losetup("--detach", node)


def test_a_device_of_dmsetup_is_guarded_on_the_disk_below(mapped: tuple[str, str]) -> None:
    path, below = mapped
    disk, note = guarded_disk(path)
    assert disk == below
    assert note is not None
    assert f"({Path(path).name}) lies on {below}: guarded there" in note
    words = ("--online", "command:a", "--batch", "command:b", "--goal", "online.p99 <= 1ms")
    done = penstock("guard", path, *words, "--dry-run")
    assert done.code == 0, done.err
    assert f"/sys/block/{below}/queue/" in done.out


@pytest.fixture
def part(tmp_path: Path, leftovers: None) -> Iterator[str]:
    """A partition of a loop device."""
    if shutil.which("addpart") is None:
        pytest.skip("needs addpart")
    file = tmp_path / "whole.img"
    with file.open("wb") as made:
        made.truncate(16 << 20)
    node = losetup("--find", "--show", file)
    try:
        subprocess.run(["addpart", node, "1", "2048", "8192"], check=True)
        try:
            yield f"{node}p1"
        finally:
            subprocess.run(["delpart", node, "1"], check=True)
    finally:
        losetup("--detach", node)


def test_of_a_partition_of_the_kernel_the_whole_disk_is_guarded(part: str) -> None:
    disk = Path(part).name.removesuffix("p1")
    note = f"{disk}p1 is a partition of {disk}: the whole disk is guarded"
    assert guarded_disk(part) == GuardedDisk(disk, note)
    words = ("--online", "command:a", "--batch", "command:b", "--goal", "online.p99 <= 1ms")
    done = penstock("guard", part, *words, "--dry-run")
    assert (done.code, done.err) == (0, f"{note}\n")
    assert f"/sys/block/{disk}/queue/" in done.out
