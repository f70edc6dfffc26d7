"""`penstock paper`: figures that papers published, made again."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.cli.paper_simulated import simulated
from penstock.cli.verb import Lazy, group
from penstock.papers import PAPERS
from penstock.papers.paper import load, part

if TYPE_CHECKING:
    # A type of Typer's methods, which it does not export.
    from typer._click.core import Command


class Papers(Lazy):
    """The papers: a command for the simulation of each, which has one for its programs."""

    def lines(self) -> Mapping[str, str]:
        """Each command and its line of help."""
        return {name: paper.line for name, paper in PAPERS.items()}

    def load(self, name: str) -> "Command":
        """The command called `name`."""
        live = part(name, "live_command").run if PAPERS[name].live else None
        command = simulated(load(name), live)
        command.short_help = PAPERS[name].line
        return command


app = group(cls=Papers)
app.callback()(lambda: None)  # Without it Typer asks for commands.
