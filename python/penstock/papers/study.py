"""What every paper is to the command, to its report and to its page in the documentation."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from penstock.answer.table import Table
from penstock.papers.claims import Claim
from penstock.papers.pictures import Gallery
from penstock.papers.published import POINTS, Away
from penstock.papers.sensitivity import Found, Sensitivity
from penstock.papers.settings import Settings

Say: TypeAlias = Callable[[str], object]
"""Takes a line about the part of the work that begins."""

Ours: TypeAlias = Any
"""Our figures of a paper, as JSON has them: what `Study.simulate` returns."""


@dataclass(frozen=True, kw_only=True)
class UnderKernel:
    """Figures under the kernel of this machine, or the reasons why there are none."""

    tables: Sequence[Table] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()
    """What did not run, each with the reason."""


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """A paper whose figures are made again."""

    name: str
    help: str
    """What the command makes again, and of what."""
    settings: Settings
    cases: str
    """What the numbers of a claim are, a heading."""
    pictures: Gallery | None = None
    sensitivity: Sensitivity | None = None
    keep: "Callable[[Ours, str], None] | None" = None
    """Writes the runs of our figures into a new folder, as `penstock study run` does."""
    under_kernel: "Callable[[Mapping[str, str], Ours, Say], UnderKernel] | None" = None
    """Measures the same under the kernel of this machine, which takes root; by the settings, our
    figures, and what says which part begins."""
    quick: Sequence[str] = ()
    """Settings, as `--set` has them, under which all is there within some seconds."""

    @property
    def away(self) -> Away:
        """In what our figures are compared with the paper's."""
        return POINTS

    @abstractmethod
    def simulate(self, arguments: Mapping[str, str]) -> Ours:
        """Our figures under some settings."""

    @abstractmethod
    def claims(self, ours: Ours) -> list[Claim]:
        """Returns the paper's claims, judged by our figures."""

    @abstractmethod
    def tables(self, ours: Ours) -> Sequence[Table]:
        """The tables, the main one first; the name of each is its place in `page.md`."""

    @abstractmethod
    def data(self, ours: Ours, claims: Sequence[Claim]) -> dict[str, Any]:
        """Our figures, the claims and what was published, by their names in the JSON."""

    @abstractmethod
    def read(self, data: Mapping[str, Any]) -> Ours:
        """Our figures of that JSON."""

    def varied(self, _given: Mapping[str, str], _say: Say) -> Sequence[Found]:
        """How much hangs on what is open; `say` is called with the next variant."""
        return ()
