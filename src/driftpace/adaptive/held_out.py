"""Rows that are bought for the audit alone: they enter no fit and no decision, and measure the final model of their period.

Which rows of a period are held out follows from their places alone, so that nothing that the rows show has a part in it, and
deliveries in pieces change nothing. Every second row of the first six is held out, since a mean product needs three, and later as
many as keep the share.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.adaptive.audit import Measured, gradients_at, mean_product
from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.state import PeriodJudgement
from driftpace.errors import ParameterError
from driftpace.typing import BoolArray, IntArray

LEAST = 3
"""The rows, or groups, held out in a period in which anything is ordered: the fewest that measure a risk with its error."""

MOST_SHARE = 0.5
"""The largest share that can be held out."""

_LARGE_GROUP = 5.0
"""Six groups of up to so many rows are ordered, however few rows are to be fitted. Where groups are larger, an order is at most
doubled: a few large groups grow with the order, and no order brings six of them."""


def check_audit(owner: str, audit: Any) -> None:
    """Refuse a share that cannot be held out."""
    if audit is None:
        return
    try:
        validation.fraction(owner, audit=audit)
    except ParameterError:
        audit = repr(audit)
    if isinstance(audit, str) or audit > MOST_SHARE:
        raise ParameterError(
            f"must be a share of each order, above 0 and at most {MOST_SHARE:g}; got {audit}.",
            owner=owner,
            name="audit",
        )


def held_out_rows(count: int, share: float, groups: IntArray | None = None) -> BoolArray:
    """Return which of ``count`` rows are held out; with ``groups``, numbered in the order of their first rows, whole groups.

    >>> held_out_rows(8, 0.1).tolist()
    [False, True, False, True, False, True, False, False]
    """
    units = count if groups is None or not count else int(groups.max()) + 1
    after = _held_out(np.arange(1, units + 1), share)
    chosen = np.diff(after, prepend=0) > 0
    return np.asarray(chosen if groups is None else chosen[groups])


def _held_out(units: IntArray, share: float) -> IntArray:
    """Return how many of the first so many rows, or groups, are held out."""
    return np.asarray(np.maximum(np.floor(units * share + 1e-9).astype(np.int64), np.minimum(units // 2, LEAST)))


@dataclass(frozen=True, kw_only=True, slots=True)
class RowCounts:
    """The rows of an open period: ``gathered`` in all, and those of them that are ``fitted``; the others are held out.

    ``share`` is the share held out, None for none. The rows come in ``units``: as many groups, of ``group_size`` rows on average.
    """

    share: float | None
    gathered: int
    fitted: int
    units: int
    group_size: float = 1.0

    def to_total(self, fitted: int) -> int:
        """Return how many rows in all the period has when so many are to be fitted: of groups, on average.

        No order is more than doubled, beyond what six small groups need.

        >>> RowCounts(share=0.1, gathered=0, fitted=0, units=0).to_total(90)
        99
        >>> RowCounts(share=0.1, gathered=0, fitted=0, units=0, group_size=100.0).to_total(90)
        180
        """
        if self.share is None or fitted <= self.fitted:
            return self.gathered + max(fitted - self.fitted, 0) if self.share is None else self.gathered
        wanted = self._fitted_units(self.units) + math.ceil((fitted - self.fitted) / self.group_size - 1e-9)
        units = max(wanted + LEAST, math.floor(wanted / (1.0 - self.share)) - 1, self.units)
        while self._fitted_units(units) < wanted:
            units += 1
        while units > max(self.units, 2 * LEAST) and self._fitted_units(units - 1) >= wanted:
            units -= 1
        units = max(units, 2 * LEAST)
        most = max(2 * (fitted - self.fitted), math.ceil(2 * LEAST * min(self.group_size, _LARGE_GROUP)))
        return self.gathered + min(math.ceil((units - self.units) * self.group_size - 1e-9), most)

    def to_fitted(self, total: int) -> int:
        """Return how many rows are fitted when the period has so many in all, at least those delivered: of groups, on average.

        >>> RowCounts(share=0.1, gathered=0, fitted=0, units=0).to_fitted(100)
        90
        """
        more = max(total - self.gathered, 0)
        if self.share is None:
            return self.fitted + more
        units = self.units + math.floor(more / self.group_size + 1e-9)
        fitted = math.floor((self._fitted_units(units) - self._fitted_units(self.units)) * self.group_size)
        return self.fitted + (fitted if self.group_size == 1.0 else max(fitted, more // 2))

    def _fitted_units(self, units: int) -> int:
        assert self.share is not None
        return units - int(_held_out(np.array(units), self.share))


def count_rows(share: float | None, gathered: int, groups: IntArray | None, usual_size: float) -> RowCounts:
    """Return the counts of the rows delivered; groups are ``usual_size`` rows large where none were delivered yet."""
    if share is None:
        return RowCounts(share=None, gathered=gathered, fitted=gathered, units=gathered)
    held = held_out_rows(gathered, share, groups)
    units = gathered if groups is None or not gathered else int(groups.max()) + 1
    return RowCounts(
        share=share,
        gathered=gathered,
        fitted=gathered - int(held.sum()),
        units=units,
        group_size=gathered / units if units else max(usual_size, 1.0),
    )


def measured_on(held: DesignRows, judged: PeriodJudgement) -> Measured | None:
    """Return the excess risk of the model of a period, measured on rows that had no part in it; None where they are too few."""
    white = judged.coordinates
    curvature = 1.0 if judged.fit is None else judged.fit.curvature
    gradients = gradients_at(held, None, white, judged.model, curvature)
    return mean_product(gradients, judged.noise, held.groups, held.weights)
