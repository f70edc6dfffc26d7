"""Files on devices, from the command: where they are put, and what is said of each."""

import json
import tomllib
from pathlib import Path

import pytest

from command import ROOT, penstock
from penstock import Job, compare

JOB = ROOT / "examples/four-disks.toml"

DISK = "openpower-710.disk"

SHORT = ("--set", "duration=200ms")


def files(*words: str) -> list[tuple[str, str]]:
    """What each file of a run is on."""
    ended = penstock("run", JOB, "--policy", "noop", *SHORT, "--json", *words)
    assert ended.code == 0, ended.err
    (run,) = json.loads(ended.out)["runs"]
    return [(file["name"], file["device"]) for file in run["files"]]


def test_the_example_is_the_densest_cell_in_twelve_lines() -> None:
    text = JOB.read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 12
    job = tomllib.loads(text)
    (file,), (agent,) = job["file"], job["agent"]
    assert (file["count"], agent["copies"], agent["arrivals"]["depth"]) == (4, 32, 32)
    assert (agent["size"], agent["pattern"]) == ("8KiB", "random")
    assert "cache" not in agent, "direct is what it is if nothing is said"
    ended = penstock("run", JOB, "--policy", "sptf", "--json", "--set", "duration=5s")
    (run,) = json.loads(ended.out)["runs"]
    assert [file["name"] for file in run["files"]] == [f"data.{number}" for number in range(4)]
    assert min(file["device_stats"]["utilisation"] for file in run["files"]) > 0.99


def test_files_are_put_on_devices_by_name() -> None:
    names = [f"data.{number}" for number in range(4)]
    assert files() == [(name, DISK) for name in names]
    assert files("--on", "flash") == [(name, "flash") for name in names]
    assert files("--on", "data=flash") == [(name, "flash") for name in names]
    placed = files("--on", "data.2=flash", "--on", "data=hdd-7200")
    assert [device for _, device in placed] == ["hdd-7200", "hdd-7200", "flash", "hdd-7200"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "dat=flash"), "did you mean `data`?"),
        (("--on", "data.4=flash"), "there is no file data.4"),
        (("--on", "data=flsh"), "unknown device `flsh`"),
        (("--on", "data=openpower-710"), "`openpower-710` is a machine, not a device"),
        (("--set", "device.queue.depth=4"), "`openpower-710` is a machine, not a device"),
        (("--set", "file.data.count=5"), "file data.4 has no device"),
        (("--on", "data=./disk.img"), "found one path for the 4 files of `data`"),
        (("--on", "flash", "--on", "data=flash"), "for the whole job and for one file of it"),
        (("--on", "data=flash", "--on", "data=hdd-7200"), "are for the same file of the job"),
        (("--on", "flash", "--on", "hdd-7200"), "are two places for the whole job"),
        (("--on", "./disk.img", "--create", "16MiB"), "the job has 4 files"),
        (("--on", "a=b.img", "--create", "16MiB"), "a=b.img is one"),
    ],
)
def test_a_place_that_cannot_be_is_refused(words: tuple[str, ...], said: str) -> None:
    ended = penstock("run", JOB, "--policy", "noop", *SHORT, *words)
    assert ended.code == 2
    assert said in ended.err
    assert not Path("disk.img").exists()


def test_files_are_shown_where_their_rates_differ() -> None:
    alike = penstock("run", JOB, "--policy", "noop", "--set", "duration=2s")
    assert "data.0" not in alike.out
    other = penstock("run", JOB, "--policy", "noop", "--set", "duration=2s", "--on", "data.2=flash")
    rows = [line.split() for line in other.out.splitlines() if line.startswith("data.")]
    assert [row[:2] for row in rows] == [
        [f"data.{number}", "flash" if number == 2 else DISK] for number in range(4)
    ]
    twelve = ("--set", "device=hdd-10k", "--set", "file.data.count=12")
    many = (*twelve, "--on", "data.2=flash", "--set", "agent.0.copies=2")
    rest = penstock("run", JOB, "--policy", "noop", "--set", "duration=2s", *many).out.splitlines()
    shown = [line for line in rest if line.startswith(("data.", "…"))]
    assert len(shown) == 9
    assert shown[4].startswith("… 4 more")
    assert shown[-1].split()[0] == "data.2"


def test_every_verb_runs_over_files(tmp_path: Path) -> None:
    report, record = tmp_path / "report.html", tmp_path / "run.record"
    words = ("--policies", "noop,alone:readers", "--repeat", "2", "--report", str(report))
    assert penstock("compare", JOB, *SHORT, *words, "--detail").code == 0
    assert "data.3" in report.read_text()
    assert penstock("run", JOB, "--policy", "cfq", *SHORT, "--record", str(record)).code == 0
    replayed = penstock("replay-decisions", record)
    assert replayed.code == 0, replayed.out + replayed.err
    vary = ("--vary", "policy=noop,sptf", "--vary", "file.data.count=1,4")
    swept = penstock("sweep", JOB, *SHORT, *vary, "--x", "readers.p99", "--y", "readers.bw")
    assert swept.code == 0, swept.err
    assert penstock("watch", JOB, *SHORT, "--policies", "noop", "--speed", "max").code == 0
    goal = ("--goal", "readers.p99 <= 60s", "--best", "readers.bw", "--policies", "noop,sptf")
    # What is left unfinished meets no goal.
    drained = ("--set", "agent.0.depth=1", "--set", "stop=drained")
    advised = penstock("advise", JOB, *SHORT, *drained, *goal)
    assert advised.code == 0, advised.err


def test_a_job_built_in_python_has_files() -> None:
    job = Job(
        duration="200ms",
        classes=["a"],
        files=[{"name": "data", "count": 2, "size": "1GiB", "device": "flash"}],
        agents=[
            {
                "class": "a",
                "file": "data.1",
                "op": "read",
                "size": "4KiB",
                "pattern": "random",
                "arrivals": {"kind": "closed"},
            }
        ],
    )
    comparison = compare(job, policies=["noop"])
    (run,) = comparison.runs
    first, second = run.files
    assert (first.name, first.requests, second.name) == ("data.0", 0, "data.1")
    assert second.bytes == second.requests * 4096 > 0
    assert comparison.remarks == ("no agent works on file data.0: its device stays idle",)
