"""A sweep: one workload in many settings of policies, and the trade-off between two figures."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from penstock.errors import wrong
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, whole
from penstock.job import Job
from penstock.results import figure, json_types, rounds, tradeoff
from penstock.results.figure import Figure
from penstock.results.steps import Step
from penstock.results.tradeoff import Tradeoff
from penstock.session import Variant
from penstock.sweeps.vary import Setting, factors, settings
from penstock.target import Target, path

if TYPE_CHECKING:
    import polars as pl

    from penstock.report.outputs import Contents


@dataclass(frozen=True)
class Sweep:
    """Results of all settings."""

    settings: Sequence[Setting]
    comparison: json_types.Comparison
    """All settings as one comparison: each stands where a policy stands, by its label."""
    tradeoff: Tradeoff

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt has ended it before its end."""
        return any(run.get("interrupted") for run in self.comparison["runs"])

    @cached_property
    def by_setting(self) -> list[rounds.Rounds]:
        """The runs of each setting that ran."""
        return rounds.by_policy(self.comparison)

    def frame(self) -> "pl.DataFrame":
        """A row for each setting, round and class: columns for what varied, and all figures."""
        import polars as pl

        from penstock.results import frames

        keys = list(dict.fromkeys(key for setting in self.settings for key in setting.changes))
        schema = {"setting": pl.String, "policy": pl.String, **dict.fromkeys(keys, pl.String)}
        beaten = {point.label: point.beaten_by for point in self.tradeoff.points}
        rows = [
            {
                "setting": setting.label,
                "policy": setting.policy,
                "beaten_by": beaten.get(setting.label),
            }
            | {key: setting.changes.get(key) for key in keys}
            for setting in self.settings
        ]
        known = pl.DataFrame(rows, schema={**schema, "beaten_by": pl.String})
        figures = frames.summary(self.comparison).rename({"policy": "setting"})
        return known.join(figures, on="setting", how="right", maintain_order="right").select(
            *schema, pl.exclude(*schema)
        )

    def to_json(self) -> str:
        """All figures of all settings."""
        return json.dumps(self._plain(), ensure_ascii=False, indent=2)

    def _plain(self) -> Mapping[str, Any]:
        runs_of = {run.label: run.runs for run in self.by_setting}
        setting_of = {setting.label: setting for setting in self.settings}
        points = []
        for point in self.tradeoff.points:
            setting, runs = setting_of[point.label], runs_of[point.label]
            points.append(
                {
                    "setting": point.label,
                    "policy": setting.policy,
                    "set": dict(setting.changes),
                    "x": point.x and point.x._asdict(),
                    "y": point.y and point.y._asdict(),
                    "frontier": point.on_frontier,
                    "beaten_by": point.beaten_by,
                    "runs": [
                        {key: value for key, value in run.items() if key != "policy"}
                        for run in runs
                    ],
                }
            )
        whole = {key: value for key, value in self.comparison.items() if key != "runs"}
        x, y = str(self.tradeoff.x), str(self.tradeoff.y)
        return {**whole, "x": x, "y": y, "interrupted": self.interrupted, "settings": points}

    def save_report(self, path: str | PathLike[str]) -> None:
        """Write the picture and the table as one HTML file that needs nothing else."""
        from penstock.report.outputs import Outputs

        Outputs(report=path).save(self.contents())

    def contents(self, *, drawn: bool = True) -> "Contents":
        """Returns what can be written of the sweep, without pictures unless they are `drawn`."""
        from penstock.report.comparison import sweep_contents

        return sweep_contents(self.comparison, self.tradeoff, self.frame, drawn=drawn)


def sweep(
    job: Job | str | PathLike[str],
    vary: Mapping[str, Sequence[object] | str],
    *,
    x: str | None = None,
    y: str | None = None,
    on: str | PathLike[str] | None = None,
    set: Mapping[str, object] | None = None,
    repeat: int | None = None,
) -> Sweep:
    """Run a workload in every combination of what varies, and put two figures against each other.

    `vary` has levels by their keys, as `{"size-priority.split": "16KiB..1MiB,off"}`; a list of
    levels does too. The key `policy` has policies. `x` and `y` are figures of classes, as
    `tellers.p99` and `batch.bw`.
    """
    written = {
        key: levels if isinstance(levels, str) else ",".join(map(str, levels))
        for key, levels in vary.items()
    }
    return run(
        _variant(job, [f"{key}={value}" for key, value in (set or {}).items()]),
        settings(factors([f"{key}={levels}" for key, levels in written.items()])),
        Target(on=path(on)),
        figures=(x, y),
        repeat=repeat,
    )


def _variant(job: Job | str | PathLike[str], sets: Sequence[str]) -> Variant:
    if isinstance(job, Job):
        return Variant(name=job.name, text=job.text, sets=sets)
    return Variant(name=fspath(job), sets=sets)


def run(
    job: Variant,
    settings: Sequence[Setting],
    target: Target,
    *,
    figures: tuple[str | None, str | None] = (None, None),
    repeat: int | None = None,
    progress: Callable[[Step], object] | None = None,
) -> Sweep:
    """Run `job` in each setting, in rounds of all; Ctrl-C ends it with what there is."""
    wanted = [None if text is None else Figure.parse(text) for text in figures]

    def step(now: Step) -> None:
        if now["step"] == "finished" and not now["policy"].startswith(rounds.ALONE):
            # At once, not after an hour of runs.
            for axis in filter(None, wanted):
                figure.check(axis, [class_["name"] for class_ in now["classes"]])
        if progress is not None:
            progress(now)

    comparison = measured(job, settings, target, repeat=repeat, progress=step, partial=True)
    by_setting = rounds.by_policy(comparison)
    usual = figure.usual(by_setting)
    x, y = (figure or (usual and usual[at]) for at, figure in enumerate(wanted))
    if not x or not y:
        hint = "name two figures: --x tellers.p99 --y tellers.iops"
        raise wrong("one class has no other to be weighed against", hint)
    return Sweep(settings, comparison, tradeoff.between(by_setting, x, y))


def measured(
    job: Variant,
    settings: Sequence[Setting],
    target: Target,
    *,
    repeat: int | None = None,
    progress: Callable[[Step], object] | None = None,
    partial: bool = False,
) -> json_types.Comparison:
    """Returns one comparison, in which each setting stands where a policy stands, by its label."""
    comparisons = run_all(
        Setup(target=target, reduce=whole, repeat=repeat),
        [setting.of(job) for setting in settings],
        progress=progress,
        partial=partial,
    )
    runs: list[json_types.Run] = []
    for setting, comparison in zip(settings, comparisons, strict=True):
        runs += [{**run, "policy": setting.label} for run in comparison["runs"]]
    runs.sort(key=lambda run: run.get("round", 0))
    remarks = list(
        dict.fromkeys(remark for run in comparisons for remark in run.get("remarks", []))
    )
    first = comparisons[0]
    return {
        **first,
        "job": {**first["job"], "set": list(job.sets)},
        "remarks": remarks,
        "runs": runs,
    }
