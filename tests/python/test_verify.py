"""`verify`: data that is written is recorded, and what is read is compared with it."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from command import Running, penstock, running
from forking import Ended
from penstock.results.json_types import Run, Verified

BLOCK = 4096
ENGINES = ["io_uring", "libaio", "threads", "posix-aio", "psync", "vsync", "mmap"]

HEAD = """\
seed = 7
[class.all]
"""


def agent(verify: str | None, **keys: object) -> str:
    """An agent with requests of 8 KiB all over its target."""
    usual: dict[str, object] = {
        "class": "all",
        "op": "write",
        "size": "8KiB",
        "pattern": "random",
        "arrivals": {"kind": "closed", "depth": 4},
        "count": 400,
    }
    if verify is not None:
        usual["verify"] = verify
    kept = {key: value for key, value in (usual | keys).items() if value is not None}
    lines = "".join(f"{key} = {_toml(value)}\n" for key, value in kept.items())
    return f"[[agent]]\n{lines}"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


READ_ALL = agent("read", op="read", pattern="sequential", size="64KiB", count=None, passes=1)


class Bench:
    """A file to run jobs on, and its record."""

    def __init__(self, disk: Path, folder: Path) -> None:
        """With jobs in `folder`."""
        self.disk, self.folder = disk, folder
        self.record = disk.with_name(f"{disk.name}.verify")

    def run(self, *agents: str, on: str | None = None, words: Sequence[str] = ()) -> Ended:
        """Run these agents on the file, which is made if it is missing."""
        job = self.folder / "job.toml"
        job.write_text(HEAD + "".join(agents))
        place = ("--on", on or str(self.disk))
        create = () if on is not None and "null" in on else ("--create", "2MiB")
        policy = () if "--policy" in words else ("--policy", "noop")
        ended = penstock("run", job, *policy, *place, *create, "--json", *words)
        if ended.code == 77:
            pytest.skip(f"this machine cannot: {ended.err}")
        return ended

    def block(self, number: int) -> bytes:
        """A block of the file."""
        with self.disk.open("rb") as file:
            file.seek(number * BLOCK)
            return file.read(BLOCK)

    def put(self, number: int, data: bytes) -> None:
        """Write over a block, past Penstock."""
        with self.disk.open("r+b") as file:
            file.seek(number * BLOCK)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def wait_for_writes(self, command: Running) -> None:
        """Wait until more is recorded."""
        before = self.record.read_bytes()
        command.wait_for(lambda: self.record.read_bytes() != before)

    def is_found(self, number: int, *, found: str, expected: str) -> None:
        """That reading everything finds this block different, and says so."""
        ended = self.run(READ_ALL)
        assert ended.code == 4, ended.err
        (run,) = runs(ended)
        (first, *_) = run["verify"]["differences"]
        assert (first["file"], first["offset"]) == (str(self.disk), number * BLOCK)
        assert first["found"] == found
        assert first["expected"] == expected
        assert run["ended"] == "differs"
        where = f"in the block at byte {number * BLOCK}; expected {expected}"
        assert f"error: {self.disk}: found {found} {where}" in ended.err


def runs(ended: Ended) -> list[Run]:
    """The runs of a result."""
    return cast("list[Run]", json.loads(ended.out)["runs"])


def verified(ended: Ended) -> Verified:
    """What a run that went well has verified."""
    assert (ended.code, ended.err) == (0, ""), ended.err
    (run,) = runs(ended)
    assert run["verify"]["different"] == 0
    return run["verify"]


@pytest.fixture
def bench(disk: Path, tmp_path: Path) -> Bench:
    """A file that is made by the first job on it."""
    return Bench(disk, tmp_path)


@pytest.mark.parametrize("cache", ["direct", "buffered"])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_written_is_read_again(bench: Bench, engine: str, cache: str) -> None:
    if (engine, cache) == ("mmap", "direct"):
        pytest.skip("a mapped file has no direct requests")
    words = ("--engine", engine)
    # Few blocks and many requests: most meet others in flight.
    region = ["0%", "10%"]
    mixed = agent("both", op=None, mix=0.5, cache=cache, region=region, count=1500)
    trims = agent("both", op="trim", cache=cache, region=region, count=20)
    reads = agent("read", op="read", cache=cache, region=region, pattern="sequential")
    found = verified(bench.run(mixed, trims, reads, words=words))
    assert found["written"] > 1000
    assert found["checked"] > 500
    assert found["read_again"] == 50, "the region has 51 blocks, and requests have two"
    again = verified(bench.run(READ_ALL, words=("--set", f"agent.0.cache={cache}", *words)))
    assert (again["checked"], again["unchecked"], again["written"]) == (50, 512 - 50, 0)
    assert again["records"] == [str(bench.record)]


def test_a_changed_bit_is_found(bench: Bench) -> None:
    verified(bench.run(agent("write", pattern="sequential", count=None, passes=1)))
    data = bytearray(bench.block(7))
    data[1000] ^= 0x10
    bench.put(7, bytes(data))
    found = f"version 1 with a changed bit in byte {7 * BLOCK + 1000}"
    bench.is_found(7, found=found, expected="version 1, which was acknowledged")
    table = penstock("run", bench.folder / "job.toml", "--policy", "noop", "--on", bench.disk)
    assert table.code == 4
    assert "1 DIFFERENT" in table.out
    assert "PARTIAL: data was not what was written" in table.out


@pytest.mark.parametrize("byte", [0, 20, 50, 4095])
def test_a_bit_of_the_stamp_itself_is_found(bench: Bench, byte: int) -> None:
    verified(bench.run(agent("write", pattern="sequential", count=None, passes=1)))
    data = bytearray(bench.block(511))
    data[byte] ^= 0x01
    bench.put(511, bytes(data))
    found = f"version 1 with a changed bit in byte {511 * BLOCK + byte}"
    bench.is_found(511, found=found, expected="version 1, which was acknowledged")


def test_a_lost_write_and_a_misplaced_one_are_found(bench: Bench) -> None:
    fill = agent("write", pattern="sequential", count=None, passes=1)
    verified(bench.run(fill))
    old, new = bench.block(9), "version 2, which was acknowledged"
    verified(bench.run(fill, words=("--set", "seed=8")))
    whole = bench.block(9)
    assert old != whole
    bench.put(9, old)
    bench.is_found(9, found="version 1, which was overwritten before", expected=new)
    bench.put(9, bench.block(10))
    bench.is_found(9, found=f"the block of byte {10 * BLOCK}, version 2", expected=new)
    bench.put(9, bytes(BLOCK))
    bench.is_found(9, found="zeros", expected=new)
    bench.put(9, whole[:2048] + old[2048:])
    bench.is_found(9, found="a part of a verified block", expected=new)
    bench.put(9, os.urandom(BLOCK))
    bench.is_found(9, found="data that no verified write made", expected=new)
    bench.put(9, whole)
    assert verified(bench.run(READ_ALL))["checked"] == 512


def test_a_block_that_changes_during_a_run_is_found_by_the_last_pass(bench: Bench) -> None:
    fill = agent("write", pattern="sequential", count=None, passes=1)
    verified(bench.run(fill))
    bench.put(300, bytes(BLOCK))
    # It writes elsewhere, and has the whole file as its region.
    ended = bench.run(agent("both", pattern="sequential", count=1))
    assert ended.code == 4
    (run,) = runs(ended)
    assert run["verify"]["differences"][0]["offset"] == 300 * BLOCK


@pytest.mark.parametrize("engine", ["io_uring", "threads", "mmap"])
def test_what_was_acknowledged_survives_a_kill(bench: Bench, engine: str) -> None:
    cache = "buffered" if engine == "mmap" else "direct"
    verified(bench.run(agent("write", pattern="sequential", count=None, passes=1)))
    first = [bench.block(number) for number in range(512)]
    job = bench.folder / "killed.toml"
    closed = {"kind": "closed", "depth": 8}
    endless = agent("write", count=None, cache=cache, arrivals=closed)
    few = agent("write", count=None, cache=cache, arrivals=closed, region=["0%", "2%"])
    job.write_text(HEAD.replace("\n", '\nduration = "1h"\n', 1) + endless + few)
    words = ("--policy", "noop", "--on", bench.disk, "--engine", engine)
    for patience in (0, 3, 17):
        with running(bench.folder, "run", job, *words) as command:
            for _ in range(1 + patience):
                bench.wait_for_writes(command)
            assert command.end(signal.SIGKILL).code == -signal.SIGKILL
        # The kernel may close a ring, and so the files in it, a moment after the process has ended.
        ended = bench.run(READ_ALL)
        for _ in range(100):
            if ended.code != 5:
                break
            time.sleep(0.05)
            ended = bench.run(READ_ALL)
        found = verified(ended)
        assert (found["checked"], found["unchecked"]) == (512, 0)
    # A block that was written since: its first version was acknowledged once, and is no more.
    changed = next(number for number in range(511, 0, -1) if bench.block(number) != first[number])
    bench.put(changed, first[changed])
    ended = bench.run(READ_ALL)
    assert ended.code == 4
    (difference,) = runs(ended)[0]["verify"]["differences"]
    assert difference["offset"] == changed * BLOCK
    assert difference["found"] == "version 1, which was overwritten before"


def test_threads_without_a_policy_share_one_record(bench: Bench) -> None:
    agents = [agent("both", op=None, mix=0.3, region=["0%", "5%"]) for _ in range(3)]
    for engine in ("psync", "threads"):
        words = ("--policy", "kernel:as-is", "--engine", engine)
        found = verified(bench.run(*agents, words=words))
        assert found["written"] > 500
        assert found["read_again"] > 0


def test_rounds_and_policies_write_on(bench: Bench) -> None:
    job = bench.folder / "job.toml"
    job.write_text(HEAD + agent("both", op=None, mix=0.5, size=[["4KiB", 1], ["64KiB", 1]]))
    words = ("--on", bench.disk, "--create", "2MiB", "--repeat", "2", "--json")
    ended = penstock("compare", job, "--policies", "noop,size-priority,mq-deadline", *words)
    assert ended.code == 0, ended.err
    assert all(run["verify"]["different"] == 0 for run in runs(ended))
    assert len(runs(ended)) == 6


DEVICE = """\
[device]
name = "doubtful"
model = "fixed"
capacity = "1GiB"
base = "50us"
{faults}
"""


@pytest.mark.parametrize("faults", ["", 'faults = { corrupt = "5%" }'])
def test_an_emulated_device_that_corrupts_data_is_found(bench: Bench, faults: str) -> None:
    device = bench.folder / "doubtful.toml"
    device.write_text(DEVICE.format(faults=faults))
    ended = bench.run(agent("both", op=None, mix=0.5), on=f"emulated:{device}:{bench.disk}")
    if not faults:
        assert verified(ended)["checked"] > 0
        return
    assert ended.code == 4
    (run,) = runs(ended)
    assert "with a changed bit in byte" in run["verify"]["differences"][0]["found"]


MESSAGES = {
    "unknown": (agent("all"), (), 'verify = "all"'),
    "reads": (
        agent("write", op="read"),
        (),
        "the agent only reads, so it writes nothing to verify",
    ),
    "writes": (
        agent("read"),
        (),
        '`verify = "read"` belongs to an agent that only reads, and this one writes',
    ),
    "size": (
        agent("both", size="6KiB"),
        (),
        "requests of 6KiB; data is verified in whole blocks of 4KiB",
    ),
    "align": (
        agent("both", align="512B"),
        (),
        "an alignment of 512B; data is verified in whole blocks of 4KiB",
    ),
    "total": (
        agent("both", count=None, total="9KiB"),
        (),
        "a total of 9KiB; data is verified in whole blocks of 4KiB",
    ),
    "region": (
        agent("both", region=["1KiB", "1MiB"]),
        (),
        "a region that begins at 1KiB; data is verified in whole blocks of 4KiB",
    ),
    "others": (
        agent("both") + agent(None),
        (),
        "this agent writes without `verify` where another agent's data is verified",
    ),
    "no record": (
        READ_ALL,
        (),
        "found no record of verified writes at",
    ),
    "read-only": (READ_ALL, ("--read-only",), "`verify` does not go with --read-only"),
    "view": (
        agent("both"),
        ("--set", "live.view.start=512B", "--set", "live.view.length=1MiB"),
        "live.view begins at byte 512; data is verified in whole blocks of 4096 bytes",
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_what_cannot_be_verified_is_refused(bench: Bench, case: str) -> None:
    agents, words, message = MESSAGES[case]
    if case == "read-only":
        verified(bench.run(agent("write")))
    job = bench.folder / "job.toml"
    job.write_text(HEAD + agents)
    create = () if case == "read-only" else ("--create", "2MiB")
    ended = penstock("run", job, "--policy", "noop", "--on", bench.disk, *create, *words)
    assert (ended.code, ended.out) == (2, ""), ended.err
    assert message in ended.err
    assert "hint: " in ended.err


def on_model(folder: Path, on: str, *agents: str, head: str = HEAD) -> Ended:
    """What becomes of these agents over a model."""
    job = folder / "job.toml"
    job.write_text(head + "".join(agents))
    return penstock("run", job, "--policy", "noop", "--on", on, "--json")


@pytest.mark.parametrize(
    ("on", "verify", "why"),
    [
        ("hdd-7200", "read", "on hdd-7200: a model keeps no data of earlier runs"),
        ("null", "both", "on null: it keeps no data"),
        ("emulated:flash", "read", "on emulated:flash: a model keeps no data of earlier runs"),
    ],
)
def test_where_there_is_no_data_nothing_is_verified(
    tmp_path: Path, on: str, verify: str, why: str
) -> None:
    ended = on_model(tmp_path, on, agent(verify, op="read" if verify == "read" else "write"))
    assert (ended.code, ended.out) == (2, "")
    assert f'`verify = "{verify}"` {why}' in ended.err


ARRAY = """\
[device]
model = "hdd"
drive = "hdd-7200"
[device.array]
level = "raid0"
disks = 2
stripe = "64KiB"
scheduler = "each"
"""
MIXED = agent("both", op=None, mix=0.5, region=["0%", "1MiB"], count=1500)
TRIMS = agent("both", op="trim", region=["0%", "1MiB"], count=20)


@pytest.mark.parametrize("on", ["hdd-7200", "emulated:flash", "array", "files", "cache"])
def test_data_over_models_is_verified(tmp_path: Path, on: str) -> None:
    head, agents = HEAD, [MIXED, TRIMS]
    if on == "array":
        (tmp_path / "array.toml").write_text(ARRAY)
    elif on == "files":
        head += '[[file]]\nname = "data"\ncount = 2\nsize = "1MiB"\ndevice = "hdd-7200"\n'
    elif on == "cache":
        head = 'stop = "durable"\n' + HEAD
        agents = [agent("both", op=None, mix=0.5, region=["0%", "1MiB"], cache="buffered")]
    place = {"array": str(tmp_path / "array.toml"), "files": "hdd-7200", "cache": "hdd-7200"}
    found = verified(on_model(tmp_path, place.get(on, on), *agents, head=head))
    assert found["records"] == []
    assert found["written"] > (100 if on == "cache" else 1000)
    # What is in memory is not read below it.
    assert on == "cache" or found["checked"] > 500
    assert found["read_again"] > {"files": 400, "cache": 100}.get(on, 200)


@pytest.mark.parametrize("on", ["model", "emulated"])
def test_a_model_that_corrupts_data_is_found(tmp_path: Path, on: str) -> None:
    device = tmp_path / "doubtful.toml"
    device.write_text(DEVICE.format(faults='faults = { corrupt = "5%" }'))
    place = str(device) if on == "model" else f"emulated:{device}"
    ended = on_model(tmp_path, place, MIXED)
    assert ended.code == 4
    (run,) = runs(ended)
    assert (run["ended"], run["verify"]["different"]) == ("differs", 1)
    (first,) = run["verify"]["differences"]
    assert first["offset"] % BLOCK == 0
    version, _, byte = first["found"].partition(" with a changed bit in byte ")
    assert first["expected"] == f"{version}, which was acknowledged"
    assert first["offset"] <= int(byte) < first["offset"] + BLOCK
    where = f"in the block at byte {first['offset']}; expected "
    assert f": found {first['found']} {where}" in ended.err


def test_what_a_model_changed_in_a_write_is_found_at_the_end(tmp_path: Path) -> None:
    device = tmp_path / "doubtful.toml"
    device.write_text(DEVICE.format(faults='faults = { corrupt = "100%" }'))
    writes = agent("both", pattern="sequential", region=["0%", "1MiB"], count=None, passes=1)
    ended = on_model(tmp_path, str(device), writes)
    assert ended.code == 4
    (run,) = runs(ended)
    assert (run["verify"]["written"], run["verify"]["checked"]) == (256, 0)
    # Each write of two blocks has changed one, and each block one more when it is read.
    assert run["verify"]["different"] == run["verify"]["read_again"] == 256
    found = [one["found"] for one in run["verify"]["differences"]]
    assert len(found) == 16
    assert {"2 changed bits" in text for text in found} == {True, False}


def test_a_run_without_verify_ends_the_use_of_a_record(bench: Bench) -> None:
    verified(bench.run(agent("write", pattern="sequential", count=None, passes=1)))
    assert bench.run(agent(None, op="read")).code == 0
    assert verified(bench.run(READ_ALL))["checked"] == 512, "a run that reads changes nothing"
    assert bench.run(agent(None, count=1)).code == 0
    ended = bench.run(READ_ALL)
    assert ended.code == 2
    assert f"a record of verified writes that is out of date ({bench.record})" in ended.err
    verified(bench.run(agent("write", region=["0%", "10%"])))
    assert verified(bench.run(READ_ALL))["unchecked"] >= 400, "only what was written since counts"


def test_a_new_file_does_not_have_the_record_of_the_one_before(bench: Bench) -> None:
    verified(bench.run(agent("write")))
    bench.disk.unlink()
    verified(bench.run(agent("both", count=3)))
    assert verified(bench.run(READ_ALL))["checked"] <= 6


def test_a_file_that_is_no_record_stays(bench: Bench) -> None:
    bench.record.write_text("letters")
    ended = bench.run(agent("write"))
    assert ended.code == 2
    assert "found a file that is no record of verified writes" in ended.err
    assert bench.record.read_text() == "letters"
    elsewhere = bench.folder / "data.record"
    found = verified(bench.run(agent("write"), words=("--set", f"live.verify_record={elsewhere}")))
    assert found["records"] == [str(elsewhere)]


def test_a_read_of_what_nobody_wrote_is_counted_and_said(bench: Bench) -> None:
    verified(bench.run(agent("write", region=["0%", "10%"])))
    rest = agent("read", op="read", region=["50%", "100%"])
    ended = bench.run(rest)
    (run,) = runs(ended)
    assert (run["verify"]["checked"], run["verify"]["unchecked"]) == (0, 800)
    assert any("no block that was read could be checked" in one for one in run["remarks"])


def test_loop_and_block_devices_are_verified(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("this takes root and losetup")
    ended = bench.run(agent("both", op=None, mix=0.5), on=f"loop:{bench.disk}")
    assert verified(ended)["read_again"] > 0
    assert verified(bench.run(READ_ALL))["checked"] > 0, "the file below has the same record"
    image = bench.disk.with_name("device.img")
    subprocess.run(["truncate", "-s", "4M", image], check=True)
    done = subprocess.run(
        ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no loop device here: {done.stderr.strip()}")
    device = done.stdout.strip()
    try:
        monkeypatch.setenv("XDG_STATE_HOME", str(bench.folder))
        job = bench.folder / "job.toml"
        words = ("--policy", "noop", "--on", device, "--i-will-lose-data", device, "--json")
        trims = agent("both", op="trim", count=20)
        job.write_text(HEAD + agent("both", op=None, mix=0.5) + trims)
        found = verified(penstock("run", job, *words))
        assert found["records"] == [str(bench.folder / f"penstock/{Path(device).name}.verify")]
        job.write_text(HEAD + READ_ALL)
        assert verified(penstock("run", job, *words))["checked"] > 0
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_each_target_of_a_job_has_a_record_of_its_own(disk: Path, tmp_path: Path) -> None:
    paths = [disk.with_name(f"{disk.name}.{number}") for number in range(2)]
    files = (
        '[[file]]\nname = "data"\ncount = 2\nsize = "1MiB"\nat = "25%"\n'
        f"path = {_toml([str(path) for path in paths])}\n"
    )
    job = tmp_path / "job.toml"

    def run(*agents: str, words: Sequence[str] = ("--create", "2MiB")) -> Ended:
        job.write_text(HEAD + files + "".join(agents))
        return penstock("run", job, "--policy", "noop", "--json", *words)

    written = verified(run(agent("both", count=100)))
    assert written["records"] == [f"{path}.verify" for path in paths]
    # Requests of two blocks, and the same block may be written again.
    assert written["written"] == 2 * 100 * 2
    again = verified(run(READ_ALL))
    assert again["checked"] == written["read_again"] > 200
    second = Bench(paths[1], tmp_path)
    number = next(number for number in range(128, 384) if second.block(number).strip(b"\0"))
    data = bytearray(second.block(number))
    data[1000] ^= 4
    second.put(number, bytes(data))
    ended = run(READ_ALL)
    assert ended.code == 4, ended.err
    assert f"error: {paths[1]}: found version" in ended.err
    ended = run(READ_ALL, words=("--set", f"live.verify_record={tmp_path}/record"))
    assert ended.code == 2
    assert "and the job has 2 targets" in ended.err
