"""`penstock paper`: figures that papers published, made again."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from typer.main import get_command

from penstock.cli.paper_simulated import simulated
from penstock.cli.verb import Lazy, group
from penstock.papers import PAPERS
from penstock.papers.paper import load, part

if TYPE_CHECKING:
    # A type of Typer's methods, which it does not export.
    from typer._click.core import Command

LIVE = "-live"
"""How the command of a paper's programs in real time ends."""


class Papers(Lazy):
    """The papers: a command for the simulation of each, and one for its programs."""

    def lines(self) -> Mapping[str, str]:
        """Each command and its line of help."""
        found = {}
        for name, paper in PAPERS.items():
            found[name] = paper.line
            if paper.live:
                found[f"{name}{LIVE}"] = "The same paper's programs on a disk, in real time."
        return found

    def load(self, name: str) -> "Command":
        """The command called `name`."""
        if name not in PAPERS:
            command = _live(name.removesuffix(LIVE))
        else:
            command = simulated(load(name), _live(name) if PAPERS[name].live else None)
        command.short_help = self.lines()[name]
        return command


def _live(name: str) -> "Command":
    command = get_command(part(name, "live_command").app)
    command.name = f"{name}{LIVE}"
    return command


app = group(cls=Papers)
app.callback()(lambda: None)  # Without it Typer asks for commands.
