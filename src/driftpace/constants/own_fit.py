"""One period fitted on its own.

Newton steps from the model before lead to the period's own minimiser (a single one for the squared loss: least squares). The rows
fitted it, so what they say there is too small; the leverages tell by how much. A period needs three rows more than features.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.constants.concentration import leverages, scaled_inverse
from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray

_STEPS = 20
_CLOSE = 1e-4  # of the size of one standard error: closer than this, more steps change nothing that is estimated


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnFit:
    """A period's own minimiser, the inverse of its Hessian there, and the share of each row in its own fit."""

    minimiser: FloatArray
    inverse: FloatArray
    shares: FloatArray


def own_fit(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> OwnFit | None:
    """Return the fit, or None when rows are too few, columns collinear, or the steps do not settle (separable classes).

    >>> from driftpace.losses import SquaredLoss
    >>> X, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 2.0])
    >>> own_fit(SquaredLoss(), np.zeros(1), X, y).minimiser
    array([2.])
    """
    rows, features = X.shape
    found = _newton(loss, coef, X, y) if rows > features + 2 else None
    if found is None:
        return None
    minimiser, inverse = found
    if isinstance(loss, LinearLoss):
        shares = leverages(X, loss.curve.bend(X @ minimiser, y), inverse)
    else:  # a loss that does not say how each row bends: every row the same share
        shares = np.full(rows, features / rows)
    return OwnFit(minimiser=minimiser, inverse=inverse, shares=shares)


def _newton(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the minimiser and the inverse of the Hessian there; steps are halved until the loss falls."""
    point = coef
    for _ in range(_STEPS):
        inverse = scaled_inverse(loss.hessian(point, X, y))
        if inverse is None:
            return None
        gradient = loss.gradient(point, X, y)
        step = inverse @ gradient
        if not np.isfinite(step).all():
            return None
        if isinstance(loss, SquaredLoss):
            return point - step, inverse
        fall = float(step @ gradient)  # twice what the step is worth
        here = loss.value(point, X, y)
        share = 1.0
        while share > 1e-4 and not loss.value(point - share * step, X, y) <= here - 0.1 * share * fall:
            share /= 2.0
        point = point - share * step
        if fall <= _CLOSE * abs(here) / len(y):
            return point, inverse
    return None
