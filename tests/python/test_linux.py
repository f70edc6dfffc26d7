"""`penstock linux`: what the kernel has set for each block device, and changes of that."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import penstock, running
from test_devices import losetup, reset_depth

BLOCKS = Path("/sys/block")


pytestmark = [
    pytest.mark.skipif(not BLOCKS.is_dir(), reason="no /sys/block here"),
    pytest.mark.usefixtures("leftovers"),
]


def names() -> list[str]:
    return sorted(path.name for path in BLOCKS.iterdir())


def lasting() -> list[str]:
    """The disks that no test makes, changes or removes."""
    return [name for name in names() if not name.startswith("loop")]


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
    def shown(name: str) -> object:
        block = BLOCKS / name
        try:
            size = int((block / "size").read_text()) * 512
        except FileNotFoundError:
            return None
        return attributes(block / "queue"), attributes(block / "queue/iosched"), size

    before = {name: shown(name) for name in names()}
    ended = penstock("linux", "show", "--json")
    assert (ended.code, ended.err) == (0, "")
    disks = {disk["name"]: disk for disk in json.loads(ended.out)["disks"]}
    after = {name: shown(name) for name in names()}
    # Other tests make loop devices, change their settings, and remove them.
    assert before.keys() & after.keys() <= disks.keys() <= before.keys() | after.keys()
    assert list(disks) == sorted(disks)
    steady = [name for name in disks if before.get(name) == after.get(name) is not None]
    assert steady
    for name in steady:
        disk = disks[name]
        assert (disk["queue"], disk["tunables"], disk["bytes"]) == before[name]


def test_the_table_has_each_device_and_the_tunables_of_its_scheduler() -> None:
    # Wide enough for the files of loop devices that other tests have at the moment.
    ended = penstock("linux", "show", env={"COLUMNS": "600"})
    assert (ended.code, ended.err) == (0, "")
    for name in lasting():
        schedulers = attributes(BLOCKS / name / "queue").get("scheduler", "–")
        (line,) = (line for line in ended.out.splitlines() if line.startswith(f"{name} "))
        assert schedulers in line
        for tunable in attributes(BLOCKS / name / "queue/iosched"):
            assert f"\n{tunable} " in ended.out


def test_a_device_is_named_as_the_kernel_or_by_its_path() -> None:
    if not lasting():
        pytest.skip("no disk here but loop devices")
    first = lasting()[0]
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


@pytest.fixture
def loop(disk: Path) -> Iterator[str]:
    """A loop device of the test's own, under `none`."""
    with disk.open("wb") as made:
        made.truncate(64 << 20)
    done = subprocess.run(
        ["losetup", "--find", "--show", disk], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no loop device can be made here: {done.stderr.strip()}")
    node = done.stdout.strip()
    name = node.removeprefix("/dev/")
    if "mq-deadline" not in (BLOCKS / name / "queue/scheduler").read_text():
        pytest.skip("the kernel has no mq-deadline for it")
    (BLOCKS / name / "queue/scheduler").write_text("none")
    yield name
    (BLOCKS / name / "queue/scheduler").write_text("none")
    reset_depth(node)
    subprocess.run(["losetup", "--detach", node], check=True)


def state(name: str) -> dict[str, str]:
    """The settings of a disk: its scheduler, all attributes of its queue, its tunables."""
    queue = BLOCKS / name / "queue"
    return attributes(queue) | attributes(queue / "iosched")


def test_what_is_set_is_there_and_the_undo_restores_all(loop: str) -> None:
    before = state(loop)
    ended = penstock("linux", "set", loop, "mq-deadline", "read_expire=48", "rotational=0")
    assert (ended.code, ended.err) == (0, "")
    now = state(loop)
    assert now["scheduler"] == before["scheduler"].replace("[none] mq-", "none [mq-").replace(
        "deadline", "deadline]", 1
    )
    assert (now["read_expire"], now["rotational"]) == ("48", "0")
    first, was, undo = ended.out.splitlines()
    assert first == f"{loop} is now under mq-deadline read_expire=48 rotational=0"
    assert was.startswith("before: none ")
    # Tunables that are not the usual ones come back too.
    changed = json.loads(penstock("linux", "set", loop, "bfq", "low_latency=0", "--json").out)
    assert penstock(*changed["undo"]).code == 0
    assert state(loop) == now
    assert penstock(*undo.removeprefix("undo:   penstock ").split()).code == 0
    assert state(loop) == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["cfq"], 2, "error: {} has no scheduler cfq; it has "),
        (["mq-deadline", "low_latency=0"], 2, "error: {}: found no tunable low_latency of mq-"),
        (["mq-deadline", "read_expire=soon"], 2, "error: {}: cannot set iosched/read_expire to"),
        (["none", "nr_requests"], 2, 'error: found "nr_requests"; expected KEY=VALUE'),
        (["none", "scheduler=bfq"], 2, "error: {}: found no tunable scheduler of none; expected"),
    ],
)
def test_what_cannot_be_set_is_refused_and_leaves_all_as_it_was(
    loop: str, words: list[str], code: int, message: str
) -> None:
    before = state(loop)
    ended = penstock("linux", "set", loop, *words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(message.format(loop)), ended.err
    assert "\nhint: " in ended.err
    assert state(loop) == before


def test_a_value_that_the_kernel_changes_is_shown_as_it_is(loop: str) -> None:
    ended = penstock("linux", "set", loop, "none", "nr_requests=1")
    assert ended.code == 0
    assert ended.out.startswith(f"{loop} is now under none nr_requests=4\n")
    assert state(loop)["nr_requests"] == "4"


def test_a_partition_names_its_disk_and_a_device_without_a_queue_is_refused() -> None:
    partitions = sorted(path.parent.name for path in BLOCKS.glob("*/*/partition"))
    for partition in partitions[:1]:
        ended = penstock("linux", "set", partition, "none")
        assert (ended.code, ended.out) == (2, "")
        assert "is a partition" in ended.err
    ended = penstock("linux", "set", "nothing", "none")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: there is no block device nothing\nhint: ")


READS = """\
duration = "300ms"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 2 }
"""
"""Reads all over its target."""


@pytest.fixture
def reads(tmp_path: Path) -> Path:
    path = tmp_path / "reads.toml"
    path.write_text(READS)
    return path


def test_schedulers_are_compared_each_on_a_file_that_is_laid_out_anew(
    reads: Path, writes: Path, disk: Path
) -> None:
    losetup("--list")
    on = ("--on", f"loop:{disk}", "--create", "8MiB")
    words = ("linux", "compare", reads, *on, "--schedulers", "none,mq-deadline", "--repeat", "2")
    first = penstock(*words, "--json")
    assert first.code == 0, first.err
    laid_out = disk.read_bytes()
    wrote = penstock("run", writes, "--policy", "noop", *on, "--set", "duration=300ms")
    assert wrote.code == 0, wrote.err
    assert disk.read_bytes() != laid_out
    result = json.loads(penstock(*words, "--json").out)
    assert disk.read_bytes() == laid_out
    assert result["job"]["set"] == ["live.lay_out=true"]
    names = ["kernel:none", "kernel:mq-deadline"]
    assert [run["policy"] for run in result["runs"]] == names * 2
    for run in result["runs"]:
        own = [name for loop, name in run["schedulers"].items() if loop.startswith("loop")]
        assert own == [run["policy"].removeprefix("kernel:")]
        assert not any("stayed in the page cache" in remark for remark in run.get("remarks", []))


def test_the_answer_says_that_the_caches_of_the_machine_were_dropped(
    reads: Path, disk: Path
) -> None:
    losetup("--list")
    words = ("linux", "compare", reads, "--on", f"loop:{disk}", "--create", "8MiB")
    ended = penstock(*words, "--schedulers", "none", "--drop-caches")
    assert ended.code == 0, ended.err
    text = " ".join(ended.out.split())
    assert "dentries and inodes of the whole machine were dropped before the run" in text


def test_an_unknown_scheduler_is_refused_before_any_run(reads: Path, disk: Path) -> None:
    losetup("--list")
    words = ("linux", "compare", reads, "--on", f"loop:{disk}", "--create", "8MiB")
    ended = penstock(*words, "--schedulers", "none,mq-deadlin")
    assert (ended.code, ended.out) == (2, "")
    assert " has no scheduler mq-deadlin; it has none, " in ended.err
    assert "hint: did you mean `mq-deadline`?" in ended.err
    assert not disk.exists()


def test_schedulers_need_a_disk_and_data_to_verify_must_stay(reads: Path, disk: Path) -> None:
    words = ("linux", "compare", reads, "--schedulers", "none")
    model = penstock(*words, "--on", "hdd-7200")
    assert (model.code, model.out) == (2, "")
    assert "kernel:none schedules a real disk, and hdd-7200 is not one" in model.err
    verified = penstock(*words, "--on", disk, "--create", "8MiB", "--set", "agent.0.verify=read")
    assert (verified.code, verified.out) == (2, "")
    assert "`verify` does not go with live.lay_out" in verified.err


def test_after_a_kill_the_doctor_puts_back_what_a_comparison_changed(
    writes: Path, loop: str
) -> None:
    before = state(loop)
    node = f"/dev/{loop}"
    words = ("linux", "compare", writes, "--schedulers", "mq-deadline")
    more = ("--on", node, "--i-will-lose-data", node, "--set", "kernel:mq-deadline.read_expire=48")
    with running(writes.parent, *words, *more) as command:
        command.wait_for(lambda: state(loop).get("read_expire") == "48")
        time.sleep(0.5)
        command.end(signal.SIGKILL)
    assert state(loop) != before
    cleaned = penstock("doctor", "--clean", writes.parent)
    assert f"put back: {loop}, under none" in " ".join(cleaned.out.split())
    assert state(loop) == before


WEIGHED = """\
duration = "1h"

[class.one]
weight = 1

[class.three]
weight = 3

[[agent]]
class = "one"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 2 }

[[agent]]
class = "three"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 2 }
"""
"""Reads of two classes with weights."""

NOTES = Path("/run/penstock")
"""Where a run notes the groups that it makes."""


@pytest.fixture
def weighed(tmp_path: Path, loop: str) -> tuple[Path, str]:
    """A job with weights, and a disk on which they apply; elsewhere the test is skipped."""
    checks = json.loads(penstock("doctor", "--json").out)["checks"]
    (weights,) = (check for check in checks if check["name"] == "cgroup weights")
    if weights["state"] != "ok":
        pytest.skip(f"cgroup weights: {weights['found']}")
    path = tmp_path / "weighed.toml"
    path.write_text(WEIGHED)
    return path, f"/dev/{loop}"


def groups_of(process: int) -> list[Path]:
    """The control groups that a process has made, by its notes."""
    notes = NOTES.glob(f"groups.penstock-{process}-*")
    return [Path(note.read_text().strip()) for note in notes]


def test_weights_are_those_of_the_classes_where_the_scheduler_divides_by_them(
    weighed: tuple[Path, str],
) -> None:
    job, node = weighed
    words = ("linux", "compare", job, "--on", node, "--i-will-lose-data", node, "--json")
    sets = ("--set", "duration=300ms", "--set", "class.three.weight=3000")
    ended = penstock(*words, "--schedulers", "bfq,none", *sets)
    assert ended.code == 0, ended.err
    bfq, none = json.loads(ended.out)["runs"]
    assert [class_["kernel_weight"] for class_ in bfq["classes"]] == [1, 1000]
    assert any("cannot have the ratios" in remark for remark in bfq["remarks"])
    assert not any("kernel_weight" in class_ for class_ in none["classes"])
    said = "the weights of classes did not apply: kernel:none does not divide by weights"
    assert said in none["remarks"]
    kept = json.loads(penstock(*words, "--schedulers", "bfq", "--set", "duration=300ms").out)
    assert [class_["kernel_weight"] for class_ in kept["runs"][0]["classes"]] == [1, 3]
    remarks = [*kept["runs"][0].get("remarks", []), *kept.get("remarks", [])]
    assert not any("weight" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("number", "remover"),
    [(signal.SIGTERM, "the run"), (signal.SIGKILL, "the doctor"), (signal.SIGKILL, "the next run")],
)
def test_control_groups_go_with_their_run(
    weighed: tuple[Path, str], number: signal.Signals, remover: str
) -> None:
    job, node = weighed
    words = ("linux", "compare", job, "--on", node, "--i-will-lose-data", node)
    with running(job.parent, *words, "--schedulers", "bfq") as command:
        process = command.process.pid
        command.wait_for(lambda: any((group / "class1").is_dir() for group in groups_of(process)))
        time.sleep(0.5)
        (group,) = groups_of(process)
        assert (group / "class1/blkio.bfq.weight").read_text().split()[-1] == "3"
        for name in ("class0", "class1"):
            assert (group / name / "tasks").read_text().split()
        command.end(number)
    if remover != "the run":
        assert group.is_dir()
    if remover == "the next run":
        short = ("--schedulers", "bfq", "--set", "duration=100ms")
        assert penstock(*words, *short).code == 0
    if remover == "the doctor":
        cleaned = penstock("doctor", "--clean", job.parent, env={"COLUMNS": "400"})
        assert f"removed: {group}, of a run that is gone" in cleaned.out
    assert not group.exists()
    assert not groups_of(process)
