"""Gradients of fresh rows at the model before, which those rows did not train: honest, and too large rather than too small."""

import math
from dataclasses import dataclass, replace

import numpy as np

from driftpace.constants.concentration import positive_ends
from driftpace.constants.units import in_units, largest_entry, shrink, unit_for
from driftpace.records import Estimate
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Gradients:
    """Sums over rows of ||g - gbar||^2 and of its square, and of the squared length of the mean gradient, in ``unit``.

    The first period is met by a model that has seen nothing; what it says is dropped when a second one comes (``periods``),
    except the largest gradient of all and the pull of the first period, ||gbar|| with its standard error.
    """

    periods: int = 0
    rows: int = 0
    unit: float = 0.0
    centred: float = 0.0
    centred_squares: float = 0.0
    pulls: float = 0.0
    seen: int = 0
    largest: float = 0.0
    first_pull: float = 0.0
    first_error: float = 0.0

    def add(self, gradients: FloatArray) -> "Gradients":
        """Return the sums with the gradients of one more period's rows, (rows, features)."""
        rows = len(gradients)
        base = replace(self, rows=0, centred=0.0, centred_squares=0.0, pulls=0.0) if self.periods == 1 else self
        unit = unit_for(base.unit, largest_entry(gradients))
        g = in_units(gradients, unit)
        mean = g.mean(axis=0)
        squares = np.einsum("ki,ki->k", g - mean, g - mean)
        trace = float(squares.sum()) / (rows - 1) if rows > 1 else float(mean @ mean)  # one row: all of it may be noise
        pull = max(0.0, float(mean @ mean) - trace / rows)
        old = shrink(base.unit, unit, 2)
        longest = unit * math.sqrt(float(np.einsum("ki,ki->k", g, g).max()))
        first = self.periods == 0
        return Gradients(
            periods=self.periods + 1,
            rows=base.rows + rows,
            unit=unit,
            centred=base.centred * old + rows * trace,
            centred_squares=base.centred_squares * old * old + float((squares**2).sum()),
            pulls=base.pulls * old + rows * pull,
            seen=self.seen + rows,
            largest=max(self.largest, longest),
            first_pull=unit * math.sqrt(float(mean @ mean)) if first else self.first_pull,
            first_error=unit * math.sqrt(trace / rows) if first else self.first_error,
        )

    def spread(self, confidence: float) -> Estimate | None:
        """Return the mean of E||g - grad f||^2 at the models before: at least that at the minimiser (theory 2)."""
        if self.rows == 0:
            return None
        mean = self.centred / self.rows
        error = math.sqrt(max(0.0, self.centred_squares / self.rows - mean * mean) / self.rows)
        lower, upper = positive_ends(mean, error if self.rows > 1 else math.inf, confidence)
        return Estimate(
            value=self.unit * (self.unit * mean),
            lower=self.unit * (self.unit * lower),
            upper=self.unit * (self.unit * upper),
            rows=self.rows,
            account="gradients of fresh rows at the models before, which are no closer than the minimiser",
        )

    def limit(self) -> Estimate | None:
        """Return G, the largest gradient seen, times (N+1)/N at its upper end."""
        if self.seen == 0:
            return None
        return Estimate(
            value=self.largest,
            lower=self.largest,
            upper=self.largest * (self.seen + 1) / self.seen,
            rows=self.seen,
            account="largest gradient seen at the models before; for rows without a limit on their size G does not exist",
        )

    @property
    def distance_slope(self) -> float:
        """The root mean square of ||grad f|| at the models before: over m, how far they were from the minimisers."""
        return self.unit * math.sqrt(self.pulls / self.rows) if self.rows else 0.0
