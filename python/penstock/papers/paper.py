"""A paper with one published table, and where papers are found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

from penstock.answer.table import Table
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run
from penstock.papers import files
from penstock.papers.claims import Claim, Rule, judged
from penstock.papers.pictures import Gallery
from penstock.papers.published import Away, Published, Row
from penstock.papers.sensitivity import Found, Judged, found
from penstock.papers.study import Study
from penstock.results.json_types import Comparison, Run
from penstock.session import Variant
from penstock.target import Target


class Simulation(NamedTuple):
    """A run of the paper's job that gives a row."""

    names: Row
    """The columns that say which row it is."""
    policy: str
    sets: Sequence[str]
    """Changes of the job, as `--set` has them."""


def _no_more(_rows: Sequence[Row]) -> Sequence[Table]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Paper(Study):
    """A paper with one published table: our figures are rows in the order of its rows."""

    title: str
    """What the published table is called."""
    published: Published
    runs: Callable[[Mapping[str, str]], Iterable[Simulation]]
    """The runs under some settings, in the order of the rows."""
    figures: Callable[[Run], Row]
    """The other columns of the row of a run."""
    series: str
    """The column that says which series a row is of, for the claims."""
    rules: Sequence[Rule]
    pictures: Gallery | None = None
    more: Callable[[Sequence[Row]], Sequence[Table]] = _no_more
    """Tables in addition to the published one."""

    @property
    def away(self) -> Away:
        """In what our figures are compared with the paper's."""
        return self.published.away

    def simulate(self, arguments: Mapping[str, str]) -> list[Row]:
        """Our rows under some settings."""
        (rows,) = self._rows([arguments])
        return rows

    def claims(self, ours: Sequence[Row]) -> list[Claim]:
        """Returns the paper's claims, judged by these rows."""
        return judged(self.rules, ours, self.series)

    def tables(self, ours: Sequence[Row]) -> Sequence[Table]:
        """The published table with our figures, and the others."""
        published = self.published
        notes = list(published.remarks(ours))
        compared = replace(published.table(ours), name="compared", title=self.title, notes=notes)
        return [compared, *self.more(ours)]

    def data(self, ours: Sequence[Row], claims: Sequence[Claim]) -> dict[str, Any]:
        """Our rows, the claims and the published rows."""
        return {"rows": ours, "claims": claims, "paper": self.published.rows}

    def read(self, data: Mapping[str, Any]) -> Sequence[Row]:
        """Our rows."""
        rows: Sequence[Row] = data["rows"]
        return rows

    def varied(self, arguments: Mapping[str, str], say: Callable[[str], object]) -> Sequence[Found]:
        """How much hangs on what is open; `say` is called with the next variant."""
        if self.sensitivity is None:
            return ()
        return found(self.sensitivity, self._judged, self.away, arguments, say)

    def _judged(self, every: Sequence[Mapping[str, str]]) -> Iterator[Judged]:
        """The claims under each of several settings, and how far the farthest cell is."""
        for rows in self._rows(every):
            yield self.claims(rows), self.published.farthest(rows)

    def _rows(self, every: Sequence[Mapping[str, str]]) -> list[list[Row]]:
        """Our rows under each of several settings, whose runs share the processors."""
        runs = [list(self.runs(arguments)) for arguments in every]
        setup = Setup(target=Target(), reduce=self._figures)
        text = files.text(self.name, "job.toml")
        variants = [
            Variant(name=self.name, text=text, sets=run.sets, policies=[run.policy])
            for some in runs
            for run in some
        ]
        with self.settings.errors(every[0]):
            figures = iter(run_all(setup, variants))
        return [[{**run.names, **next(figures)} for run in some] for some in runs]

    def _figures(self, comparison: Comparison) -> Row:
        return self.figures(only_run(comparison))


def load(name: str) -> Study:
    """The paper of this name."""
    loaded: Study = part(name, "paper").PAPER
    return loaded


def part(name: str, module: str) -> Any:  # noqa: ANN401 - a module is what it holds
    """A module of a paper's folder."""
    return import_module(f"penstock.papers.{name.replace('-', '_')}.{module}")
