"""The runs of the paper's design on the modelled machine, and their rates."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock import _native
from penstock.comparison import Comparison
from penstock.design import Cell, Design, Run
from penstock.papers import files
from penstock.papers.ioagent.setting import FACTORS, NAME, PATTERNS, Setting, machine
from penstock.papers.published import Row
from penstock.session import Session, Variant
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
"""Runs of one call: it shares the processors among them, and comes back within some seconds."""


def design(of: Setting) -> Design:
    """All runs: each pattern in each cell, in rounds with a seed each."""
    return Design(factors={"pattern": of.patterns, **of.factors}, rounds=len(of.seeds))


def rows(of: Setting, cells: Sequence[Cell] | None = None) -> list[Row]:
    """A row for each run: the cell, and what it did. Without `cells` all of the design run."""
    if cells is None:
        runs = list(design(of).runs())
    else:
        runs = [Run(number, cell, 0.0) for number in range(len(of.seeds)) for cell in cells]
    text = files.text(NAME, "job.toml")
    found: list[Row] = []
    with _machine(of.of_machine) as on:
        for start in range(0, len(runs), BATCH):
            batch = runs[start : start + BATCH]
            variants = [
                Variant(
                    name=f"papers/{NAME}/job.toml",
                    text=text,
                    sets=[*changes(run.cell), f"seed={of.seeds[run.round]}", *of.of_job],
                )
                for run in batch
            ]
            with closing(Session(Target(on=on), variants, policies=[of.policy])) as session:
                results = session.run(variants)
            found += map(_row, batch, results)
    return found


def changes(cell: Cell, part: int = 1) -> list[str]:
    """A cell as changes of the job, which moves one of so many parts of the amount."""
    places, op = cell["pattern"].split("-")
    amount = RANDOM_AMOUNT.get(cell["S"], AMOUNT) if places == "random" else AMOUNT
    each = amount // (part * cell["A"] * cell["S"] * KIB) * cell["S"]
    agent = {
        "op": op,
        "pattern": places,
        # Agents that go through a file one after another read and write different data.
        "share": "slices" if places == "sequential" else "whole",
        "cache": cell["O"],
        "copies": cell["A"],
        "buffers": cell["B"],
        "size": f"{cell['S']}KiB",
        "total": f"{each}KiB",
    }
    return [f"file.data.count={cell['D']}", *(f"agent.agents.{k}={v}" for k, v in agent.items())]


def _row(run: Run, result: Comparison) -> Row:
    (one,) = result.raw["runs"]
    (of,) = one["classes"]
    return {
        **run.cell,
        "replicate": run.round,
        "bw_bytes": of["bw_bytes"],
        "seconds": one["duration_s"],
    }


@contextmanager
def _machine(given: Mapping[str, str]) -> Iterator[str]:
    """The paper's machine, or a changed one in a file."""
    if not given:
        yield MACHINE
        return
    with TemporaryDirectory() as folder:
        place = Path(folder) / f"{MACHINE}.toml"
        place.write_text(machine(given, _native.device(MACHINE)))
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
            {"name": name, "levels": [one for one in each if one in ran[name]]}
            for name, each in factors.items()
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
        kinds = {name: type(each[0]) for name, each in factors.items()}
        folder.append(frame(rows, kinds, [RESPONSE]))


def cells(of: Sequence[Row]) -> list[Row]:
    """The mean rate of the runs of each cell."""
    found: dict[tuple[Any, ...], list[float]] = {}
    names = ("pattern", "O", "D", "A", "B", "S")
    for row in of:
        found.setdefault(tuple(row[name] for name in names), []).append(row["bw_bytes"])
    return [
        {**dict(zip(names, cell, strict=True)), "bw_bytes": sum(each) / len(each)}
        for cell, each in found.items()
    ]
