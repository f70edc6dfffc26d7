"""Traces from the command line: described, converted, replayed."""

import json
from pathlib import Path

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
    heading, requests, *_ = ended.out.splitlines()
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
    assert "known are blkparse, blktrace" in ended.err
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
