"""Constants of a synthetic population from its exact moments: proven bounds with one-line proofs, nothing estimated.

The squared-loss functions are about a linear model y = x'w* + xi with E xx' = S, Var xi = noise and
E[(x'e)^2 xx'] = peak (e'Se S + 2 See'S), ``peak`` 1 for Gaussian rows. The risk is then
1/2 (w - w*)'S(w - w*) + noise/2 + (l2/2) w'Pw, a quadratic with Hessian H = S + l2 P.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh

from driftpace.constraints import Ball, Box, ConstraintSet
from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, Loss, SquaredLoss
from driftpace.records import Constants
from driftpace.typing import FloatArray


def largest_eigenvalue(matrix: FloatArray) -> float:
    """Return the largest eigenvalue of a symmetric matrix."""
    return float(np.linalg.eigvalsh(matrix)[-1])


def smallest_eigenvalue(matrix: FloatArray) -> float:
    """Return the smallest eigenvalue of a symmetric matrix."""
    return float(np.linalg.eigvalsh(matrix)[0])


def at_minimiser(hessian: FloatArray, covariance: FloatArray) -> dict[str, float]:
    """Return sigma_star, trace and spread = tr(H^-1 Cov g(w*)) (theory 1.1b, 1.6); E g(w*) = 0, so E||g(w*)||^2 = tr Cov."""
    return {
        "sigma_star": math.sqrt(float(np.trace(covariance))),
        "trace": float(np.trace(hessian)),
        "spread": float(np.trace(np.linalg.solve(hessian, covariance))),
    }


def quadratic_limit(at_zero: float, linear: FloatArray, square: FloatArray) -> tuple[float, float]:
    """Return A, B with at_zero + linear'd + d'square d <= A + B ||d||^2 for every d, given that the left side is >= 0.

    linear'd <= |linear| ||d|| <= theta (at_zero + top ||d||^2) with theta = |linear| / (2 sqrt(at_zero top)), top the largest
    eigenvalue of ``square``; the left side being >= 0 along every line makes |linear| <= 2 sqrt(at_zero top), so theta <= 1.
    Exact when ``linear`` is zero.

    Examples
    --------
    >>> quadratic_limit(2.0, np.zeros(2), np.diag([1.0, 3.0]))
    (2.0, 3.0)
    """
    top, slope = max(largest_eigenvalue(square), 0.0), float(np.linalg.norm(linear))
    theta = slope / (2.0 * math.sqrt(at_zero * top)) if slope > 0.0 and at_zero * top > 0.0 else 0.0
    return at_zero * (1.0 + theta), top * (1.0 + theta)


def smooth_limits(
    *, curvature: float, l2: float, square: FloatArray, fourth: FloatArray, covariance: FloatArray
) -> dict[str, float]:
    """Return A, B, sigma, V of a loss whose slope changes by at most curvature |x'd| over a move d.

    g(w) - g(w*) = (s - s*) x + l2 d, so E||g(w) - g(w*)||^2 <= c^2 d'E[||x||^2 xx']d + 2 l2 c d'E[xx']d + l2^2 ||d||^2, and
    E||g(w)||^2 <= 2 E||g(w*)||^2 + 2 E||g(w) - g(w*)||^2; the variance is the same without the part that is not random.
    """
    moved, spread = curvature**2 * largest_eigenvalue(fourth), float(np.trace(covariance))
    return {
        "A": 2.0 * spread,
        "B": 2.0 * (moved + 2.0 * l2 * curvature * largest_eigenvalue(square) + l2**2),
        "sigma": math.sqrt(2.0 * spread),
        "V": 2.0 * moved,
    }


def curve_constants(
    loss: LinearLoss, *, square: FloatArray, fourth: FloatArray, hessian: FloatArray, covariance: FloatArray
) -> dict[str, float]:
    """Return the constants of a built-in loss from E xx', E||x||^2 xx', and Hessian and gradient covariance at the minimiser.

    M = curvature lam_max(E xx') + l2. For the squared loss m = lam_min(E xx') + l2; the curve of another may be flat, so m = l2.
    """
    penalty = np.diag(loss.penalty_weights(len(square)))
    least = square if isinstance(loss, SquaredLoss) else np.zeros_like(square)
    return {
        "m": smallest_eigenvalue(least + penalty),
        "M": largest_eigenvalue(loss.curvature * square + penalty),
        **smooth_limits(curvature=loss.curvature, l2=loss.l2, square=square, fourth=fourth, covariance=covariance),
        **at_minimiser(hessian, covariance),
    }


def domain_constants(owner: str, domain: ConstraintSet | None, minimiser: FloatArray) -> dict[str, float]:
    """Return the diameter of the domain where it is finite; ParameterError if the domain excludes the minimiser."""
    if domain is None:
        return {}
    if not (domain.fits(minimiser.size) and domain.contains(minimiser)):
        raise ParameterError(
            f"must contain the minimiser {minimiser.tolist()!r}; got {domain!r}.",
            owner=owner,
            name="domain",
        )
    return {"diameter": domain.diameter} if 0.0 < domain.diameter < math.inf else {}


def max_distance(domain: ConstraintSet | None, point: FloatArray) -> float:
    """Return a limit on the distance from ``point`` to anywhere in the domain: exact for a ball and a box.

    Examples
    --------
    >>> from driftpace.constraints import Ball
    >>> max_distance(Ball(2.0), np.array([3.0, 4.0]))
    7.0
    """
    if isinstance(domain, Ball):
        center = 0.0 if domain.center is None else domain.center
        return float(np.linalg.norm(point - center)) + domain.radius
    if isinstance(domain, Box):
        low, high = domain.ends(point.size)
        return math.hypot(*np.maximum(np.abs(point - low), np.abs(point - high)).tolist())
    if domain is None or domain.diameter == math.inf:
        return math.inf
    return domain.diameter + float(np.linalg.norm(domain.project(point) - point))


def known_constants(loss: Loss, numbers: dict[str, float]) -> Constants:
    """Return constants, leaving out those that a bound cannot use: not finite, or zero where zero carries no information.

    A penalty on every coefficient makes the mean loss of any rows l2-strongly convex.
    """
    numbers = {**numbers, "m_rows": loss.l2 if loss.unpenalised == 0 else 0.0}
    positive = ("m", "m_rows", "spread")
    usable = {name: x for name, x in numbers.items() if math.isfinite(x) and (x > 0.0 or name not in positive)}
    return Constants.given(**usable)


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
        "R2": peak * (trace + 2.0 * largest_eigenvalue(covariance)),
    }


def moment_constants(
    *, square: FloatArray, fourth: FloatArray, hessian: FloatArray, covariance: FloatArray, error: FloatArray
) -> dict[str, float]:
    """Return the constants of the squared loss from E zz', E||z||^2 zz' and Hessian and gradient covariance at the minimiser.

    For any noise whose mean is zero given the row z, so that the terms in d are those of :func:`squared_constants`. ``noise``
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
        "m": smallest_eigenvalue(hessian),
        "M": largest_eigenvalue(hessian),
        "A": A,
        "B": B,
        "sigma": math.sqrt(sigma_squared),
        "V": V,
        **at_minimiser(hessian, gradients),
    }


def _against(matrix: FloatArray, unit: FloatArray) -> float:
    """Return the least number with matrix <= number unit."""
    return float(eigh(matrix, unit, eigvals_only=True)[-1])
