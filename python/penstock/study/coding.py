"""The matrix of a model: levels coded so that the effects of a factor sum to zero over them."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.study.model import Term, within
from penstock.study.table import Level

Vector: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]


def coding(levels: int) -> Vector:
    """A row of codes for each level: they sum to zero over the levels."""
    return np.vstack([np.eye(levels - 1), -np.ones(levels - 1)])


def matrix(
    codes: Mapping[str, Codes], levels: Mapping[str, Sequence[Level]], terms: Sequence[Term]
) -> tuple[Vector, dict[Term, slice]]:
    """The sum-coded matrix of a model, the constant first, and where its terms are."""
    rows = len(next(iter(codes.values())))
    parts, slices, at = [np.ones((rows, 1))], {}, 1
    for term in terms:
        combinations, coded = term_rows(codes, levels, term, terms)
        number = {combination: n for n, combination in enumerate(combinations)}
        every = zip(*(codes[factor].tolist() for factor in term), strict=True)
        part = coded[[number[combination] for combination in every]]
        parts.append(part)
        slices[term] = slice(at, at + part.shape[1])
        at += part.shape[1]
    return np.hstack(parts), slices


def term_rows(
    codes: Mapping[str, Codes],
    levels: Mapping[str, Sequence[Level]],
    term: Term,
    terms: Sequence[Term],
) -> tuple[list[tuple[int, ...]], Vector]:
    """The combinations of a term's levels, by their numbers, and a row of codes for each.

    Crossed factors have all combinations. Levels of nested factors are coded apart within each
    combination of the factors that they are nested in, where only those count that were run.
    """
    hosts = within(term, terms)
    if not hosts:
        row: Vector = np.ones((1, 1))
        for factor in term:
            row = np.asarray(np.kron(row, coding(len(levels[factor]))))
        return list(product(*(range(len(levels[factor])) for factor in term))), row
    ran = sorted(set(zip(*(codes[factor].tolist() for factor in term), strict=True)))
    by_host: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    at_host = [at for at, factor in enumerate(term) if factor in hosts]
    for combination in ran:
        by_host.setdefault(tuple(combination[at] for at in at_host), []).append(combination)
    blocks = [_nested(part, at_host) for part in by_host.values()]
    whole = np.zeros((len(ran), sum(block.shape[1] for block in blocks)))
    row_at = column_at = 0
    for block in blocks:
        rows, columns = block.shape
        whole[row_at : row_at + rows, column_at : column_at + columns] = block
        row_at, column_at = row_at + rows, column_at + columns
    return [combination for part in by_host.values() for combination in part], whole


def _nested(ran: Sequence[tuple[int, ...]], at_host: Sequence[int]) -> Vector:
    """The codes of the combinations that were run with one combination of the hosts."""
    block: Vector = np.ones((len(ran), 1))
    for at in range(len(ran[0])):
        if at not in at_host:
            known = sorted({combination[at] for combination in ran})
            rows = coding(len(known))[[known.index(combination[at]) for combination in ran]]
            block = (block[:, :, None] * rows[:, None, :]).reshape(len(ran), -1)
    return block


def estimable(x: Vector) -> bool:
    """Whether every coefficient can be separated from the others."""
    return bool(x.shape[0] >= x.shape[1]) and int(np.linalg.matrix_rank(x)) == x.shape[1]
