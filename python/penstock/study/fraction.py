"""Fraction of a design: the cells that estimate a model's terms best if not all can be run.

D-optimal: the cells for which the determinant of the information about the coefficients is
greatest, so that the volume of their joint confidence region is least. Found by exchanging cells as
Fedorov (1972, *Theory of Optimal Experiments*) does, the best exchange first.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.errors import needs, wrong

if TYPE_CHECKING:
    from penstock.study.model import Term

STARTS = 3
"""Random choices from which exchanges begin; the best end is taken."""

ENOUGH = 1e-9
"""An exchange gains at least so much of the determinant."""

EXCHANGES = 10_000
"""At most, from one start."""

AFRESH = 50
"""Exchanges after which rounding is taken out."""

FEW = 32
"""Number of cells of the choice, and of the rest, looked at first while exchanging them gains."""

DIGITS = 9
"""Decimal digits to which gains are compared, so that rounding does not choose."""

RIDGE = 1e-6
"""Added to the information, so that a start may be a poor one."""


def chosen(
    cells: Sequence[Mapping[str, Any]], terms: "Sequence[Term]", runs: int, seed: int
) -> list[int]:
    """The numbers of `runs` of the `cells`, ascending, that estimate the `terms` best.

    The same arguments give the same cells. No cell is chosen twice.
    """
    needs("numpy", feature="a fraction of a design")
    import numpy as np

    from penstock.study.coding import matrix

    if runs > len(cells):
        raise wrong(f"found {runs} runs of {len(cells)} cells", "a fraction has fewer")
    levels: dict[str, list[Any]] = {}
    for name in cells[0]:
        levels[name] = list(dict.fromkeys(cell[name] for cell in cells))
    used = {name for term in terms for name in term}
    levels = {name: known for name, known in levels.items() if name in used}
    codes = {
        name: np.array([known.index(cell[name]) for cell in cells])
        for name, known in levels.items()
    }
    x, _ = matrix(codes, levels, terms)
    if runs < x.shape[1]:
        raise wrong(
            f"found {runs} runs for a model of {x.shape[1]} coefficients",
            f"a fraction for this model has at least {x.shape[1]}",
        )
    random = np.random.Generator(np.random.PCG64(seed))
    fractions = [_exchanged(x, random.permutation(len(cells))[:runs]) for _ in range(STARTS)]
    best = max(fractions, key=lambda result: _determinant(x[result]))
    if int(np.linalg.matrix_rank(x[best])) < x.shape[1]:
        raise wrong(
            f"no {runs} of the {len(cells)} cells separate all terms of the model",
            "leave out interactions whose combinations of levels cannot be run",
        )
    return sorted(int(cell) for cell in best)


def _determinant(x: Any) -> float:  # noqa: ANN401 # numpy is imported where it is needed
    import numpy as np

    return float(np.linalg.slogdet(_information(x))[1])


def _information(x: Any) -> Any:  # noqa: ANN401
    import numpy as np

    return x.T @ x + RIDGE * np.eye(x.shape[1])


def _exchanged(x: Any, begin: Any) -> Any:  # noqa: ANN401
    """A choice that no exchange of two cells makes better."""
    import numpy as np

    inside = np.array(begin)
    outside = np.setdiff1d(np.arange(len(x)), inside)
    few = True
    for number in range(EXCHANGES):
        if not len(outside):
            break
        if number % AFRESH == 0:
            inverse = np.linalg.inv(_information(x[inside]))
            variance = np.einsum("ij,ij->i", x @ inverse, x)
        # Those tell least whose rates are known best without them, and the others most.
        leaving = np.argsort(variance[inside], kind="stable")[: FEW if few else None]
        coming = np.argsort(-variance[outside], kind="stable")[: FEW if few else None]
        gone, come = x[inside[leaving]], x[outside[coming]]
        # By how much the determinant grows if one goes and the other comes.
        gain = (1 - variance[inside[leaving]])[:, None] * (1 + variance[outside[coming]])[None, :]
        gain += (gone @ inverse @ come.T) ** 2
        at = int(np.argmax(gain.round(DIGITS)))
        if gain.flat[at] < 1 + ENOUGH:
            if not few:
                break
            few = False
            continue
        out, new = divmod(at, len(coming))
        out, new = int(leaving[out]), int(coming[new])
        for cell, sign in ((outside[new], 1), (inside[out], -1)):
            along = inverse @ x[cell]
            scale = sign / (1 + sign * float(x[cell] @ along))
            variance = variance - scale * (x @ along) ** 2
            inverse = inverse - scale * np.outer(along, along)
        inside[out], outside[new] = outside[new], inside[out]
        few = True
    return inside
