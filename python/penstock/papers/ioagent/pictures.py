"""The figures of the IOAgent paper: interactions of pairs of factors."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.papers.ioagent.claims import means
from penstock.papers.ioagent.setting import PATTERNS
from penstock.papers.pictures import Gallery

if TYPE_CHECKING:
    import altair as alt

NAMES = {
    "O": "access",
    "A": "agents on a disk",
    "B": "buffers of an agent",
    "S": "KiB of a buffer",
}


class Interaction(NamedTuple):
    """The mean rates of a pattern by two factors."""

    title: str
    pattern: str
    x: str
    line: str


READ, WRITE, RANDOM_READ, _ = PATTERNS

FIGURES = {
    "figure-1-top": Interaction("Figure 1, top: O and S, sequential reads", READ, "S", "O"),
    "figure-1-bottom": Interaction("Figure 1, bottom: O and B, sequential reads", READ, "B", "O"),
    "figure-2-top": Interaction("Figure 2, top: A and O, sequential writes", WRITE, "A", "O"),
    "figure-2-bottom": Interaction("Figure 2, bottom: A and B, sequential writes", WRITE, "B", "A"),
    "figure-3": Interaction("Figure 3: A and B, random reads", RANDOM_READ, "B", "A"),
}


def _charts(ours: Mapping[str, Any]) -> "Iterator[tuple[str, alt.TopLevelMixin]]":
    """Yields each picture that our figures are enough for."""
    from penstock.charts.study import Mean, interaction

    cells = ours["cells"]
    for name, figure in FIGURES.items():
        of_pattern = [cell for cell in cells if cell["pattern"] == figure.pattern]
        levels = sorted({cell[figure.x] for cell in of_pattern})
        lines = sorted({cell[figure.line] for cell in of_pattern})
        points = [
            Mean(str(level), str(line), mean)
            for line in lines
            for level, mean in zip(
                levels, means(cells, figure.pattern, figure.x, **{figure.line: line}), strict=True
            )
        ]
        if len(levels) > 1 and len(lines) > 1:
            names = {"x": NAMES[figure.x], "line": NAMES[figure.line]}
            yield name, interaction(points, **names, response="MB/s", logarithmic=True)


PICTURES = Gallery(
    title="Interactions",
    about=(
        "Figures 1 to 3 of the paper, made again: mean rates over all cells with a level of each "
        "of two factors, on a logarithmic scale. Parallel lines mean that neither factor changes "
        "what the other does."
    ),
    titles={name: figure.title for name, figure in FIGURES.items()},
    charts=_charts,
)
