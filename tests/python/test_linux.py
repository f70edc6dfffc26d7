"""`penstock linux show`: what the kernel has set for each block device."""

import json
from pathlib import Path

import pytest

from command import penstock

BLOCKS = Path("/sys/block")

pytestmark = pytest.mark.skipif(not BLOCKS.is_dir(), reason="no /sys/block here")


def names() -> list[str]:
    return sorted(path.name for path in BLOCKS.iterdir())


def attributes(folder: Path) -> dict[str, str]:
    """The readable files of a folder without the end of their line."""
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            if path.is_file():
                found[path.name] = path.read_text().removesuffix("\n")
        except OSError:
            continue
    return found


def test_the_json_is_what_sysfs_has() -> None:
    ended = penstock("linux", "show", "--json")
    assert (ended.code, ended.err) == (0, "")
    disks = json.loads(ended.out)["disks"]
    assert [disk["name"] for disk in disks] == names()
    for disk in disks:
        queue = BLOCKS / disk["name"] / "queue"
        assert disk["queue"] == attributes(queue)
        assert disk["tunables"] == attributes(queue / "iosched")
        assert disk["bytes"] == int((BLOCKS / disk["name"] / "size").read_text()) * 512


def test_the_table_has_each_device_and_the_tunables_of_its_scheduler() -> None:
    ended = penstock("linux", "show", env={"COLUMNS": "300"})
    assert (ended.code, ended.err) == (0, "")
    for name in names():
        schedulers = attributes(BLOCKS / name / "queue").get("scheduler", "–")
        (line,) = (
            line for line in ended.out.splitlines() if line.startswith((f"{name} ", f"{name},"))
        )
        assert schedulers in line
        for tunable in attributes(BLOCKS / name / "queue/iosched"):
            assert f"\n{tunable} " in ended.out


def test_a_device_is_named_as_the_kernel_or_by_its_path() -> None:
    first = names()[0]
    (one,) = json.loads(penstock("linux", "show", first, "--json").out)["disks"]
    (same,) = json.loads(penstock("linux", "show", f"/dev/{first}", "--json").out)["disks"]
    assert one["name"] == same["name"] == first


@pytest.mark.parametrize("name", ["sdzz", "/dev/sdzz", "", "../etc"])
def test_what_is_no_device_is_refused(name: str) -> None:
    ended = penstock("linux", "show", name)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert "hint: " in ended.err


def test_a_partition_is_refused_with_its_disk() -> None:
    parts = [
        path
        for disk in BLOCKS.iterdir()
        for path in disk.iterdir()
        if (path / "partition").exists()
    ]
    if not parts:
        pytest.skip("no disk here has partitions")
    ended = penstock("linux", "show", parts[0].name)
    assert ended.code == 2
    assert f"name the disk: {parts[0].parent.name}" in ended.err
