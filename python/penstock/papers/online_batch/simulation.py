"""The simulation of "Disk I/O Control Mechanism for Online and Batch Processing" (2019), again.

Nine runs of one job: no control, priority on the processors, priority on processors and disk, each
with batch work that writes little, more and most.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Literal, TypeAlias

from penstock.errors import wrong
from penstock.papers import files
from penstock.papers.paper import Simulation
from penstock.papers.published import Row
from penstock.papers.settings import Settings
from penstock.results.json_types import Run
from penstock.text.units import LENGTHS

NAME = "online-batch"
"""The paper's name."""

Control: TypeAlias = Literal["none", "cpu", "cpu+io"]
"""What goes by priority: nothing, the processors, the processors and the disk."""

CONTROLS: tuple[Control, ...] = ("none", "cpu", "cpu+io")
CASES = (1, 2, 3)

_WRITES = {1: "500kB", 2: "1MB", 3: "2MB"}
"""What a batch job writes at a time, by case."""

_CONTROL: dict[Control, tuple[str, ...]] = {
    "none": ("cpu.order=fifo", "size-priority.priority=false"),
    "cpu": ("size-priority.priority=false",),
    "cpu+io": (),
}

SETTINGS = Settings(
    keys={
        "ncpu": ("cpu.count",),
        "slice": ("cpu.slice",),
        "unit": ("device.unit",),
        "online.offsets": ("program.0.offsets",),
        "online.period": ("program.0.period",),
        "online.cpu": ("program.0.phases.1.cpu",),
        "batch.n": ("program.1.count",),
        "batch.start": ("program.1.start", "warmup"),
        "batch.stagger": ("program.1.stagger",),
        "batch.writes": ("program.1.repeat",),
        "batch.cpu_between": ("program.1.phases.0.cpu",),
        "preempt": ("cpu.preempt",),
        "cpu_pick": ("cpu.pick",),
        "disk": ("size-priority.order",),
    },
    choices={"arrivals": ("groups", "poisson")},
    examples=("batch.n=6", "online.offsets=0ms,0ms,0ms"),
)


def runs(arguments: Mapping[str, str]) -> Iterator[Simulation]:
    """The nine runs, with what is set."""
    sets = list(_sets(arguments))
    for control, case in product(CONTROLS, CASES):
        of_run = (f"program.1.phases.1.write={_WRITES[case]}", *_CONTROL[control])
        yield Simulation({"control": control, "case": case}, "size-priority", [*of_run, *sets])


def figures(run: Run) -> Row:
    """Shares in percent of the time in which batch jobs ran, and means."""
    classes = {class_["name"]: class_ for class_ in run["classes"]}
    online, batch = classes["online"]["programs"], classes["batch"]["programs"]
    return {
        "disk_pct": 100 * run["device_busy"],
        "cpu_pct": 100 * (online["cpu_share"] + batch["cpu_share"]),
        "online_cpu_pct": 100 * online["cpu_share"],
        "batch_cpu_pct": 100 * batch["cpu_share"],
        "makespan_s": run["duration_s"],
        "online_ms": online["time_ns"]["mean"] / 1e6,
        "batch_s": batch["time_ns"]["mean"] / 1e9,
        "online_wait_ms": online["wait_ns"]["mean"] / 1e6,
        "batch_wait_ms": batch["wait_ns"]["mean"] / 1e6,
    }


def job() -> str:
    """The job file."""
    return files.text(NAME, "job.toml")


def _sets(arguments: Mapping[str, str]) -> Iterator[str]:
    """Yields the arguments as settings of the job; Poisson arrivals replace its groups."""
    if arguments.get("arrivals") != "poisson":
        yield from SETTINGS.of_job(arguments)
        return
    groups = ("online.offsets", "online.period")
    yield from SETTINGS.of_job({key: arguments[key] for key in arguments if key not in groups})
    yield "program.0.kind=poisson"
    yield f"program.0.rate={_rate(arguments)}"


def _rate(arguments: Mapping[str, str]) -> str:
    """Returns the rate of Poisson arrivals: as many transactions a second as the groups have."""
    online = tomllib.loads(job())["program"][0]["arrivals"]
    offsets = arguments.get("online.offsets")
    many = len(online["offsets"]) if offsets is None else len(offsets.split(","))
    return f"{many / _seconds(arguments.get('online.period', online['period'])):.9g}/s"


def _seconds(period: str) -> float:
    units = {unit: ns / 1e9 for ns, unit in LENGTHS}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\w+)", period)
    if match is None or match[2] not in units or not float(match[1]):
        raise wrong(f"--set online.period={period}: expected a time above zero", "as 200ms")
    return float(match[1]) * units[match[2]]
