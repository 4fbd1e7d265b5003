"""Squared-loss facts of a linear model with uncorrelated noise, shared by Gaussian and bounded rows.

y = x'w* + xi, E xx' = S, Var xi = noise, and E[(x'e)^2 xx'] = peak (e'Se S + 2 See'S) with ``peak`` 1 for Gaussian rows.
The risk is 1/2 (w - w*)'S(w - w*) + noise/2 + (l2/2) w'Pw, a quadratic with Hessian H = S + l2 P.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh

from driftpace.losses import SquaredLoss
from driftpace.synthetic.facts import at_minimiser, largest, quadratic_limit, smallest
from driftpace.typing import FloatArray


def ridge(loss: SquaredLoss, covariance: FloatArray, moment: FloatArray) -> FloatArray:
    """Return (S + l2 P)^-1 E[xy], the minimiser of the squared loss."""
    hessian = covariance + np.diag(loss.penalty_weights(moment.size))
    return np.asarray(np.linalg.solve(hessian, moment), dtype=np.float64)


def squared_excess(hessian: FloatArray, off: FloatArray, intercept: float | FloatArray) -> Any:
    """Return 1/2 off'H off + intercept^2/2 for one model or a stack: no difference of near equals."""
    value = 0.5 * np.einsum("...i,ij,...j->...", off, hessian, off) + 0.5 * np.square(intercept)
    return float(value) if np.ndim(value) == 0 else value


def squared_covariance(covariance: FloatArray, error: FloatArray, noise: float, peak: float) -> FloatArray:
    """Return Cov g at w* + error: E[r^2 xx'] - (S error)(S error)', r = x'error - xi."""
    pull = covariance @ error
    return (peak * float(error @ pull) + noise) * covariance + (2.0 * peak - 1.0) * np.outer(pull, pull)


def squared_constants(
    loss: SquaredLoss, covariance: FloatArray, error: FloatArray, noise: float, peak: float
) -> dict[str, float]:
    """Return the constants of the squared loss; ``error`` is the minimiser less w*, which is zero without a penalty.

    E||g||^2 = peak (e'Se tr S + 2 e'S^2 e) + noise tr S + 2 l2 (Pw)'Se + l2^2 w'Pw is a quadratic in d = w - minimiser, and
    so is the variance E||g||^2 - ||Hd||^2. With l2 = 0 both have no linear term and A, B, sigma, V are exact (theory 1.1g).
    R2: E||x||^2 xx' = peak (tr S S + 2 S^2) <= peak (tr S + 2 lam_max) S (theory 1.1b).
    """
    penalty = np.diag(loss.penalty_weights(error.size))
    hessian, trace = covariance + penalty, float(np.trace(covariance))
    gradients = squared_covariance(covariance, error, noise, peak)
    fourth = peak * (trace * covariance + 2.0 * covariance @ covariance)
    linear = 2.0 * fourth @ error - 2.0 * covariance @ covariance @ error  # by S error + l2 P minimiser = 0
    variance = fourth - covariance @ covariance
    return _limits(hessian, gradients, linear, variance) | {
        "noise": float(error @ covariance @ error) + noise,
        "R2": peak * (trace + 2.0 * largest(covariance)),
    }


def moment_constants(
    *, square: FloatArray, fourth: FloatArray, hessian: FloatArray, covariance: FloatArray, error: FloatArray
) -> dict[str, float]:
    """Return the constants of the squared loss from E zz', E||z||^2 zz' and Hessian and gradient covariance at the minimiser.

    For any noise whose mean is zero whatever the row z, so that the terms in d are those of :func:`squared_constants`. ``noise``
    is the least number with E r^2 zz' <= noise E zz' at the minimiser, r its residual, and R2 likewise of the fourth moments.
    """
    pull = square @ error
    variance, linear = fourth - square @ square, 2.0 * fourth @ error - 2.0 * square @ pull
    return _limits(hessian, covariance, linear, variance) | {
        "noise": _against(covariance + np.outer(pull, pull), square),
        "R2": _against(fourth, square),
    }


def _limits(hessian: FloatArray, gradients: FloatArray, linear: FloatArray, variance: FloatArray) -> dict[str, float]:
    """Return what follows from the Hessian and the variance of a gradient, tr(gradients) + linear'd + d'variance d at w* + d."""
    at_zero = float(np.trace(gradients))
    A, B = quadratic_limit(at_zero, linear, variance + hessian @ hessian)
    sigma_squared, V = quadratic_limit(at_zero, linear, variance)
    return {
        "m": smallest(hessian),
        "M": largest(hessian),
        "A": A,
        "B": B,
        "sigma": math.sqrt(sigma_squared),
        "V": V,
        **at_minimiser(hessian, gradients),
    }


def _against(matrix: FloatArray, unit: FloatArray) -> float:
    """Return the least number with matrix <= number unit."""
    return float(eigh(matrix, unit, eigvals_only=True)[-1])
