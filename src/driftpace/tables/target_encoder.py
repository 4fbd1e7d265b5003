"""Encode a column of many categories by the shrunken means of the target in earlier rows.

A category with n earlier labels has the mean of their targets, drawn towards the mean of all as if that were k more of them, with
k the variance within categories over the variance between them (empirical Bayes; the same as scikit-learn's ``TargetEncoder`` with
``smooth="auto"``, but for one variance within all categories). Rows must not be encoded with their own labels: the column would
predict them too well, and a model would promise an accuracy that new rows do not have.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from driftpace.errors import DataError
from driftpace.typing import FloatArray

_SMALLEST_SHARE = 1e-6
"""The least variance between categories, as a share of that within them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetEncoder:
    """Encode categories by the shrunken means of the target in the rows of earlier periods.

    An encoder is not changed: :meth:`updated` returns the next one. Encode the rows of a period with the encoder of the periods
    before it, and update it with their labels once the period is closed.

    Parameters
    ----------
    counts, totals : mapping of str to float
        The number of labels of each category, and the sum of their targets.
    squares : float
        The sum of the squares of all targets.

    Examples
    --------
    >>> encoder = TargetEncoder().updated(["Oslo", "Oslo", "Rome", "Rome"], [1.0, 1.2, 3.0, 2.8])
    >>> encoder.transform(["Oslo", "Rome", "Paris"]).round(2).tolist()
    [1.11, 2.89, 2.0]
    """

    counts: Mapping[str, float] = field(default_factory=dict)
    totals: Mapping[str, float] = field(default_factory=dict)
    squares: float = 0.0

    @property
    def rows(self) -> float:
        """The number of labels so far."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """The mean of all targets; 0 before the first."""
        return sum(self.totals.values()) / self.rows if self.rows else 0.0

    @property
    def smoothing(self) -> float:
        """How many labels the mean of all counts for beside those of a category."""
        rows, used = self.rows, len(self.counts)
        if rows <= used or used < 2:  # no category has two labels, or there is only one
            return max(rows, 1.0)
        counts = np.array(list(self.counts.values()))
        means = np.array([self.totals[name] for name in self.counts]) / counts
        within = max(self.squares - float(counts @ means**2), 0.0) / (rows - used)
        spread = float(counts @ (means - self.mean) ** 2) - within * (used - 1)
        between = spread / (rows - float(counts @ counts) / rows)
        return within / max(between, _SMALLEST_SHARE * within, 1e-300)

    def transform(self, values: Iterable[Any]) -> FloatArray:
        """Return the encoded values; a category without labels, and a missing one, has the mean of all.

        Parameters
        ----------
        values : iterable
            Categories, compared as texts.

        Returns
        -------
        ndarray of float
        """
        mean, smoothing = self.mean, self.smoothing
        known = {
            name: (self.totals[name] + smoothing * mean) / (count + smoothing) for name, count in self.counts.items()
        }
        return np.array([known.get(str(value), mean) for value in values], dtype=np.float64)

    def updated(self, values: Iterable[Any], y: Any) -> Self:
        """Return the encoder with the labels of more rows.

        Parameters
        ----------
        values : iterable
            Their categories.
        y : array-like
            Their targets: numbers, or classes as 0 and 1.

        Raises
        ------
        DataError
            If there is not one finite target for each value.
        """
        names = [str(value) for value in values]
        targets = np.asarray(y, dtype=np.float64)
        if targets.shape != (len(names),) or not np.isfinite(targets).all():
            raise DataError(
                f"must be one finite number for each of {len(names):,} values; got shape {targets.shape}.",
                owner="TargetEncoder.updated",
                name="y",
            )
        counts, totals = dict(self.counts), dict(self.totals)
        for name, target in zip(names, targets.tolist(), strict=True):
            counts[name] = counts.get(name, 0.0) + 1.0
            totals[name] = totals.get(name, 0.0) + target
        return type(self)(counts=counts, totals=totals, squares=self.squares + float(targets @ targets))
