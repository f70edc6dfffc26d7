"""The files that a person asks for: checked before any work, written when it is done."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from errno import EIO, ENOSPC
from os import PathLike, fspath, statvfs, strerror
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from penstock.answer.picture import Picture
from penstock.errors import needs, wrong
from penstock.report import files
from penstock.text.names import shown

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from penstock.report.page import Page

Place: TypeAlias = str | PathLike[str] | None
"""Where a file is to be; nowhere if it was not asked for."""

ENDINGS = {"report": ".html", "xlsx": ".xlsx", "parquet": ".parquet", "requests": ".parquet"}
"""How the name of an option's file ends."""

KINDS = {files.DRAWING: files.is_drawing, files.PICTURE: files.is_picture}
"""The files of a picture, and how each is recognised as ours."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The files that an answer offers; each is made when it is asked for."""

    page: "Callable[[str | None], Page]"
    """Makes the page, which names the command line if that is given."""
    pictures: Callable[[], Sequence[Picture]] = lambda: ()
    whole: "Callable[[], alt.TopLevelMixin] | None" = None
    """All pictures as one."""
    workbook: Callable[[], bytes] | None = None
    parquet: "Callable[[], pl.DataFrame] | None" = None
    requests: "Callable[[], pl.LazyFrame] | None" = None


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where to write which."""

    report: Place = None
    plots: Place = None
    picture: Place = None
    """All pictures as one."""
    xlsx: Place = None
    parquet: Place = None
    requests: Place = None
    dark: bool = False
    """Pictures of `plots` are on dark ground."""
    arm_from: str | None = None
    arm_for: str | None = None
    """The stretch of the run of which the picture of the arm is."""
    command: str | None = None
    """The command line, for the page."""
    options: Sequence[str] = ("report", "plots", "xlsx", "requests")
    """The options of the verb."""

    @property
    def wanted(self) -> bool:
        """Whether any file is to be written."""
        return any(getattr(self, name) is not None for name in self.options)

    @property
    def need_detail(self) -> bool:
        """Whether distributions and the course over time are needed."""
        return not (self.report is None and self.plots is None and self.xlsx is None)

    def check(self) -> None:
        """Raise a `PenstockError` if something is known to be in the way."""
        for name in ("report", "picture", "plots", "xlsx", "parquet", "requests"):
            place: Place = getattr(self, name)
            if place is not None and not fspath(place):
                raise wrong(f"--{name} names nothing: it is empty", "name a file or a folder")
        check_distinct({name: getattr(self, name) for name in self.options})
        if (self.arm_from or self.arm_for) and self.report is None and self.plots is None:
            raise wrong(
                "--from and --for say what the picture of the arm shows, and none is asked for",
                "give --report or --plots as well",
            )
        for table in (self.parquet, self.requests):
            if table is not None:
                check_table(table)
        if self.report is not None:
            _check_page(self.report)
        if self.picture is not None:
            path = Path(self.picture)
            files.check(path, is_ours=KINDS[path.suffix], kind="picture")
        if self.plots is not None:
            files.check_folder(Path(self.plots))
        if self.xlsx is not None:
            check_workbook(self.xlsx)

    def write(self, contents: Contents) -> Iterator[str]:
        """Write them one after another, and yield each once it is there."""
        if self.requests is not None and contents.requests is not None:
            save_table(contents.requests(), self.requests)
            yield str(self.requests)
        if self.report is not None:
            _check_page(self.report)
            files.write(Path(self.report), contents.page(self.command).html().encode())
            yield str(self.report)
        if self.picture is not None and contents.whole is not None:
            _save_whole(contents.whole(), Path(self.picture))
            yield str(self.picture)
        if self.plots is not None:
            count = self._plot(contents, Path(self.plots))
            yield f"{count} pictures in {self.plots}"
        if self.xlsx is not None and contents.workbook is not None:
            check_workbook(self.xlsx)
            files.write(Path(self.xlsx), contents.workbook())
            yield str(self.xlsx)
        if self.parquet is not None and contents.parquet is not None:
            save_table(contents.parquet(), self.parquet)
            yield str(self.parquet)

    def save(self, contents: Contents) -> None:
        """Check and write them all."""
        self.check()
        for _ in self.write(contents):
            pass

    def _plot(self, contents: Contents, folder: Path) -> int:
        """Write every picture as SVG and PNG, and return how many files there are.

        The folder is made if it is missing. Only earlier pictures of ours are replaced.
        """
        from penstock.report.pictures import Slide

        files.check_folder(folder)
        files.make_folder(folder)
        pictures = contents.pictures()
        paths = {
            (picture.name, kind): folder / f"{picture.name}{kind}"
            for picture in pictures
            for kind in KINDS
        }
        for (_, kind), path in paths.items():
            files.check(path, is_ours=KINDS[kind], kind="picture")
        for picture in pictures:
            slide = Slide.of(
                picture.chart, title=picture.title, about=picture.about, dark=self.dark
            )
            files.write(paths[picture.name, files.DRAWING], slide.svg)
            files.write(paths[picture.name, files.PICTURE], slide.png())
        return len(paths)


def _save_whole(chart: "alt.TopLevelMixin", path: Path) -> None:
    from penstock.report import pictures

    draw = pictures.png if path.suffix == files.PICTURE else pictures.drawing
    files.check(path, is_ours=KINDS[path.suffix], kind="picture")
    files.write(path, draw(chart))


def check_distinct(named: Mapping[str, Place]) -> None:
    """Raise a `PenstockError` if two have one name, or one has the ending of another kind."""
    options: dict[str, str] = {}
    for option, name in named.items():
        if name is None:
            continue
        before = options.setdefault(realpath(name), option)
        if before != option:
            raise wrong(f"--{before} and --{option} name the same file, {name}", "name two")
        for format_, ending in ENDINGS.items():
            if format_ in named and format_ != option and Path(name).suffix == ending:
                raise wrong(
                    f"--{option} {name} ends as what --{format_} writes", f"use --{format_}"
                )


def save_table(table: "pl.DataFrame | pl.LazyFrame", path: str | PathLike[str]) -> None:
    """Write a table as Parquet. Only an earlier one of ours is replaced."""
    check_table(path)
    mark = {files.PARQUET_MARK: "penstock"}

    def sink(place: Path) -> None:
        from polars.exceptions import PolarsError

        try:
            if str(place) == shown(str(place)):
                table.lazy().sink_parquet(place, metadata=mark)
                return
            # polars takes no name that is not UTF-8.
            with place.open("wb") as file:
                table.lazy().sink_parquet(file, metadata=mark)
        except PolarsError as error:
            # It says in many ways that a file does not fit on its disk.
            full = not statvfs(place.parent).f_bavail
            code = ENOSPC if full else EIO
            raise OSError(code, strerror(code) if full else str(error)) from None

    files.write(Path(path), sink)


def check_table(path: str | PathLike[str]) -> None:
    """Raise a `PenstockError` unless a table may be written there."""
    files.check(Path(path), is_ours=files.is_parquet, kind="table", ending=ENDINGS["parquet"])


def _check_page(path: str | PathLike[str]) -> None:
    files.check(Path(path), is_ours=files.is_page, kind="report", ending=ENDINGS["report"])


def check_workbook(path: str | PathLike[str]) -> None:
    """Raise a `PenstockError` unless a workbook may be written there."""
    needs("xlsxwriter", feature="a workbook")
    files.check(Path(path), is_ours=files.is_workbook, kind="workbook", ending=ENDINGS["xlsx"])
