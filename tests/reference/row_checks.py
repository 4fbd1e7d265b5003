"""What a world says, held against rows that it draws: means with their standard errors."""

import math

import numpy as np
from scipy.stats import norm

from driftpace.losses import Loss
from driftpace.typing import FloatArray

FALSE_ALARM = 1e-6


def standard_errors_off(samples: FloatArray, said: FloatArray | float) -> float:
    """Return by how many standard errors the mean over the first axis is off what was said, at the worst entry."""
    error = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    off = np.abs(samples.mean(axis=0) - said)
    return float(np.max(off / np.maximum(error, 1e-300)))


def allowed(entries: int) -> float:
    """Return how many standard errors the worst of so many entries may be off: one false alarm in a million."""
    return float(norm.isf(0.5 * FALSE_ALARM / entries))


def centred_products(gradients: FloatArray) -> FloatArray:
    """Return (g - 0)(g - 0)' of each row: gradients at the minimiser have mean zero, so their mean is the covariance."""
    products: FloatArray = np.einsum("ki,kj->kij", gradients, gradients)
    return products


def row_hessians(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the mean Hessian of each of 200 blocks of rows."""
    blocks = 200
    size = len(y) // blocks
    return np.array(
        [loss.hessian(coef, X[i * size : (i + 1) * size], y[i * size : (i + 1) * size]) for i in range(blocks)]
    )
