"""What is written about a sweep: a page, its picture, a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock import report
from penstock.report import files
from penstock.sweeps.run import Sweep


@dataclass(frozen=True, kw_only=True)
class SweepOutputs:
    """Where to write which."""

    report: str | None = None
    plots: str | None = None
    parquet: str | None = None
    dark: bool = False
    """The picture of `plots` is on dark ground."""
    command: str | None = None
    """The command line, for the page."""

    def check(self) -> None:
        """Raise a `PenstockError` if something is known to be in the way."""
        named = {"report": self.report, "plots": self.plots, "parquet": self.parquet}
        report.check_distinct(named)
        if self.report is not None:
            report.check_page(Path(self.report))
        if self.plots is not None:
            files.check_folder(Path(self.plots))
        if self.parquet is not None:
            report.check_table(Path(self.parquet))

    def write(self, sweep: Sweep) -> Iterator[str]:
        """Write them one after another, and yield each once it is there."""
        if self.report is not None:
            report.save_sweep(sweep.comparison, sweep.tradeoff, self.report, command=self.command)
            yield self.report
        if self.plots is not None:
            from penstock.charts import tradeoff
            from penstock.report import slides

            drawn = {"tradeoff": tradeoff.tradeoff(sweep.tradeoff)}
            count = slides.save(sweep.comparison, drawn, self.plots, dark=self.dark)
            yield f"{count} pictures in {self.plots}"
        if self.parquet is not None:
            report.save_table(sweep.frame(), self.parquet)
            yield self.parquet
