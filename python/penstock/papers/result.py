"""The result of a paper's simulation, as JSON and in a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock import __version__
from penstock.answer.table import Table
from penstock.answer.value import Blocks, Line, Part, headline
from penstock.papers import claims, files, sensitivity
from penstock.papers.claims import Claim
from penstock.papers.sensitivity import Found
from penstock.papers.study import Ours, Study


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
        """Returns the JSON that the command prints."""
        data = self.data()
        if not self.variants:
            del data["sensitivity"]
        return {"penstock": __version__, "set": self.given, **data}


def simulated(
    paper: Study,
    arguments: Mapping[str, str],
    *,
    vary: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Result:
    """Simulate a paper; with `vary` its variants too, each of which `say` is called with."""
    ours = paper.simulate(arguments)
    variants = paper.varied(arguments, say) if vary else ()
    claims = paper.claims(ours)
    return Result(paper=paper, given=arguments, ours=ours, claims=claims, variants=variants)


def blocks(result: Result) -> Blocks:
    """The tables and the claims, for a person."""
    paper = result.paper
    yield [headline("simulated", files.source(paper.name))]
    tables = paper.tables(result.ours)
    yield from ([table if len(tables) > 1 else replace(table, title="")] for table in tables)
    yield [line for claim in result.claims for line in _judged(claim)]
    if result.variants:
        yield [sensitivity_table(paper, result.variants)]


def _judged(claim: Claim) -> Iterator[Part]:
    holds = "holds         " if claim["holds"] else "DOES NOT HOLD "
    yield f"{holds} {claim['id']:<11} {claim['text']}"
    yield Line(f"{'':26} {claims.numbers(claim)}", style="dim")


def sensitivity_table(paper: Study, variants: Sequence[Found]) -> Table:
    """How much hangs on what the paper does not say."""
    about = [] if paper.sensitivity is None else [paper.sensitivity.legend(paper.away)]
    return replace(
        sensitivity.table(variants, paper.away),
        notes=[*about, *(f"{variant['variant']}: {variant['text']}" for variant in variants)],
    )
