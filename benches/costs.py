"""What commands cost from start to end: time, processor time and memory, medians of some runs.

Where a figure has an aim, the row says whether it holds. The commands alternate, so that a machine
that becomes slower meets all of them. The last rows are sizes that nobody works with daily: do they
still run, and in how much memory?
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from timed import Aim, Timed, timed

EXAMPLES = Path(__file__).parents[1] / "examples"

RUNS = 5

AIMS = {
    "penstock --version": Aim(seconds=0.045),
    "a job of one second": Aim(seconds=0.1),
    "the bank's day with its report": Aim(cpu_seconds=1.5, megabytes=150),
}
"""What some of the commands are to take."""

SECOND = """\
duration = "1s"
device = "hdd-7200"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 4 }
"""

POISSON = """\
duration = "12500s"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "8000/s" }
"""
"""Read 10⁸ times, at a rate that flash keeps up with."""

DISKS = 100

FILES = 1_000

RACK = f"""\
duration = "1s"
stop = "last-arrival"
device = {{ {", ".join(f'disk{number} = "hdd-7200"' for number in range(DISKS))} }}

[class.readers]

[[file]]
name = "data"
count = {DISKS}
size = "64MiB"

[[agent]]
class = "readers"
copies = 32
op = "read"
size = "8KiB"
pattern = "random"
arrivals = {{ kind = "closed", depth = 32 }}
"""
"""Read from files on many disks."""


def commands(folder: Path) -> dict[str, Sequence[str]]:
    """Return the words of each command by what it does, with what it needs in a folder."""
    second = folder / "second.toml"
    second.write_text(SECOND)
    bank = str(EXAMPLES / "bank-day.toml")
    return {
        "penstock --version": ["--version"],
        "a job of one second": ["run", str(second), "--policy", "noop"],
        "the bank's day": ["compare", bank],
        "the bank's day with its report": ["compare", bank, "--report", str(folder / "day.html")],
    }


def large(folder: Path) -> dict[str, Sequence[str]]:
    """Return the words of commands that are large, by their size."""
    poisson = folder / "poisson.toml"
    poisson.write_text(POISSON)
    many = ["run", str(poisson), "--policy", "noop", "--on", "flash"]
    rack = folder / "rack.toml"
    rack.write_text(RACK)
    disks = ["run", str(rack), "--policy", "noop"]
    shared = ["--set", "file.data.device=disk0", "--set", f"file.data.count={FILES}"]
    return {
        "10⁷ requests": [*many, "--set", "duration=1250s"],
        "10⁸ requests": many,
        f"{DISKS} disks": disks,
        f"{FILES:,} files on one of them": [*disks, *shared],
        "a study of 10,368 runs": ["paper", "ioagent"],
    }


def measured(rows: dict[str, Sequence[str]], runs: int) -> dict[str, list[Timed]]:
    """Call every command some times, in turn."""
    calls: dict[str, list[Timed]] = {name: [] for name in rows}
    for _ in range(runs):
        for name, words in rows.items():
            calls[name].append(timed(*words))
    return calls


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        for rows, runs in ((commands(Path(folder)), RUNS), (large(Path(folder)), 1)):
            for name, calls in measured(rows, runs).items():
                print(f"{name:34} {AIMS.get(name, Aim()).judge(calls)}", flush=True)


if __name__ == "__main__":
    main()
