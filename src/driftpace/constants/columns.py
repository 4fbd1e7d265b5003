"""Which columns can be told apart."""

import numpy as np

from driftpace.constants.row_moments import RowMoments
from driftpace.typing import FloatArray

_SINGULAR = 1e-11  # of the scaled Gram matrix: columns whose part outside the others is under 3e-6 of their length
_TOUCHES = 1e-5


def collinear(rows: RowMoments) -> tuple[int, ...]:
    """Return the columns that are zero, or linear combinations of others, in every row seen; columns start at 0.

    All columns of a combination are named, since any of them could be dropped. With fewer rows than columns some always are.

    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> X[:, 3] = X[:, 0] - 2.0 * X[:, 2]
    >>> collinear(RowMoments.none(4).add(X))
    (0, 2, 3)
    """
    return dependent_columns(rows.outer)


def dependent_columns(gram: FloatArray) -> tuple[int, ...]:
    """Return the same from the sum of x x' over rows, in any units.

    >>> X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    >>> dependent_columns(X.T @ X)
    (1,)
    """
    sizes = np.sqrt(np.diag(gram))
    empty = sizes == 0.0
    scale = np.where(empty, 1.0, sizes)
    values, vectors = np.linalg.eigh(gram / scale[:, None] / scale)
    lost = vectors[:, values <= _SINGULAR * len(values)]
    touched = np.einsum("ij,ij->i", lost, lost) > _TOUCHES
    return tuple(int(column) for column in np.flatnonzero(touched | empty))


def identified(rows: RowMoments) -> bool:
    """Return whether the rows seen tell every coefficient apart: as many rows as columns, none of them collinear.

    >>> identified(RowMoments.none(2).add(np.eye(2)))
    True
    """
    return rows.count >= len(rows.outer) and not collinear(rows)
