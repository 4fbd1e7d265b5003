"""A ball in which the minimiser lies, when the user has not named a set."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.constants.concentration import normal_quantile
from driftpace.constants.gradients import Gradients
from driftpace.constants.units import in_units, shrink, unit_for
from driftpace.records import Estimate
from driftpace.typing import FloatArray


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
    around zero of radius sqrt(2 f(0)/l2). It says where the first minimiser was, not where later ones may drift to.

    >>> diameter(Gradients(), ZeroModel(), Estimate.given(1.0), l2=0.0, confidence=0.95) is None
    True
    """
    if gradients.seen == 0:
        return None
    reach = gradients.first_pull + normal_quantile(confidence) * gradients.first_error
    found = [(4.0 * gradients.first_pull / m.value, 4.0 * reach / m.lower)] if m.lower > 0.0 else []
    if l2 > 0.0 and zero.rows > 0:
        value, upper = zero.ends(confidence)
        found.append((2.0 * math.sqrt(2.0 * value / l2), 2.0 * math.sqrt(2.0 * upper / l2)))
    if not found:
        return None
    value, upper = min(found, key=lambda ends: ends[1])
    return Estimate(
        value=min(value, upper),
        lower=0.0,
        upper=upper,
        rows=gradients.seen,
        account="a ball around the first model, or around zero, that held the first minimiser",
    )
