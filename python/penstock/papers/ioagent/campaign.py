"""The runs of the paper's design on the modelled machine, and their rates."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock import _native
from penstock.experiment import plan
from penstock.experiment.bench import run_all
from penstock.experiment.plan import Cell
from penstock.experiment.trial import Setup, only_run
from penstock.papers import files
from penstock.papers.ioagent.setting import FACTORS, NAME, PATTERNS, IoagentSetting, machine
from penstock.papers.published import Row
from penstock.results.json_types import Comparison
from penstock.session import Variant
from penstock.study.folder import Folder
from penstock.study.rows import frame
from penstock.study.run import SIMULATED
from penstock.target import Target

MACHINE = "openpower-710"

RESPONSE = "bw_bytes"

KIB = 1024

AMOUNT = 64 << 20
"""Bytes that are read or written on each disk, in a second or more."""

RANDOM_AMOUNT = {8: 20 << 20}
"""Fewer of them where a disk needs three seconds and more for these: random ones of so many KiB."""

BATCH = 324
"""Runs whose results are in memory at once."""


def design(setting: IoagentSetting) -> list[Cell]:
    """All cells: every combination of the factors in each pattern."""
    return plan.every({"pattern": setting.patterns, **setting.factors})


def rows(setting: IoagentSetting, cells: Sequence[Cell] | None = None) -> list[Row]:
    """A row for each run: the cell, and what it did. Without `cells` all of the design run."""
    runs = plan.in_rounds(design(setting) if cells is None else cells, len(setting.seeds))
    text = files.text(NAME, "job.toml")
    variants = [
        Variant(
            name=f"papers/{NAME}/job.toml",
            text=text,
            sets=[*changes(cell), f"seed={setting.seeds[number]}", *setting.of_job],
        )
        for number, cell in runs
    ]
    with _machine(setting.of_machine) as on:
        setup = Setup(target=Target(on=on), reduce=_figures, policies=[setting.policy])
        figures = run_all(setup, variants, batch=BATCH)
    return [
        {**cell, "replicate": number, **rates}
        for (number, cell), rates in zip(runs, figures, strict=True)
    ]


def changes(cell: Cell, part: int = 1) -> list[str]:
    """A cell as changes of the job, which moves one of so many parts of the amount."""
    places, op = cell["pattern"].split("-")
    amount = RANDOM_AMOUNT.get(cell["S"], AMOUNT) if places == "random" else AMOUNT
    agent_bytes = amount // (part * cell["A"] * cell["S"] * KIB) * cell["S"]
    agent = {
        "op": op,
        "pattern": places,
        # Agents that go through a file one after another read and write different data.
        "share": "slices" if places == "sequential" else "whole",
        "cache": cell["O"],
        "copies": cell["A"],
        "buffers": cell["B"],
        "size": f"{cell['S']}KiB",
        "total": f"{agent_bytes}KiB",
    }
    return [f"file.data.count={cell['D']}", *(f"agent.agents.{k}={v}" for k, v in agent.items())]


def _figures(comparison: Comparison) -> Row:
    run = only_run(comparison)
    (agents,) = run["classes"]
    return {"bw_bytes": agents["bw_bytes"], "seconds": run["duration_s"]}


@contextmanager
def _machine(arguments: Mapping[str, str]) -> Iterator[str]:
    """The paper's machine, or a changed one in a file."""
    if not arguments:
        yield MACHINE
        return
    with TemporaryDirectory() as folder:
        place = Path(folder) / f"{MACHINE}.toml"
        place.write_text(machine(arguments, _native.device(MACHINE)))
        yield str(place)


def keep(ours: Mapping[str, Any], path: str) -> None:
    """Write all runs into a new folder, as that of a study."""
    factors = {"pattern": PATTERNS, **FACTORS}
    replicates = max(row["replicate"] for row in ours["rows"]) + 1
    every = len(ours["rows"]) // replicates
    now = datetime.now(UTC)
    rows = [
        {
            **row,
            "run": order % every * replicates + row["replicate"],
            "order": order,
            "block": row["replicate"],
            "seed": row["replicate"] + 1,
            "ended": now,
            "world": SIMULATED,
            "machine": MACHINE,
        }
        for order, row in enumerate(ours["rows"])
    ]
    folder = Folder(Path(path), resume=False)
    with closing(folder):
        ran = {name: {row[name] for row in rows} for name in factors}
        several = [
            {"name": name, "levels": [level for level in levels if level in ran[name]]}
            for name, levels in factors.items()
            if len(ran[name]) > 1
        ]
        folder.begin(
            {
                "factors": several,
                "responses": [RESPONSE],
                "world": SIMULATED,
                "runs": len(rows),
                "reference": None,
            }
        )
        kinds = {name: type(levels[0]) for name, levels in factors.items()}
        folder.append(frame(rows, kinds, [RESPONSE]))


def cells(rows: Sequence[Row]) -> list[Row]:
    """The mean rate of the runs of each cell."""
    rates: dict[tuple[Any, ...], list[float]] = {}
    names = ("pattern", "O", "D", "A", "B", "S")
    for row in rows:
        rates.setdefault(tuple(row[name] for name in names), []).append(row["bw_bytes"])
    return [
        {**dict(zip(names, cell, strict=True)), "bw_bytes": sum(of_cell) / len(of_cell)}
        for cell, of_cell in rates.items()
    ]
