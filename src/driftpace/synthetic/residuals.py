"""Risks of the check and the Huber loss where residuals have a known distribution and rows are Gaussian.

With noise xi of mean zero and a model whose score is off by c, the check loss has the mean E(xi - c)_+ + (1 - tau) c, and the slope
of the Huber loss the mean -k + E[x + (xi - x)_+] from x = c - k to c + k, since the derivative of E(xi - x)_+ is F(x) - 1. The
score of a linear model is off by a normal variable; the mean over it is a Gauss-Hermite sum.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LinearLoss, QuantileLoss
from driftpace.typing import FloatArray

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_STEPS, _STEP_WEIGHTS = np.polynomial.legendre.leggauss(32)
_DEGREES = 3.0


def best_offset(loss: LinearLoss, kind: str, noise: float) -> float:
    """Return the offset of least risk: the quantile of the noise, 0 for the Huber loss.

    >>> from driftpace.losses import QuantileLoss
    >>> round(best_offset(QuantileLoss(tau=0.9), "gaussian", 4.0), 3)
    2.563
    """
    if not isinstance(loss, QuantileLoss):
        return 0.0
    if kind == "student":
        return math.sqrt(noise / _DEGREES) * float(stdtrit(_DEGREES, loss.tau))
    return math.sqrt(noise) * float(ndtri(loss.tau))


def excess_of_offsets(loss: LinearLoss, kind: str, noise: float, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the excess risk of models whose score is off by a normal variable of that mean and standard deviation.

    >>> from driftpace.losses import QuantileLoss
    >>> excess_of_offsets(QuantileLoss(), "gaussian", 1.0, np.array([0.0, 0.1]), np.zeros(2)).round(6)
    array([0.      , 0.001993])
    """
    if kind not in ("gaussian", "student"):
        raise ParameterError(
            f"must be 'gaussian' or 'student' for {type(loss).__name__}; got {kind!r}.",
            owner="ShapedRegression",
            name="noise_kind",
        )
    above = _mean_above(kind, noise)
    off = mean[..., None] + deviation[..., None] * _NODES
    best = best_offset(loss, kind, noise)
    if isinstance(loss, QuantileLoss):
        check = above(off) - above(np.array(best)) + (1.0 - loss.tau) * (off - best)
        return np.asarray(np.maximum(check, 0.0) @ _WEIGHTS)
    assert isinstance(loss, HuberLoss)
    k = loss.shape
    x = 0.5 * off[..., None] * (1.0 + _STEPS)
    slope = -k + (x + k + above(x + k)) - (x - k + above(x - k))
    return np.asarray((0.5 * off * (slope @ _STEP_WEIGHTS)) @ _WEIGHTS)


def _mean_above(kind: str, noise: float) -> Callable[[FloatArray], FloatArray]:
    """Return the function E(xi - c)_+ of c."""
    if kind == "student":
        scale = math.sqrt(noise / _DEGREES)

        def above(c: FloatArray) -> FloatArray:
            u = c / scale
            density = 2.0 / (math.pi * math.sqrt(_DEGREES)) / np.square(1.0 + u * u / _DEGREES)
            return np.asarray(scale * ((_DEGREES + u * u) / (_DEGREES - 1.0) * density - u * stdtr(_DEGREES, -u)))

        return above
    scale = math.sqrt(noise)
    return lambda c: np.asarray(
        scale * (np.exp(-0.5 * np.square(c / scale)) / math.sqrt(2.0 * math.pi) - c / scale * ndtr(-c / scale))
    )
