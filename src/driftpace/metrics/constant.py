"""The best constant model of rows, which the deviance explained is relative to."""

from dataclasses import dataclass

import numpy as np

from driftpace.losses import LinearLoss, LogLinkLoss, VectorLoss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConstantModel:
    """The best constant model of rows.

    Parameters
    ----------
    losses : array of shape (rows,)
        The loss of each row.
    mean : float
        The estimated least loss of a constant on other rows: the mean of ``losses`` and what they are too low because the constant
        was fitted to them.
    """

    losses: FloatArray
    mean: float


def constant_model(loss: LinearLoss | VectorLoss, y: FloatArray, mass: FloatArray) -> ConstantModel:
    """Return the best constant model of counts, amounts or classes, weighted by ``mass``.

    >>> from driftpace.losses import PoissonLoss, SoftmaxLoss
    >>> found = constant_model(SoftmaxLoss(classes=2), np.array([0.0, 1.0]), np.ones(2))
    >>> found.losses.round(4).tolist(), round(found.mean, 4)  # log(2), and half a row of two for the share that was fitted
    ([0.6931, 0.6931], 0.9431)
    >>> round(constant_model(PoissonLoss(), np.array([1.0, 3.0]), np.ones(2)).mean, 4)
    0.3866
    """
    total = float(mass.sum())
    rows = total**2 / float(mass @ mass)
    if isinstance(loss, LogLinkLoss):
        level = np.full(len(y), loss.constant_score(y, mass))
        losses, slopes = loss.curve.phi(level, y), loss.curve.slope(level, y)
        bend = float(mass @ loss.curve.bend(level, y)) / total
        fitted = float(mass @ np.square(slopes)) / total / max(bend, 1e-300)
    elif isinstance(loss, VectorLoss):
        codes = y.astype(np.int64)
        shares = np.bincount(codes, mass) / total
        losses, fitted = -np.log(np.maximum(shares[codes], 1e-300)), float(np.count_nonzero(shares) - 1)
    else:
        share = float(mass @ (1.0 + y)) / total / 2.0
        known = np.clip(np.array([share, 1.0 - share]), 1e-300, 1.0)
        losses = np.asarray(-0.5 * (1.0 + y) * np.log(known[0]) - 0.5 * (1.0 - y) * np.log(known[1]))
        fitted = 1.0 if 0.0 < share < 1.0 else 0.0
    return ConstantModel(losses=losses, mean=float(mass @ losses) / total + 0.5 * fitted / rows)
