"""Whether the columns seen so far can be told apart, and which can not.

Without a penalty the risk has curvature only if no column is a linear combination of others. The sum of x x' over everything
seen can only gain rank, so it is watched until it has full rank and then dropped. A column that is constant in a few rows,
or fewer rows than columns, is ordinary life: the verdict waits for ten rows for each column.
"""

from driftpace.constants import dependent_columns
from driftpace.errors import CollinearColumnsError
from driftpace.tracker.state import Settings, State
from driftpace.typing import FloatArray

ROWS_PER_COLUMN = 10


def after_more_rows(settings: Settings, state: State, X: FloatArray) -> FloatArray | None:
    """Return the watched sum after more rows, None once the columns are independent; else CollinearColumnsError."""
    if state.gram is None:
        return None
    gram = state.gram + X.T @ X
    dependent = dependent_columns(gram)
    if not dependent:
        return None
    rows = state.rows_seen + len(X)
    if rows >= ROWS_PER_COLUMN * len(gram):
        shown = " and ".join(_shown(settings, state, column) for column in dependent)
        raise CollinearColumnsError(
            f"must have linearly independent columns when l2=0; over the {rows} rows seen, {shown} "
            "cannot be told apart: drop one, or set l2 above 0.",
            owner="Tracker.tell",
            name="X",
            columns=tuple(int(column) for column in dependent),
            rows=rows,
        )
    return gram


def _shown(settings: Settings, state: State, column: int) -> str:
    if settings.fit_intercept and column == state.features:
        return "the intercept"
    return f"column {state.columns[column]!r}" if state.columns else f"column {column}"
