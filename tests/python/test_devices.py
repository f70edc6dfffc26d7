"""The command on block devices: loop devices of the machine's own, which need root."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as package
from command import COMMAND, as_nobody, penstock

MIB = 1 << 20


def losetup(*words: str | Path) -> str:
    """What losetup answers; without root or loop devices the test is skipped, but in CI."""
    usable = os.geteuid() == 0 and Path("/dev/loop-control").exists()
    if not usable and not (os.environ.get("CI") and os.geteuid() == 0):
        pytest.skip("loop devices need root and /dev/loop-control")
    return subprocess.run(
        ["losetup", *map(str, words)], capture_output=True, text=True, check=True
    ).stdout.strip()


def reset_depth(node: str) -> None:
    """Give a loop device its driver's depth: it keeps its last user's, even if not shown."""
    depth = Path("/sys/block", Path(node).name, "queue/nr_requests")
    for value in ("4", Path("/sys/module/loop/parameters/hw_queue_depth").read_text()):
        depth.write_text(value)


def loops_over(file: Path) -> list[str]:
    """The loop devices over a file, as the kernel lists them."""
    found = Path("/sys/block").glob("loop*/loop/backing_file")
    return [str(one) for one in found if one.read_text().strip() == str(file)]


def gone(file: Path) -> bool:
    """Whether no loop device is over a file, within some seconds."""
    for _ in range(100):
        if not loops_over(file):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def node(disk: Path) -> Iterator[str]:
    """A block device of 32 MiB with nothing on it."""
    with disk.open("wb") as file:
        file.truncate(32 * MIB)
    name = losetup("--find", "--show", disk)
    yield name
    losetup("--detach", name)


class TestDevice:
    """A device that is named twice."""

    def test_is_run_on_once_it_is_named_twice(self, job: Path, disk: Path, node: str) -> None:
        words = ("--policies", "noop,size-priority", "--set", "duration=1s", "--json")
        ended = penstock("compare", job, "--on", node, "--i-will-lose-data", node, *words)
        assert (ended.code, ended.err) == (0, "")
        result = json.loads(ended.out)
        assert (result["world"], result["device"]) == ("measured", node)
        for run in result["runs"]:
            assert all(one["requests"] > 0 and one["errors"] == 0 for one in run["classes"])
        assert any(disk.read_bytes())

    def test_is_refused_if_it_is_named_once_or_wrongly(
        self, job: Path, disk: Path, node: str
    ) -> None:
        for more in ((), ("--i-will-lose-data", "/dev/loop-control")):
            ended = penstock("run", job, "--policy", "noop", "--on", node, *more)
            assert (ended.code, ended.out) == (5, "")
            assert f"{node}: found a block device (33554432 bytes)" in ended.err
            assert f"`--i-will-lose-data {node}`" in ended.err
        assert not any(disk.read_bytes())

    def test_is_refused_with_anything_on_it(self, job: Path, disk: Path, node: str) -> None:
        with disk.open("r+b") as file:
            file.write(b"XFSB")
        words = ("--on", node, "--i-will-lose-data", node)
        ended = penstock("run", job, "--policy", "noop", *words)
        assert (ended.code, ended.out) == (5, "")
        assert "found an XFS file system at byte 0" in ended.err
        assert f"`wipefs -a {node}`" in ended.err
        assert disk.read_bytes() == b"XFSB" + bytes(32 * MIB - 4)

    def test_with_data_of_no_known_format_is_refused_until_they_may_be_lost(
        self, job: Path, disk: Path, node: str
    ) -> None:
        with disk.open("r+b") as file:
            file.seek(16 * MIB)
            file.write(b"a row of a table" * MIB)
        before = disk.read_bytes()
        words = ("run", job, "--policy", "noop", "--set", "duration=1s", "--on", node)
        ended = penstock(*words, "--i-will-lose-data", node)
        assert (ended.code, ended.out) == (5, "")
        assert f"{node}: found data at byte " in ended.err
        assert "`--even-if-not-empty`" in ended.err
        assert disk.read_bytes() == before
        ended = penstock(*words, "--i-will-lose-data", node, "--even-if-not-empty")
        assert (ended.code, ended.err) == (0, "")

    def test_is_used_again_after_runs_and_the_papers_programs(self, job: Path, node: str) -> None:
        run = ("run", job, "--policy", "noop", "--set", "duration=1s")
        cells = ("--modes", "split", "--batch", "1", "--repeat", "1", "--no-overlap")
        for words in (run, ("paper", "online-batch", "live", *cells), run):
            ended = penstock(*words, "--on", node, "--i-will-lose-data", node)
            assert (ended.code, ended.err) == (0, "")

    def test_holds_data_once_a_gate_has_written_to_it(self, job: Path, node: str) -> None:
        with package.Gate(node, i_will_lose_data=node) as gate:
            gate.write(0, b"a record" * 512)
        del gate
        ended = penstock("run", job, "--policy", "noop", "--on", node, "--i-will-lose-data", node)
        assert (ended.code, ended.out) == (5, "")
        assert "found data at byte 0; " in ended.err
        with pytest.raises(package.PenstockError, match="found data at byte 0"):
            package.Gate(node, i_will_lose_data=node)
        with package.Gate(node, i_will_lose_data=node, even_if_not_empty=True) as gate:
            assert gate.read(0, 8) == b"a record"

    def test_is_named_twice_in_a_program_too(self, job: Path, node: str) -> None:
        length = {"duration": "1s"}
        with pytest.raises(package.PenstockError, match="expected it to be named twice"):
            package.compare(job, policies=["noop"], on=node, set=length)
        result = package.compare(job, policies=["noop"], on=node, i_will_lose_data=node, set=length)
        assert result.world == "measured"

    def test_has_its_size(self, job: Path, node: str) -> None:
        words = ("--on", node, "--i-will-lose-data", node, "--create", "16MiB")
        ended = penstock("run", job, "--policy", "noop", *words)
        assert (ended.code, ended.out) == (2, "")
        assert "--create does not go with" in ended.err

    def test_is_left_alone_outside_a_view(self, job: Path, disk: Path, node: str) -> None:
        view = ("--set", "live.view.start=8MiB", "--set", "live.view.length=16MiB")
        words = ("--on", node, "--i-will-lose-data", node, "--set", "duration=1s", *view)
        ended = penstock("run", job, "--policy", "noop", *words, "--json")
        assert (ended.code, ended.err) == (0, "")
        text = json.loads(ended.out)["job"]["text"]
        assert 'view = { start = "8MiB", length = "16MiB" }' in text
        content = disk.read_bytes()
        assert not any(content[: 8 * MIB])
        assert not any(content[24 * MIB :])
        assert any(content)


class TestWrong:
    """What does not go with what."""

    @pytest.mark.parametrize("on", ["hdd-7200", "FILE", "loop:FILE"])
    def test_only_a_device_is_named_twice(self, job: Path, disk: Path, on: str) -> None:
        on = on.replace("FILE", str(disk))
        words = ("--on", on, "--i-will-lose-data", on)
        ended = penstock("run", job, "--policy", "noop", *words)
        assert (ended.code, ended.out) == (2, "")
        assert "--i-will-lose-data" in ended.err
        assert "does not go with" in ended.err

    @pytest.mark.parametrize("on", ["hdd-7200", "FILE", "NODE"])
    def test_data_may_be_lost_only_on_what_is_named_twice(
        self, job: Path, disk: Path, node: str, on: str
    ) -> None:
        on = on.replace("NODE", node).replace("FILE", f"{disk}.img")
        words = ("--on", on, "--even-if-not-empty")
        ended = penstock("run", job, "--policy", "noop", *words)
        assert (ended.code, ended.out) == (2, "")
        assert "--even-if-not-empty does not go with" in ended.err
        with pytest.raises(package.PenstockError, match="--even-if-not-empty does not go with"):
            package.Gate(node, even_if_not_empty=True)

    def test_a_loop_device_is_made_of_a_file(self, job: Path) -> None:
        ended = penstock("run", job, "--policy", "noop", "--on", "loop:")
        assert (ended.code, ended.out) == (2, "")
        assert "--on loop: names no file" in ended.err

    def test_a_slip_below_dev_is_not_to_be_created(self, job: Path) -> None:
        ended = penstock("run", job, "--policy", "noop", "--on", "/dev/nosuchdisk")
        assert (ended.code, ended.out) == (2, "")
        assert "/dev/nosuchdisk: found no file; expected a block device" in ended.err
        assert "--create" not in ended.err

    @pytest.mark.parametrize("on", ["/dev/nosuchdisk", "loop:/dev/nosuchdisk"])
    def test_a_slip_below_dev_becomes_no_file(self, job: Path, on: str) -> None:
        ended = penstock("run", job, "--policy", "noop", "--on", on, "--create", "16MiB")
        assert (ended.code, ended.out) == (2, "")
        assert "/dev/nosuchdisk: found no such device" in ended.err
        assert not Path("/dev/nosuchdisk").exists()
        with pytest.raises(package.PenstockError, match="found no such device"):
            package.Gate("/dev/nosuchdisk", create="16MiB")
        assert not Path("/dev/nosuchdisk").exists()

    def test_a_view_that_does_not_fit_leaves_no_file(self, job: Path, disk: Path) -> None:
        outside = "live.view ends past the 16777216 bytes to create"
        unaligned = "found a view of 8388608 bytes from byte 1; expected whole blocks of "
        for start, message in (("12MiB", outside), ("1B", unaligned)):
            view = ("--set", f"live.view.start={start}", "--set", "live.view.length=8MiB")
            words = ("--on", disk, "--create", "16MiB", *view)
            ended = penstock("run", job, "--policy", "noop", *words)
            assert (ended.code, ended.out) == (2, "")
            assert message in ended.err
            assert not disk.exists()

    def test_a_job_that_is_not_there(self, tmp_path: Path) -> None:
        ended = penstock("run", tmp_path / "none.toml", "--policy", "noop")
        assert (ended.code, ended.out) == (2, "")


class TestLoop:
    """A loop device over an owned file."""

    def test_comes_and_goes_with_a_run(self, job: Path, disk: Path) -> None:
        losetup("--version")
        words = ("--policy", "noop", "--set", "duration=1s", "--json")
        for more in (("--create", "16MiB"), ()):
            ended = penstock("run", job, "--on", f"loop:{disk}", *more, *words)
            assert (ended.code, ended.err) == (0, "")
            assert json.loads(ended.out)["device"] == f"loop:{disk}"
            assert gone(disk)
        assert disk.stat().st_size == 16 * MIB + 4096
        assert penstock("run", job, "--on", disk, *words).code == 0

    def test_goes_with_a_run_that_is_killed(self, job: Path, disk: Path) -> None:
        losetup("--version")
        words = ("--policy", "noop", "--set", "duration=1h", "--create", "16MiB")
        on = ("--on", f"loop:{disk}")
        with subprocess.Popen([*COMMAND, "run", str(job), *words, *on]) as running:
            while not loops_over(disk) and running.poll() is None:
                time.sleep(0.05)
            assert running.poll() is None
            running.kill()
        assert gone(disk)

    def test_a_run_that_fails_leaves_a_file_that_was_there(self, job: Path, disk: Path) -> None:
        losetup("--version")
        words = ("--policy", "noop", "--set", "duration=1s")
        assert penstock("run", job, "--on", disk, "--create", "16MiB", *words).code == 0
        wrong = ("--set", "live.depth=4096")
        ended = penstock("run", job, "--on", f"loop:{disk}", "--engine", "threads", *words, *wrong)
        assert (ended.code, ended.out) == (2, "")
        assert disk.exists()
        assert gone(disk)

    def test_needs_root(self, job: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            readable = Path(folder, "job.toml")
            readable.write_text(job.read_text())
            readable.chmod(0o644)
            path = Path(folder, "disk.img")
            words = ("run", str(readable), "--policy", "noop", "--create", "16MiB")
            ended = as_nobody(*words, "--on", f"loop:{path}")
            assert not path.exists()
        assert (ended.code, ended.out) == (77, "")
        assert f"{path}: cannot open /dev/loop-control" in ended.err
        assert "hint: " in ended.err


@pytest.mark.usefixtures("leftovers")
def test_what_a_killed_run_left_is_reported_and_removed(job: Path, disk: Path) -> None:
    losetup("--version")
    words = ("--policy", "noop", "--set", "duration=1s", "--create", "16MiB")
    assert penstock("run", job, "--on", disk, *words).code == 0
    # The kernel takes down a run's own: make one as it stays behind under an older kernel.
    node = losetup("--find", "--show", "--sizelimit", str(16 * MIB), disk)
    try:
        (disk.parent / "half.img").write_bytes(disk.read_bytes()[: 8 * MIB])
        found = _leftovers(disk.parent)
        assert f"{node} over {disk}, of a run that is gone" in found["loop device"]
        if found.keys() > {"loop device", "half-made file"} or len(found["loop device"]) != 1:
            pytest.skip("those of another program would be removed too")
        found = _leftovers(disk.parent, "--clean")
        assert found["loop device"] == [f"removed: {node} over {disk}, of a run that is gone"]
        assert not loops_over(disk)
        assert "loop device" not in _leftovers(disk.parent)
        assert disk.exists(), "the file belongs to the user that made it"
    finally:
        if loops_over(disk):
            losetup("--detach", node)


def _leftovers(path: Path, *more: str) -> dict[str, list[str]]:
    """What is reported of leftovers, by name."""
    ended = penstock("doctor", path, *more, "--json")
    assert ended.code == 0
    found: dict[str, list[str]] = {}
    for check in json.loads(ended.out)["checks"]:
        if check["group"] == "leftovers":
            found.setdefault(check["name"], []).append(check["found"])
    return found


READS_ONCE = """\
duration = "10s"

[class.all]

[[agent]]
class = "all"
op = "read"
cache = "buffered"
size = "64KiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 1, count = 64 }
"""


def test_pages_are_dropped_before_a_buffered_run_or_kept(tmp_path: Path) -> None:
    job, file = tmp_path / "job.toml", tmp_path / "disk.img"
    job.write_text(READS_ONCE)
    file.write_bytes(bytes(16 * MIB))
    node = losetup("--find", "--show", file)
    # The kernel drops the pages of a device that nothing has open.
    held = os.open(node, os.O_RDONLY)
    try:

        def read_below(pages: str) -> int:
            words = ("run", job, "--policy", "noop", "--on", node, "--read-only", "--json")
            ended = penstock(*words, "--set", f"live.page_cache={pages}")
            assert (ended.code, ended.err) == (0, "")
            (run,) = json.loads(ended.out)["runs"]
            assert run["kernel"]["asked"]["read_bytes"] == 4 * MIB
            return int(run["kernel"]["disks"][Path(node).name]["read_bytes"])

        assert read_below("drop") >= 4 * MIB
        assert read_below("keep") == 0
        assert read_below("drop") >= 4 * MIB
    finally:
        os.close(held)
        losetup("--detach", node)
