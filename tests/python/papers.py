"""Writes docs/papers/online-batch.md and its pictures: `make papers`.

With `--live` the programs run in real time first, for some minutes, and what they met is kept:
`make papers-live`, on a machine that does nothing else.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from command import ROOT, penstock
from penstock.papers.online_batch import figure5, tables
from penstock.papers.online_batch.charts import figures_7_and_8
from penstock.papers.online_batch.claims import Claim, claims
from penstock.papers.online_batch.live import EMULATED, Figures
from penstock.papers.online_batch.phases import Sensitivity, sensitivity
from penstock.papers.online_batch.simulation import Row, rows
from penstock.report import pictures
from penstock.text import units

FOLDER = ROOT / "docs/papers"
PAGE = FOLDER / "online-batch.md"
TEXT = ROOT / "papers/online-batch/page.md"
LIVE = ROOT / "papers/online-batch/live.json"

ROUNDS = 3
MATRIX = ("--online", "0,1,2,5,10", "--batch", "0,1", "--repeat", str(ROUNDS))
WORDS = ("paper", "online-batch", "--live", *MATRIX)
"""The command whose figures the page shows."""


def page(ours: Sequence[Row], spread: Sequence[Sensitivity]) -> str:
    """The page."""
    return TEXT.read_text().format(
        source=tables.source(),
        shares=_table(tables.shares(ours)),
        remarks="\n\n".join(line.replace("*", "\\*") for line in tables.remarks(ours)),
        times=_table(tables.times(ours)),
        images="\n".join(
            f"![{title}](online-batch/{name}.png)" for name, title, *_ in tables.FIGURES
        ),
        claims=_table(tables.held(claims(ours))),
        of_phases=tables.OF_PHASES,
        phases=_table(tables.phases(spread)),
        variants="\n".join(f"- {one['variant']}: {one['text']}" for one in spread),
        **_live(json.loads(LIVE.read_text())),
    )


def _live(kept: dict[str, Any]) -> dict[str, str]:
    """What the page says of the programs in real time."""
    figures = [Figures.read(one) for one in kept["figures"]]
    batches = sorted({one.batch for one in figures})
    cpu = [units.latency(kept[key]) for key in ("online_cpu_ns", "batch_cpu_ns")]
    short = [f"{_beside(n)}:\n\n{_table(figure5.short_times(figures, n))}" for n in batches]
    long = [f"{_beside(n)}:\n\n{_table(figure5.long_times(figures, n))}" for n in batches if n]
    return {
        "live_device": kept["on"].removeprefix(EMULATED),
        "live_command": f"$ penstock {' '.join(kept['words'])}",
        "live_cpu": f"{cpu[0]} and {cpu[1]}",
        "live_rounds": f"{kept['rounds']}",
        "live_points": _table(figure5.told(figure5.points(figures))),
        "live_short": "\n\n".join(short),
        "live_long": "\n\n".join(long),
        "live_claims": _table(_held(figure5.claims(figures))),
    }


def _beside(batch: int) -> str:
    if not batch:
        return "Online programs alone"
    return f"{batch} batch program{'s' if batch > 1 else ''}"


def _held(found: Sequence[Claim]) -> tables.Table:
    return tables.held(found)._replace(headings=["claim", "the paper says", "here", "ms"])


def _table(of: tables.Table) -> str:
    lines = [of.headings, ["---"] * len(of.headings), *of.rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("*", "\\*") for cells in lines)


def measure() -> None:
    """Run the programs in real time, and keep their figures."""
    ended = penstock(*WORDS, "--json")
    if ended.code:
        raise SystemExit(ended.err)
    found = json.loads(ended.out)
    about = {
        "words": WORDS,
        "on": found["where"]["on"],
        "rounds": ROUNDS,
        "online_cpu_ns": found["online_cpu_ns"],
        "batch_cpu_ns": found["batch_cpu_ns"],
    }
    lines = ",\n".join(f"  {json.dumps(one)}" for one in found["figures"])
    LIVE.write_text(f'{json.dumps(about)[:-1]}, "figures": [\n{lines}\n]}}\n')


def main() -> None:
    """Write the page and its pictures."""
    if sys.argv[1:] == ["--live"]:
        measure()
    ours = rows({})
    (FOLDER / "online-batch").mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(ours, sensitivity({})))
    for name, _, chart in figures_7_and_8(ours):
        (FOLDER / f"online-batch/{name}.png").write_bytes(pictures.png(chart))


if __name__ == "__main__":
    main()
