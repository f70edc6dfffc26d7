"""Pictures of a trace: a page of HTML, one picture of all, or a picture each."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from penstock.errors import wrong
from penstock.report import files
from penstock.text import trace as trace_table
from penstock.text.trace import FIGURES, Description

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


@dataclass(frozen=True, kw_only=True)
class TraceOutputs:
    """Where to write which: `out` by its ending, `plots` a folder."""

    out: str | None = None
    plots: str | None = None

    def check(self) -> None:
        """Raise a `PenstockError` if something is known to be in the way."""
        if self.out is None and self.plots is None:
            raise wrong("nothing to write is named", "name a file, as in -o trace.html")
        if self.out is not None:
            path = Path(self.out)
            ours = {
                ".html": (files.is_page, "report"),
                ".png": (files.is_picture, "picture"),
                ".svg": (files.is_drawing, "picture"),
            }
            if path.suffix not in ours:
                raise wrong(f"{path} is no page and no picture", "name it .html, .png or .svg")
            is_ours, what = ours[path.suffix]
            files.check(path, is_ours=is_ours, what=what)
        if self.plots is not None:
            files.check_folder(Path(self.plots))

    def write(self, trace: Description) -> Iterator[str]:
        """Write them one after another, and yield each once it is there."""
        from penstock.charts import trace as trace_charts
        from penstock.charts.style import dressed
        from penstock.report import pictures

        self.check()
        if self.out is not None:
            path = Path(self.out)
            files.write(path, _page(trace) if path.suffix == ".html" else _picture(trace, path))
            yield self.out
        if self.plots is not None:
            folder = Path(self.plots)
            files.make_folder(folder)
            drawn = trace_charts.all_of(trace)
            for one in drawn:
                path = folder / f"{one.name}.png"
                files.check(path, is_ours=files.is_picture, what="picture")
            for one in drawn:
                files.write(folder / f"{one.name}.png", pictures.png(dressed(one.chart)))
            yield f"{len(drawn)} pictures in {folder}"


def _picture(trace: Description, path: Path) -> bytes:
    """All pictures as one."""
    from penstock.charts import trace as trace_charts
    from penstock.report import pictures

    whole = trace_charts.picture(trace, {kind: title for kind, title, _ in SECTIONS})
    if path.suffix == ".png":
        return pictures.png(whole)
    return pictures.drawing(whole)


def _page(trace: Description) -> bytes:
    """The page."""
    from penstock.charts import trace as trace_charts
    from penstock.charts.style import dressed
    from penstock.report import pictures
    from penstock.report.page import Figure, Section, as_data, dress, environment

    drawn = trace_charts.all_of(trace)
    sections = []
    for kind, title, words in SECTIONS:
        figures = []
        for one in drawn:
            if one.kind == kind:
                of = f", class {one.of}" if one.of else ""
                said = escape(f"{title}{of}; the figures are in the page's data")
                svg = pictures.svg(dressed(one.chart), name=one.name, title=said)
                figures.append(Figure(one.name, one.of, svg))
        if figures:
            sections.append(Section(kind, title, words, figures))
    classes = trace["classes"]
    page = (
        environment()
        .get_template("trace.html.jinja")
        .render(
            **dress(f"TRACE: {trace['file']}"),
            title=trace["file"],
            facts=list(trace_table.facts(trace).items()),
            classes=[one["name"] for one in classes],
            figures=[(name, [of(one) for one in classes]) for name, of in FIGURES.items()],
            sections=sections,
            data=as_data(trace),
        )
    )
    return page.encode()
