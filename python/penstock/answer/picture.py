"""A picture of an answer: a chart with its names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A chart, what it is called, and which question it answers of what."""

    name: str
    """The name of its file."""
    title: str
    """Stands above it where it stands alone."""
    chart: "alt.TopLevelMixin"
    kind: str = ""
    """Which question it answers."""
    caption: str = ""
    """The class, policy or pair of factors that it is about, if there are several."""
    about: Sequence[str] = ()
    """Lines that say below its title what ran where, and when."""
