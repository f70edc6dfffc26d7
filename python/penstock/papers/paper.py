"""A paper with one published table, and where papers are found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from penstock.papers.claims import Claim, Rule, judged
from penstock.papers.pictures import Pictures
from penstock.papers.published import Away, Published, Row
from penstock.papers.sensitivity import Found, Judged, found
from penstock.papers.study import Block, Study


def _no_more(_rows: Sequence[Row]) -> Sequence[Block]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Paper(Study):
    """A paper with one published table: our figures are rows in the order of its rows."""

    title: str
    """What the published table is called."""
    published: Published
    series: str
    """The column that says which series a row is of, for the claims."""
    rules: Sequence[Rule]
    pictures: Pictures | None = None
    more: Callable[[Sequence[Row]], Sequence[Block]] = _no_more
    """Tables in addition to the published one."""

    @property
    def away(self) -> Away:
        """In what our figures are compared with the paper's."""
        return self.published.away

    def claims(self, ours: Sequence[Row]) -> list[Claim]:
        """What the paper says, held to these rows."""
        return judged(self.rules, ours, self.series)

    def blocks(self, ours: Sequence[Row]) -> Sequence[Block]:
        """The published table with our figures, and the others."""
        of = self.published
        return [
            Block("compared", self.title, of.table(ours), list(of.remarks(ours))),
            *self.more(ours),
        ]

    def data(self, ours: Sequence[Row], claims: Sequence[Claim]) -> dict[str, Any]:
        """Our rows, the claims and the published rows."""
        return {"rows": ours, "claims": claims, "paper": self.published.rows}

    def read(self, data: Mapping[str, Any]) -> Sequence[Row]:
        """Our rows."""
        rows: Sequence[Row] = data["rows"]
        return rows

    def varied(self, given: Mapping[str, str], say: Callable[[str], object]) -> Sequence[Found]:
        """How much hangs on what is open; `say` is called with the next variant."""
        if self.sensitivity is None:
            return ()
        return found(self.sensitivity, self._judge, self.away, given, say)

    def _judge(self, given: Mapping[str, str]) -> Judged:
        """The claims under some settings, and how far the farthest cell is."""
        rows = self.simulate(given)
        return self.claims(rows), self.published.farthest(rows)


def load(name: str) -> Study:
    """The paper of this name."""
    loaded: Study = part(name, "paper").PAPER
    return loaded


def part(name: str, module: str) -> Any:  # noqa: ANN401 - a module is what it holds
    """A module of a paper's folder."""
    return import_module(f"penstock.papers.{name.replace('-', '_')}.{module}")
