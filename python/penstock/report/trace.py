"""Pictures of a trace: a page of HTML, one picture of all, or a picture each."""

from pathlib import Path

from penstock.answer.picture import Picture
from penstock.errors import wrong
from penstock.report.outputs import KINDS, Contents, Outputs
from penstock.report.page import Page, Section, of_pictures
from penstock.text import trace as trace_table
from penstock.text.trace import Description

SECTIONS = (
    (
        "rate",
        "Requests over time",
        "Requests a second in each window of time, by what they ask for.",
    ),
    (
        "addresses",
        "Addresses over time",
        "Where requests begin, and when: the more in a field, the darker, by factors. Stretches "
        "where nothing is asked for are left out.",
    ),
    ("sizes", "Sizes", "Requests with data by their size, in half octaves."),
    ("mix", "Reads and writes", "What each class asks for, by requests."),
    (
        "gaps",
        "Gaps between requests",
        "Which share of the gaps is at most so long. A line that begins above zero: so many came "
        "at the same instant as the one before.",
    ),
    (
        "runs",
        "Sequential runs",
        "A run is of requests of one process that each begin where the one before ended. Which "
        "share of the requests is part of a run of at least so many.",
    ),
    (
        "latency",
        "Recorded latency",
        "Which share of the requests took at most so long when they were recorded.",
    ),
)
"""Each question with its title and words, in the order of the page."""


def outputs(out: str | None, plots: str | None) -> Outputs:
    """Returns where pictures go: `out` is a page or one picture by its ending, `plots` a folder."""
    if out is None and plots is None:
        raise wrong("nothing to write is named", "name a file, as in -o trace.html")
    ending = None if out is None else Path(out).suffix
    if ending not in (None, ".html", *KINDS):
        raise wrong(f"{out} is no page and no picture", "name it .html, .png or .svg")
    page, picture = (out, None) if ending == ".html" else (None, out)
    return Outputs(report=page, picture=picture, plots=plots, options=())


def contents(trace: Description) -> Contents:
    """Returns what can be written of a trace."""
    from penstock.charts import trace as charts

    titles = {kind: title for kind, title, _ in SECTIONS}
    return Contents(
        page=lambda _: page(trace),
        pictures=lambda: _pictures(trace),
        whole=lambda: charts.picture(trace, titles),
    )


def _pictures(trace: Description) -> list[Picture]:
    from penstock.charts import trace as charts
    from penstock.charts.style import dressed

    titles = {kind: title for kind, title, _ in SECTIONS}
    return [
        Picture(
            name=chart.name,
            title=f"{titles[chart.kind]}: {chart.class_}" if chart.class_ else titles[chart.kind],
            chart=dressed(chart.chart),
            kind=chart.kind,
            caption=chart.class_,
            about=[trace["file"]],
        )
        for chart in charts.all_of(trace)
    ]


def page(trace: Description) -> Page:
    """Returns the page of a trace."""
    return Page(
        world="TRACE",
        title=trace["file"],
        facts=list(trace_table.facts(trace).items()),
        sections=[
            Section("summary", "What it asks for", [trace_table.table(trace["classes"])]),
            *of_pictures(_pictures(trace), SECTIONS),
        ],
        data=trace,
    )
