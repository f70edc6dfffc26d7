"""The result of `penstock.compare`. Frames and charts are made on demand."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from penstock.errors import translated, wrong
from penstock.results import json_types, rounds
from penstock.results.build import build, lifted, shaped
from penstock.results.typed import Machine, Run
from penstock.text import verdict

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


@shaped(lifted("job"))
@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """A workload under several policies; `comparison["noop"]` is the run of that policy.

    With `repeat` it is the run of the first round; `comparison.of("noop")` has all rounds.
    """

    penstock: str
    """Version of Penstock."""
    job_file: str
    job_text: str
    """The whole job as TOML, with every default in place."""
    job_set: tuple[str, ...]
    seed: int
    world: json_types.World
    device: str
    machine: Machine
    remarks: tuple[str, ...]
    """Notes on all runs that are needed to read their figures."""
    runs: tuple[Run, ...]
    json: str
    """The JSON of the engine, detail included."""

    @classmethod
    def from_json(cls, text: str) -> "Comparison":
        """Read a comparison from the JSON of the engine or of `penstock compare --json`."""
        return build(cls, {**json.loads(text), "json": text})

    def __getitem__(self, policy: str) -> Run:
        """The run under `policy`."""
        for run in self.runs:
            if run.policy == policy:
                return run
        raise KeyError(policy)

    @property
    def rounds(self) -> int:
        """Number of rounds; 1 without `repeat`."""
        return rounds.count(self.raw)

    def of(self, policy: str) -> tuple[Run, ...]:
        """Return the runs under `policy`, in the order of rounds; empty if it did not run."""
        return tuple(run for run in self.runs if run.policy == policy)

    @cached_property
    def raw(self) -> json_types.Comparison:
        """The result as dictionaries and lists, in the schema of `--json`; parsed once."""
        raw: json_types.Comparison = json.loads(self.json)
        return raw

    def to_json(self) -> str:
        """Return the JSON that `penstock compare --json` prints: all but the detail."""
        with translated():
            return verdict.to_json(self.raw, self.json)

    def verdict(self, baseline: str | None = None) -> list[str]:
        """Return lines that say which policy is best, and how each differs from `baseline`.

        The default baseline is the first policy that serves all classes.
        """
        return self.judged(baseline)["lines"]

    def judged(self, baseline: str | None = None) -> json_types.Verdict:
        """Return the verdict as data: overloads, the best policies, what each policy changes."""
        if baseline is not None and baseline not in rounds.labels(self.raw["runs"]):
            raise wrong(*verdict.no_baseline(baseline, rounds.labels(self.raw["runs"])))
        return verdict.judged(self.raw, baseline)

    def summary(self) -> "pl.DataFrame":
        """A row for each policy, round and class, with every figure of the JSON."""
        from penstock.results import frames

        return frames.summary(self.raw)

    def series(self) -> "pl.DataFrame":
        """A row for each policy, round, class and window: the time series."""
        from penstock.results import frames

        return frames.series(self._detailed())

    def distribution(self) -> "pl.DataFrame":
        """A row for each policy, round, class, measure (`lat_ns`, `wait_ns`) and value."""
        from penstock.results import frames

        return frames.distribution(self._detailed())

    @property
    def charts(self) -> "Mapping[str, alt.TopLevelMixin]":
        """Altair charts by name: `tradeoff`, `latency-CLASS`, …, `shares`, `policy-NAME`.

        With `repeat`, `rounds-CLASS` shows all rounds; the other charts show the median round of
        each policy, by the p99 of its first class.

        Altair's renderer may fetch Vega from the network to show a chart in a notebook. A report
        never does.
        """
        from penstock.charts import comparison as charts

        return charts.all_of(self._detailed())

    def save_report(self, path: str | PathLike[str]) -> None:
        """Write the report: one HTML file that needs nothing else.

        An earlier report is replaced; any other file at `path` is an error.
        """
        self._save(report=path)

    def save_plots(self, folder: str | PathLike[str], *, dark: bool = False) -> None:
        """Write every chart as SVG and PNG into `folder`, which is made if it is missing.

        Each is as wide as a slide, with a title, the job, the device and the date; `dark` draws
        it on a dark background.
        """
        self._save(plots=folder, dark=dark)

    def save_workbook(self, path: str | PathLike[str]) -> None:
        """Write the figures as an `.xlsx` workbook."""
        self._save(xlsx=path)

    def __repr__(self) -> str:
        """Describe the job, the device and the policies, with the last line of the verdict."""
        policies = dict.fromkeys(run.policy for run in self.runs)
        classes = dict.fromkeys(class_.name for run in self.runs for class_ in run.classes)
        times = f", {self.rounds} rounds" if self.rounds > 1 else ""
        ran = f"{', '.join(policies)} for {', '.join(classes)}{times}"
        lines = [
            f"<{self.world.upper()} {self.job_file} on {self.device}, seed {self.seed}",
            ran,
            *self.verdict()[-1:],
        ]
        return "\n ".join(lines) + ">"

    def _repr_html_(self) -> str:
        """The verdict and the summary, for notebooks."""
        from penstock.report import comparison, page

        return page.fragment(comparison.summary(self.raw))

    def _save(self, **named: Any) -> None:  # noqa: ANN401 - fields of `Outputs`
        from penstock.report.comparison import contents
        from penstock.report.outputs import Outputs

        Outputs(**named).save(contents(self._detailed()))

    def _detailed(self) -> json_types.Comparison:
        raw = self.raw
        if not all("detail" in run for run in raw["runs"]):
            raise wrong("this comparison has no detail", "run it with detail=True")
        return raw
