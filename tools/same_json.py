# ruff: noqa: E501 (a command a line reads better than one cut in two)
"""Compare the `--json` of every verb between two builds of penstock, byte for byte.

Usage: python tools/same_json.py [--text] OLD NEW [WORD…]

OLD and NEW are `penstock` programs; with words, only the commands that hold one of them run, and
with `--text` they run without `--json`. Run
this before and after a change that must not change a result. Stdout and exit code are compared; a
case whose output differs between two runs of OLD (times, process numbers) is reported as varying
and is no failure. Exit code 1: a command answers otherwise.
"""

import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SHORT = "--set duration=3s"
"""Long enough for every class of the examples to complete requests."""

JOBS = (
    "bank-day",
    "boot-storm",
    "buffered",
    "four-disks",
    "log-compaction",
    "pgbench-backup",
    "shared-disk",
    "shares",
    "tenants-scan",
    "fairio/ior1",
    "fairio/varmail",
    "linux/burst",
    "linux/deceptive-idleness",
    "linux/fair-readers",
    "linux/flash-needs-no-sorting",
    "linux/starved-writer",
    "linux/weights",
    "linux/write-flood",
    "merge/compactions",
    "merge/five-sorts",
)
"""Examples that are jobs."""

COMMANDS = (
    *(f"compare {{examples}}/{job}.toml --json" for job in JOBS),
    "compare {examples}/bank-day.toml --policies all --repeat 2 --set duration=2s --json",
    f"compare {{examples}}/shares.toml --policies noop,alone:search,fairio {SHORT} --json",
    f"compare {{examples}}/bank-day.toml --policies noop,size-priority --baseline size-priority {SHORT} --json",
    f"compare {{examples}}/bank-day.toml --on ssd-nvme {SHORT} --json",
    f"compare {{examples}}/bank-day.toml --on {{examples}}/devices/raid0.toml {SHORT} --json",
    "compare {examples}/bank-day.toml --set agent.0.rate=100000/s --set duration=20s --json",
    "compare {examples}/bank-day.toml --policies no-such --json",
    f"run {{examples}}/bank-day.toml --policy deadline {SHORT} --json",
    f"run {{examples}}/bank-day.toml --policy deadline {SHORT} --detail --record run.jsonl --json",
    f"watch {{examples}}/bank-day.toml --speed max {SHORT} --json",
    "replay-decisions run.jsonl --json",
    "replay-decisions run.jsonl --set deadline.read_expire=1ms --json",
    "replay {examples}/traces/tpcc-small.mqsim.gz --on hdd-7200 --policies noop,deadline --json",
    "replay {examples}/traces/pgbench-backup.blkparse.gz --on hdd-7200 --policies noop,cfq --json",
    f"sweep {{examples}}/bank-day.toml --vary policy=noop,size-priority --vary size-priority.split=16KiB,64KiB {SHORT} --json",
    "advise {examples}/bank-day.toml --goal 'tellers.p99 <= 300ms' --best batch.bw --policies noop,size-priority --json",
    "advise {examples}/bank-day.toml --goal 'tellers.p99 <= 1us' --best batch.bw --policies noop,deadline --json",
    "advise cycle {examples}/fairio/ior1.toml --json",
    "advise cycle --service 62ms,64ms --requests 17,85 --weights 1,2 --disks 4 --busy 0.9 --json",
    "advise cycle {examples}/traces/pgbench-backup.blkparse.gz --on hdd-7200 --json",
    "advise merge --disks 4 --jobs 4 --runs 5 --run 100blocks --json",
    "advise merge --disks 3 --jobs 3 --runs 4 --run 60blocks --memory 80 --sweep --json",
    "advise shares --on hdd-7200 --weights 1,2 --rounds 2 --json",
    "advise split --on hdd-7200 --rounds 3 --json",
    "calibrate hdd-7200 --rounds 1 --json",
    "study run {examples}/studies/readers.toml -o readers --json",
    "study analyse readers --json",
    "study confirm readers --json",
    "study run {examples}/studies/readers.toml -o queueing --on hdd-7200-ncq --json",
    "study compare readers queueing --json",
    "study compare readers queueing --by pattern --json",
    "study plan {examples}/studies/readers.toml --noise 5 --json",
    "study analyse {examples}/studies/fio.csv --response iops --json",
    "study analyse {examples}/studies/fio.csv --response lat_ns --by rw --model 'bs + iodepth + bs:iodepth' --json",
    "job show {examples}/bank-day.toml --json",
    "job show {examples}/merge/five-sorts.toml --json",
    "trace info {examples}/traces/tpcc-small.mqsim.gz --json",
    "trace stats {examples}/traces/wsrch-small.mqsim.gz --json",
    "trace races {examples}/traces/pgbench-backup.blkparse.gz --json",
    "trace make {examples}/fairio/varmail.toml -o made.log --json",
    "trace convert {examples}/traces/tpcc-small.mqsim.gz tpcc.log --to fio-iolog3 --json",
    "trace formats --json",
    "list policies --json",
    "list devices --json",
    "schema job",
    "schema device",
    "schema machine",
    "schema study",
    "schema result",
    "schema merge",
    "show device hdd-7200",
    "paper online-batch --json",
    "paper fairio --set horizon=5s --set seeds=1 --set cycles=250ms,700ms --json",
    "paper merge-placement --set cases=2 --set buffers=560,720 --set seeds=2 --json",
    "paper ioagent --set A=1,8 --set S=8 --set seeds=2 --json",
)
"""What is compared; `{examples}` is the folder of the examples. A later command may read what an
earlier one has written into the working folder."""


PROGRESS = re.compile(rb"% done|left$")
"""A line of progress, which depends on how busy the machine is."""


def main() -> int:
    """Compare all commands and print a line for each that differs."""
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    text = "--text" in sys.argv
    old, new, *words = [word for word in sys.argv[1:] if word != "--text"]
    chosen = [
        command for command in COMMANDS if not words or any(word in command for word in words)
    ]
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        folders = {name: Path(folder) / name for name in ("old", "new", "again")}
        for path in folders.values():
            path.mkdir()
        with ThreadPoolExecutor(2) as pool:
            for line in chosen:
                command = line.replace(" --json", "") if text else line
                begun = time.monotonic()
                before, after = pool.map(
                    answer, (old, new), (command,) * 2, list(folders.values())[:2]
                )
                seconds = time.monotonic() - begun
                verdict = "same"
                if before != after:
                    verdict = "DIFFERS"
                    if answer(old, command, folders["again"])[:2] != before[:2]:
                        verdict = "varies"
                    elif before[:2] == after[:2]:
                        verdict = "same but for stderr"
                    differing += verdict == "DIFFERS"
                print(
                    f"{verdict:8} exit {before[0]} {len(before[1]):9} bytes {seconds:6.1f} s  {command}"
                )
                if verdict.startswith(("DIFFERS", "same but")):
                    print(difference(before, after))
                sys.stdout.flush()
    print(f"{len(chosen) - differing} of {len(chosen)} commands answer alike")
    return int(differing > 0)


def answer(program: str, command: str, folder: Path) -> tuple[int, bytes, bytes]:
    """Run `command` in `folder`; return its exit code, stdout and stderr."""
    words = shlex.split(command.format(examples=ROOT / "examples"))
    done = subprocess.run(
        [program, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    lines = done.stderr.splitlines(keepends=True)
    return (
        done.returncode,
        done.stdout,
        b"".join(line for line in lines if not PROGRESS.search(line)),
    )


def difference(before: tuple[int, bytes, bytes], after: tuple[int, bytes, bytes]) -> str:
    """Show where two answers begin to differ, and the last words on stderr."""
    lines = [f"    exit {before[0]} -> {after[0]}"] if before[0] != after[0] else []
    for name, old, new in (("stdout", before[1], after[1]), ("stderr", before[2], after[2])):
        if old != new:
            at = next(
                (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
                min(len(old), len(new)),
            )
            begin = max(0, at - 60)
            lines.append(f"    {name} at byte {at}:")
            lines.append(f"      old …{old[begin : at + 100]!r}")
            lines.append(f"      new …{new[begin : at + 100]!r}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
