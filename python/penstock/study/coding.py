"""The matrix of a model: levels coded so that the effects of a factor sum to zero over them."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.study.model import Term
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
        part = np.ones((rows, 1))
        for factor in term:
            columns = coding(len(levels[factor]))[codes[factor]]
            part = (part[:, :, None] * columns[:, None, :]).reshape(rows, -1)
        parts.append(part)
        slices[term] = slice(at, at + part.shape[1])
        at += part.shape[1]
    return np.hstack(parts), slices


def estimable(x: Vector) -> bool:
    """Whether every coefficient can be separated from the others."""
    return bool(x.shape[0] >= x.shape[1]) and int(np.linalg.matrix_rank(x)) == x.shape[1]
