"""Losses of many models on the same rows at once: models are the rows of (models, coefficients)."""

import numpy as np

from driftpace.losses import LinearLoss, Loss
from driftpace.typing import FloatArray


def mean_losses(loss: Loss, coefs: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the mean loss of each model, the penalty included.

    >>> from driftpace.losses import SquaredLoss
    >>> mean_losses(SquaredLoss(), np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([1.0, 4.0]))
    array([4.25, 1.  ])
    """
    if not isinstance(loss, LinearLoss):
        return np.array([loss.value(coef, X, y) for coef in coefs])
    losses: FloatArray = loss.curve.phi(coefs @ X.T, y[None, :]).mean(axis=1)
    return losses + 0.5 * np.square(coefs) @ loss.penalty_weights(coefs.shape[1])


def mean_gradients(loss: Loss, coefs: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the gradient of the mean loss of each model, (models, coefficients)."""
    if not isinstance(loss, LinearLoss):
        return np.array([loss.gradient(coef, X, y) for coef in coefs])
    slopes = loss.curve.slope(coefs @ X.T, y[None, :])
    return slopes @ X / len(y) + coefs * loss.penalty_weights(coefs.shape[1])


def mean_hessians(loss: Loss, coefs: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the Hessian of the mean loss of each model, (models, coefficients, coefficients)."""
    if not isinstance(loss, LinearLoss):
        return np.array([loss.hessian(coef, X, y) for coef in coefs])
    features = coefs.shape[1]
    bends = loss.curve.bend(coefs @ X.T, y[None, :])
    products = (X[:, :, None] * X[:, None, :]).reshape(len(y), features * features)
    hessians: FloatArray = (bends @ products / len(y)).reshape(len(coefs), features, features)
    return hessians + np.diag(loss.penalty_weights(features))
