"""The smoothness of the loss of one row, L."""

import math
from dataclasses import dataclass, field

import numpy as np

from driftpace.records import Estimate
from driftpace.typing import FloatArray, IntArray

_PER_OCTAVE = 4
_BINS = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Smoothness:
    """The largest smoothness of a row, and a histogram on a logarithmic scale: ``_PER_OCTAVE`` bins for each factor of 2.

    Bin j counts sizes up to 2^((top - j)/4); what is smaller than all bins is counted in the last.
    """

    rows: int = 0
    largest: float = 0.0
    top: int = 0
    bins: IntArray = field(default_factory=lambda: np.zeros(_BINS, dtype=np.int64))

    def add(self, sizes: FloatArray) -> "Smoothness":
        """Return the summary with more rows."""
        if len(sizes) == 0:
            return self
        largest = max(self.largest, float(sizes.max()))
        if not (0.0 < largest < math.inf):
            return Smoothness(rows=self.rows + len(sizes), largest=largest, top=self.top, bins=self.bins)
        top = math.ceil(_PER_OCTAVE * math.log2(largest))
        shift = min(top - self.top, _BINS - 1) if self.largest > 0.0 else 0
        bins = np.zeros(_BINS, dtype=np.int64)
        bins[shift:] = self.bins[: _BINS - shift]
        bins[-1] += self.bins[_BINS - shift :].sum()
        found = np.where(sizes > 0.0, sizes, largest * 2.0 ** (-_BINS))
        places = np.clip(top - np.ceil(_PER_OCTAVE * np.log2(found)), 0, _BINS - 1).astype(np.int64)
        return Smoothness(
            rows=self.rows + len(sizes), largest=largest, top=top, bins=bins + np.bincount(places, minlength=_BINS)
        )

    def estimate(self, quantile: float | None) -> Estimate | None:
        """Return the largest seen, times (N+1)/N at its upper end, or a quantile rounded up to its bin (theory 2, row L).

        >>> Smoothness().add(np.array([1.0, 2.0, 4.0])).estimate(None).upper
        5.333333
        """
        if self.rows == 0:
            return None
        upper = self.largest * (self.rows + 1) / self.rows
        if quantile is None:
            return Estimate(
                value=self.largest,
                lower=self.largest,
                upper=upper,
                rows=self.rows,
                account="largest smoothness of a row seen; for rows without a limit on their size L does not exist",
            )
        above = np.cumsum(self.bins)  # rows in this bin or a higher one
        place = int(np.searchsorted(above, (1.0 - quantile) * self.rows, side="right"))
        value = min(self.largest, 2.0 ** ((self.top - min(place, _BINS - 1)) / _PER_OCTAVE))
        return Estimate(
            value=value,
            lower=value,
            upper=value,
            rows=self.rows,
            account=f"{quantile:g}-quantile of the smoothness of rows, rounded up; rows above it are not covered",
        )
