"""Colours, dashes and shapes of charts, on light and on dark backgrounds.

Each policy has a colour, a dash and a shape, so that readers need not distinguish colours. Among
the first twenty-four, no two policies share two of the three. Colours are from the palettes of
Okabe and Ito and of Tol, made darker or lighter until their contrast with the background is 3:1.
Charts are drawn in the light colours; each has one purpose, so a style sheet can replace it with
the dark one (`dark`).
"""

from typing import NamedTuple


class Pair(NamedTuple):
    """A colour on a light background and its counterpart on a dark one."""

    light: str
    dark: str


GROUND = Pair("#ffffff", "#16181c")
INK = Pair("#23262b", "#e4e6ea")
FAINT = Pair("#5f6670", "#a4abb6")
GRID = Pair("#e3e6ea", "#31353c")
AXIS = Pair("#8d949e", "#6d747e")
INSIDE = Pair("#1d2025", "#f2f4f7")
"""Colour of text on a bar."""

POLICIES = (
    Pair("#0072b2", "#56b4e9"),
    Pair("#c84e00", "#ff9a4d"),
    Pair("#00805c", "#35cda0"),
    Pair("#a8438f", "#e89bd6"),
    Pair("#806300", "#e3c34b"),
    Pair("#4a4e55", "#c3c7ce"),
    Pair("#6647c4", "#b5a1ff"),
    Pair("#b3224a", "#ff7f9f"),
)
"""Colours of lines, by a policy's number."""

DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4])
"""Dashes of lines; the first is solid. Two fewer than the colours, so that pairs differ."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "arrow")
"""Shapes of the marks on lines; one fewer than the colours, so that pairs differ."""

CLASSES = (
    Pair("#b9d5ec", "#1f4f78"),
    Pair("#f6cfa6", "#7a4410"),
    Pair("#bce3cd", "#165c43"),
    Pair("#e9c8e2", "#6f2c60"),
    Pair("#efe2a2", "#5f4d06"),
    Pair("#d3d6db", "#4b5058"),
    Pair("#d5ccf5", "#43318a"),
    Pair("#f4c3cf", "#7d2039"),
)
"""Colours of areas, by a class's number; text on them has the colour INSIDE."""

DRAWN = (INK, FAINT, GRID, AXIS, INSIDE, *POLICIES, *CLASSES)
"""All colours of charts, except the background."""


def dark(selector: str) -> str:
    """Return style rules that draw SVG below `selector` in dark colours."""
    rules = [f"{selector} [{name}='{GROUND.light}']{{{name}:{GROUND.dark}}}" for name in PAINTS]
    for light, dark_colour in DRAWN:
        rules += [f"{selector} [{name}='{light}']{{{name}:{dark_colour}}}" for name in PAINTS]
    return "\n".join(rules)


PAINTS = ("fill", "stroke")
"""SVG attributes with a colour."""
