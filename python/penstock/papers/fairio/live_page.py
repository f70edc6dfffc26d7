"""What the page of the FAIRIO report says of its loads in real time."""

from typing import Any

from penstock.answer.table import markdown
from penstock.papers.fairio import live_table
from penstock.papers.fairio.live import LiveRow
from penstock.papers.study import Ours

SETS = ("--set", "cycles=300ms,1500ms", "--set", "horizon=15s")

WORDS = ("paper", "fairio", "live", *SETS, "--repeat", "1")
"""The command whose figures the page shows."""


def kept(document: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns what `live.json` keeps of the printed JSON: about all of it, and a line a row."""
    about = {key: value for key, value in document["live"].items() if key != "rows"}
    return {"words": WORDS, **about}, document["live"]["rows"]


def words(kept: dict[str, Any], _: Ours) -> dict[str, str]:
    """The texts at the places of `page.md` that begin with `live_`."""
    rows = [LiveRow(**figures) for figures in kept["figures"]]
    command = " ".join(kept["words"])
    return {
        "live_target": kept["target"],
        "live_command": f"$ penstock {command}",
        "live_horizon": f"{kept['horizon_s']:g}",
        "live_rates": " and ".join(f"{rate:.0f}" for rate in kept["offered_per_s"]),
        "live_1": markdown(live_table.table(rows, 1)),
        "live_2": markdown(live_table.table(rows, 2)),
        "live_remark": live_table.REMARK,
    }
