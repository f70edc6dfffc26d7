"""The terms of a model, as `O + D + O:D`: which factors act, alone and together.

Hierarchy is kept: an interaction stands with all that it is made of, since without its main effects
it would mean something else under another coding of the levels. But a factor may be *nested* in
another, as the runs of a day in that day: `Day + Day:Run` has no `Run`, whose levels are others on
each day.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import chain, combinations
from typing import TypeAlias

from penstock.errors import wrong

Term: TypeAlias = tuple[str, ...]
"""Factors that act together, in the order of the table; one is a main effect."""


def name(term: Term) -> str:
    """Returns the name of a term in a model."""
    return ":".join(term)


def text(terms: Iterable[Term]) -> str:
    """The whole model as it is written."""
    return " + ".join(map(name, terms)) or "1"


def factors_of(model: str) -> list[str]:
    """The names in a model in words."""
    return [name.strip() for name in re.split(r"[+*:]", model) if name.strip()]


def parse(model: str, factors: Iterable[str], columns: Iterable[str] = ()) -> list[Term]:
    """The terms of a model in words; `A*B` stands for `A + B + A:B`.

    `columns` are those of the table, which has more of them than factors.
    """
    factors, columns = list(factors), list(columns)
    for column in factors_of(model):
        if column in columns and column not in factors:
            raise wrong(
                f"--model has {column}, which is a column but not among the factors named",
                f"add --factor {column}, or leave it out of --model; the factors are "
                f"{', '.join(factors)}",
            )
    parsed: list[Term] = []
    for part in model.split("+"):
        crossed = [_term(factor, part, factors) for factor in part.split("*")]
        for many in range(1, len(crossed) + 1):
            parsed += [
                _sorted((factor for term in some for factor in term), factors)
                for some in combinations(crossed, many)
            ]
    terms = sorted(dict.fromkeys(parsed), key=len)
    for term in terms:
        hosts = within(term, terms)
        if not hosts or (hosts in terms and hosts != term):
            continue
        for lower in below(term):
            if lower not in terms:
                whole = text([*below(term), term])
                raise wrong(
                    f"--model has {name(term)} without {name(lower)}, which it is made of",
                    f"write {whole}",
                )
    return terms


def _term(part: str, model: str, factors: Sequence[str]) -> Term:
    names = [name.strip() for name in part.split(":")]
    for name in names:
        if name not in factors:
            near = get_close_matches(name, factors, 1)
            known = f"the factors are {', '.join(factors)}"
            problem = f"a factor {name}" if name else f"nothing in {model.strip() or 'a term'!r}"
            raise wrong(
                f"--model has {problem}, which the table has not"
                if name
                else f"--model has {problem}, where a factor is expected",
                f"did you mean {near[0]}? {known}" if near else known,
            )
        if names.count(name) > 1:
            raise wrong(f"--model has {name} with itself", f"write {name}")
    return _sorted(names, factors)


def _sorted(names: Iterable[str], factors: Sequence[str]) -> Term:
    return tuple(sorted(set(names), key=factors.index))


def below(term: Term) -> list[Term]:
    """Returns the lower terms that a term is made of."""
    return [lower for many in range(1, len(term)) for lower in combinations(term, many)]


def within(term: Term, terms: Sequence[Term]) -> Term:
    """The factors of a term whose other factors are nested in them: `Day` of `Day:Run`.

    A factor is crossed with the rest of a term if the model has that rest, as R reads a model.
    """
    return tuple(factor for factor in term if len(term) > 1 and without(term, factor) not in terms)


def without(term: Term, factor: str) -> Term:
    """A term less one of its factors."""
    return tuple(name for name in term if name != factor)


def nested(terms: Sequence[Term]) -> list[str]:
    """The factors that a model has within others alone."""
    return [name for name in dict.fromkeys(chain.from_iterable(terms)) if (name,) not in terms]


def pairs(factors: Iterable[str]) -> list[Term]:
    """All main effects and all interactions of two."""
    factors = list(factors)
    return [(factor,) for factor in factors] + list(combinations(factors, 2))


def droppable(terms: Sequence[Term]) -> list[Term]:
    """Terms that no other one is made of."""
    return [term for term in terms if not any(term in below(larger) for larger in terms)]
