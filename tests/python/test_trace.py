"""Traces from the command line: described, converted, replayed."""

import json
from pathlib import Path
from typing import Any

import pytest

from command import ROOT, penstock

TRACE = ROOT / "examples/traces/pgbench-backup.blkparse.gz"
JOB = ROOT / "examples/pgbench-backup.toml"

LITTLE = """\
254,0 1 1 0.000000000 10 Q WS 0 + 8 [my sql]
254,0 1 2 0.001000000 11 Q R 800 + 256 [tar]
254,0 1 3 0.002000000 11 Q W 1600 + 16 [tar]
"""


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """A trace of three requests."""
    path = tmp_path / "little.txt"
    path.write_text(LITTLE)
    return path


def test_info_reports_what_a_trace_is() -> None:
    ended = penstock("trace", "info", TRACE)
    assert ended.code == 0
    assert "requests      135,565\n" in ended.out
    assert json.loads(penstock("trace", "info", TRACE, "--json").out)["format"] == "blkparse"


def test_how_a_trace_was_read_is_noted() -> None:
    issued = ROOT / "tests/data/traces/issued.blkparse"
    noted = "no request was recorded when it was queued (Q)"
    assert f"note          {noted}" in penstock("trace", "info", issued).out
    assert f"note: {noted}" in penstock("trace", "stats", issued).err
    assert f"note: {noted}" in penstock("replay", issued, "--on", "flash").err
    assert "note" not in penstock("trace", "info", TRACE).out


def test_stats_report_a_column_a_class() -> None:
    ended = penstock("trace", "stats", TRACE, "--classes", JOB)
    heading, _, requests, *_ = ended.out.splitlines()
    assert heading.split() == ["online", "backup", "background", "other"]
    assert requests.split() == ["requests", "61,862", "35,321", "34,213", "4,169"]


def test_a_trace_goes_into_another_format_and_back(little: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.trace"
    ended = penstock("trace", "convert", little, other, "--to", "disksim")
    assert (ended.code, ended.out) == (0, "3 requests from blkparse\n")
    assert other.read_text().splitlines()[1] == "1.000000 0 800 256 1"
    again = penstock("trace", "convert", little, other, "--to", "disksim")
    assert (again.code, again.out) == (2, "")
    assert "nothing is overwritten" in again.err


def test_a_replay_has_one_class_unless_a_job_names_more(little: Path) -> None:
    ended = penstock("replay", little, "--on", "flash", "--json")
    comparison = json.loads(ended.out)
    assert comparison["world"] == "simulated"
    (run,) = comparison["runs"]
    assert run["policy"] == "noop"
    assert [(one["name"], one["requests"]) for one in run["classes"]] == [("all", 3)]
    ended = penstock("replay", TRACE, "--classes", JOB, "--policy", "noop,sstf", "--json")
    names = [[one["name"] for one in run["classes"]] for run in json.loads(ended.out)["runs"]]
    assert names == [["online", "backup", "background", "other"]] * 2


def test_a_replay_can_be_stopped(little: Path) -> None:
    ended = penstock("replay", little, "--on", "flash", "--stop", "1ms", "--json")
    (run,) = json.loads(ended.out)["runs"]
    assert run["classes"][0]["requests"] == 1


def test_what_is_wrong_is_reported(little: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.txt"
    foreign.write_text("once upon a time\n")
    ended = penstock("replay", foreign, "--on", "flash")
    assert (ended.code, ended.out) == (2, "")
    assert "line 1: found" in ended.err
    assert "known are biosnoop, blkparse" in ended.err
    ended = penstock("replay", little, "--format", "blkpars", "--on", "flash")
    assert ended.code == 2
    assert "did you mean `blkparse`?" in ended.err
    ended = penstock("replay", tmp_path / "none.txt", "--on", "flash")
    assert ended.code == 2
    assert "none.txt" in ended.err
    small = tmp_path / "small.toml"
    small.write_text(
        '[device]\nmodel = "fixed"\nbase = "1ms"\nper_mb = "1ms"\ncapacity = "512KiB"\n'
    )
    ended = penstock("replay", little, "--on", small)
    assert ended.code == 2
    assert "hint: `--fit wrap` of `penstock replay`" in ended.err
    assert penstock("replay", little, "--on", small, "--fit", "wrap").code == 0
    job = tmp_path / "job.toml"
    job.write_text(f'[trace]\nfile = "{little}"\n[class.a]\n[[rule]]\nclass = "a"\n')
    ended = penstock("run", job, "--policy", "noop", "--on", small)
    assert ended.code == 2
    assert 'hint: `fit = "wrap"` in `[trace]`' in ended.err


def test_what_a_process_is_called_is_no_command_to_the_terminal(tmp_path: Path) -> None:
    """A name may have any bytes, also those that begin a terminal's commands."""
    path = tmp_path / "trace.txt"
    line = "  8,0    1        1     0.000000000  7  Q   W 2048 + 8 [\x1b[2J\x9b31mevil\x7f]\n"
    path.write_text(line)
    for words in (
        ("trace", "info", path),
        ("trace", "stats", path),
        ("trace", "info", path, "--json"),
        ("replay", path, "--on", "flash", "--policy", "fcfs"),
    ):
        ended = penstock(*words)
        assert ended.code == 0, ended.err
        assert not set("\x1b\x9b\x7f") & set(ended.out + ended.err), words
    described = json.loads(penstock("trace", "info", path, "--json").out)
    assert described["processes"] == ["\x1b[2J\x9b31mevil\x7f"], (
        "in JSON it is the name all the same"
    )
    assert "\\u001b[2J\\u009b31mevil\\u007f" in penstock("trace", "info", path).out
    missing = penstock("trace", "info", tmp_path / "no\x1b[2Jsuch")
    assert missing.code == 2
    assert "\x1b" not in missing.err


class TestDevices:
    """A trace of several devices."""

    @pytest.fixture
    def two(self, tmp_path: Path) -> Path:
        """A trace that asks each of two devices for the same ten places, at the same time."""
        path = tmp_path / "two.blkparse"
        lines = [
            f"8,{minor} 1 {1 + k} {k / 10:.9f} {minor + 1} Q R {k * 999_000} + 8 [dd]"
            for k in range(10)
            for minor in (0, 16)
        ]
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_are_never_laid_over_each_other_unasked(self, two: Path) -> None:
        ended = penstock("replay", two, "--on", "hdd-7200")
        assert (ended.code, ended.out) == (2, "")
        assert "found requests of 2 devices (8,0 8,16), expected those of one" in ended.err
        assert "trace.layout=each gives each a device of its own" in ended.err

    def test_are_played_one_by_one_each_on_its_own_or_behind_each_other(self, two: Path) -> None:
        def run(*words: str) -> tuple[int, float, int]:
            ended = penstock("replay", two, "--on", "hdd-7200", "--json", *words)
            assert (ended.code, ended.err) == (0, "")
            (run,) = json.loads(ended.out)["runs"]
            (all_,) = run["classes"]
            return (
                all_["requests"],
                all_["lat_ns"]["mean"],
                len(run["device_stats"].get("disks", [])),
            )

        count, alone, disks = run("--device", "8,16")
        assert (count, disks) == (10, 0)
        # Two disks at work at the same time take as long as one.
        count, mean, disks = run("--layout", "each")
        assert (count, disks) == (20, 2)
        assert mean == pytest.approx(alone)
        # On one disk the second of each pair waits for the first.
        count, mean, disks = run("--layout", "side-by-side")
        assert (count, disks) == (20, 0)
        assert mean > 1.3 * alone

    def test_may_be_classes(self, two: Path, tmp_path: Path) -> None:
        job = tmp_path / "job.toml"
        job.write_text(
            'device = "hdd-7200"\n[trace]\nfile = "two.blkparse"\nlayout = "each"\n'
            '[class.second]\n[[rule]]\nclass = "second"\ndevice = ["8,16"]\n'
        )
        (run,) = json.loads(penstock("run", job, "--policy", "noop", "--json").out)["runs"]
        assert [(one["name"], one["requests"]) for one in run["classes"]] == [
            ("second", 10),
            ("other", 10),
        ]

    def test_need_as_many_devices_and_a_name_that_is_there(self, two: Path, tmp_path: Path) -> None:
        target = ("--on", tmp_path / "disk.img", "--create", "1GiB")
        ended = penstock("replay", two, "--layout", "each", "--fit", "wrap", *target)
        assert ended.code == 2
        assert "the trace is of 2 devices, and" in ended.err
        assert not (tmp_path / "disk.img").exists()
        ended = penstock("replay", two, "--on", "hdd-7200", "--device", "8,17")
        assert ended.code == 2
        assert "device `8,17` is not in the trace" in ended.err
        assert "did you mean `8,16`" in ended.err

    def test_are_played_each_on_a_device_of_its_own_kind(self, two: Path, tmp_path: Path) -> None:
        def result(*words: str | Path) -> dict[str, Any]:
            ended = penstock(*words, "--json")
            assert (ended.code, ended.err) == (0, "")
            found: dict[str, Any] = json.loads(ended.out)
            return found

        replayed = result("replay", two, "--on", "8,16=flash", "--on", "8,0=hdd-7200")
        assert replayed["device"] == "8,0=hdd-7200, 8,16=flash"
        disks = replayed["runs"][0]["device_stats"]["disks"]
        assert [(disk["device"], "seek_ms" in disk) for disk in disks] == [
            ("8,0", True),
            ("8,16", False),
        ]
        job = tmp_path / "job.toml"
        job.write_text(
            '[trace]\nfile = "two.blkparse"\non = { "8,0" = "hdd-7200", "8,16" = "flash" }\n'
            '[class.all]\n[[rule]]\nclass = "all"\n'
        )
        written = result("run", job, "--policy", "noop")
        assert written["runs"] == replayed["runs"]
        # What a result carries is a job that runs alike.
        again = tmp_path / "again.toml"
        again.write_text(written["job"]["text"])
        assert result("run", again, "--policy", "noop")["runs"] == replayed["runs"]
        # One device for all takes the place of those of the job.
        one = result("replay", two, "--classes", job, "--on", "flash")
        assert one["device"] == "flash"
        assert [disk["device"] for disk in one["runs"][0]["device_stats"]["disks"]] == [
            "8,0",
            "8,16",
        ]

    def test_a_name_with_a_dot_is_a_name(self, tmp_path: Path) -> None:
        trace = tmp_path / "two.csv"
        ticks = 128_166_372_000_000_000
        lines = [f"{ticks + 10 * k},hm,{k % 2},Read,{4096 * k},4096,100" for k in range(8)]
        trace.write_text("\n".join(lines) + "\n")
        words = ("--format", "msr", "--on", "hm.0=flash", "--on", "hm.1=hdd-7200", "--json")
        ended = penstock("replay", trace, *words)
        assert (ended.code, ended.err) == (0, "")
        assert json.loads(ended.out)["device"] == "hm.0=flash, hm.1=hdd-7200"

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ["--on", "8,0=flash"],
                "device `8,16` of the trace TRACE has no device to be played on\n"
                "hint: `--on 8,16=flash` gives it one; `--device NAME` plays only those that it "
                "names\n",
            ),
            (
                ["--on", "8,0=flash", "--on", "8,17=flash"],
                "device `8,17` is not in the trace TRACE\nhint: did you mean `8,16`?",
            ),
            (
                ["--on", "8,0=flash", "--on", "flash"],
                "--on flash and --on 8,0=flash are for the whole trace and for one device of it",
            ),
            (
                ["--on", "hdd-7200", "--on", "flash"],
                "--on hdd-7200 and --on flash are two places for the whole trace",
            ),
            (
                ["--on", "8,0=flash", "--on", "8,0=hdd-7200"],
                "--on 8,0=flash and --on 8,0=hdd-7200 are for the same device of the trace",
            ),
            (["--on", "8,0=falsh"], "unknown device `falsh`"),
            (["--on", "8,0=./disk.img"], "expected a modelled device, found `./disk.img`"),
            (
                ["--on", "8,0=flash", "--layout", "side-by-side"],
                "`on` gives each device of the trace one of its own; this layout is",
            ),
        ],
    )
    def test_on_devices_that_cannot_be(self, two: Path, words: list[str], message: str) -> None:
        ended = penstock("replay", two, *words)
        assert (ended.code, ended.out) == (2, "")
        assert message.replace("TRACE", str(two)) in ended.err

    def test_a_path_with_an_equals_sign_stays_a_path(self, two: Path, tmp_path: Path) -> None:
        target = tmp_path / "a=b.img"
        ended = penstock("replay", two, "--on", target)
        assert ended.code == 2
        assert "a=b.img: found no file" in ended.err
