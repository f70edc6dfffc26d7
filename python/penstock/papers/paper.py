"""What a paper is to the command, to its report and to its page in the documentation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from penstock.papers.claims import Claim, Rule, judged
from penstock.papers.pictures import Pictures
from penstock.papers.published import Published, Row
from penstock.papers.sensitivity import Sensitivity
from penstock.papers.settings import Settings
from penstock.papers.table import Table


class Block(NamedTuple):
    """A table with its title; `name` is its place in `page.md`."""

    name: str
    title: str
    table: Table


def _no_more(_rows: Sequence[Row]) -> Sequence[Block]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper: what it published, how it is simulated, and what is shown of that."""

    name: str
    help: str
    """What the command makes again, and of what."""
    title: str
    """What the published table is called."""
    published: Published
    settings: Settings
    simulate: Callable[[Mapping[str, str]], Sequence[Row]]
    """Our rows under some settings, in the order of the published ones."""
    series: str
    """The column that says which series a row is of, for the claims."""
    cases: str
    """What the figures of a series are, a heading."""
    rules: Sequence[Rule]
    more: Callable[[Sequence[Row]], Sequence[Block]] = _no_more
    """Tables in addition to the published one."""
    pictures: Pictures | None = None
    sensitivity: Sensitivity | None = None

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What the paper says, held to these rows."""
        return judged(self.rules, rows, self.series)

    def judge(self, given: Mapping[str, str]) -> tuple[list[Claim], float]:
        """The claims under some settings, and how far the farthest cell is."""
        rows = self.simulate(given)
        return self.claims(rows), self.published.farthest(rows)


def load(name: str) -> Paper:
    """The paper of this name."""
    found: Paper = part(name, "paper").PAPER
    return found


def part(name: str, module: str) -> Any:  # noqa: ANN401 - a module is what it holds
    """A module of a paper's folder."""
    return import_module(f"penstock.papers.{name.replace('-', '_')}.{module}")
