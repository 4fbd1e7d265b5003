"""The variance of the residual y - x'w* (squared loss)."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.constants.concentration import positive_ends
from driftpace.constants.own_fit import OwnFit
from driftpace.constants.units import in_units, largest_entry, shrink, unit_for
from driftpace.records import Estimate
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """Sums over residuals in units of ``unit``: squares over ``freedom`` degrees of freedom, fourth powers over ``rows``."""

    rows: int = 0
    freedom: int = 0
    unit: float = 0.0
    squares: float = 0.0
    fourths: float = 0.0

    def add(self, fit: OwnFit, X: FloatArray, y: FloatArray) -> "Noise":
        """Return the sums with one more period that was fitted on its own."""
        residuals = X @ fit.minimiser - y
        unit = unit_for(self.unit, largest_entry(residuals))
        e = in_units(residuals, unit)
        left = np.where(fit.shares < 1.0 - 1e-9, 1.0 - fit.shares, 1.0)
        return Noise(
            rows=self.rows + len(y),
            freedom=self.freedom + len(y) - X.shape[1],
            unit=unit,
            squares=self.squares * shrink(self.unit, unit, 2) + float(e @ e),
            fourths=self.fourths * shrink(self.unit, unit, 4) + float((e**4 / left**2).sum()),
        )

    def estimate(self, confidence: float) -> Estimate | None:
        """Return sum of squares / sum of (K - d), each period fitted on its own (theory 2, row sigma*, A).

        The ends are the wider of the exact ones for Gaussian noise and of those that the fourth powers give.

        >>> Noise().estimate(0.95) is None
        True
        """
        if self.freedom == 0:
            return None
        value = self.squares / self.freedom
        spread = max(0.0, self.fourths / self.rows - value * value)
        error = max(math.sqrt(spread / self.freedom), value * math.sqrt(2.0 / self.freedom))
        lower, upper = positive_ends(value, error, confidence)
        square = self.unit * self.unit
        return Estimate(
            value=square * value,
            lower=square * lower,
            upper=square * upper,
            rows=self.rows,
            account=f"residuals of periods fitted on their own, {self.freedom} degrees of freedom",
        )
