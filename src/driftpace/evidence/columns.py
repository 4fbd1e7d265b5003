"""Which columns can be told apart."""

import numpy as np

from driftpace.evidence.bent_rows import BentRows

_SINGULAR = 1e-11  # of the scaled Gram matrix: columns whose part outside the others is under 3e-6 of their length
_TOUCHES = 1e-5


def collinear(rows: BentRows) -> tuple[int, ...]:
    """Return the columns that are zero, or linear combinations of others, in every row seen; columns start at 0.

    All columns of a combination are named, since any of them could be dropped. With fewer rows than columns some always are.

    >>> from driftpace.losses import SquaredLoss
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> X[:, 3] = X[:, 0] - 2.0 * X[:, 2]
    >>> collinear(BentRows.none(4).add(SquaredLoss(), np.zeros(4), X, np.zeros(50)))
    (0, 2, 3)
    """
    sizes = np.sqrt(np.diag(rows.gram))
    empty = sizes <= 1e-150 * max(1.0, float(sizes.max(initial=0.0)))
    scale = np.where(empty, 1.0, sizes)
    values, vectors = np.linalg.eigh(rows.gram / scale[:, None] / scale)
    lost = vectors[:, values <= _SINGULAR * len(values)]
    touched = np.einsum("ij,ij->i", lost, lost) > _TOUCHES
    return tuple(int(column) for column in np.flatnonzero(touched | empty))


def identified(rows: BentRows) -> bool:
    """Return whether the rows seen tell every coefficient apart: as many rows as columns, none of them collinear."""
    return rows.count >= len(rows.gram) and not collinear(rows)
