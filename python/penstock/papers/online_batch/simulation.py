"""The simulation of "Disk I/O Control Mechanism for Online and Batch Processing" (2019), again.

Nine runs of one job: no control, priority on the processors, priority on processors and disk, each
with batch work that writes little, more and most. Beside them what the paper published.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NotRequired, TypeAlias, TypedDict

from penstock import _native
from penstock.errors import PenstockError, translated, wrong
from penstock.results import json_types
from penstock.text.units import LENGTHS

Control: TypeAlias = Literal["none", "cpu", "cpu+io"]
"""What goes by priority: nothing, the processors, the processors and the disk."""

Cell: TypeAlias = Literal["disk_pct", "cpu_pct", "online_cpu_pct", "batch_cpu_pct"]
"""A figure that the paper's tables have."""

CONTROLS: tuple[Control, ...] = ("none", "cpu", "cpu+io")
CASES = (1, 2, 3)
CELLS: tuple[Cell, ...] = ("disk_pct", "cpu_pct", "online_cpu_pct", "batch_cpu_pct")

_WRITES = {1: "500kB", 2: "1MB", 3: "2MB"}
"""What a batch job writes at a time, by case."""

_CONTROL: dict[Control, tuple[str, ...]] = {
    "none": ("cpu.order=fifo", "size-priority.priority=false"),
    "cpu": ("size-priority.priority=false",),
    "cpu+io": (),
}

_KEYS: dict[str, tuple[str, ...]] = {
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
}
"""What may be set, and what of the job it is."""

_ARRIVALS = "arrivals"
KEYS = (*_KEYS, _ARRIVALS)


class Row(TypedDict):
    """What came of one run: shares in percent of the time in which batch jobs ran, and means."""

    control: Control
    case: int
    disk_pct: float
    cpu_pct: float
    online_cpu_pct: float
    batch_cpu_pct: float
    makespan_s: float
    online_ms: float
    batch_s: float
    online_wait_ms: float
    batch_wait_ms: float


class Published(TypedDict):
    """A row of tables IV and V; `suspect` cells contradict the others."""

    control: Control
    case: int
    disk_pct: float
    cpu_pct: float
    online_cpu_pct: float
    batch_cpu_pct: float
    suspect: NotRequired[list[Cell]]


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far a cell is from the published one, in percentage points."""

    control: Control
    case: int
    cell: Cell
    ours: float
    paper: float
    suspect: bool

    @property
    def points(self) -> float:
        """Ours less the paper's."""
        return self.ours - self.paper


def settings(sets: Sequence[str]) -> dict[str, str]:
    """What `--set` says, checked by name; the engine checks the values."""
    found: dict[str, str] = {}
    for one in sets:
        key, equals, value = (part.strip() for part in one.partition("="))
        if not equals:
            raise wrong(f"--set {one}: expected KEY=VALUE", "as --set batch.n=6")
        if key not in KEYS:
            raise wrong(f"--set {one}: unknown key {key}", f"known are {', '.join(KEYS)}")
        found[key] = value
    kind = found.get(_ARRIVALS, "groups")
    if kind not in ("groups", "poisson"):
        raise wrong(f"--set arrivals={kind}: expected groups or poisson", "groups is the paper's")
    return found


def rows(given: Mapping[str, str]) -> list[Row]:
    """The nine runs, with what is set."""
    return [row(control, case, given) for control in CONTROLS for case in CASES]


def row(control: Control, case: int, given: Mapping[str, str]) -> Row:
    """One run."""
    sets = [f"program.1.phases.1.write={_WRITES[case]}", *_CONTROL[control], *_sets(given)]
    try:
        with translated():
            told = _native.compare(
                "online-batch", text=job(), policies=["size-priority"], sets=sets, detail=False
            )
    except PenstockError as error:
        message = _in_our_words(str(error), given)
        raise PenstockError(message, exit_code=error.exit_code) from error
    (run,) = json.loads(told)["runs"]
    classes: dict[str, json_types.Class] = {one["name"]: one for one in run["classes"]}
    online, batch = classes["online"]["programs"], classes["batch"]["programs"]
    return {
        "control": control,
        "case": case,
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


@cache
def job() -> str:
    """The job file."""
    return _native.paper("online-batch/job.toml")


@cache
def published() -> list[Published]:
    """Tables IV and V."""
    found: list[Published] = tomllib.loads(_native.paper("online-batch/published.toml"))["row"]
    return found


def deviations(ours: Sequence[Row]) -> Iterator[Deviation]:
    """Each cell beside the paper's."""
    for row, paper in zip(ours, published(), strict=True):
        for cell in CELLS:
            yield Deviation(
                control=row["control"],
                case=row["case"],
                cell=cell,
                ours=row[cell],
                paper=paper[cell],
                suspect=cell in paper.get("suspect", []),
            )


def farthest(ours: Sequence[Row]) -> float:
    """The largest distance from a cell that is not suspect, in percentage points."""
    return max(abs(one.points) for one in deviations(ours) if not one.suspect)


def _sets(given: Mapping[str, str]) -> Iterator[str]:
    """The same for the engine."""
    poisson = given.get(_ARRIVALS) == "poisson"
    for key, value in given.items():
        if key == _ARRIVALS or (poisson and key in ("online.offsets", "online.period")):
            continue
        yield from (f"{one}={value}" for one in _KEYS[key])
    if poisson:
        yield "program.0.kind=poisson"
        yield f"program.0.rate={_rate(given)}"


def _in_our_words(message: str, given: Mapping[str, str]) -> str:
    """The engine's message with the argument as it was given, and the caret below it."""
    lines = message.split("\n")
    for key, value in given.items():
        for one in _KEYS.get(key, ()):
            engine, ours = f"--set {one}={value}", f"--set {key}={value}"
            for at, line in enumerate(lines):
                if engine in line:
                    lines[at] = line.replace(engine, ours)
                    bar, caret, rest = lines[at + 1].partition("^")
                    bar = bar.ljust(len(bar) + len(ours) - len(engine))
                    lines[at + 1] = bar[: len(bar) + min(0, len(ours) - len(engine))] + caret + rest
    return "\n".join(lines)


def _rate(given: Mapping[str, str]) -> str:
    """As many transactions a second as the groups have."""
    online = tomllib.loads(job())["program"][0]["arrivals"]
    offsets = given.get("online.offsets")
    many = len(online["offsets"]) if offsets is None else len(offsets.split(","))
    return f"{many / _seconds(given.get('online.period', online['period'])):.9g}/s"


def _seconds(period: str) -> float:
    units = {unit: ns / 1e9 for ns, unit in LENGTHS}
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\w+)", period)
    if found is None or found[2] not in units or not float(found[1]):
        raise wrong(f"--set online.period={period}: expected a time above zero", "as 200ms")
    return float(found[1]) * units[found[2]]
