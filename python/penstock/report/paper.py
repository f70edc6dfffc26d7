"""The report of a paper: the table beside the published one, the claims, the pictures."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from penstock import __version__
from penstock.papers import online_batch_charts, online_batch_told
from penstock.papers.online_batch import Row, published
from penstock.papers.online_batch_claims import Claim
from penstock.papers.online_batch_phases import Sensitivity
from penstock.report import files, pictures
from penstock.report.page import Figure, Section, as_data, dress, environment


def check(path: str) -> None:
    """Raise a `PenstockError` if something is known to be in the way."""
    files.check(Path(path), is_ours=files.is_page, what="report")


def save(
    path: str,
    *,
    rows: Sequence[Row],
    claims: Sequence[Claim],
    sensitivity: Sequence[Sensitivity],
    given: Mapping[str, str],
) -> None:
    """Write it as one HTML file. Only an earlier report is replaced."""
    check(path)
    figures = []
    for name, title, chart in online_batch_charts.charts(rows):
        said = escape(f"{title}; the figures are in the table")
        figures.append(Figure(name, title, pictures.svg(chart, name=name, title=said)))
    words = "Means over what began while batch jobs ran. The paper draws these without numbers."
    section = Section("figures", "Figures 7 and 8", words, figures)
    told = online_batch_told
    page = (
        environment()
        .get_template("paper.html.jinja")
        .render(
            **dress("PAPER: online-batch"),
            title="online-batch",
            facts=[
                ("Paper", told.source()),
                *(("Changed", f"{key} = {value}") for key, value in given.items()),
                ("Penstock", __version__),
            ],
            shares=told.shares(rows),
            remarks=list(told.remarks(rows)),
            claims=told.held(claims),
            times=told.times(rows),
            of_phases=told.OF_PHASES,
            phases=told.phases(sensitivity),
            variants=[(one["variant"], one["text"]) for one in sensitivity],
            sections=[section],
            data=as_data(
                {
                    "rows": rows,
                    "claims": claims,
                    "paper": published(),
                    "sensitivity": sensitivity,
                }
            ),
        )
    )
    files.write(Path(path), page.encode())
