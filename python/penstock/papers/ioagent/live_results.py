"""Results of the paper's study on this machine, next to those of the modelled one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.papers.ioagent.live_claims import JudgedClaim
from penstock.papers.ioagent.live_fraction import LeftOut
from penstock.papers.published import Row
from penstock.study.difference import Ranks
from penstock.study.drift import Drift


class MachineEffect(NamedTuple):
    """Mean effect of a level of a factor, in per cent of the mean rate."""

    factor: str
    level: Any
    percent: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class PatternResult:
    """A pattern on both machines."""

    pattern: str
    cells: int
    possible: int
    coefficients: int
    ranks: Ranks | None
    references: int
    """Runs of the reference cell."""
    noise_pct: float | None
    """Standard deviation of these, in per cent."""
    drift: Drift | None
    here: Sequence[MachineEffect]
    """Effects by the paper's model, if it can be fitted."""
    model: Sequence[MachineEffect]


@dataclass(frozen=True, kw_only=True)
class MachineStudy:
    """Results of all runs."""

    folder: str
    machine: str
    file_bytes: int
    files: int
    part: int
    """Number of parts of the amount of the simulation, one of which each run moved."""
    budget_s: float
    seconds: float
    """Time of the whole study."""
    planned: int
    runs: int
    """Runs of the design, without those of the reference cell and of the pilot."""
    stopped: bool
    """Whether the budget ended before all planned cells had run."""
    patterns: Sequence[PatternResult]
    here: Mapping[str, JudgedClaim]
    model: Mapping[str, JudgedClaim]
    left_out: Sequence[LeftOut]
    remarks: Sequence[tuple[str, int]]
    """Remarks on runs, each with the number of runs that have it."""
    rows: Sequence[Row]
    """The rate of each cell here, `bw_bytes`, and on the model, `model_bw_bytes`."""
