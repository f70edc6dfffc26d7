"""The lab on models: every experiment under every scheduler of the lecture, in virtual time."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run
from penstock.iozone import modelled as iozone
from penstock.iozone.figures import figures
from penstock.iozone.phases import ORDER_OF_SEVERAL, IozoneTest, chosen
from penstock.papers import files
from penstock.papers.linux_lab.setting import (
    DEVICE,
    FLASH,
    LECTURE,
    NAME,
    PHASES,
    PLACES,
    THREADS,
    LabSetting,
)
from penstock.papers.published import Row
from penstock.results.json_types import Class, Run
from penstock.session import Variant, compare
from penstock.target import Target

Rows = dict[str, list[Row]]
"""The rows of each experiment by its name."""

FLOODS = ("write", "read")
"""Operations of the flood; the single program does the other."""


def simulate(setting: LabSetting) -> Rows:
    """Return the rows of all experiments."""
    return {
        "exercise": _exercise(setting),
        "readers": _readers(setting),
        "thinking": [thinking(name, run) for name, run in _runs(setting, "thinking.toml", LECTURE)],
        "flood": [
            flood(name, op, run)
            for op in FLOODS
            for name, run in _runs(setting, "flood.toml", LECTURE, *flood_sets(op))
        ],
        "processes": [
            row
            for name, run in _runs(setting, "processes.toml", LECTURE)
            for row in processes(name, run)
        ],
        "turns": [_turns(setting)],
        "neighbours": [
            {"scheduler": name, **run["policy_stats"]}
            for name, run in _runs(setting, "neighbours.toml", ["elevator"])
        ],
        "flash": [
            {"scheduler": name, "requests_s": run["classes"][0]["iops"]}
            for name, run in _runs(setting, "readers.toml", LECTURE, on=FLASH)
        ],
    }


def tests() -> Sequence[IozoneTest]:
    """Return the tests of the exercise, in the order in which they run."""
    return list(chosen(ORDER_OF_SEVERAL, PHASES, again=True))


def _exercise(setting: LabSetting) -> list[Row]:
    points = {"exercise": setting.exercise, "example": setting.example}
    setup = Setup(target=Target(on=DEVICE), reduce=only_run, detail=True)
    variants = [
        Variant(
            name=f"{name}.toml",
            text=iozone.job(tests(), point, iozone.Calls(), seed=setting.seed),
            policies=[scheduler],
        )
        for name, point in points.items()
        for scheduler in LECTURE
    ]
    runs = iter(run_all(setup, variants))
    return [
        {
            "run": name,
            "scheduler": scheduler,
            "test": measured.test.key,
            "kb_s": figures(measured, "kB").children,
        }
        for name, point in points.items()
        for scheduler in LECTURE
        for measured in iozone.results(next(runs), tests(), point)
    ]


def _readers(setting: LabSetting) -> list[Row]:
    cells = [(place, region, threads) for place, region in PLACES.items() for threads in THREADS]
    return [
        readers(name, place, threads, run)
        for place, region, threads in cells
        for name, run in _runs(setting, "readers.toml", LECTURE, *reader_sets(region, threads))
    ]


def reader_sets(region: str, threads: int) -> Iterator[str]:
    """Yield what makes of the job so many readers in a region."""
    yield f"agent.0.copies={threads}"
    yield f"agent.0.region={region}"


def flood_sets(op: str) -> Iterator[str]:
    """Yield what makes a flood of this operation."""
    yield f"agent.flood.op={op}"
    yield f"agent.single.op={FLOODS[1 - FLOODS.index(op)]}"


def readers(scheduler: str, place: str, threads: int, run: Run) -> Row:
    """Return the row of some readers in a part of the disk."""
    (readers,) = run["classes"]
    stats = run.get("device_stats", {})
    return {
        "place": place,
        "threads": threads,
        "scheduler": scheduler,
        "requests_s": readers["iops"],
        "max_ms": readers["lat_ns"]["max"] / 1e6,
        "seek_ms": stats["seek_ms"]["mean"] if "seek_ms" in stats else None,
    }


def thinking(scheduler: str, run: Run) -> Row:
    """Return the row of the two programs that think."""
    outer, inner = (class_["bw_bytes"] / 1e6 for class_ in run["classes"])
    return {"scheduler": scheduler, "mb_s": outer + inner, "outer_mb_s": outer, "inner_mb_s": inner}


def flood(scheduler: str, op: str, run: Run) -> Row:
    """Return the row of a flood and a single program of the other operation."""
    classes = {class_["name"]: class_ for class_ in run["classes"]}
    flooded, single = classes["flood"], classes["single"]
    return {
        "flood": op,
        "scheduler": scheduler,
        "flood_s": flooded["iops"],
        "flood_max_ms": _worst_ms(flooded),
        "single_s": single["iops"],
        "single_mean_ms": single["lat_ns"]["mean"] / 1e6,
        "single_max_ms": _worst_ms(single),
        "held_ms": run.get("policy_stats", {}).get("idle_held_ns", 0) / 1e6,
    }


def _worst_ms(of_class: Class) -> float:
    return of_class["lat_ns"]["max"] / 1e6


def processes(scheduler: str, run: Run) -> Iterator[Row]:
    """Yield a row for each of the greedy programs."""
    for class_ in run["classes"]:
        yield {
            "scheduler": scheduler,
            "process": class_["name"],
            "requests_s": class_["iops"],
        }


def _turns(setting: LabSetting) -> Row:
    """Return how many requests of a program cfq sends in a turn, and how often."""
    columns: dict[str, bytes] = {}

    def keep(_: int, of_run: Mapping[str, bytes]) -> None:
        columns.update(of_run)

    variant = _variant(setting, "processes.toml", "cfq")
    compare(variant, Target(), requests=keep)
    owners, sent = array("H", columns["class"]), array("Q", columns["sent_ns"])
    order = [owners[at] for at in sorted(range(len(sent)), key=sent.__getitem__)]
    turns = [len(list(turn)) for _, turn in groupby(order)]
    # The first and the last turn may be cut.
    whole = turns[1:-1]
    usual = max(set(whole), key=whole.count)
    return {"requests": usual, "share": whole.count(usual) / len(whole)}


def _variant(setting: LabSetting, file: str, scheduler: str, sets: Iterable[str] = ()) -> Variant:
    return Variant(
        name=file,
        text=files.text(NAME, file),
        sets=[*sets, *setting.of_job],
        policies=[scheduler],
    )


def _runs(
    setting: LabSetting, file: str, schedulers: Sequence[str], *sets: str, on: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield each scheduler with its run of a job."""
    setup = Setup(target=Target(on=on), reduce=only_run)
    variants = [_variant(setting, file, scheduler, sets) for scheduler in schedulers]
    return zip(schedulers, run_all(setup, variants), strict=True)
