"""The evaluation programs of the online-batch paper, in real time.

Pseudo-online programs make transactions of a write of 1,000 bytes, 2 ms of processor time and
another write; pseudo-batch programs have 60 ms of processor time and write 1,000,000 bytes twice,
five times over. Each combination of controls and numbers of programs is a cell; cells run in rounds
of all of them. Nothing here takes part in a measurement: the programs are threads of the engine.

Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019),
section III.
"""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import IO, Any, Self

from penstock import _native
from penstock.errors import translated, wrong
from penstock.experiment import plan
from penstock.results.rounds import Spread
from penstock.results.steps import Progress
from penstock.target import Target
from penstock.text import places

MODES = ("fifo", "split", "prio", "split+prio", "split-rr")
"""How the disk is controlled: as in the paper, whole requests in order; long ones in pieces;
short ones first; both; and pieces of each in turn."""

ONLINE_CPU_NS = 2_000_000
"""Processor time of a transaction in the paper, as long as its disk took for both writes."""

BATCH_CPU_NS = 60_000_000
"""Processor time of a repetition, likewise."""

ROUNDS = 3
"""Rounds of all cells."""

OVERLAP_NS = 10_000_000_000
"""How long online programs go on during a batch that does not end: with priority and no guard,
enough of them keep it from the disk."""

OUTLASTED = " The batch had not ended after 10 s; then the online programs did."
"""What is said where it came to that."""

LONG_BYTES = 1_000_000
"""Bytes of a write of a batch program."""

REPETITIONS = 5
"""Repetitions of a batch program."""

EMULATED = "emulated:"
"""What begins the name of a model in real time."""


@dataclass(frozen=True, kw_only=True)
class MeasuredCell:
    """Some programs under one control, and what they met in each round."""

    mode: str
    cpu_priority: bool
    """Batch programs leave the processor to online ones, by niceness."""
    online: int
    batch: int
    rounds: tuple[dict[str, Any], ...] = ()
    """The engine's words, a round each. Times are nanoseconds."""

    def over(self, figure: Callable[[dict[str, Any]], float]) -> Spread:
        """A figure over its rounds."""
        return Spread.of(figure(round_) for round_ in self.rounds)

    @property
    def short_mean_ns(self) -> Spread:
        """Mean time of a short write."""
        return self.over(lambda round_: round_["short"]["ns"]["mean"])

    @property
    def long_per_1000_bytes_ns(self) -> Spread | None:
        """Mean time of 1,000 bytes of a long write; `None` without batch programs."""
        if not self.batch:
            return None
        return self.over(lambda round_: round_["long"]["ns"]["mean"] * 1_000 / LONG_BYTES)

    @property
    def short_p50_ns(self) -> Spread:
        """The median of short writes."""
        return self.over(lambda round_: round_["short"]["ns"]["percentile"]["50.000000"])

    @property
    def short_p99_ns(self) -> Spread:
        """The 99th percentile of short writes."""
        return self.over(lambda round_: round_["short"]["ns"]["percentile"]["99.000000"])

    @property
    def short_max_ns(self) -> Spread:
        """The longest short write."""
        return self.over(lambda round_: round_["short"]["ns"]["max"])

    @property
    def transaction_ns(self) -> Spread:
        """Mean time of a transaction."""
        return self.over(lambda round_: round_["transaction"]["ns"]["mean"])

    @property
    def batch_ns(self) -> Spread | None:
        """Mean time of a batch program; `None` without any."""
        if not self.batch or not all(round_["batch_ns"] for round_ in self.rounds):
            return None
        return self.over(lambda round_: fmean(round_["batch_ns"]))

    @property
    def outlasted(self) -> bool:
        """In some round the batch had not ended when online programs went on no longer."""
        return any(round_["outlasted"] for round_ in self.rounds)

    @property
    def piece_ns(self) -> Spread | None:
        """Device time of one piece of a long write, or of a whole one if it is not split."""
        if not self.batch:
            return None
        return self.over(_piece)


def _piece(cell: dict[str, Any]) -> float:
    long = cell["gate"]["long"]
    return float(long["service_ns"]["mean"] * long["requests"] / max(long["pieces"], 1))


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Times of a cell's writes, over its rounds; those of long writes are for 1,000 bytes."""

    mode: str
    cpu_priority: bool
    online: int
    batch: int
    short_ns: Spread | None
    """What a short write took on average, if there was any."""
    long_per_1000_bytes_ns: Spread | None
    """What 1,000 bytes of a long one took, likewise."""
    outlasted: bool
    """As of the cell."""

    @classmethod
    def of(cls, cell: MeasuredCell) -> Self:
        """Returns the figures of a cell."""
        return cls(
            mode=cell.mode,
            cpu_priority=cell.cpu_priority,
            online=cell.online,
            batch=cell.batch,
            short_ns=cell.short_mean_ns if cell.online else None,
            long_per_1000_bytes_ns=cell.long_per_1000_bytes_ns,
            outlasted=cell.outlasted,
        )

    @classmethod
    def read(cls, figures: dict[str, Any]) -> Self:
        """Reads the figures from JSON."""
        spreads = ("short_ns", "long_per_1000_bytes_ns")
        return cls(
            **{**figures, **{key: figures[key] and Spread(*figures[key]) for key in spreads}}
        )


@dataclass(frozen=True, kw_only=True)
class Live:
    """All cells of an evaluation."""

    where: Target
    """Where programs write: a path, a model in real time, or both."""
    online_cpu_ns: int
    batch_cpu_ns: int
    calibrated: bool
    cells: tuple[MeasuredCell, ...]

    @property
    def notes(self) -> list[str]:
        """Notes on the target that are needed to read the figures, a line each."""
        rounds = [round_ for cell in self.cells for round_ in cell.rounds]
        disks = (places.below(round_.get("schedulers", {})) for round_ in rounds)
        remarks = (f"note: {remark}" for round_ in rounds for remark in round_.get("remarks", []))
        return [line for line in dict.fromkeys((*disks, *remarks)) if line is not None]

    def figures(self) -> list[Figures]:
        """Returns the figures of each cell."""
        return [Figures.of(cell) for cell in self.cells]

    def without_batch(self, cell: MeasuredCell) -> MeasuredCell | None:
        """Returns the cell equal to this one but without batch programs, if that was measured."""
        return next(
            (
                candidate
                for candidate in self.cells
                if replace(candidate, rounds=()) == replace(cell, batch=0, rounds=())
            ),
            None,
        )

    def slower(self, cell: MeasuredCell) -> float | None:
        """How many times as long a short write takes on average during the batch."""
        alone = self.without_batch(cell)
        if alone is None or not cell.batch:
            return None
        return cell.short_mean_ns.median / alone.short_mean_ns.median

    def write_csv(self, to: IO[str]) -> None:
        """Every write of every round, a line each; for cells that keep them."""
        lines = csv.writer(to, lineterminator="\n")
        cell_of = ("mode", "cpu_priority", "online", "batch")
        lines.writerow(["round", *cell_of, "program", "kind", "at_ns", "ns"])
        for cell in self.cells:
            for number, round_ in enumerate(cell.rounds):
                for write in round_["writes"]:
                    kind = "online" if write["online"] else "batch"
                    about = [cell.mode, int(cell.cpu_priority), cell.online, cell.batch]
                    times = [write["at_ns"], write["ns"]]
                    lines.writerow([number, *about, write["program"], kind, *times])


def online_batch_live(
    where: Target,
    *,
    modes: Sequence[str] = MODES,
    cpu_priority: Sequence[bool] = (False,),
    online: Sequence[int] = (1,),
    batch: Sequence[int] = (0, 5),
    rounds: int = ROUNDS,
    calibrate: bool = False,
    overlap: bool = True,
    writes: bool = False,
    progress: Progress | None = None,
) -> Live:
    """Run each combination of controls and programs in `rounds` of all of them.

    With `calibrate` the programs have as much processor time as this disk takes for their writes,
    as the paper chose it for its own. With `overlap` online programs go on until the batch has
    ended, or for ten seconds. With `writes` every single one is kept.
    """
    if not any(n + m for n in online for m in batch):
        raise wrong("found 0 programs; expected 1 to 256", "as --online 1 --batch 0")
    with translated():
        cpu = _calibrated(where) if calibrate else (ONLINE_CPU_NS, BATCH_CPU_NS)
        factors = {"online": online, "batch": batch, "cpu_priority": cpu_priority, "mode": modes}
        every = plan.every(factors, lambda cell: cell["online"] + cell["batch"] > 0)
        cells = [MeasuredCell(**levels) for levels in every]
        runs = plan.in_rounds(cells, rounds)
        met = []
        for at, (_, cell) in enumerate(runs):
            if progress is not None:
                progress(_words(cell), at / len(runs))
            met.append(_run(where, cell, cpu, overlap=overlap, writes=writes))
    return Live(
        where=where,
        online_cpu_ns=cpu[0],
        batch_cpu_ns=cpu[1],
        calibrated=calibrate,
        cells=tuple(
            replace(cell, rounds=tuple(cell_rounds))
            for cell, cell_rounds in plan.by_cell(cells, met)
        ),
    )


def _words(cell: MeasuredCell) -> str:
    return f"{cell.mode}, {cell.online} online, {cell.batch} batch"


def _calibrated(where: Target) -> tuple[int, int]:
    """Returns the processor time that equals two short writes on this disk, and two long ones."""
    alone = MeasuredCell(mode="fifo", cpu_priority=False, online=1, batch=0)
    short = _run(where, alone, (0, 0))["transaction"]["ns"]["mean"]
    long = fmean(_run(where, replace(alone, online=0, batch=1), (0, 0))["batch_ns"]) / REPETITIONS
    return round(short), round(long)


def _run(
    where: Target,
    cell: MeasuredCell,
    cpu: tuple[int, int],
    *,
    overlap: bool = False,
    writes: bool = False,
) -> dict[str, Any]:
    text = _native.online_batch(
        target=where,
        mode=cell.mode,
        online=cell.online,
        batch=cell.batch,
        online_cpu_ns=cpu[0],
        batch_cpu_ns=cpu[1],
        cpu_priority=cell.cpu_priority,
        overlap_ns=OVERLAP_NS if overlap else 0,
        writes=writes,
    )
    met: dict[str, Any] = json.loads(text)
    return met


def verdict(live: Live) -> Iterable[str]:
    """Yields a sentence of result for each control with the most batch programs."""
    most = max((cell.batch for cell in live.cells), default=0)
    for cell in live.cells:
        slower, alone, piece = live.slower(cell), live.without_batch(cell), cell.piece_ns
        if slower is None or alone is None or piece is None or cell.batch != most:
            continue
        more = (cell.short_mean_ns.median - alone.short_mean_ns.median) / piece.median
        unit = "pieces" if "split" in cell.mode else "long writes"
        first = ", online first at the processors" if cell.cpu_priority else ""
        programs = f"{cell.online} online beside {cell.batch} batch"
        yield (
            f"{cell.mode}{first}, {programs}: a short write takes {slower:.1f} times as long as "
            f"alone, {more:.1f} {unit} more."
            f"{OUTLASTED if cell.outlasted else ''}"
        )
