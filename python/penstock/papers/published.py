"""A published table, and how far each of our cells is from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from penstock.answer.table import Table
from penstock.papers import files

Row: TypeAlias = Mapping[str, Any]
"""The result of one run, or what the paper has of it: figures by name."""


class FigureColumn(NamedTuple):
    """A column of figures that was published."""

    heading: str
    unit: str
    digits: int = 2
    """Of ours, after the point."""
    published_digits: int = 1
    """Of the paper's."""


class Away(NamedTuple):
    """In what deviations are counted."""

    words: str
    unit: str
    """What stands behind a deviation in a sentence."""
    heading: str
    """What it is called above a column."""
    key: str
    """What ends the names of such figures."""


POINTS = Away("percentage points", " points", "pp", "pp")
"""Ours less the paper's, where both are in percent."""

PERCENT = Away("percent", " %", "%", "pct")
"""Ours less the paper's, as a share of that."""


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """Figure of ours with the published one."""

    row: Row
    figure: str
    ours: float
    paper: float
    suspect: bool
    of: Away

    @property
    def away(self) -> float:
        """How far ours is from the paper's."""
        if self.of is PERCENT:
            return percent(self.ours, self.paper)
        return self.ours - self.paper


def percent(ours: float, paper: float) -> float:
    """How far ours is from the paper's, in percent of that."""
    return 100 * (ours / paper - 1)


@dataclass(frozen=True, kw_only=True)
class Published:
    """Rows that a paper published (`[[row]]` in `published.toml`), in the order of our own.

    A published row may lack cells, and lists in `suspect` those that contradict others.
    """

    paper: str
    names: Mapping[str, Mapping[Any, str]]
    """The columns that say which row it is, and how their values are called, if not as they are."""
    cells: Mapping[str, FigureColumn]
    away: Away = POINTS
    noun: str = "cell"
    """Word for a cell."""
    suspect_because: str = ""
    """What is wrong with the suspect cells, as "contradict the paper's own total"."""

    @property
    def rows(self) -> list[Row]:
        """The rows."""
        rows: list[Row] = files.published(self.paper)["row"]
        return rows

    def deviations(self, ours: Sequence[Row]) -> Iterator[Deviation]:
        """Each cell of ours that was published, with the paper's."""
        for row, paper in zip(ours, self.rows, strict=True):
            yield from self._of_row(row, paper).values()

    def _of_row(self, row: Row, paper: Row) -> dict[str, Deviation]:
        return {
            figure: Deviation(
                row=row,
                figure=figure,
                ours=row[figure],
                paper=paper[figure],
                suspect=figure in paper.get("suspect", []),
                of=self.away,
            )
            for figure in self.cells
            if figure in paper
        }

    def farthest(self, ours: Sequence[Row]) -> float:
        """The largest deviation of a cell that is not suspect."""
        return max(
            abs(deviation.away) for deviation in self.deviations(ours) if not deviation.suspect
        )

    def called(self, row: Row) -> list[str]:
        """Which row it is, a text for each column that says so."""
        return [names.get(row[column], str(row[column])) for column, names in self.names.items()]

    def table(self, ours: Sequence[Row]) -> Table:
        """Our rows with the published cells and how far apart they are."""
        headings = [f"{cell.heading}, {cell.unit}" for cell in self.cells.values()]
        rows = [
            [*self.called(row), *self._texts(row, paper)]
            for row, paper in zip(ours, self.rows, strict=True)
        ]
        return Table([*self.names, *headings], rows)

    def remarks(self, ours: Sequence[Row]) -> Iterator[str]:
        """Notes for a reader of the table."""
        suspect = [deviation for deviation in self.deviations(ours) if deviation.suspect]
        aside = f", {_many(suspect)} left aside" if suspect else ""
        yield (
            f"Each {self.noun} is ours / the paper's (the difference in {self.away.words}). The "
            f"farthest cell is {self.farthest(ours):.2f}{self.away.unit} away{aside}."
        )
        if suspect:
            cells = "; ".join(map(self._place, suspect))
            marked = "They are" if len(suspect) > 1 else "It is"
            many = _many(suspect).capitalize()
            yield f"{many} {self.suspect_because}: {cells}. {marked} marked with *."

    def _texts(self, row: Row, paper: Row) -> Iterator[str]:
        published = self._of_row(row, paper)
        for figure, cell in self.cells.items():
            ours = f"{row[figure]:.{cell.digits}f}"
            if figure not in published:
                yield ours
                continue
            deviation = published[figure]
            away = (
                f"{deviation.away:+.1f} %" if deviation.of is PERCENT else f"{deviation.away:+.2f}"
            )
            star = "*" if deviation.suspect else ""
            yield f"{ours} / {deviation.paper:.{cell.published_digits}f} ({away}){star}"

    def _place(self, deviation: Deviation) -> str:
        cell = self.cells[deviation.figure]
        paper = f"{cell.heading} {deviation.paper:.{cell.published_digits}f} {cell.unit}"
        pairs = zip(self.names.items(), self.called(deviation.row), strict=True)
        # A name speaks for itself; a number does not.
        row = (text if names else f"{column} {text}" for (column, names), text in pairs)
        return ", ".join((*row, paper))


def _many(suspect: Sequence[Deviation]) -> str:
    return {1: "one cell", 2: "two cells"}.get(len(suspect), f"{len(suspect)} cells")
