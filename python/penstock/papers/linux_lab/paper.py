"""The lab of a course on operating systems: schedulers of a disk, measured with IOzone's tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.answer.table import Table
from penstock.papers import files
from penstock.papers.claims import Claim
from penstock.papers.linux_lab import modelled, setting, tables
from penstock.papers.linux_lab.claims import claims
from penstock.papers.linux_lab.kernel import under_kernel
from penstock.papers.linux_lab.pictures import PICTURES
from penstock.papers.study import Ours, Study

EXPERIMENTS = (
    "exercise",
    "readers",
    "thinking",
    "flood",
    "processes",
    "turns",
    "neighbours",
    "flash",
)


class LinuxLab(Study):
    """The statements of the lecture, next to our figures."""

    def simulate(self, arguments: Mapping[str, str]) -> Ours:
        """The rows of all experiments."""
        return modelled.simulate(setting.read(arguments))

    def claims(self, ours: Ours) -> list[Claim]:
        """Returns the lecture's statements, judged by our figures."""
        return claims(ours)

    def tables(self, ours: Ours) -> Sequence[Table]:
        """All tables."""
        return tables.tables(ours)

    def data(self, ours: Ours, claims: Sequence[Claim]) -> dict[str, Any]:
        """All rows by their names, the claims, and the figures of the handout."""
        return {**ours, "claims": claims, "handout": files.published(setting.NAME)["row"]}

    def read(self, data: Mapping[str, Any]) -> Ours:
        """The rows by their names."""
        return {name: data[name] for name in EXPERIMENTS}


PAPER = LinuxLab(
    name=setting.NAME,
    help="""\
Run the lab of a course on the schedulers of Linux, and check what its lecture says.

IOzone's tests under each scheduler of the lecture on a modelled disk of 7,200 rpm, and what one
program on a file of 1 GiB cannot show: more programs, files spread over the disk, programs that
think, and floods.""",
    settings=setting.SETTINGS,
    cases="figures",
    pictures=PICTURES,
    under_kernel=under_kernel,
    quick=("duration=5s", "exercise.size=8MiB", "example.size=32MiB"),
)
