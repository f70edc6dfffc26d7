"""Writes docs/papers/online-batch.md and its pictures: `make papers`."""

from collections.abc import Sequence

from command import ROOT
from penstock.papers import online_batch_told as told
from penstock.papers.online_batch import Row, rows
from penstock.papers.online_batch_charts import charts
from penstock.papers.online_batch_claims import claims
from penstock.papers.online_batch_phases import Sensitivity, sensitivity
from penstock.report import pictures

FOLDER = ROOT / "docs/papers"
PAGE = FOLDER / "online-batch.md"
TEXT = ROOT / "papers/online-batch/page.md"


def page(ours: Sequence[Row], spread: Sequence[Sensitivity]) -> str:
    """The page."""
    return TEXT.read_text().format(
        source=told.source(),
        shares=_table(told.shares(ours)),
        remarks="\n\n".join(line.replace("*", "\\*") for line in told.remarks(ours)),
        times=_table(told.times(ours)),
        images="\n".join(
            f"![{title}](online-batch/{name}.png)" for name, title, *_ in told.FIGURES
        ),
        claims=_table(told.held(claims(ours))),
        of_phases=told.OF_PHASES,
        phases=_table(told.phases(spread)),
        variants="\n".join(f"- {one['variant']}: {one['text']}" for one in spread),
    )


def _table(of: told.Table) -> str:
    lines = [of.headings, ["---"] * len(of.headings), *of.rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("*", "\\*") for cells in lines)


def main() -> None:
    """Write the page and its pictures."""
    ours = rows({})
    (FOLDER / "online-batch").mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(ours, sensitivity({})))
    for name, _, chart in charts(ours):
        (FOLDER / f"online-batch/{name}.png").write_bytes(pictures.png(chart))


if __name__ == "__main__":
    main()
