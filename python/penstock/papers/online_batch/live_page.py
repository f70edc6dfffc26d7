"""What the page of the online-batch paper says of its programs in real time."""

from typing import Any

from penstock.answer.table import markdown
from penstock.papers import claims
from penstock.papers.online_batch import figure5
from penstock.papers.online_batch.live import EMULATED, Figures
from penstock.papers.study import Ours
from penstock.text import units

ROUNDS = 3

MATRIX = ("--online", "0,1,2,5,10", "--batch", "0,1", "--repeat", str(ROUNDS))

WORDS = ("paper", "online-batch", "live", *MATRIX)
"""The command whose figures the page shows."""


def kept(document: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns what `live.json` keeps of the printed JSON: about all of it, and a line a cell."""
    about = {
        "words": WORDS,
        "on": document["where"]["on"],
        "rounds": ROUNDS,
        "online_cpu_ns": document["online_cpu_ns"],
        "batch_cpu_ns": document["batch_cpu_ns"],
    }
    return about, document["figures"]


def words(kept: dict[str, Any], _: Ours) -> dict[str, str]:
    """The texts at the places of `page.md` that begin with `live_`."""
    figures = [Figures.read(cell) for cell in kept["figures"]]
    batches = sorted({cell.batch for cell in figures})
    cpu = [units.latency(kept[key]) for key in ("online_cpu_ns", "batch_cpu_ns")]
    short = [f"{_heading(n)}:\n\n{markdown(figure5.short_times(figures, n))}" for n in batches]
    long = [f"{_heading(n)}:\n\n{markdown(figure5.long_times(figures, n))}" for n in batches if n]
    return {
        "live_device": kept["on"].removeprefix(EMULATED),
        "live_command": f"$ penstock {' '.join(kept['words'])}",
        "live_cpu": f"{cpu[0]} and {cpu[1]}",
        "live_rounds": f"{kept['rounds']}",
        "live_points": markdown(figure5.table(figure5.points(figures))),
        "live_short": "\n\n".join(short),
        "live_long": "\n\n".join(long),
        "live_claims": markdown(claims.table(figure5.claims(figures), "ms")),
    }


def _heading(batch: int) -> str:
    if not batch:
        return "Online programs alone"
    return f"{batch} batch program{'s' if batch > 1 else ''}"
