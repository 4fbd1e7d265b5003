"""Whether the columns seen so far are linearly independent, and which are not.

Without a penalty the risk has curvature only if no column is a linear combination of others. The sum of x x' over everything
seen can only gain rank, so it is watched until it has full rank and then dropped. A column that is constant in a few rows,
or fewer rows than columns, is ordinary life: the verdict waits for ten rows for each column.
"""

import numpy as np
from scipy.linalg import qr

from driftpace.errors import DataError
from driftpace.tracker.state import Settings, State
from driftpace.typing import FloatArray

ROWS_PER_COLUMN = 10
_SINGULAR = 1e-12


def after_more_rows(settings: Settings, state: State, X: FloatArray) -> FloatArray | None:
    """Return the watched sum after more rows, None once the columns are independent; DataError names those that are not."""
    if state.gram is None:
        return None
    gram = state.gram + X.T @ X
    dependent = dependent_columns(gram, keep=len(gram) - 1 if settings.fit_intercept else None)
    if not dependent:
        return None
    if state.rows_seen + len(X) >= ROWS_PER_COLUMN * len(gram):
        shown = ", ".join(_shown(settings, state, column) for column in dependent)
        raise DataError(
            f"tell(X=...) must have linearly independent columns when l2=0; over the {state.rows_seen + len(X)} rows seen, "
            f"{shown} can be written by the other columns: drop it, or set l2 above 0."
        )
    return gram


def dependent_columns(gram: FloatArray, *, keep: int | None = None) -> tuple[int, ...]:
    """Return the columns that are zero or combinations of the others, by pivoted QR of the scaled sum of x x'.

    Of several columns that depend on each other any could be named; the column ``keep`` is named last.

    >>> X = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [2.0, 0.0, 2.0]])
    >>> len(dependent_columns(X.T @ X))
    1
    """
    size = np.sqrt(np.diag(gram))
    scale = np.where(size > 0.0, size, 1.0)
    if keep is not None:
        scale[keep] /= 1e3  # pivoting takes the longest column first
    triangle, pivots = qr(gram / np.outer(scale, scale), mode="r", pivoting=True)
    rank = int((np.abs(np.diag(triangle)) > _SINGULAR * len(gram)).sum())
    return tuple(sorted(int(column) for column in pivots[rank:]))


def _shown(settings: Settings, state: State, column: int) -> str:
    if settings.fit_intercept and column == state.features:
        return "the intercept"
    return f"column {state.columns[column]!r}" if state.columns else f"column {column}"
