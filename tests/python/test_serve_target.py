"""`penstock serve TARGET --policy`: a real target behind a policy, under unmodified programs."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from command import Running, as_nobody, on_a_terminal, penstock, running
from exposed import checked
from test_serve import HERE, NOTES, is_served

pytestmark = [
    pytest.mark.skipif(not HERE, reason="needs root, FUSE and loop devices"),
    pytest.mark.usefixtures("leftovers"),
]

POLICIES = ("noop", "size-priority", "class-priority", "fairio", "bfq")

VOLUMES = ("--volume", "log=16MiB,prio=0,weight=300", "--volume", "bulk=40MiB,prio=3")

NEW = ("--create", "64MiB", "--policy", "size-priority")


@contextmanager
def served(
    folder: Path, *words: str, target: str | None = None
) -> Iterator[tuple[list[str], Running]]:
    """Serve a target; yields the nodes of its volumes and the command."""
    words = (target or str(folder / "disk.img"), *words, "--json")
    with running(folder, "serve", *words) as command:
        command.wait_for(lambda: command.out.read_text().endswith("\n"))
        begun = json.loads(command.out.read_text().splitlines()[0])
        yield [volume["node"] for volume in begun["volumes"]], command


def report(command: Running, number: signal.Signals = signal.SIGINT) -> dict[str, Any]:
    """End a server, and return its report."""
    ended = command.end(number)
    assert ended.code == 128 + number, ended.err
    counted: dict[str, Any] = json.loads(ended.out.splitlines()[-1])
    return counted


@contextmanager
def mounted(node: str, at: Path, *words: str) -> Iterator[None]:
    """A file system that is mounted for a block."""
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", *words, node, at], check=True)
    try:
        yield
    finally:
        # That of a device that has failed is said to be broken.
        subprocess.run(["umount", at], check=True, stderr=subprocess.DEVNULL)


def make_file_system(node: str) -> None:
    subprocess.run(["mkfs.ext4", "-q", node], check=True)


def check_file_system(node: str) -> None:
    subprocess.run(["fsck.ext4", "-f", "-n", node], check=True, stdout=subprocess.DEVNULL)


def verify(nodes: list[str], passes: int) -> None:
    """Write and read all of `nodes` at once at random, pass by pass, and check every byte."""
    each = [(f"--name={Path(node).name}", f"--filename={node}") for node in nodes]
    subprocess.run(
        ["fio", "--direct=1", "--rw=randrw", "--bsrange=512-128k", "--ioengine=libaio",
         "--iodepth=32", "--verify=crc32c", "--verify_fatal=1",
         "--verify_state_save=0", "--serialize_overlap=1",
         f"--loops={passes}", *(word for words in each for word in words)],
        stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "passes", [2, pytest.param(300, marks=pytest.mark.soak)], ids=["few", "many"]
)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_byte_is_wrong_on_two_volumes(tmp_path: Path, policy: str, passes: int) -> None:
    words = ("--create", "64MiB", "--policy", policy, *VOLUMES)
    with served(tmp_path, *words) as (nodes, command):
        verify(nodes, passes)
        volumes = report(command)["volumes"]
    assert [volume["name"] for volume in volumes] == ["log", "bulk"]
    for volume in volumes:
        reads, writes = volume["read"], volume["write"]
        assert writes["requests"] > 50 * passes
        assert reads["requests"] > 100 * passes
        assert reads["errors"] + writes["errors"] == 0
        assert reads["queued"] + reads["in_flight"] + writes["queued"] + writes["in_flight"] == 0


def test_a_file_system_is_whole_and_its_data_is_there_the_next_time(tmp_path: Path) -> None:
    at = tmp_path / "mnt"
    written = {f"{number}": os.urandom(number * 997) for number in range(200)}
    with served(tmp_path, *NEW) as ((node,), command):
        make_file_system(node)
        with mounted(node, at):
            for name, data in written.items():
                (at / name).write_bytes(data)
        check_file_system(node)
        (volume,) = report(command)["volumes"]
    assert (volume["name"], volume["flush"]["errors"]) == ("disk", 0)
    assert volume["flush"]["requests"] > 0
    again = penstock("serve", tmp_path / "disk.img", "--policy", "noop")
    assert again.code == 5
    assert "found a file with an application's data" in again.err
    assert "`--keep-data`" in again.err
    with served(tmp_path, "--keep-data", "--policy", "noop") as ((node,), command):
        with mounted(node, at):
            found = {path.name: path.read_bytes() for path in at.iterdir() if path.is_file()}
        assert found == written
        report(command)


MAKEFILE = """
objects := $(patsubst %.c,%.o,$(wildcard part-*.c))
sum: main.c $(objects)
\t$(CC) -o $@ $^
"""

PARTS = 40


@pytest.mark.parametrize("policy", POLICIES)
def test_a_build_on_it_works_and_leaves_a_clean_file_system(tmp_path: Path, policy: str) -> None:
    at = tmp_path / "mnt"
    with served(tmp_path, "--create", "64MiB", "--policy", policy) as ((node,), command):
        make_file_system(node)
        with mounted(node, at):
            (at / "Makefile").write_text(MAKEFILE)
            for part in range(PARTS):
                text = f"int part_{part}(void) {{ return {part}; }}\n"
                (at / f"part-{part}.c").write_text(text)
            declared = "".join(f"int part_{part}(void);\n" for part in range(PARTS))
            added = " + ".join(f"part_{part}()" for part in range(PARTS))
            (at / "main.c").write_text(
                f"#include <stdio.h>\n{declared}"
                f'int main(void) {{ return printf("%d\\n", {added}) < 0; }}\n'
            )
            subprocess.run(["make", "-s", "-j4", "-C", at], check=True)
            subprocess.run(["sync", "-f", at / "sum"], check=True)
        with mounted(node, at):
            built = subprocess.run([at / "sum"], capture_output=True, text=True, check=True)
        assert int(built.stdout) == sum(range(PARTS))
        check_file_system(node)
        report(command)


def test_it_waits_until_what_is_mounted_is_unmounted(tmp_path: Path) -> None:
    at = tmp_path / "mnt"
    with served(tmp_path, *NEW) as ((node,), command):
        make_file_system(node)
        with mounted(node, at):
            command.process.send_signal(signal.SIGTERM)
            command.until(f"{node}: unmount what is mounted there, and this ends; ")
            (at / "late").write_bytes(b"late" * 100_000)
        ended = command.end()
        assert ended.code == 143, ended.err
    with served(tmp_path, "--keep-data", "--policy", "noop") as ((node,), command):
        with mounted(node, at):
            assert (at / "late").read_bytes() == b"late" * 100_000
        report(command)


def test_on_a_terminal_it_is_watched(tmp_path: Path) -> None:
    words = ("serve", tmp_path / "disk.img", *NEW, *VOLUMES)
    ended = on_a_terminal(*words, press=[("Counters of the policy", ""), ("requests/s", "q")])
    assert ended.code == 130
    assert "under size-priority: log as /dev/loop" in ended.out


def test_every_decision_is_made_alike_in_virtual_time(tmp_path: Path) -> None:
    record = tmp_path / "run.record"
    words = (*NEW, *VOLUMES, "--set", "size-priority.split=32KiB", "--record", str(record))
    with served(tmp_path, *words) as (nodes, command):
        verify(nodes, 3)
        report(command)
    replayed = penstock("replay-decisions", record, "--json")
    assert replayed.code == 0, replayed.err
    found = json.loads(replayed.out)
    assert found["requests"] > 1_000
    assert found["alike"] == found["decisions"] > 1_000
    another = penstock("replay-decisions", record, "--set", "size-priority.split=16KiB")
    assert another.code == 4


@pytest.mark.soak
@pytest.mark.parametrize("policy", POLICIES)
def test_of_a_hundred_thousand_requests_every_decision_is_made_alike(
    tmp_path: Path, policy: str
) -> None:
    record = tmp_path / "run.record"
    words = ("--create", "64MiB", "--policy", policy, *VOLUMES, "--record", str(record))
    with served(tmp_path, *words) as ((log, bulk), command):
        each = ("--direct=1", "--ioengine=libaio", "--norandommap", "--time_based", "--runtime=60")
        online = ("--rw=randrw", "--bsrange=4k-16k", "--iodepth=8", "--rate_iops=2500,2500")
        batch = ("--rw=randwrite", "--bsrange=64k-512k", "--iodepth=4")
        subprocess.run(
            ["fio", *each, "--name=log", f"--filename={log}", *online, "--name=bulk",
             *each, f"--filename={bulk}", *batch],
            stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        report(command)
    replayed = penstock("replay-decisions", record, "--json")
    assert replayed.code == 0, replayed.err
    found = json.loads(replayed.out)
    assert found["requests"] > 100_000
    assert found["alike"] == found["decisions"]


def test_metrics_are_those_of_the_report(tmp_path: Path) -> None:
    exposed = tmp_path / "served.prom"
    with served(tmp_path, *NEW, *VOLUMES, "--metrics", str(exposed)) as (nodes, command):
        verify(nodes, 1)
        command.wait_for(exposed.exists)
        running = checked(exposed.read_text())
        counted = report(command)
    assert running.value("penstock_served_running") == 1
    ended = checked(exposed.read_text())
    assert ended.value("penstock_served_running") == 0
    for volume in counted["volumes"]:
        for way in ("read", "write"):
            labels = {"class": volume["name"], "direction": way}
            assert ended.value("penstock_bytes_total", **labels) == volume[way]["bytes"] > 0
            counted_latencies = ended.value("penstock_latency_seconds_count", **labels)
            assert counted_latencies == volume[way]["requests"] > 0


def test_after_a_kill_its_users_get_errors_and_it_can_be_served_again(tmp_path: Path) -> None:
    with served(tmp_path, *NEW) as ((node,), command):
        before = written(node)
        writer = subprocess.Popen(
            ["fio", "--name=w", f"--filename={node}", "--direct=1", "--rw=randwrite", "--bs=4k",
             "--ioengine=libaio", "--iodepth=8", "--runtime=30", "--time_based"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        command.wait_for(lambda: written(node) > before + 1_000)
        os.kill(command.process.pid, signal.SIGKILL)
        _, errors = writer.communicate(timeout=20)
        assert (writer.returncode, b"Input/output error" in errors) == (1, True), errors
        command.process.wait()
    assert penstock("doctor", "--clean", tmp_path).code in (0, 77)
    name = Path(node).name
    assert not is_served(name)
    assert not list(NOTES.glob(f"*.{name}"))
    with served(tmp_path, "--keep-data", "--policy", "noop") as (_, command):
        report(command)


def queue(node: str, attribute: str) -> str:
    """An attribute of a block device's queue."""
    return Path("/sys/block", Path(node).name, "queue", attribute).read_text().strip()


def test_a_flood_of_writes_leaves_places_in_the_queue_to_reads(tmp_path: Path) -> None:
    with served(tmp_path, *NEW, "--depth", "8") as ((node,), command):
        assert "[mq-deadline]" in queue(node, "scheduler")
        assert (queue(node, "nr_requests"), queue(node, "iosched/async_depth")) == ("8", "4")
        report(command)
    assert "[none]" in queue(node, "scheduler")
    with served(tmp_path, "--keep-data", "--policy", "noop") as ((node,), command):
        assert "[none]" in queue(node, "scheduler"), "it passes on what comes"
        report(command)


def written(node: str) -> int:
    """The writes that a block device has completed."""
    return int(Path("/sys/block", Path(node).name, "stat").read_text().split()[4])


def test_a_target_is_served_once_at_a_time(tmp_path: Path) -> None:
    with served(tmp_path, *NEW) as (_, command):
        second = penstock("serve", tmp_path / "disk.img", "--keep-data", "--policy", "noop")
        assert (second.code, second.out) == (5, "")
        assert "found it in use by another run" in second.err
        report(command)


def dd(*words: str) -> bytes:
    """What a program says that reads or writes past the page cache."""
    return subprocess.run(["dd", *words], capture_output=True, check=False, timeout=30).stderr


def test_a_target_that_is_cut_ends_it(tmp_path: Path) -> None:
    with served(tmp_path, *NEW) as ((node,), command):
        os.truncate(tmp_path / "disk.img", 1 << 20)
        said = dd(f"if={node}", "of=/dev/null", "iflag=direct", "bs=64k", "count=1", "skip=100")
        assert b"Input/output error" in said
        ended = command.end()
    assert ended.code == 1
    cut = f"{tmp_path}/disk.img: found a file of 1048576 bytes; expected {(64 << 20) + 4096}, "
    assert ended.err.splitlines()[0].startswith(f"error: the target is not served any more: {cut}")


def test_a_full_file_system_below_is_that_to_writers(tmp_path: Path) -> None:
    image, below = tmp_path / "image", tmp_path / "below"
    image.write_bytes(b"")
    os.truncate(image, 120 << 20)
    make_file_system(str(image))
    with mounted(str(image), below, "-o", "loop"):
        with served(tmp_path, *NEW, target=str(below / "disk.img")) as ((node,), command):
            subprocess.run(["blkdiscard", node], check=True)
            dd("if=/dev/zero", f"of={below}/rest", "bs=1M")
            said = dd("if=/dev/zero", f"of={node}", "oflag=direct", "bs=1M")
            assert b"No space left on device" in said
            (below / "rest").unlink()
            dd("if=/dev/zero", f"of={node}", "oflag=direct", "bs=1M", "count=8")
            (volume,) = report(command)["volumes"]
        assert volume["write"]["errors"] > 0
        assert volume["discard"]["bytes"] == 64 << 20


def test_a_target_that_does_not_answer_ends_it(tmp_path: Path) -> None:
    with (
        running(tmp_path, "serve", "flash", "--size", "64MiB") as below,
    ):
        below.wait_for(lambda: below.out.read_text().endswith("\n"))
        lower = below.out.read_text().strip()
        above = tmp_path / "above"
        above.mkdir()
        words = ("--i-will-lose-data", lower, "--policy", "noop", "--timeout", "1s")
        with served(above, *words, target=lower) as ((node,), command):
            os.kill(below.process.pid, signal.SIGSTOP)
            try:
                reader = subprocess.run(
                    ["dd", f"if={node}", "of=/dev/null", "iflag=direct", "bs=4k", "count=1"],
                    capture_output=True, timeout=20, check=False,
                )  # fmt: skip
                assert b"Input/output error" in reader.stderr
                command.wait_for(lambda: "error: " in command.err.read_text())
            finally:
                os.kill(below.process.pid, signal.SIGCONT)
            ended = command.end()
        assert ended.code == 1
        assert "the target is not served any more: " in ended.err
        assert "found no answer for 1.0 s to a read of " in ended.err
        below.end(signal.SIGINT)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "error: unknown device "),
        (("--policy", "nop"), 2, "error: unknown policy `nop`\nhint: did you mean `noop`?"),
        (("--policy", "noop"), 2, "error: "),
        ((*NEW, "--volume", "a=1GiB"), 2, "error: the volumes have 1073741824 bytes; "),
        ((*NEW, "--volume", "a=1000B"), 2, "error: the volume a has 1000 bytes; "),
        ((*NEW, "--volume", "a=1MiB", "--volume", "a=1MiB"), 2, "error: the volume `a` is given "),
        ((*NEW, "--set", "split=4KiB"), 2, "error: --set split=4KiB "),
        ((*NEW, "--set", "size-priority.spilt=4KiB"), 2, "error: unknown key `spilt`"),
        ((*NEW, "--size", "1MiB"), 2, "error: --size does not go with --policy\nhint: "),
        ((*NEW, "--keep-data"), 2, "error: --keep-data does not go with --create\nhint: "),
        ((*NEW, "--engine", "psync"), 77, "error: "),
    ],
)
def test_what_cannot_be_served_is_refused_and_leaves_nothing(
    tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    ended = penstock("serve", tmp_path / "disk.img", *words)
    assert (ended.code, ended.out) == (code, ""), ended.err
    assert ended.err.startswith(message), ended.err
    assert not list(tmp_path.iterdir())


def test_an_option_about_a_target_does_not_go_with_a_model() -> None:
    ended = penstock("serve", "flash", "--volume", "a=1GiB")
    assert ended.code == 2
    assert ended.err.startswith("error: --volume does not go with a model\nhint: a real target ")


def test_without_root_it_is_refused(tmp_path: Path) -> None:
    ended = as_nobody("serve", str(tmp_path / "disk.img"), *NEW)
    assert ended.code == 77
    assert ended.err.startswith("error: ")
    assert "root" in ended.err
    assert not list(tmp_path.iterdir())


def test_a_policy_that_asks_for_positions_says_what_it_does_instead(tmp_path: Path) -> None:
    words = ("serve", tmp_path / "disk.img", "--create", "16MiB", "--policy", "sptf")
    with running(tmp_path, *words) as command:
        command.until("note: sptf sends the oldest request first: a real target does not say ")
        command.end(signal.SIGINT)


JOB = """
duration = "1s"
[class.people]
[class.batch]
[[agent]]
class = "people"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "200/s" }
[[agent]]
class = "batch"
op = "write"
size = "1MiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 4 }
"""


def test_a_comparison_has_the_price_of_the_way_through_the_kernel(tmp_path: Path) -> None:
    job, disk = tmp_path / "job.toml", tmp_path / "disk.img"
    job.write_text(JOB)
    policies = "size-priority,served:size-priority,served:noop"
    words = ("--on", disk, "--create", "256MiB", "--policies", policies, "--json")
    ended = penstock("compare", job, *words, "--set", "size-priority.split=64KiB")
    assert ended.code == 0, ended.err
    inside, served, other = json.loads(ended.out)["runs"]
    assert [run["policy"] for run in (inside, served, other)] == policies.split(",")
    assert served["params"] == inside["params"]
    assert served["params"]["split"] == "64KiB"
    for run in (served, other):
        assert all(class_["requests"] > 100 for class_ in run["classes"])
        assert any("does not see the classes" in remark for remark in run["remarks"])
    for here, there in zip(served["classes"], inside["classes"], strict=True):
        medians = [class_["lat_ns"]["percentile"]["50.000000"] for class_ in (here, there)]
        assert here["added_ns"] == medians[0] - medians[1]
    unpriced = [*inside["classes"], *other["classes"]]
    assert not any("added_ns" in class_ for class_ in unpriced)
    again = penstock("run", job, "--on", disk, "--policy", "noop")
    assert again.code == 0, "the file is a run's as before"


@pytest.mark.parametrize(
    ("on", "policy", "message"),
    [
        (
            "hdd-7200",
            "served:noop",
            "error: served:noop schedules a real disk, and hdd-7200 is not",
        ),
        ("null", "served:noop", "error: served:noop schedules a real disk, and null is not one"),
        ("null", "served:nop", "error: unknown policy `nop`\nhint: did you mean `noop`?"),
    ],
)
def test_only_a_real_target_is_served_for_a_run(
    tmp_path: Path, on: str, policy: str, message: str
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    ended = penstock("run", job, "--on", on, "--policy", policy)
    assert ended.code == 2
    assert ended.err.startswith(message), ended.err


@pytest.mark.skipif(shutil.which("qemu-io") is None, reason="needs qemu-utils")
def test_qemu_uses_it_as_a_raw_disk(tmp_path: Path) -> None:
    with served(tmp_path, *NEW) as ((node,), command):
        subprocess.run(
            ["qemu-io", "-n", "-f", "raw", "-c", "write -P 7 4k 1M", "-c", "flush",
             "-c", "discard 1M 64k", "-c", "read -P 7 4k 1020k", "-c", "read -P 0 1M 64k", node],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        (volume,) = report(command)["volumes"]
    assert volume["flush"]["requests"] > 0
    assert volume["discard"]["bytes"] == 64 << 10
