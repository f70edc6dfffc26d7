"""Hostile files and names, and every use of a file: what the attack combines."""

import gzip
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from command import ROOT

NAME = os.fsdecode(b"odd-\xff\xe9-name")
"""Part of a name that is not UTF-8."""

TRACE = ROOT / "tests/data/traces/sample.spc"

JOB = """\
device = "hdd-7200"
duration = "50ms"
stop = "last-arrival"
[class.a]
[class.b]
[[agent]]
class = "a"
op = "read"
size = "8KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 1 }
[[agent]]
class = "b"
op = "write"
size = "64KiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 1 }
"""

REPLAYED = """\
device = "hdd-7200"
[class.all]
[trace]
file = "FILE"
layout = "side-by-side"
[[rule]]
class = "all"
"""

STUDY = """\
[study]
job = "FILE"
policy = "fcfs"
repeat = 2
response = "bw_bytes"
[factor.copies]
path = "agent.0.copies"
levels = [1, 2]
"""

MERGE = """\
[[merge]]
runs = ["FILE", "run"]
output = "merged"
"""

FIO = """\
[job]
rw=randread
size=1m
bs=4k
"""

SORTED = "".join(f"{number:07}\n" for number in range(20_000))

TABLE = "copies,bw\n1,10\n1,11\n2,20\n2,21\n"

READERS: dict[str, tuple[str, ...]] = {
    "run": ("run", "FILE", "--policy", "fcfs"),
    "compare": ("compare", "FILE", "--policies", "fcfs,noop"),
    "sweep": ("sweep", "FILE", "--vary", "policy=fcfs,noop"),
    "watch": ("watch", "FILE", "--policy", "fcfs", "--speed", "max"),
    "job show": ("job", "show", "FILE"),
    "job from-fio": ("job", "from-fio", "FILE"),
    "replay": ("replay", "FILE", "--on", "hdd-7200"),
    "replay classes": ("replay", str(TRACE), "--on", "hdd-7200", "--classes", "FILE"),
    "replay-decisions": ("replay-decisions", "FILE"),
    "trace info": ("trace", "info", "FILE"),
    "trace stats": ("trace", "stats", "FILE"),
    "trace races": ("trace", "races", "FILE"),
    "trace plot": ("trace", "plot", "FILE", "-o", "made.html"),
    "trace convert": ("trace", "convert", "FILE", "made", "--to", "fio-iolog3"),
    "trace make": ("trace", "make", "FILE", "-o", "made"),
    "merge": ("merge", "FILE", "run", "--to", "."),
    "merge jobs": ("merge", "--jobs", "FILE", "--to", "."),
    "merge of a run named in a file": ("merge", "--jobs", "named.merge", "--to", "."),
    "show device": ("show", "device", "FILE"),
    "run on a device file": ("run", "job.toml", "--policy", "fcfs", "--on", "FILE"),
    "run on a target": ("run", "job.toml", "--policy", "fcfs", "--on", "./FILE"),
    "run of a trace named in a job": ("run", "named.toml", "--policy", "fcfs"),
    "study plan": ("study", "plan", "FILE"),
    "study run": ("study", "run", "FILE", "-o", "made"),
    "study run of a job named in a study": ("study", "run", "named.study", "-o", "made"),
    "study watch": ("study", "watch", "FILE", "--once"),
    "study analyse": ("study", "analyse", "FILE"),
    "study analyse of a folder": ("study", "analyse", "folder"),
    "study compare": ("study", "compare", "FILE", "table.csv"),
    "study confirm": ("study", "confirm", "FILE"),
    "diff": ("diff", "FILE", "FILE"),
    "advise": ("advise", "FILE", "--goal", "a.p99 <= 1s"),
    "advise capacity": ("advise", "capacity", "FILE", "--class", "a", "--goal", "a.p99 <= 1s"),
    "advise cycle": ("advise", "cycle", "FILE"),
    "advise shares": ("advise", "shares", "FILE", "--on", "hdd-7200", "--rounds", "1"),
    "linux compare": ("linux", "compare", "FILE", "--on", "./made.img", "--schedulers", "none"),
    "calibrate": ("calibrate", "FILE", "--rounds", "1", "--read-only"),
    "doctor": ("doctor", "FILE"),
}
"""Every verb that reads a file, once for each way to name it."""


def _many(text: bytes, size: int) -> bytes:
    return text * (size // len(text))


def _fifo(content: Callable[[], Iterator[bytes]]) -> Callable[[Path], None]:
    """Makes a FIFO into which `content` is written once something reads."""

    def made(path: Path) -> None:
        os.mkfifo(path)

        def write() -> None:
            with suppress(OSError), path.open("wb") as pipe:
                for piece in content():
                    pipe.write(piece)

        threading.Thread(target=write, daemon=True).start()

    return made


def _endless() -> Iterator[bytes]:
    while True:
        yield b"0,8,4096,R,0.5\n" * 1000


KINDS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.touch(),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 64),
    "directory": lambda path: path.mkdir(),
    "fifo": _fifo(lambda: iter([])),
    "quiet fifo": os.mkfifo,
    "null device": lambda path: path.symlink_to("/dev/null"),
    "missing": lambda path: None,
    "unreadable": lambda path: path.symlink_to("/proc/self/mem"),
    "huge line": lambda path: path.write_bytes(b"x" * (20 << 20)),
    "not utf-8": lambda path: path.write_bytes(b'duration = "\xff\xe9"\n' * 50),
    "cut": lambda path: path.write_text(JOB[: len(JOB) // 2 + 3]),
    "gzip cut": lambda path: path.write_bytes(gzip.compress(TRACE.read_bytes())[:-20]),
    "symbolic link to itself": lambda path: path.symlink_to(path.name),
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "endless fifo": _fifo(_endless),
}
"""Kinds of files that a person may name by mistake."""

ENDLESS = {"endless fifo", "quiet fifo"}
"""What a verb may read until Ctrl-C."""


def lay_out(folder: Path, name: str = "FILE") -> None:
    """Write the good files that the commands name; inside them the file in question is `name`."""
    (folder / "job.toml").write_text(JOB)
    (folder / "table.csv").write_text(TABLE)
    (folder / "run").write_text(SORTED)
    (folder / "named.toml").write_text(REPLAYED.replace("FILE", name))
    (folder / "named.study").write_text(STUDY.replace("FILE", name))
    (folder / "named.merge").write_text(MERGE.replace("FILE", name))
    (folder / "folder").mkdir()
    (folder / "folder/study.json").symlink_to("../FILE")
    (folder / "folder/part-000001.parquet").symlink_to("../FILE")


def listing(folder: Path) -> set[str]:
    """Every path below a folder."""
    return {os.fsdecode(os.path.relpath(path, folder)) for path in folder.rglob("*")}


@contextmanager
def full_disk(folder: Path, *options: str) -> Iterator[None]:
    """Mounts a small file system at `folder`."""
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def words_of(use: Sequence[str], name: str) -> list[str]:
    """The words of a command with a file's name in place."""
    return [word.replace("FILE", name) for word in use]


PROCESSES = "examples/traces/pgbench-backup.blkparse.gz"
"""A trace of several processes with completions."""

ON = "emulated:flash@10:folder-N"

_RUN = ("run", "job.toml", "--policy", "fcfs")

NAMES: dict[str, tuple[str, ...]] = {
    "run": ("run", "N.toml", "--policy", "fcfs"),
    "compare": ("compare", "N.toml", "--policies", "fcfs,noop"),
    "sweep": ("sweep", "N.toml", "--vary", "policy=fcfs,noop"),
    "watch": ("watch", "N.toml", "--policy", "fcfs", "--speed", "max"),
    "job show": ("job", "show", "N.toml", "--json"),
    "job from-fio": ("job", "from-fio", "N.fio", "-o", "made-N.toml"),
    "new": ("new", "made-N.toml"),
    "replay": (
        *("replay", "N.spc", "--on", "hdd-7200", "--policies", "noop"),
        *("--set", "trace.layout=side-by-side"),
    ),
    "trace info": ("trace", "info", "N.spc"),
    "trace info as json": ("trace", "info", "N.spc", "--json"),
    "trace stats": ("trace", "stats", "N.spc", "--classes", "classes-N.toml"),
    "trace races": ("trace", "races", "N.gz"),
    "trace plot": ("trace", "plot", "N.spc", "-o", "made-N.html"),
    "trace plots": ("trace", "plot", "N.spc", "--plots", "made-N"),
    "trace convert": ("trace", "convert", "N.spc", "made-N", "--to", "fio-iolog3"),
    "trace make": ("trace", "make", "open.toml", "-o", "made-N"),
    "report": (*_RUN, "--report", "made-N.html"),
    "plots": (*_RUN, "--plots", "made-N"),
    "workbook": (*_RUN, "--xlsx", "made-N.xlsx"),
    "requests": (*_RUN, "--requests", "made-N.parquet"),
    "parquet": ("sweep", "job.toml", "--vary", "policy=fcfs,noop", "--parquet", "made-N.parquet"),
    "record": (*_RUN, "--record", "made-N.json"),
    "replay-decisions": ("replay-decisions", "recorded-N.json"),
    "device file": (*_RUN, "--on", "dev-N.toml"),
    "show device": ("show", "device", "dev-N.toml"),
    "target": (*_RUN, "--on", "./made-N.img", "--create", "16MiB"),
    "emulated target": (*_RUN, "--on", "emulated:flash@10:./made-N.img", "--create", "16MiB"),
    "read-only target": (*_RUN, "--on", "./N.img", "--read-only", "--set", "agent.1.op=read"),
    "set of a trace": (*("run", "named.toml", "--policy", "fcfs"), "--set", "trace.file=N.spc"),
    "set of a device": (*_RUN, "--set", "device=dev-N.toml"),
    "merge": ("merge", "N.run", "run", "--to", "folder-N"),
    "merge with sort": ("merge", "N.run", "run", "--to", "folder-N", "--beside", "sort"),
    "merge in rounds": ("merge", "N.run", "run", "--to", "folder-N", "--rounds", "2", "--json"),
    "merge jobs": ("merge", "--jobs", "folder-N/jobs.merge", "--to", "."),
    "emulated merge": ("merge", "N.run", "run", "--to", "d", "e", "--on", ON),
    "study plan": ("study", "plan", "N.study"),
    "study run": ("study", "run", "N.study", "-o", "made-N"),
    "study run in a folder": ("study", "run", "folder-N/a.study", "-o", "made-N"),
    "study analyse": ("study", "analyse", "N.csv", "--report", "made-N.html", "--json"),
    "study analyse plots": ("study", "analyse", "N.csv", "--plots", "made-N"),
    "study analyse of a folder": ("study", "analyse", "study-N"),
    "study watch": ("study", "watch", "study-N", "--once"),
    "study compare": ("study", "compare", "N.csv", "table.csv"),
    "study confirm": ("study", "confirm", "study-N"),
    "diff": ("diff", "result-N.json", "result-N.json"),
    "job in a folder": ("run", "folder-N/a.toml", "--policy", "fcfs", "--report", "made-N.html"),
    "trace of a job in a folder": ("run", "folder-N/trace.toml", "--policy", "fcfs", "--json"),
    "job show in a folder": ("job", "show", "folder-N/a.toml"),
    "calibrate": ("calibrate", "dev-N.toml", "--rounds", "1", "-o", "made-N.toml"),
    "doctor": ("doctor", "folder-N"),
    "doctor cleans": ("doctor", "folder-N", "--clean"),
    "advise": ("advise", "N.toml", "--best", "a.iops"),
    "advise capacity": (
        *("advise", "capacity", "N.toml", "--class", "a", "--goal", "a.p99 <= 1s"),
        *("--up-to", "2", "--seeds", "1", "--report", "made-N.html", "--plots", "made-N"),
    ),
    "missing": ("run", "missing-N.toml", "--policy", "fcfs"),
    "list": ("list", "policies", "N"),
}
"""Every use of a name of a file, with a name that is not UTF-8 for `N`."""

REFUSED = {"missing", "list"}
"""What is wrong whatever the name."""


def lay_out_named(folder: Path, tools: Callable[..., object]) -> None:
    """Write the files that the commands of `NAMES` read; `tools` runs commands."""
    lay_out(folder)
    odd = folder / f"folder-{NAME}"
    odd.mkdir()
    device = '[device]\nmodel = "fixed"\nbase = "10us"\ncapacity = "1GiB"\n'
    for path in (folder / f"dev-{NAME}.toml", odd / "dev.toml"):
        path.write_text(device)
    for place, name in ((folder, NAME), (odd, "a")):
        (place / f"{name}.toml").write_text(JOB)
        (place / f"{name}.study").write_text(STUDY.replace("FILE", "job.toml"))
        (place / f"{name}.spc").write_bytes(TRACE.read_bytes())
        (place / "job.toml").write_text(JOB)
    (odd / "a.toml").write_text(JOB.replace("hdd-7200", "dev.toml"))
    (odd / "trace.toml").write_text(REPLAYED.replace("FILE", "a.spc"))
    (odd / "jobs.merge").write_text(MERGE.replace("FILE", "run"))
    (odd / "run").write_text(SORTED)
    (folder / f"{NAME}.run").write_text(SORTED)
    (folder / f"{NAME}.csv").write_text(TABLE)
    (folder / f"{NAME}.fio").write_text(FIO)
    (folder / f"{NAME}.img").write_bytes(bytes(16 << 20))
    result = ROOT / "examples/results/before.json"
    (folder / f"result-{NAME}.json").write_bytes(result.read_bytes())
    (folder / f"{NAME}.gz").write_bytes((ROOT / PROCESSES).read_bytes())
    classes = REPLAYED.replace("FILE", f"{TRACE}")
    (folder / f"classes-{NAME}.toml").write_text(classes)
    count = "count = 20\nsize"
    (folder / "open.toml").write_text(JOB.replace("size", count))
    tools(*_RUN, "--record", f"recorded-{NAME}.json")
    tools("study", "run", f"{NAME}.study", "-o", f"study-{NAME}")
