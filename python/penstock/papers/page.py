"""The report of a paper: its tables, the claims, the pictures."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from penstock import __version__
from penstock.papers import claims, files, sensitivity
from penstock.papers.result import Result
from penstock.report import files as outputs
from penstock.report import pictures
from penstock.report.page import Figure, Section, as_data, dress, environment


def check(path: str) -> None:
    """Raise a `PenstockError` if something is known to be in the way."""
    outputs.check(Path(path), is_ours=outputs.is_page, what="report")


def save(path: str, result: Result) -> Iterator[str]:
    """Write it as one HTML file, and yield its name. Only an earlier report is replaced."""
    check(path)
    outputs.write(Path(path), page(result).encode())
    yield path


def page(result: Result) -> str:
    """The whole page."""
    paper = result.paper
    first, *more = paper.tables(result.ours)
    return (
        environment()
        .get_template("paper.html.jinja")
        .render(
            **dress(f"PAPER: {paper.name}"),
            title=paper.name,
            facts=[
                ("Paper", files.source(paper.name)),
                *(("Changed", f"{key} = {value}") for key, value in result.given.items()),
                ("Penstock", __version__),
            ],
            first=first,
            claims=claims.table(result.claims, paper.cases),
            blocks=more,
            legend=paper.sensitivity.legend(paper.away) if paper.sensitivity else "",
            sensitivity=sensitivity.table(result.variants, paper.away),
            variants=[(one["variant"], one["text"]) for one in result.variants],
            sections=list(_sections(result)),
            data=as_data(result.data()),
        )
    )


def _sections(result: Result) -> Iterator[Section]:
    of = result.paper.pictures
    if of is None:
        return
    figures = []
    for picture, chart in of.drawn(result.ours):
        said = escape(f"{picture.title}; the figures are in the table")
        svg = pictures.svg(chart, name=picture.name, title=said)
        figures.append(Figure(picture.name, picture.title, svg))
    yield Section("figures", of.title, of.about, figures)
