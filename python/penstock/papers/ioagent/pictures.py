"""The figures of the IOAgent paper: interactions of pairs of factors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.papers.ioagent.claims import means
from penstock.papers.ioagent.setting import PATTERNS
from penstock.papers.study import Drawing, Gallery

if TYPE_CHECKING:
    import altair as alt

NAMES = {
    "O": "access",
    "A": "agents on a disk",
    "B": "buffers of an agent",
    "S": "KiB of a buffer",
}


class Picture(NamedTuple):
    """An interaction."""

    name: str
    title: str
    pattern: str
    x: str
    line: str


READ, WRITE, RANDOM_READ, _ = PATTERNS

FIGURES = (
    Picture("figure-1-top", "Figure 1, top: O and S, sequential reads", READ, "S", "O"),
    Picture("figure-1-bottom", "Figure 1, bottom: O and B, sequential reads", READ, "B", "O"),
    Picture("figure-2-top", "Figure 2, top: A and O, sequential writes", WRITE, "A", "O"),
    Picture("figure-2-bottom", "Figure 2, bottom: A and B, sequential writes", WRITE, "B", "A"),
    Picture("figure-3", "Figure 3: A and B, random reads", RANDOM_READ, "B", "A"),
)


class Figures:
    """The paper's figures."""

    title = "Interactions"
    about = (
        "Figures 1 to 3 of the paper, made again: mean rates over all cells with a level of each "
        "of two factors, on a logarithmic scale. Parallel lines mean that neither factor changes "
        "what the other does."
    )

    @property
    def figures(self) -> Sequence[Picture]:
        """Each picture."""
        return FIGURES

    def drawn(self, ours: Mapping[str, Any]) -> "Iterator[tuple[Drawing, alt.TopLevelMixin]]":
        """Each picture that our figures are enough for."""
        from penstock.charts.study import Mean, interaction

        cells = ours["cells"]
        for one in FIGURES:
            of = [cell for cell in cells if cell["pattern"] == one.pattern]
            levels = sorted({cell[one.x] for cell in of})
            lines = sorted({cell[one.line] for cell in of})
            points = [
                Mean(str(level), str(line), mean)
                for line in lines
                for level, mean in zip(
                    levels,
                    means(cells, one.pattern, one.x, **{one.line: line}),
                    strict=True,
                )
            ]
            if len(levels) > 1 and len(lines) > 1:
                yield (
                    one,
                    interaction(
                        points,
                        x=NAMES[one.x],
                        line=NAMES[one.line],
                        response="MB/s",
                        logarithmic=True,
                    ),
                )


PICTURES: Gallery = Figures()
