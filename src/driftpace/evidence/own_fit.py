"""One period fitted on its own.

One Newton step from the model before leads to the period's own minimiser (least squares for the squared loss). The rows fitted
it, so what they say there is too small; the leverages tell by how much. A period needs three rows more than features.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.concentration import leverages, scaled_inverse
from driftpace.losses import LinearLoss
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnFit:
    """A period's own minimiser, the inverse of its Hessian, and the share of each row in its own fit."""

    minimiser: FloatArray
    inverse: FloatArray
    shares: FloatArray


def own_fit(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> OwnFit | None:
    """Return the fit, or None when the rows are too few or their columns collinear.

    >>> from driftpace.losses import SquaredLoss
    >>> X, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 2.0])
    >>> own_fit(SquaredLoss(), np.zeros(1), X, y).minimiser
    array([2.])
    """
    rows, features = X.shape
    inverse = scaled_inverse(loss.hessian(coef, X, y)) if rows > features + 2 else None
    if inverse is None:
        return None
    minimiser = coef - inverse @ loss.gradient(coef, X, y)
    if not np.isfinite(minimiser).all():
        return None
    if isinstance(loss, LinearLoss):
        shares = leverages(X, loss.curve.bend(X @ coef, y), inverse)
    else:  # a loss that does not say how each row bends: every row the same share
        shares = np.full(rows, features / rows)
    return OwnFit(minimiser=minimiser, inverse=inverse, shares=shares)
