"""Tables I and II of the FAIRIO report, and what stands around them: our rows.

Each experiment names the cells that it needs, and makes rows of what they gave.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

from penstock.papers import files
from penstock.papers.fairio.cells import (
    Found,
    PolicyRun,
    RunFigures,
    error,
    fairio,
    illustration,
    spread,
    stats,
    throughput,
)
from penstock.papers.fairio.setting import DRIVES, NAME, FairioSetting
from penstock.papers.published import Row

ABLATIONS: Mapping[str, Mapping[str, str]] = {
    "as reconstructed": {},
    "nothing is exempt": {"exempt": "none"},
    "no history": {"window": "0"},
    "charged when completed": {"reserve": "false"},
    "charged when completed, no history": {"reserve": "false", "window": "0"},
    "cycles end early": {"early_end": "on"},
    "fill by weight": {"fill": "weighted"},
}
"""What is changed of the paper mode, and by which parameters."""

ABLATION_CYCLES_MS = (100, 300, 500, 1000, 3000)

WINDOWS = (1, 5, 20, 100)

WINDOW_CYCLES_MS = (300, 1000, 2000)

LONG_CYCLES_MS = (5000, 10000, 20000)
"""Longer ones than the report has."""

BASELINE_CYCLES_MS = (300, 900, 1500)

DRIVE_CYCLES_MS = (100, 300, 500, 1000, 2000, 3000)

NO_TURNAROUND = ("device.turnaround=0ms",)

Plan = tuple[Mapping[str, Any], Sequence[PolicyRun]]
"""What is said of a row, and its cells."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Rows of the JSON below one key."""

    key: str
    plan: Callable[[FairioSetting], Iterable[Plan]]
    row: Callable[[Mapping[str, Any], Sequence[RunFigures]], Row]

    def cells(self, setting: FairioSetting) -> list[PolicyRun]:
        """Returns the cells that have to run."""
        return [cell for _, cells in self.plan(setting) for cell in cells]

    def rows(self, setting: FairioSetting, results: Found) -> list[Row]:
        """The rows, of what ran."""
        plans = self.plan(setting)
        return [self.row(about, [results[cell] for cell in cells]) for about, cells in plans]


def _table(number: int, setting: FairioSetting) -> Iterable[Plan]:
    published = {row["cycle_ms"]: row for row in files.published(NAME)[f"table{number}"]}
    for mode, cycle_ms in product(setting.modes, setting.cycles_ms):
        theirs = published.get(cycle_ms)
        about = {
            "mode": mode,
            "cycle_ms": cycle_ms,
            "published": theirs and {key: theirs[key] for key in ("error_pct", "throughput_mb_s")},
        }
        yield about, illustration(number, setting, "fairio", fairio(setting, mode, cycle_ms))


def _table_row(about: Mapping[str, Any], measured: Sequence[RunFigures]) -> Row:
    services = zip(*(figures.service_ms for figures in measured), strict=True)
    return {
        "mode": about["mode"],
        "cycle_ms": about["cycle_ms"],
        **_shares(measured),
        "service_ms": [fmean(times) for times in services],
        "busy": fmean(figures.busy for figures in measured),
        "requests": fmean(figures.requests for figures in measured),
        "policy_stats": stats(measured),
        "published": about["published"],
    }


def _shares(measured: Sequence[RunFigures]) -> dict[str, Any]:
    return {
        "error_pct": error(measured),
        "spread_pct": spread(measured),
        "throughput_mib_s": throughput(measured),
    }


def _row(about: Mapping[str, Any], measured: Sequence[RunFigures]) -> Row:
    return {**about, **_shares(measured)}


def _fcfs(setting: FairioSetting) -> Iterable[Plan]:
    for number in (1, 2):
        yield {"illustration": number}, illustration(number, setting, "fcfs", {})


def _chosen(setting: FairioSetting, usual: Sequence[float]) -> Sequence[float]:
    return setting.cycles_ms if setting.chosen else usual


def _ablations(setting: FairioSetting) -> Iterable[Plan]:
    cycles = _chosen(setting, ABLATION_CYCLES_MS)
    for (name, changes), cycle_ms in product(ABLATIONS.items(), cycles):
        params = {**fairio(setting, "paper", cycle_ms), **changes}
        cells = illustration(1, setting, "fairio", params, seeds=[1], sets=NO_TURNAROUND)
        yield {"name": name, "cycle_ms": cycle_ms}, cells


def _windows(setting: FairioSetting) -> Iterable[Plan]:
    for window, cycle_ms in product(WINDOWS, _chosen(setting, WINDOW_CYCLES_MS)):
        params = {**fairio(setting, "paper", cycle_ms), "window": f"{window}"}
        cells = illustration(1, setting, "fairio", params, seeds=[1])
        yield {"window": window, "cycle_ms": cycle_ms}, cells


def _long_cycles(setting: FairioSetting) -> Iterable[Plan]:
    for number, cycle_ms in product((1, 2), () if setting.chosen else LONG_CYCLES_MS):
        cells = illustration(number, setting, "fairio", fairio(setting, "paper", cycle_ms))
        yield {"illustration": number, "cycle_ms": cycle_ms}, cells


def _baselines(setting: FairioSetting) -> Iterable[Plan]:
    cycles = product(setting.modes, _chosen(setting, BASELINE_CYCLES_MS))
    policies: list[tuple[str, dict[str, str]]] = [
        ("fcfs", {}),
        ("sfq", {"depth": "16"}),
        *(("fairio", fairio(setting, mode, cycle_ms)) for mode, cycle_ms in cycles),
    ]
    for number, (policy, params) in product((1, 2), policies):
        about = {"illustration": number, "policy": policy, "params": params}
        yield about, illustration(number, setting, policy, params)


def _drives(setting: FairioSetting) -> Iterable[Plan]:
    """The real drive's own geometry, if the array is not made of it anyway."""
    if "disk" in setting.given:
        return
    sets = DRIVES["ibm18es"]
    for number in (1, 2):
        about: dict[str, Any] = {"disk": "ibm18es", "illustration": number}
        about |= {"policy": "fcfs", "params": {}}
        yield about, illustration(number, setting, "fcfs", {}, seeds=[1], sets=sets)
        for mode, cycle_ms in product(setting.modes, _chosen(setting, DRIVE_CYCLES_MS)):
            params = fairio(setting, mode, cycle_ms)
            about = {**about, "policy": "fairio", "params": params, "cycle_ms": cycle_ms}
            yield about, illustration(number, setting, "fairio", params, seeds=[1], sets=sets)


EXPERIMENTS = (
    Experiment(key="table1", plan=lambda setting: _table(1, setting), row=_table_row),
    Experiment(key="table2", plan=lambda setting: _table(2, setting), row=_table_row),
    Experiment(key="fcfs", plan=_fcfs, row=_row),
    Experiment(key="ablations", plan=_ablations, row=_row),
    Experiment(key="windows", plan=_windows, row=_row),
    Experiment(key="long_cycles", plan=_long_cycles, row=_row),
    Experiment(key="baselines", plan=_baselines, row=_row),
    Experiment(key="drives", plan=_drives, row=_row),
)
