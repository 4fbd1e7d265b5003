"""Statistics of gradients of fresh rows at the previous model, which those rows did not train, and the diameter they imply.

At a model that is not the minimiser gradients are longer than at the minimiser: estimates err upwards.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from driftpace.constants.concentration import normal_quantile, positive_ends
from driftpace.constants.moments import in_units, largest_entry, shrink, unit_for
from driftpace.records import Estimate
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Gradients:
    """Sums over rows of ||g - gbar||^2 and of its square, and of the squared length of the mean gradient, in ``unit``.

    The first period meets an untrained model; its sums are dropped once there is a second period (``periods``),
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
        """Return the mean of E||g - grad f||^2 at the previous models: at least that at the minimiser (theory 2)."""
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
            account="gradients of fresh rows at the previous models, where gradients are no shorter than at the minimiser",
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
            account="largest gradient observed at the previous models; for rows without a limit on their size G does not exist",
        )

    @property
    def distance_slope(self) -> float:
        """The root mean square of ||grad f|| at the previous models: over m, how far they were from the minimisers."""
        return self.unit * math.sqrt(self.pulls / self.rows) if self.rows else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ZeroModel:
    """Sums over rows of the loss of the zero model, and of its square, in ``unit``."""

    rows: int = 0
    unit: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, values: FloatArray) -> "ZeroModel":
        """Return the sums with the losses of more rows."""
        unit = unit_for(self.unit, float(np.abs(values).max(initial=0.0)))
        scaled = in_units(values, unit)
        return ZeroModel(
            rows=self.rows + len(values),
            unit=unit,
            total=self.total * shrink(self.unit, unit, 1) + float(scaled.sum()),
            squares=self.squares * shrink(self.unit, unit, 2) + float(scaled @ scaled),
        )

    def ends(self, confidence: float) -> tuple[float, float]:
        """Return f(0) and its upper end."""
        mean = self.total / self.rows
        error = math.sqrt(max(0.0, self.squares / self.rows - mean * mean) / self.rows)
        return self.unit * mean, self.unit * (mean + normal_quantile(confidence) * error)


def diameter(gradients: Gradients, zero: ZeroModel, m: Estimate, *, l2: float, confidence: float) -> Estimate | None:
    """Return the diameter of a ball that held the first minimiser, the smaller of two where both are known (theory 2).

    The ball around the first model of radius 2||ghat||/m; and, where every coefficient is penalised (``l2`` above zero), the ball
    around zero of radius sqrt(2 f(0)/l2). It covers the first minimiser, not where later ones may drift to.

    Examples
    --------
    >>> diameter(Gradients(), ZeroModel(), Estimate.given(1.0), l2=0.0, confidence=0.95) is None
    True
    """
    if gradients.seen == 0:
        return None
    reach = gradients.first_pull + normal_quantile(confidence) * gradients.first_error
    ends = [(4.0 * gradients.first_pull / m.value, 4.0 * reach / m.lower)] if m.lower > 0.0 else []
    if l2 > 0.0 and zero.rows > 0:
        value, upper = zero.ends(confidence)
        ends.append((2.0 * math.sqrt(2.0 * value / l2), 2.0 * math.sqrt(2.0 * upper / l2)))
    if not ends:
        return None
    value, upper = min(ends, key=lambda end: end[1])
    return Estimate(
        value=min(value, upper),
        lower=0.0,
        upper=upper,
        rows=gradients.seen,
        account="a ball around the first model, or around zero, that held the first minimiser",
    )
