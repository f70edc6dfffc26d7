"""Papers whose figures are made again: a folder and a line each.

A folder below this one holds what is a paper's own: in `paper.py` its settings, its simulation, its
claims, tables and pictures; in `live_command.py` its command in real time, if it has one. Of that
the modules here make what the command prints, the report and the page of the documentation.
"""

from typing import NamedTuple


class Listed(NamedTuple):
    """A paper's entry, known before its folder is imported."""

    line: str
    """Its line of help."""
    live: bool = False
    """It has programs that run in real time too."""
    kernel: bool = False
    """Its command goes on under the kernel of this machine, which takes root."""
    long: bool = False
    """It takes minutes, so that its page is held to its figures by `make soak`."""

    @property
    def real_time(self) -> bool:
        """Whether a part of it runs in real time, whose figures are kept in `live.json`."""
        return self.live or self.kernel


PAPERS = {
    "online-batch": Listed("Disk I/O control for online and batch work (2019).", live=True),
    "fairio": Listed("A heuristic for selecting the cycle length for FAIRIO (2011).", live=True),
    "merge-placement": Listed("Placement of runs on parallel disks, and the race (1993)."),
    "ioagent": Listed(
        "A parallel I/O load generator, and a study of four disks (2007).", live=True, long=True
    ),
    "linux-lab": Listed(
        "A lab on the schedulers of Linux, with IOzone's tests (2022).", kernel=True
    ),
}
"""The papers by name. A folder has the same name, with `_` in the place of `-`."""
