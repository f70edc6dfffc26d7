"""What the page of the lab says of what ran under the kernel."""

from typing import Any

from penstock.answer.table import markdown
from penstock.papers.linux_lab.kernel import LOOP_DEVICE, SERVED_DISK, comparison
from penstock.papers.linux_lab.modelled import Rows
from penstock.papers.linux_lab.tables import tables
from penstock.papers.study import Ours

WORDS = ("paper", "linux-lab")
"""The command whose figures the page shows."""


def kept(document: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what `live.json` keeps of the printed JSON: about all of it, and a line a row."""
    kernel = document["kernel"]
    rows = [
        {"world": world, "experiment": experiment, **row}
        for world, experiments in kernel["worlds"].items()
        for experiment, experiment_rows in experiments.items()
        for row in experiment_rows
    ]
    return {"release": kernel["release"]}, rows


def words(kept: dict[str, Any], ours: Ours) -> dict[str, str]:
    """Return the texts at the places of `page.md` that begin with `live_`."""
    worlds: dict[str, Rows] = {}
    for row in kept["figures"]:
        world, experiment, *_ = row.values()
        experiment_rows = worlds.setdefault(world, {}).setdefault(experiment, [])
        experiment_rows.append({key: row[key] for key in row if key not in ("world", "experiment")})
    side_by_side, statements = comparison(worlds, ours)
    return {
        "live_release": kept["release"],
        "live_side_by_side": markdown(side_by_side),
        "live_statements": markdown(statements),
        **{
            f"live_{name}_{table.name}": markdown(table)
            for name, world in (("served", SERVED_DISK), ("machine", LOOP_DEVICE))
            for table in tables(worlds.get(world.name, {}))
        },
    }
