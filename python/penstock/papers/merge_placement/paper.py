"""The merge-placement paper: its figures and its model of a race, simulated again."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.answer.table import Table
from penstock.papers.claims import Claim
from penstock.papers.merge_placement import courses, merges, rings, setting, tables
from penstock.papers.merge_placement.claims import claims
from penstock.papers.merge_placement.pictures import PICTURES
from penstock.papers.study import Ours, Study

KEYS = (
    "rows",
    "threshold",
    "two_disk",
    "three_disk",
    "ring",
    "variants",
    "served",
    "layouts",
    "courses",
    "queues",
)


class MergePlacement(Study):
    """The paper's statements, next to our figures."""

    def simulate(self, arguments: Mapping[str, str]) -> Ours:
        """Our figures under some settings."""
        return simulate(arguments)

    def claims(self, ours: Ours) -> list[Claim]:
        """Returns the paper's claims, judged by our figures."""
        return claims(ours)

    def tables(self, ours: Ours) -> Sequence[Table]:
        """All tables."""
        return tables.tables(ours)

    def data(self, ours: Ours, claims: Sequence[Claim]) -> dict[str, Any]:
        """All rows by their names, and the claims."""
        return {**ours, "claims": claims}

    def read(self, data: Mapping[str, Any]) -> Ours:
        """The rows by their names."""
        return {key: data[key] for key in KEYS}


def simulate(arguments: Mapping[str, str]) -> Ours:
    """All figures under some settings."""
    run_setting = setting.read(arguments)
    # The fewest runs first: they say what is wrong with the settings.
    layouts, rows = courses.layouts(run_setting), merges.rows(run_setting)
    raced = rings.run(rings.needed(run_setting))
    return {
        "rows": rows,
        "threshold": merges.threshold_rows(run_setting),
        "two_disk": rings.two_rows(run_setting, raced),
        "three_disk": rings.three_rows(run_setting, raced),
        "ring": rings.ring_rows(run_setting, raced),
        "variants": merges.variant_rows(run_setting),
        "served": rings.served_rows(run_setting, raced),
        "layouts": layouts,
        "courses": courses.courses(run_setting),
        "queues": rings.queues(raced),
    }


PAPER = MergePlacement(
    name=setting.NAME,
    help="""\
Make Figures 2.1 to 3.6 again: merges side by side, and the race between them.

Some 2,000 simulated runs, in some seconds. The images of the paper's figures are not available, so
the figures here are held to what its text says of them.""",
    settings=setting.SETTINGS,
    cases="numbers",
    pictures=PICTURES,
    quick=("seeds=1", "disks=5", "jobs=2", "ring.disks=3,4"),
)
