"""Jobs of fio, and what `penstock job from-fio` makes of them: the IOPS of both, in turn.

    python benches/from_fio.py [FILE.fio …]

Runs the files that are named, as fio's own examples (Debian has them in the package fio-examples),
or those of `tests/data/fio`. Each is taken over as it is first. Then it is cut down, so that it
runs anywhere for two seconds a section at most: its files lie in one folder and have 1 GiB at
most, all of them written before. Several sections are `time_based`; one alone may end with its
`size`, because fio drops the pages of its files from the page cache whenever it begins again. By
default fio also changes some bytes of each block before it writes it (`scramble_buffers`), which
takes up to a quarter of the time of a write to memory; it is off here. And its buffers begin at
pages, as ours do (`iomem_align`): without that, those of buffered requests begin 16 bytes behind
one, from where the kernel copies large blocks a fifth slower. fio runs that, and Penstock
what it becomes, on the same file if the job has but one, else on a file of its own in the same
folder: of two files on a virtual disk one may be faster. Rounds alternate, and so does the order
within them. The ratio of a section is the median of its rounds; 1 is fio's rate.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from penstock import _native

SECONDS = 2
"""Of a section."""

ROUNDS = 5

SIZE = 1 << 30
"""Of a file at most."""

NEAR = 0.1
"""How far a ratio may be from 1."""

OURS = Path(__file__).parents[1] / "tests/data/fio"

HEAD = f"[global]\nruntime={SECONDS}\noverwrite=1\nscramble_buffers=0\niomem_align=4096\n"

DROPPED = {
    *("time_based", "runtime", "timeout", "directory"),
    *("name", "description", "group_reporting"),
    *("verify", "io_submit_mode"),
    *("number_ios", "iomem_align", "mem_align"),
}
"""Options that the head has instead, names that sections would share in results, reads that only
fio adds, a mode in which fio 3.33 may never end with an engine that does not block, and numbers of
requests that are done while either begins."""

SIZES = {"size", "filesize", "io_size", "offset", "offset_increment"}

Rates = dict[str, float]
"""Requests a second by section."""


def cut_down(text: str) -> str:
    """The job so that it runs anywhere, for a short time."""
    sections = re.findall(r"^\[(?!global\])", text, re.MULTILINE)
    lines = [HEAD + ("time_based\n" if len(sections) > 1 else "")]
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition("="))
        if name in DROPPED:
            continue
        if name == "filename":
            value = Path(value.split()[0]).name
            line = f"{name}={value}"
        if name in SIZES and _bytes(value) > SIZE:
            line = f"{name}={SIZE}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _bytes(value: str) -> int:
    """A size of fio; nothing of a percentage."""
    found = re.match(r"(\d+)([kmgt]?)i?b?(\s|$)", value.lower())
    return 0 if found is None else int(found[1]) << (10 * " kmgt".index(found[2] or " "))


def penstock(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Call the command."""
    return subprocess.run(
        [sys.executable, "-m", "penstock", *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def first_line(text: str) -> str:
    """The first line of what was said."""
    return text.strip().partition("\n")[0]


class Pair:
    """A job of fio and ours, ready to run."""

    def __init__(self, text: str, folder: Path) -> None:
        """Cut the job down, make ours of it, and write fio's files."""
        self.folder = folder
        self.fio = folder / "job.fio"
        self.job = folder / "job.toml"
        self.fio.write_text(cut_down(text))
        made = penstock("job", "from-fio", self.fio, "-o", self.job, "--json")
        if made.returncode:
            raise RuntimeError(first_line(made.stderr))
        self.agents: list[dict[str, Any]] = tomllib.loads(self.job.read_text())["agent"]
        reasons = " ".join(note["why"] for note in json.loads(made.stdout)["notes"])
        on_null = "--on null" in reasons
        files = re.findall(r"^filename=(\S+)", self.fio.read_text(), re.MULTILINE)
        shared = files[0] if len(set(files)) == 1 else "disk.img"
        place: list[str | Path] = ["--on", folder / shared, "--create", f"{self._size()}B"]
        place = ["--on", "null"] if on_null else place
        depth = max(agent.get("buffers", 1) for agent in self.agents)
        copies = [agent.get("copies", 1) for agent in self.agents if agent["call"] == "async"]
        threads = [f"--set=live.threads={max(copies)}"] if max(copies, default=1) > 1 else []
        # Threads and engines of their own, as fio's processes have, and a call for each request.
        live = [f"--set=live.depth={depth}", "--set=live.batch=1", *threads]
        self.words = [*place, "--policy=kernel:as-is", *live]
        if not on_null:
            self.ours()
            for file in files:
                _fill(folder / file)

    def _size(self) -> int:
        """Bytes that its regions need."""
        ends = (str(agent["region"][1]) for agent in self.agents if "region" in agent)
        return max([SIZE, *(_native.size(end) for end in ends if "%" not in end)])

    def _settle(self) -> None:
        """Leave no page to be written, nor to be dropped, in the time of the next run."""
        keeps = re.search(r"^invalidate=0", self.fio.read_text(), re.MULTILINE)
        for file in self.folder.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                if not keeps:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def fios(self) -> Rates:
        """What fio reaches."""
        self._settle()
        rates: Rates = {}
        for job in _run_fio(self.fio)["jobs"]:
            if job["error"]:
                raise RuntimeError(f"fio: {job['jobname']} failed with error {job['error']}")
            name = re.sub(r"[^A-Za-z0-9_-]", "-", job["jobname"])
            rate = sum(job[op]["iops"] for op in ("read", "write", "trim"))
            rates[name] = rates.get(name, 0) + rate
        return rates

    def ours(self) -> Rates:
        """What Penstock reaches, each section over its own time, and one alone until its end."""
        self._settle()
        ran = penstock("run", self.job, *self.words, "--json")
        if ran.returncode:
            raise RuntimeError(first_line(ran.stderr))
        job = tomllib.loads(self.job.read_text())
        warmup = _seconds(job.get("warmup", "0s"))
        result = json.loads(ran.stdout)
        rates: Rates = {}
        for one in result["runs"][0]["classes"]:
            agent = next(agent for agent in self.agents if agent["class"] == one["name"])
            start = max(_seconds(agent.get("start", "0s")), warmup)
            end = _seconds(agent.get("stop", job["duration"]))
            if len(self.agents) == 1:
                end = min(end, warmup + result["runs"][0]["duration_s"])
            # fio counts flushes apart.
            flushes = one.get("ops", {}).get("flush", {"requests": 0})["requests"]
            rates[one["name"]] = (one["requests"] - flushes) / (end - start)
        return rates


def _seconds(text: str) -> float:
    return _native.duration(text) / 1e9


def _fill(path: Path) -> None:
    """Write a file of the whole size, past no hole."""
    if not path.exists():
        block = bytes(range(256)) * 4096
        with path.open("wb") as file:
            for _ in range(SIZE // len(block)):
                file.write(block)


def _run_fio(job: Path) -> dict[str, Any]:
    """What fio reports of a job."""
    command = ["fio", "--output-format=json", job.name]
    done = subprocess.run(
        command, cwd=job.parent, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode or "{" not in done.stdout:
        raise RuntimeError(f"fio: {first_line(done.stderr or done.stdout)}")
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return found


def measured(text: str, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Rates of both by section: ours and fio's of each round."""
    pair = Pair(text, folder)
    rounds: dict[str, list[tuple[float, float]]] = {}
    for number in range(ROUNDS):
        calls = [pair.ours, pair.fios]
        found = [call() for call in (calls if number % 2 else reversed(calls))]
        ours, fios = found if number % 2 else reversed(found)
        for (name, our), (_, fio) in zip(ours.items(), fios.items(), strict=True):
            rounds.setdefault(name, []).append((our, fio))
    return rounds


def main() -> None:
    """Measure and print."""
    if shutil.which("fio") is None:
        print("no fio here, so nothing to compare with; install it to see this benchmark")
        return
    paths = [Path(word) for word in sys.argv[1:]] or sorted(OURS.glob("*.fio"))
    near, all_of_them = 0, 0
    for path in paths:
        made = penstock("job", "from-fio", path, "--json")
        if made.returncode:
            print(f"{path.name}: {first_line(made.stderr)}")
            continue
        found = json.loads(made.stdout)
        what = f"{found['agents']} agents, {len(found['notes'])} notes"
        print(f"{path.name}: taken over, {what}", flush=True)
        try:
            with tempfile.TemporaryDirectory() as folder:
                rounds = measured(path.read_text(), Path(folder))
        except RuntimeError as error:
            print(f"  not run: {error}")
            continue
        for name, pairs in rounds.items():
            ratios = sorted(our / fio if fio else 0 for our, fio in pairs)
            ratio = statistics.median(ratios)
            our, fio = (statistics.median(rates) for rates in zip(*pairs, strict=True))
            is_near = abs(ratio - 1) <= NEAR
            near, all_of_them = near + is_near, all_of_them + 1
            print(
                f"  {name:<20} {our:>9,.0f} IOPS, fio {fio:>9,.0f}: {ratio:.2f} x "
                f"({ratios[0]:.2f} to {ratios[-1]:.2f}){'' if is_near else '  <--'}",
                flush=True,
            )
    print(f"{near} of {all_of_them} sections are within {100 * NEAR:.0f} % of fio")


if __name__ == "__main__":
    main()
