"""Penstock: measure and control what happens when online and batch work share a disk.

    import penstock

    result = penstock.compare("examples/bank-day.toml", policies=["noop", "size-priority"])
    result.verdict(), result.summary(), result.charts["latency-tellers"]

The engine is compiled and private (`penstock._native`); the command is `penstock.cli`. The names
here are loaded when they are first used, so that the command starts sooner.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from penstock._native import __version__

if TYPE_CHECKING:
    from penstock.api import compare
    from penstock.comparison import Comparison
    from penstock.errors import PenstockError
    from penstock.gate import Gate, GateStats, LengthStats
    from penstock.job import Agent, Class, Job
    from penstock.policy import Below, ClassInfo, Go, Part, Policy, Request, Served
    from penstock.results.buckets import LatencyBuckets
    from penstock.results.typed import (
        AgainstMeasured,
        Asked,
        ClassResult,
        DiskStats,
        Distribution,
        Emulation,
        FileResult,
        Kernel,
        KernelDisk,
        Machine,
        Merge,
        Milliseconds,
        Run,
        Schedule,
    )
    from penstock.sweeps.run import Sweep, sweep

__all__ = [
    "AgainstMeasured",
    "Agent",
    "Asked",
    "Below",
    "Class",
    "ClassInfo",
    "ClassResult",
    "Comparison",
    "DiskStats",
    "Distribution",
    "Emulation",
    "FileResult",
    "Gate",
    "GateStats",
    "Go",
    "Job",
    "Kernel",
    "KernelDisk",
    "LatencyBuckets",
    "LengthStats",
    "Machine",
    "Merge",
    "Milliseconds",
    "Part",
    "PenstockError",
    "Policy",
    "Request",
    "Run",
    "Schedule",
    "Served",
    "Sweep",
    "__version__",
    "compare",
    "sweep",
]

_HOMES = {
    "api": ("compare",),
    "errors": ("PenstockError",),
    "gate": ("Gate", "GateStats", "LengthStats"),
    "job": ("Agent", "Class", "Job"),
    "policy": ("Below", "ClassInfo", "Go", "Part", "Policy", "Request", "Served"),
    "comparison": ("Comparison",),
    "sweeps.run": ("Sweep", "sweep"),
    "results.buckets": ("LatencyBuckets",),
    "results.typed": (
        "AgainstMeasured",
        "Asked",
        "ClassResult",
        "DiskStats",
        "Distribution",
        "Emulation",
        "FileResult",
        "Kernel",
        "KernelDisk",
        "Machine",
        "Merge",
        "Milliseconds",
        "Run",
        "Schedule",
    ),
}
"""The module that defines each name."""

_MODULES = ("advise", "calibrate", "charts", "merging", "papers", "session", "study", "sweeps")
"""Modules that are attributes after a plain `import penstock` too."""


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f"penstock.{home}"), name)
            globals()[name] = value
            return value
    if name in _MODULES:
        return import_module(f"penstock.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
