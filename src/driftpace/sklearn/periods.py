"""The periods of rows: in the order of their values, and a cross-validation that respects it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from driftpace import validation
from driftpace.errors import DataError
from driftpace.typing import IntArray


def read_periods(period: Any, rows: int, owner: str, name: str = "period") -> list[tuple[Any, IntArray]]:
    """Return each period with the places of its rows, in the order of the values.

    >>> [(value, places.tolist()) for value, places in read_periods(["b", "a", "b"], 3, "fit")]
    [('a', [1]), ('b', [0, 2])]
    """
    if hasattr(period, "to_numpy") and not isinstance(period, np.ndarray):
        period = period.to_numpy()
    given = np.asarray(period)
    if given.ndim == 0:
        given = np.full(rows, period)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (rows,):
        raise DataError(
            f"must have one entry for each of the {rows} rows of X, or be one value for all; got shape {given.shape}.",
            owner=owner,
            name=name,
        )
    missing = np.array([value is None or not _same(value) for value in given], dtype=bool)
    if missing.any():
        place = int(np.argmax(missing))
        raise DataError(f"must have no missing entries; got {given[place]!r} in row {place}.", owner=owner, name=name)
    try:
        values, of_row = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError("must be values of one kind, so that they have an order.", owner=owner, name=name) from None
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(values)))[:-1]
    named = list(values) if values.dtype.kind in "mM" else values.tolist()  # as numbers, dates would lose their unit
    return list(zip(named, np.split(order, ends), strict=True))


def _same(value: Any) -> bool:
    """Return whether a value equals itself, which NaN, NaT and NA do not."""
    try:
        return bool(value == value)
    except TypeError:
        return False


class PeriodSplit(BaseCrossValidator):
    """Train on all periods before one, test on that one, as a model in use is tested.

    ``groups`` are the periods of the rows. With metadata routing they are asked for by themselves, so that
    ``cross_val_score(..., cv=PeriodSplit(), params={"groups": months, "period": months})`` passes them on.

    Parameters
    ----------
    n_splits : int, default 5
        How many of the last periods are tested, one after the other.

    Examples
    --------
    >>> for train, test in PeriodSplit(n_splits=2).split([[0], [1], [2], [3]], groups=["may", "june", "april", "june"]):
    ...     print(train, test)
    [2] [1 3]
    [1 2 3] [0]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012  as scikit-learn's splitters by group declare it

    def __init__(self, n_splits: int = 5) -> None:
        self.n_splits = n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:  # noqa: ARG002
        """Return the places of the rows to train on and to test on, for each tested period.

        Parameters
        ----------
        X : array-like or data frame
            The rows.
        y : array-like, optional
            Not used.
        groups : array-like
            The period of each row; periods are in the order of their values.
        """
        validation.count("PeriodSplit", least=1, n_splits=self.n_splits)
        if groups is None:
            raise DataError("must be the periods of the rows; got None.", owner="PeriodSplit.split", name="groups")
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        periods = read_periods(groups, rows, "PeriodSplit.split", "groups")
        if len(periods) <= self.n_splits:
            raise DataError(
                f"must have more than n_splits={self.n_splits} periods; got {len(periods)}.",
                owner="PeriodSplit.split",
                name="groups",
            )
        for place in range(len(periods) - self.n_splits, len(periods)):
            yield np.sort(np.concatenate([rows for _, rows in periods[:place]])), periods[place][1]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return ``n_splits``."""
        return self.n_splits
