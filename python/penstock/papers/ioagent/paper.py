"""The IOAgent paper: its study of a machine of four disks, run and analysed again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.answer.table import Table
from penstock.papers import files
from penstock.papers.claims import Claim
from penstock.papers.ioagent import campaign, setting, tables
from penstock.papers.ioagent.claims import claims
from penstock.papers.ioagent.pictures import PICTURES
from penstock.papers.published import Row
from penstock.papers.sensitivity import Found, Judged, ModelVariant, Sensitivity, found
from penstock.papers.study import Ours, Study

KEYS = ("runs", "seconds", "patterns", "fits", "chosen", "cells")


@dataclass(frozen=True, kw_only=True)
class IOAgent(Study):
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
        """Our analyses and rates, the claims and Table 3."""
        return {
            **self.read(ours),
            "claims": claims,
            "table3": tables.table3(ours),
            "paper": files.published(setting.NAME)["table3"],
        }

    def read(self, data: Mapping[str, Any]) -> Ours:
        """The analyses and rates by their names."""
        return {key: data[key] for key in KEYS}

    def varied(self, arguments: Mapping[str, str], say: Callable[[str], object]) -> Sequence[Found]:
        """How much hangs on what is open; `say` is called with the next variant."""
        assert self.sensitivity is not None
        return found(self.sensitivity, _judged, self.away, arguments, say)


def simulate(arguments: Mapping[str, str]) -> Ours:
    """All figures under some settings."""
    from penstock.papers.ioagent import analyses

    study_setting = setting.read(arguments)
    rows = campaign.rows(study_setting)
    rates = _rates(study_setting, rows)
    return {
        "runs": len(rows),
        "seconds": sum(row["seconds"] for row in rows),
        "patterns": [
            {"pattern": pattern, "analysis": analyses.analysis(pattern, rows).plain()}
            for pattern in study_setting.patterns
        ],
        **rates,
        "chosen": [analyses.chosen(pattern, rates["cells"]) for pattern in study_setting.patterns],
        "rows": rows,
    }


def _rates(study_setting: setting.IoagentSetting, rows: Sequence[Row]) -> dict[str, Any]:
    from penstock.papers.ioagent import analyses

    cells = campaign.cells(rows)
    return {
        "fits": [analyses.explained(pattern, cells) for pattern in study_setting.patterns],
        "cells": cells,
    }


def _judged(every: Sequence[Mapping[str, str]]) -> Iterator[Judged]:
    """The claims that rates alone decide, under each of several settings."""
    for arguments in every:
        study_setting = setting.read(arguments)
        yield claims({"patterns": [], **_rates(study_setting, campaign.rows(study_setting))}), None


PAPER = IOAgent(
    name=setting.NAME,
    help="""\
Run and analyse the study again: 10,368 runs of 648 cells and four patterns.

All runs are simulated, on a model of the paper's machine, in a minute or two. The paper's figures
are not available as numbers, so ours are held to what its text and its Table 3 say.""",
    settings=setting.SETTINGS,
    cases="MB/s, or as it says",
    pictures=PICTURES,
    sensitivity=Sensitivity(
        variants={
            "as it is": ModelVariant("the machine and its scheduler", {}),
            "deadline": ModelVariant("the scheduler deadline", {"policy": "deadline"}),
            "noop": ModelVariant("no scheduler", {"policy": "noop"}),
            "queue 1": ModelVariant("drives without a queue of their own", {"queue": "1"}),
            "queue 64": ModelVariant("drives with a queue of 64", {"queue": "64"}),
            "write cache": ModelVariant("drives that answer writes early", {"write_back": "true"}),
            "dirty": ModelVariant(
                "dirty pages written back from 5 % of memory on, writers held at 20 %",
                {"dirty_background_ratio": "5%", "dirty_ratio": "20%"},
            ),
            "end": ModelVariant("a run ends with its last answer", {"stop": "drained"}),
        },
        points=[
            {"S": f"{size}", "D": "1,4", "A": "1,4,32", "B": "1,4,32", "seeds": "1"}
            for size in setting.FACTORS["S"]
        ],
        noun="sizes",
        distances=False,
        about="Each variant runs with buffers of 8, 32 and 128 KiB, in 36 cells of each pattern.",
        help="Vary what the paper leaves open too.",
    ),
    keep=campaign.keep,
    quick=("D=1,4", "A=1,8", "B=1,8", "S=32,128", "seeds=2"),
)
