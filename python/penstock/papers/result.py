"""The result of a paper's simulation, as JSON and in a terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from penstock import __version__
from penstock.papers import claims, files, sensitivity
from penstock.papers.claims import Claim
from penstock.papers.sensitivity import Found
from penstock.papers.study import Ours, Study
from penstock.papers.table import Table, drawn
from penstock.text import prose


@dataclass(frozen=True, kw_only=True)
class Result:
    """Our figures of a paper under some settings, its claims, and what hangs on what is open."""

    paper: Study
    given: Mapping[str, str]
    ours: Ours
    claims: Sequence[Claim]
    variants: Sequence[Found] = ()

    def data(self) -> dict[str, Any]:
        """All figures, with the published ones."""
        return {
            **self.paper.data(self.ours, self.claims),
            "sensitivity": list(self.variants),
        }

    def json(self) -> dict[str, Any]:
        """What the command prints."""
        data = self.data()
        if not self.variants:
            del data["sensitivity"]
        return {"penstock": __version__, "set": self.given, **data}


def simulated(
    paper: Study,
    given: Mapping[str, str],
    *,
    vary: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Result:
    """Simulate a paper; with `vary` its variants too, each of which `say` is called with."""
    ours = paper.simulate(given)
    variants = paper.varied(given, say) if vary else ()
    claims = paper.claims(ours)
    return Result(paper=paper, given=given, ours=ours, claims=claims, variants=variants)


def show(result: Result, console: Console) -> None:
    """Print the tables, the remarks and the claims."""
    paper = result.paper
    world = Text.assemble(("SIMULATED", "bold"), f"  {files.source(paper.name)}")
    prose.line(console, world)
    blocks = paper.blocks(result.ours)
    for block in blocks:
        if len(blocks) > 1:
            console.print()
            prose.line(console, Text(block.title, style="bold"))
        _table(console, block.table)
        for line in block.remarks:
            _faint(console, line)
    for claim in result.claims:
        holds = "holds         " if claim["holds"] else "DOES NOT HOLD "
        prose.line(console, Text(f"{holds} {claim['id']:<11} {claim['text']}"))
        _faint(console, f"{'':26} {claims.numbers(claim)}")
    if paper.sensitivity is not None and result.variants:
        _table(console, sensitivity.table(result.variants, paper.away))
        _faint(console, paper.sensitivity.legend(paper.away))
        for one in result.variants:
            _faint(console, f"{one['variant']}: {one['text']}")


def _table(console: Console, of: Table) -> None:
    console.print()
    console.print(drawn(of), no_wrap=True, crop=False)
    console.print()


def _faint(console: Console, line: str) -> None:
    prose.line(console, Text(line, style="dim"))
