"""What is written about an analysis: a page, and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from os import environ
from pathlib import Path
from typing import Any

from penstock import __version__, report
from penstock.report import files
from penstock.study import pictures, tables, words
from penstock.study.analysis import Analysis


@dataclass(frozen=True, kw_only=True)
class StudyOutputs:
    """Where to write which."""

    report: str | None = None
    plots: str | None = None
    dark: bool = False
    """The pictures of `plots` are on dark ground."""
    command: str | None = None
    """The command line, for the page."""

    def check(self) -> None:
        """Raise a `PenstockError` if something is known to be in the way."""
        report.check_distinct({"report": self.report, "plots": self.plots})
        if self.report is not None:
            report.check_page(Path(self.report))
        if self.plots is not None:
            files.check_folder(Path(self.plots))

    def write(self, by: str | None, found: Sequence[tuple[Any, Analysis]]) -> Iterator[str]:
        """Write them one after another, and yield each once it is there."""
        if self.report is not None:
            files.write(Path(self.report), page(by, found, command=self.command).encode())
            yield self.report
        if self.plots is not None:
            yield f"{self._plot(by, found, Path(self.plots))} pictures in {self.plots}"

    def _plot(self, by: str | None, found: Sequence[tuple[Any, Analysis]], folder: Path) -> int:
        from penstock.report.pictures import Slide
        from penstock.report.slides import KINDS

        titles = {kind: title for kind, title, _ in pictures.SECTIONS}
        files.check_folder(folder)
        files.make_folder(folder)
        count = 0
        for level, of in found:
            about = [f"{words.title(of)[1]}, {_date()}"]
            for one in pictures.all_of(of):
                title = f"{titles[one.kind]}: {one.of}" if one.of else titles[one.kind]
                slide = Slide.of(one.chart, title=title, about=about, dark=self.dark)
                name = one.name if by is None else f"{_plain(level)}-{one.name}"
                for kind, content in ((files.DRAWING, slide.svg), (files.PICTURE, slide.png())):
                    path = folder / f"{name}{kind}"
                    files.check(path, is_ours=KINDS[kind], what="picture")
                    files.write(path, content)
                    count += 1
        return count


def _plain(level: object) -> str:
    return "".join(one if one.isalnum() else "-" for one in str(level))


def _date() -> str:
    """Today; `SOURCE_DATE_EPOCH` is another today."""
    today = environ.get("SOURCE_DATE_EPOCH", "")
    if today.isdecimal():
        return f"{datetime.fromtimestamp(int(today), UTC):%Y-%m-%d}"
    return f"{datetime.now(UTC):%Y-%m-%d}"


def page(
    by: str | None, found: Sequence[tuple[Any, Analysis]], *, command: str | None = None
) -> str:
    """The page of an analysis, or of one for each level of `by`."""
    from penstock.report.page import as_data, dress, environment

    world, _ = words.title(found[0][1])
    first, of = found[0]
    source = of.table.source.removesuffix(f", {by} = {first}")
    facts = [("Table", source), ("Response", of.table.response), ("Date", _date())]
    if command is not None:
        facts.append(("Command", command))
    facts.append(("Penstock", __version__))
    parts = []
    for at, (level, of) in enumerate(found):
        prefix = f"p{at}-" if by is not None else ""
        parts.append(
            {
                "id": prefix,
                "title": "" if by is None else f"{by} = {level}",
                "about": words.title(of)[1],
                "remarks": of.remarks,
                "lines": words.lines(of),
                "entries": list(words.entries(of)),
                "tables": list(tables.all_of(of)),
                "sections": list(_sections(of, prefix)),
            }
        )
    plain: object = found[0][1].plain()
    if by is not None:
        plain = {"by": by, "levels": [{"level": one, "analysis": of.plain()} for one, of in found]}
    return (
        environment()
        .get_template("study.html.jinja")
        .render(
            **dress(f"{world}: {source}"),
            world=world,
            title=source,
            facts=facts,
            parts=parts,
            data=as_data(plain),
        )
    )


def _sections(of: Analysis, prefix: str) -> Iterator[Any]:
    from penstock.report.page import Figure, Section
    from penstock.report.pictures import svg

    drawn = pictures.all_of(of)
    for kind, title, about in pictures.SECTIONS:
        figures = []
        for one in drawn:
            if one.kind == kind:
                said = escape(f"{title} {one.of}; the figures are in the page's data".strip())
                name = f"{prefix}{one.name}"
                figures.append(Figure(name, one.of, svg(one.chart, name=name, title=said)))
        if figures:
            yield Section(f"{prefix}{kind}", title, about, figures)
