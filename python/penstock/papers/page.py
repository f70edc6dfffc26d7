"""The report of a paper: its tables, the claims, the pictures."""

from collections.abc import Iterator

from penstock import __version__
from penstock.papers import claims, files
from penstock.papers.result import Result, sensitivity_table
from penstock.report.outputs import Contents
from penstock.report.page import Page, Pictures, Section


def contents(result: Result) -> Contents:
    """Returns what can be written of a paper."""
    return Contents(page=lambda _: page(result))


def page(result: Result) -> Page:
    """Returns the page of a paper."""
    return Page(
        world="PAPER",
        title=result.paper.name,
        facts=[
            ("Paper", files.source(result.paper.name)),
            *(("Changed", f"{key} = {value}") for key, value in result.given.items()),
            ("Penstock", __version__),
        ],
        sections=list(_sections(result)),
        data=result.data(),
    )


def _sections(result: Result) -> Iterator[Section]:
    paper = result.paper
    first, *more = paper.tables(result.ours)
    yield Section("summary", first.title, [first])
    judged = claims.table(result.claims, paper.cases)
    yield Section("claims", "What the paper says of it", [judged])
    yield from map(Section.of_table, more)
    if (gallery := paper.pictures) is not None:
        pictures = Pictures(list(gallery.pictures(result.ours)))
        yield Section("figures", gallery.title, [pictures], gallery.about)
    if result.kernel is not None:
        yield from map(Section.of_table, result.kernel.tables)
    if result.variants:
        title = "How much hangs on what the paper does not say"
        yield Section("phases", title, [sensitivity_table(paper, result.variants)])
