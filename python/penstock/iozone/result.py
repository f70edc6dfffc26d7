"""The result of a command as one value, which is its JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeAlias

from penstock import __version__
from penstock.iozone.figures import UNITS, figures
from penstock.iozone.machine import MachineFacts
from penstock.iozone.options import IozoneOptions
from penstock.iozone.runner import MeasuredTest
from penstock.results.merge_types import World

Document: TypeAlias = dict[str, Any]
"""The JSON of a result."""


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The place, the time and the command of a run."""

    world: World
    subject: str
    """The model or the files."""
    scheduler: str | None
    """The scheduler of the disk below, or of the model."""
    disk: str | None
    began: datetime | None
    """When it began; a simulated result has no date."""
    command: str
    resolution_s: float
    """The least difference that the clock shows."""
    machine: MachineFacts


def document(
    options: IozoneOptions,
    facts: RunFacts,
    results: Sequence[MeasuredTest],
    remarks: Sequence[str],
) -> Document:
    """Return the whole result: facts, and each test with all workers and figures."""
    return {
        "penstock": __version__,
        "world": facts.world,
        "command": facts.command,
        "mode": options.mode,
        "seed": options.seed,
        "began_unix_s": None if facts.began is None else int(facts.began.timestamp()),
        "machine": asdict(facts.machine),
        "target": {
            "on": options.on,
            "files": None if options.on is not None else list(options.files),
            "disk": facts.disk,
            "scheduler": facts.scheduler,
        },
        "unit": UNITS[options.unit].output,
        "tests": [_test(measured, options.unit) for measured in results],
        "remarks": list(remarks),
    }


def _test(measured: MeasuredTest, unit: str) -> Document:
    values = figures(measured, unit)
    return {
        "test": measured.test.key,
        "phase": measured.test.phase,
        "threads": measured.point.threads,
        "record_bytes": measured.point.record,
        "size_bytes": measured.point.size,
        "parent_ns": measured.parent_ns,
        "figures": {
            "children": values.children,
            "parent": values.parent,
            "min": values.least,
            "max": values.greatest,
            "avg": values.average,
            "min_xfer": values.least_amount,
        },
        "workers": [asdict(worker) for worker in measured.workers],
    }
