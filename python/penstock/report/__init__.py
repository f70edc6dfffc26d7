"""What is written about a comparison: a page, pictures, a workbook.

`Outputs` is what the command was asked for: checked before a run begins, so that a
missing folder is reported at once, and written when the run has ended.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import needs, wrong
from penstock.report import files
from penstock.results.json_types import Comparison

if TYPE_CHECKING:
    import polars as pl

    from penstock.results.tradeoff import Tradeoff

ENDINGS = {"report": ".html", "xlsx": ".xlsx", "parquet": ".parquet", "requests": ".parquet"}
"""How the name of an option's file ends."""


def check_distinct(named: Mapping[str, str | PathLike[str] | None]) -> None:
    """That each has a name of its own, and none the ending of another kind."""
    seen: dict[str, str] = {}
    for option, name in named.items():
        if name is None:
            continue
        before = seen.setdefault(realpath(name), option)
        if before != option:
            raise wrong(f"--{before} and --{option} name the same file, {name}", "name two")
        for other, ending in ENDINGS.items():
            if other in named and other != option and Path(name).suffix == ending:
                raise wrong(f"--{option} {name} ends as what --{other} writes", f"use --{other}")


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where to write which."""

    report: str | PathLike[str] | None = None
    plots: str | PathLike[str] | None = None
    xlsx: str | PathLike[str] | None = None
    requests: str | PathLike[str] | None = None
    dark: bool = False
    """Pictures of `plots` are on dark ground."""
    arm_from: str | None = None
    arm_for: str | None = None
    """The stretch of the run of which the picture of the arm is."""
    command: str | None = None
    """The command line, for the page."""

    @property
    def need_detail(self) -> bool:
        """Whether distributions and the course over time are needed."""
        return not (self.report is None and self.plots is None and self.xlsx is None)

    def check(self) -> None:
        """Raise a `PenstockError` if something is known to be in the way."""
        check_distinct(
            {
                "report": self.report,
                "plots": self.plots,
                "xlsx": self.xlsx,
                "requests": self.requests,
            }
        )
        if (self.arm_from or self.arm_for) and self.report is None and self.plots is None:
            raise wrong(
                "--from and --for say what the picture of the arm shows, and none is asked for",
                "give --report or --plots as well",
            )
        if self.requests is not None:
            check_table(Path(self.requests))
        if self.report is not None:
            check_page(Path(self.report))
        if self.plots is not None:
            files.check_folder(Path(self.plots))
        if self.xlsx is not None:
            _check_workbook(Path(self.xlsx))

    def write(
        self, comparison: Comparison, requests: "Callable[[], pl.DataFrame] | None" = None
    ) -> Iterator[str]:
        """Write them one after another, and yield each once it is there.

        `requests` makes the table of every request.
        """
        if self.requests is not None and requests is not None:
            save_table(requests(), self.requests)
            yield str(self.requests)
        if self.report is not None:
            save_page(comparison, self.report, command=self.command)
            yield str(self.report)
        if self.plots is not None:
            count = save_plots(comparison, self.plots, dark=self.dark)
            yield f"{count} pictures in {self.plots}"
        if self.xlsx is not None:
            save_workbook(comparison, self.xlsx)
            yield str(self.xlsx)


def save_sweep(
    comparison: Comparison,
    tradeoff: "Tradeoff",
    path: str | PathLike[str],
    *,
    command: str | None = None,
) -> None:
    """Write a sweep as one HTML file. Only an earlier report is replaced."""
    from penstock.report import page

    path = Path(path)
    check_page(path)
    files.write(path, page.sweep(comparison, tradeoff, command=command).encode())


def save_page(
    comparison: Comparison, path: str | PathLike[str], *, command: str | None = None
) -> None:
    """Write the report as one HTML file. Only an earlier report is replaced."""
    from penstock.report import page

    path = Path(path)
    check_page(path)
    files.write(path, page.page(comparison, command=command).encode())


def save_plots(comparison: Comparison, folder: str | PathLike[str], *, dark: bool = False) -> int:
    """Write every chart as SVG and PNG into `folder` and return how many files there are.

    The folder is made if it is missing. Only earlier pictures of ours are replaced.
    """
    from penstock.charts import comparison as charts
    from penstock.report import slides

    return slides.save(comparison, charts.all_of(comparison), folder, dark=dark)


def save_table(table: "pl.DataFrame", path: str | PathLike[str]) -> None:
    """Write a table as Parquet. Only an earlier one of ours is replaced."""
    path = Path(path)
    check_table(path)
    buffer = BytesIO()
    table.write_parquet(buffer, metadata={files.PARQUET_MARK: "penstock"})
    files.write(path, buffer.getvalue())


def check_table(path: Path) -> None:
    """Raise a `PenstockError` unless a table may be written there."""
    files.check(path, is_ours=files.is_parquet, what="table", ending=ENDINGS["parquet"])


def save_workbook(comparison: Comparison, path: str | PathLike[str]) -> None:
    """Write the figures as an `.xlsx` workbook. Only an earlier one of ours is replaced."""
    path = Path(path)
    _check_workbook(path)
    from penstock.report import workbook

    files.write(path, workbook.workbook(comparison))


def check_page(path: Path) -> None:
    """Raise a `PenstockError` unless a report may be written there."""
    files.check(path, is_ours=files.is_page, what="report", ending=ENDINGS["report"])


def _check_workbook(path: Path) -> None:
    needs("xlsxwriter", what="a workbook")
    files.check(path, is_ours=files.is_workbook, what="workbook", ending=ENDINGS["xlsx"])


__all__ = [
    "ENDINGS",
    "Outputs",
    "check_distinct",
    "check_page",
    "check_table",
    "save_page",
    "save_plots",
    "save_sweep",
    "save_table",
    "save_workbook",
]
