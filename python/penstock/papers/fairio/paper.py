"""The FAIRIO report: its Tables I, II and V, simulated again with its scheduler reconstructed."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.answer.table import Table
from penstock.papers.claims import Claim
from penstock.papers.fairio import cells, implied, setting, tables, workloads
from penstock.papers.fairio.claims import claims
from penstock.papers.fairio.pictures import PICTURES
from penstock.papers.fairio.shares import EXPERIMENTS
from penstock.papers.study import Ours, Study


class Fairio(Study):
    """The report's published figures, next to ours."""

    def simulate(self, arguments: Mapping[str, str]) -> Ours:
        """Our figures under some settings."""
        return simulate(arguments)

    def claims(self, ours: Ours) -> list[Claim]:
        """Returns the report's claims, judged by our figures."""
        return claims(ours)

    def tables(self, ours: Ours) -> Sequence[Table]:
        """All tables."""
        return tables.tables(ours)

    def data(self, ours: Ours, claims: Sequence[Claim]) -> dict[str, Any]:
        """Each table by its name, the claims, and those of them that do not hold."""
        failed = [claim["id"] for claim in claims if not claim["holds"]]
        return {**ours, "claims": claims, "not_reproduced": failed}

    def read(self, data: Mapping[str, Any]) -> Ours:
        """The tables by their names."""
        return {
            key: data[key]
            for key in (*(experiment.key for experiment in EXPERIMENTS), "table5", "weights")
        }


def simulate(arguments: Mapping[str, str]) -> Ours:
    """All tables under some settings, of one session."""
    run_setting = setting.read(arguments)
    every = [cell for experiment in EXPERIMENTS for cell in experiment.cells(run_setting)]
    results = cells.run([*every, *workloads.cells(run_setting)], run_setting)
    return {
        **{experiment.key: experiment.rows(run_setting, results) for experiment in EXPERIMENTS},
        "table5": workloads.rows(run_setting, results),
        "weights": implied.weights(),
    }


PAPER = Fairio(
    name=setting.NAME,
    help="""\
Make Tables I, II and V again: shares of an array by weight, for many lengths of a cycle.

Some 300 simulated runs of a minute each. The report gives no formulas of its scheduler: mode
"paper" is a reconstruction, mode "plus" an improvement of it.""",
    settings=setting.SETTINGS,
    cases="numbers",
    pictures=PICTURES,
    quick=("cycles=100ms,1s", "seeds=1"),
)
