"""The result of a paper's simulation, as JSON and in a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock import __version__
from penstock.answer.table import Table
from penstock.answer.value import Blocks, Line, Part, headline
from penstock.papers import claims, files, sensitivity
from penstock.papers.claims import Claim
from penstock.papers.sensitivity import Found
from penstock.papers.study import Ours, Say, Study, UnderKernel


@dataclass(frozen=True, kw_only=True)
class Result:
    """Our figures of a paper under some settings, its claims, and what hangs on what is open."""

    paper: Study
    given: Mapping[str, str]
    ours: Ours
    claims: Sequence[Claim]
    variants: Sequence[Found] = ()
    kernel: UnderKernel | None = None
    """The same under the kernel, if it was asked for."""

    def data(self) -> dict[str, Any]:
        """All figures, with the published ones."""
        return {
            **self.paper.data(self.ours, self.claims),
            "sensitivity": list(self.variants),
            **({} if self.kernel is None else {"kernel": self.kernel.data}),
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
    kernel: bool = False,
    say: Say = lambda _: None,
) -> Result:
    """Simulate a paper; with `vary` its variants too, with `kernel` the same under the kernel.

    `say` is called with each part that begins.
    """
    ours = paper.simulate(arguments)
    measure = paper.under_kernel if kernel else None
    return Result(
        paper=paper,
        given=arguments,
        ours=ours,
        claims=paper.claims(ours),
        variants=paper.varied(arguments, say) if vary else (),
        kernel=None if measure is None else measure(arguments, ours, say),
    )


def blocks(result: Result) -> Blocks:
    """The tables and the claims, for a person."""
    paper = result.paper
    yield [headline("simulated", files.source(paper.name))]
    tables = paper.tables(result.ours)
    yield from ([table if len(tables) > 1 else replace(table, title="")] for table in tables)
    yield [line for claim in result.claims for line in _judged(claim)]
    if result.variants:
        yield [sensitivity_table(paper, result.variants)]
    if (kernel := result.kernel) is not None:
        yield from ([table] for table in kernel.tables)
        yield [Line(f"missing: {why}", style="dim") for why in kernel.missing]


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
