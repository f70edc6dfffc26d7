"""The report of a paper: the table beside the published one, the claims, the pictures."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from penstock import __version__
from penstock.papers.online_batch import tables
from penstock.papers.online_batch.charts import figures_7_and_8
from penstock.papers.online_batch.claims import Claim
from penstock.papers.online_batch.phases import Sensitivity
from penstock.papers.online_batch.simulation import Row, published
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
    for name, title, chart in figures_7_and_8(rows):
        said = escape(f"{title}; the figures are in the table")
        figures.append(Figure(name, title, pictures.svg(chart, name=name, title=said)))
    words = "Means over what began while batch jobs ran. The paper draws these without numbers."
    section = Section("figures", "Figures 7 and 8", words, figures)
    page = (
        environment()
        .get_template("paper.html.jinja")
        .render(
            **dress("PAPER: online-batch"),
            title="online-batch",
            facts=[
                ("Paper", tables.source()),
                *(("Changed", f"{key} = {value}") for key, value in given.items()),
                ("Penstock", __version__),
            ],
            shares=tables.shares(rows),
            remarks=list(tables.remarks(rows)),
            claims=tables.held(claims),
            times=tables.times(rows),
            of_phases=tables.OF_PHASES,
            phases=tables.phases(sensitivity),
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
