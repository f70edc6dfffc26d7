"""`penstock trace races`: what is found in a database's trace and in the record of merges."""

import json
from pathlib import Path
from typing import Any

import pytest

from command import ROOT, penstock
from penstock.text import races as words
from penstock.text.verdict import WIDTH

BACKUP = ROOT / "examples/traces/pgbench-backup.blkparse.gz"

CLASSES = ("--classes", ROOT / "examples/pgbench-backup.toml")

SORTS = ROOT / "examples/merge/five-sorts.toml"


def found(*args: str | Path) -> dict[str, Any]:
    ended = penstock("trace", "races", *args, "--json")
    assert ended.code == 0, ended.err
    answer: dict[str, Any] = json.loads(ended.out)
    return answer


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Of two sorts that race."""
    file = tmp_path / "two.record"
    words = ("--policy", "fcfs", "--set", "merge.jobs=2", "--record", file)
    assert penstock("run", SORTS, *words).code == 0
    return file


class TestDatabase:
    """Clients of PostgreSQL, its log and checkpoints, and a base backup, on one disk."""

    def test_there_is_no_race_and_stalls_are_reported(self) -> None:
        answer = found(BACKUP, *CLASSES)
        assert (answer["races"], answer["races_share"]) == ([], 0.0)
        assert answer["classes"] == ["online", "backup", "background", "other"]
        assert answer["requests"] == 135_564
        assert answer["remarks"] == ["1 requests have no completion and are left out"]
        lost = {(one["blocked"], one["by"]): one for one in answer["stalls"]}
        # Commits hold the backup up now and then, by a write each.
        behind_commits = lost["backup", "online"]
        assert behind_commits["lost_s"] == pytest.approx(0.127299)
        assert behind_commits["queued_writes_max"] == 1
        # The checkpointer queues many at once. It reads nothing, so this is no race.
        behind_checkpoint = lost["online", "background"]
        assert behind_checkpoint["queued_writes_max"] == 193
        assert behind_checkpoint["longest_s"] == pytest.approx(0.001878)
        assert behind_checkpoint["reads_outstanding_max"] == 0

    def test_processes_are_classes_unless_a_job_names_some(self) -> None:
        answer = found(BACKUP)
        assert {"postgres/549", "postgres/505", "pg_basebackup"} <= set(answer["classes"])
        assert answer["races"] == []

    def test_the_text_says_no_race_and_why(self) -> None:
        ended = penstock("trace", "races", BACKUP, *CLASSES)
        assert ended.code == 0, ended.err
        lines = ended.out.splitlines()
        assert lines[0] == "No race."
        assert lines[1].startswith(
            "Largest loss: backup waited 127 ms in total for writes of online"
        )
        assert lines[2].startswith("online did not run ahead")
        assert all(len(line) <= WIDTH for line in lines)
        assert ended.err == "note: 1 requests have no completion and are left out\n"


class TestRecord:
    """Merges whose runs lie on disks that others write."""

    def test_the_race_has_classes_disk_time_and_length(self, record: Path) -> None:
        answer = found(record)
        (race,) = answer["races"]
        assert race["blocked"] != race["by"]
        assert race["disk"] == race["by"].replace("job", "disk")
        assert 0 <= race["from_s"] < race["to_s"] <= answer["duration_s"]
        assert 20 < race["lost_s"] < race["to_s"] - race["from_s"]
        assert race["queued_writes_max"] > 150
        assert 1.5 < race["growth"] < 2.8
        share = (race["to_s"] - race["from_s"]) / answer["duration_s"]
        assert answer["races_share"] == pytest.approx(share)

    def test_the_text_has_a_row_for_it(self, record: Path) -> None:
        ended = penstock("trace", "races", record)
        assert ended.code == 0, ended.err
        first, _, headings, _, row = ended.out.splitlines()
        assert first.startswith("1 race, in ")
        assert headings.split()[:5] == ["stalled", "behind", "disk", "from", "to"]
        assert row.split()[:3] == ["job1", "job0", "disk0"]

    def test_its_decisions_are_replayed_alike(self, record: Path) -> None:
        ended = penstock("replay-decisions", record)
        assert ended.code == 0, ended.err
        assert ended.out.startswith("fcfs: all 4,360 decisions alike")


def test_a_trace_of_issues_alone_or_of_one_process_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_ms,op,offset,size,process\n0,read,0,4096,a\n1,write,0,4096,b\n")
    ended = penstock("trace", "races", trace)
    assert (ended.code, ended.out) == (2, "")
    assert (
        "none of its 2 requests has a completion; arrival times alone do not show which"
        in ended.err
    )
    assert "hint: record completions too (`penstock capture`)" in ended.err
    trace.write_text("time_ms,op,offset,size,process,latency_ms\n0,read,0,4096,a,1\n")
    ended = penstock("trace", "races", trace)
    assert (ended.code, ended.out) == (2, "")
    assert "all of its requests are of one process" in ended.err
    assert "hint: name classes by the rules of a job: --classes JOB.toml" in ended.err


def test_a_trace_without_stalls_says_so(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "time_ms,op,offset,size,process,latency_ms\n0,read,0,4096,a,1\n5,write,0,4096,b,1\n"
    )
    assert penstock("trace", "races", trace).out == (
        "No race.\nNo read waited for writes of another class.\n"
    )


def test_a_class_that_does_not_read_cannot_race() -> None:
    stall = {
        "disk": "sda",
        "blocked": "online",
        "by": "checkpointer",
        "lost_s": 2.0,
        "longest_s": 1.0,
        "queued_writes_max": 193,
        "reads_meanwhile": 0,
        "reads_outstanding_max": 0,
    }
    *_, why = words.lines({"races": [], "stalls": [stall]})
    assert why == "checkpointer does not read, so its writes do not come from reads during a stall."
