"""Files in memory: they are measured, and every result says that it is of no disk."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as package
from command import penstock
from test_devices import gone, losetup

SHM = Path("/dev/shm")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory that takes direct I/O."""
    if not os.access(SHM, os.W_OK):
        pytest.skip(f"this machine has no {SHM}")
    with tempfile.TemporaryDirectory(dir=SHM) as folder:
        checks = json.loads(penstock("doctor", folder, "--json").out)["checks"]
        (direct,) = (check for check in checks if check["name"] == "direct I/O")
        (kind,) = (check for check in checks if check["name"] == "file system")
        if direct["state"] == "no" or kind["found"] != "tmpfs":
            pytest.skip(f"{SHM} is no tmpfs with direct I/O")
        yield Path(folder)


def remark(path: Path) -> str:
    """What is said of it."""
    return f"{path} lies in memory (tmpfs): the figures are of memory, not of a disk"


class TestMemory:
    """A target on tmpfs."""

    def test_is_reported_in_the_table_and_in_the_json(self, job: Path, memory: Path) -> None:
        path = memory / "disk.img"
        words = ("run", job, "--policy", "noop", "--on", path, "--set", "duration=200ms")
        ended = penstock(*words, "--create", "16MiB")
        assert ended.code == 0, ended.err
        assert f"  note: {remark(path)}\n" in ended.out
        ended = penstock(*words, "--json")
        assert remark(path) in json.loads(ended.out)["runs"][0]["remarks"]

    def test_is_reported_of_a_loop_device_over_it(self, job: Path, memory: Path) -> None:
        losetup("--version")
        path = memory / "disk.img"
        words = ("run", job, "--policy", "noop", "--set", "duration=200ms", "--json")
        ended = penstock(*words, "--on", f"loop:{path}", "--create", "16MiB")
        assert ended.code == 0, ended.err
        (run,) = json.loads(ended.out)["runs"]
        assert remark(path) in run["remarks"]
        assert next(iter(run["schedulers"])).startswith("loop")
        assert gone(path)
        with path.open("wb") as file:
            file.truncate(16 << 20)
        node = losetup("--find", "--show", path)
        try:
            result = package.compare(
                job, policies=["noop"], on=node, i_will_lose_data=node, set={"duration": "200ms"}
            )
        finally:
            losetup("--detach", node)
        assert any(one.startswith(f"{node} lies in memory") for one in result["noop"].remarks)

    def test_is_reported_of_the_papers_programs(self, memory: Path) -> None:
        path = memory / "disk.img"
        cells = ("--modes", "fifo", "--batch", "0", "--repeat", "1", "--no-overlap")
        words = ("paper", "online-batch", "live", *cells, "--on", path)
        ended = penstock(*words, "--create", "16MiB")
        assert ended.code == 0, ended.err
        assert f"  note: {remark(path)}\n" in ended.out

    def test_is_reported_of_a_calibration_and_in_its_device_file(
        self, memory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from penstock.calibrate import calibrate, measure
        from penstock.calibrate.models import MODELS

        monkeypatch.setattr(measure, "SECONDS", (0.02, 2.0))
        # The fit of richer models takes its time, and memory is neither flash nor a disk.
        monkeypatch.setattr("penstock.calibrate.MODELS", MODELS[:1])
        path = memory / "disk.img"
        found = calibrate(path, create="64MiB", rounds=1)
        assert remark(path) in found.remarks
        assert f"# note: {remark(path)}\n" in found.to_toml()

    def test_is_reported_of_advice(self, memory: Path) -> None:
        from penstock.advise import split
        from penstock.errors import PenstockError

        path = memory / "disk.img"
        try:
            found = split(path, create="64MiB", rounds=2)
        except PenstockError as error:
            pytest.skip(f"memory gives no answer: {error}")
        assert remark(path) in found.remarks


def test_a_file_on_a_disk_is_no_memory(job: Path, disk: Path) -> None:
    words = ("run", job, "--policy", "noop", "--on", disk, "--create", "16MiB", "--json")
    ended = penstock(*words, "--set", "duration=200ms")
    (run,) = json.loads(ended.out)["runs"]
    assert not any("memory" in one for one in run.get("remarks", []))
