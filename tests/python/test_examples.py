"""What the verdict says of each example, next to the figures that it is judged by.

The figures of the four users' jobs are as the table prints them, so that a reader can judge every
sentence; whether something is overloaded, or not worth a decision, is said of all examples.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

import penstock
from command import ROOT
from penstock.text import units

POLICIES = ("noop", "class-priority", "size-priority")


class Judged(NamedTuple):
    """A job, its table and its verdict."""

    figures: Mapping[str, Mapping[str, tuple[str, str]]]
    """The p99 and the throughput in MB/s of each class under each policy."""
    lines: Sequence[str]
    on: str | None = None
    """Its device, if not the job's own."""
    changes: Mapping[str, str] = {}


JUDGED = {
    # Machines that boot share a drive with a backup: 57 times better for 46 % of the backup. Both
    # are loops, and all boots together get 21 times the throughput. The boot's requests wait within
    # the drive, which a queue of 32 fills: going first above it changes nothing.
    "boot-storm": Judged(
        {
            "noop": {"boot": ("62.4 ms", "10.2"), "backup": ("62.4 ms", "538")},
            "class-priority": {"boot": ("60.5 ms", "10.5"), "backup": ("62.4 ms", "538")},
            "size-priority": {"boot": ("1.09 ms", "214"), "backup": ("116 ms", "290")},
        },
        [
            "best for boot (214 MB/s): size-priority; for backup (538 MB/s): noop or "
            "class-priority; no policy is best for all",
            "class-priority: no class differs by more than 20 % from noop",
            "size-priority: boot's p99 57× better than noop; boot has 21× its throughput, backup "
            "keeps 54 %",
        ],
    ),
    # Commits and a compaction: 58 times better for 8 % of the compaction. Priority above the drive
    # helps little: most of the wait is within it.
    "log-compaction": Judged(
        {
            "noop": {
                "log": ("60.9 ms", "2.01"),
                "compaction": ("113 ms", "546"),
            },
            "class-priority": {
                "log": ("41.9 ms", "2.01"),
                "compaction": ("117 ms", "546"),
            },
            "size-priority": {
                "log": ("1.05 ms", "2.01"),
                "compaction": ("67.2 ms", "501"),
            },
        },
        [
            "best for log (p99 1.05 ms): size-priority; for compaction (546 MB/s): class-priority "
            "or noop; no policy is best for all",
            "worse for some class than another policy and better for none: noop (class-priority)",
            "log waits below the policy under class-priority: 24.0 ms of its 27.5 ms are spent in "
            "the drive's queue, which no policy can reorder;",
            "  a shorter queue would help (--set live.depth=1)",
            "class-priority: log's p99 1.5× better than noop; no throughput lost",
            "size-priority: log's p99 58× better than noop, compaction's p99 1.7× better but "
            "p50 1.2× worse; compaction keeps 92 %",
        ],
    ),
    # Two tenants and a scan on a disk with an arm: a lookup between two reads of the scan costs a
    # seek there and back. Meanwhile the scan's next reads queue and merge, so it pays nothing.
    "tenants-scan": Judged(
        {
            "noop": {
                "large": ("101 ms", "0.127"),
                "small": ("102 ms", "0.0677"),
                "scan": ("97.2 ms", "41.8"),
            },
            "class-priority": {
                "large": ("42.1 ms", "0.127"),
                "small": ("41.3 ms", "0.0677"),
                "scan": ("107 ms", "43.8"),
            },
            "size-priority": {
                "large": ("42.0 ms", "0.127"),
                "small": ("41.3 ms", "0.0677"),
                "scan": ("107 ms", "43.8"),
            },
        },
        [
            "best for large (p99 42.0 ms), small (p99 41.3 ms): size-priority or class-priority",
            "worse for some class than another policy and better for none: noop (class-priority)",
            "class-priority: large's p99 2.4× better than noop, small's p99 2.5× better; no "
            "throughput lost",
            "size-priority: large's p99 2.4× better than noop, small's p99 2.5× better; no "
            "throughput lost",
        ],
    ),
    # A recorded database and its backup at half speed: an open replay gets the throughput that it
    # asks for, so nothing is said of it. The backup's writes of many megabytes hold up everything
    # behind them; in pieces they hold up only what is as long.
    "pgbench-backup": Judged(
        {
            "noop": {
                "online": ("1.63 s", "40.8"),
                "backup": ("1.11 s", "147"),
                "background": ("1.12 s", "17.1"),
                "other": ("2.02 s", "8.03"),
            },
            "class-priority": {
                "online": ("80.8 ms", "40.8"),
                "backup": ("1.44 s", "147"),
                "background": ("77.5 ms", "17.1"),
                "other": ("256 ms", "8.03"),
            },
            "size-priority": {
                "online": ("6.71 ms", "40.8"),
                "backup": ("1.20 s", "147"),
                "background": ("9.37 ms", "17.1"),
                "other": ("2.99 s", "8.03"),
            },
        },
        [
            "best for online (p99 6.71 ms), background (p99 9.37 ms): size-priority; for "
            "backup (p99 1.11 s): noop; for other (p99 256 ms): class-priority;",
            "  no policy is best for all",
            "class-priority: online's p99 20× better than noop, backup's p99 1.3× worse, "
            "background's p99 14× better, other's p99 7.9× better",
            "size-priority: online's p99 240× better than noop, background's p99 120× better, "
            "other's p99 1.5× worse but p50 1,400× better",
        ],
        on="ssd-sata",
        changes={"trace.timing.speed": "0.5"},
    ),
}


@pytest.mark.parametrize("name", JUDGED)
def test_the_verdict_is_what_the_table_says(name: str) -> None:
    judged = JUDGED[name]
    job = ROOT / f"examples/{name}.toml"
    result = penstock.compare(job, policies=POLICIES, on=judged.on, set=judged.changes)
    figures = {
        run.policy: {
            one.name: (units.latency(one.lat_ns.p99), units.megabytes(one.bw_bytes))
            for one in run.classes
        }
        for run in result.runs
    }
    assert figures == judged.figures
    assert result.verdict() == judged.lines


SAID: Sequence[tuple[str, str | None, Mapping[str, str], str]] = (
    ("bank-day", None, {"duration": "1min"}, ""),
    ("boot-storm", None, {"duration": "5s"}, ""),
    ("buffered", None, {}, ""),
    ("log-compaction", None, {"duration": "5s"}, ""),
    ("shared-disk", "flash", {}, ""),
    ("shared-disk", "ssd-sata", {}, ""),
    ("tenants-scan", None, {"duration": "1min"}, ""),
    ("pgbench-backup", "ssd-nvme", {}, ""),
    ("pgbench-backup", "flash", {"trace.timing.speed": "0.5"}, ""),
    # A disk with an arm makes 100 synced writes a second at most.
    ("shared-disk", "hdd-7200", {}, "overload"),
    ("tenants-scan", None, {"agent.0.rate": "160/s", "duration": "1min"}, "overload"),
    ("log-compaction", "hdd-7200", {"duration": "10s"}, "overload"),
    ("pgbench-backup", "flash", {}, "overload"),
    # A drive that takes all requests at once leaves nothing to decide.
    ("bank-day", "ssd-nvme", {"duration": "5s"}, "nothing"),
    ("pgbench-backup", "ssd-nvme", {"trace.timing.speed": "0.05"}, "nothing"),
)
"""An example, its device, changes, and what the verdict begins with."""


@pytest.mark.parametrize(("name", "on", "changes", "said"), SAID)
def test_overload_and_nothing_to_decide_are_said_where_they_are_so(
    name: str, on: str | None, changes: Mapping[str, str], said: str
) -> None:
    job = ROOT / f"examples/{name}.toml"
    result = penstock.compare(job, policies=POLICIES, on=on, set=changes, detail=False)
    judged = result.judged()
    assert bool(judged["overload"]) == (said == "overload")
    assert judged["nothing_to_decide"] == (said == "nothing")
    first, *more = judged["lines"]
    overload = "OVERLOAD: the device cannot keep up"
    assert any(line.startswith(overload) for line in (first, *more)) == (said == "overload")
    assert first.startswith("nothing to decide: ") == (said == "nothing")
    for run in result.runs:
        for one in run.classes:
            # What makes it so: an open loop that waits ever longer, or one that hardly waits.
            if said == "nothing":
                assert one.wait_ns.mean < 0.06 * one.lat_ns.mean
