"""Minimisers of quadratics: nearest to a point where there are many, or held in a set."""

import math

import numpy as np

from driftpace.constraints import Ball, Box, WholeSpace
from driftpace.constraints.protocol import Set
from driftpace.typing import FloatArray

_WELL = 1e-9  # a Hessian with a reciprocal condition number above this is solved as it is
_MOST_ROUNDS = 200
_MOST_STEPS = 20_000


def nearest_minimiser(
    X: FloatArray, y: FloatArray, penalty: FloatArray, strength: float, anchor: FloatArray
) -> FloatArray:
    """Return argmin of mean (y - x'w)^2/2 + w'diag(penalty)w/2 + (strength/2)||w - anchor||^2, nearest to the anchor.

    By Cholesky where that is safe, and otherwise by a pivoted QR of the rows and the roots of the penalties, which does
    not square the condition number; there, singular values under 1e-12 of the largest count as zero.

    >>> nearest_minimiser(np.array([[1.0, 1.0]]), np.array([2.0]), np.zeros(2), 0.0, np.zeros(2))
    array([1., 1.])
    """
    from scipy import linalg  # slow to import, and not every fit needs it

    rows = len(y)
    weights = penalty + strength
    hessian = X.T @ X / rows + np.diag(weights)
    residual = y - X @ anchor
    right = X.T @ residual / rows - penalty * anchor
    with np.errstate(all="ignore"):
        factor, failed = linalg.lapack.dpotrf(hessian, lower=0)
        if failed == 0:
            well, _ = linalg.lapack.dpocon(factor, np.abs(hessian).sum(axis=0).max())
            if well > _WELL:
                change, _ = linalg.lapack.dpotrs(factor, right)
                return np.asarray(anchor + change)
    roots = np.sqrt(weights)
    kept = roots > 0.0
    stacked = np.concatenate([X / math.sqrt(rows), np.diag(roots)[kept]])
    targets = np.concatenate([residual / math.sqrt(rows), -(penalty * anchor)[kept] / roots[kept]])
    change = linalg.lstsq(stacked, targets, cond=1e-12, lapack_driver="gelsy", check_finite=False)[0]
    return np.asarray(anchor + change)


def on_set(domain: Set, w: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray | None:
    """Return argmin over the set of g'(v - w) + (v - w)'H(v - w)/2; None where H has no inverse and the set no border.

    >>> on_set(Box(low=0.0, high=1.0), np.zeros(2), np.array([-2.0, 1.0]), np.eye(2))
    array([1., 0.])
    """
    step = _solve(hessian, gradient)
    if step is not None and domain.contains(w - step, tolerance=0.0):
        return w - step
    if isinstance(domain, WholeSpace):
        return None
    if isinstance(domain, Ball):
        return _on_ball(domain, w, gradient, hessian)
    if isinstance(domain, Box):
        return _in_box(*domain.ends(w.size), w, gradient, hessian)
    return _by_gradients(domain, w, gradient, hessian)


def _solve(hessian: FloatArray, right: FloatArray) -> FloatArray | None:
    """Return H^-1 right, or None where H has no inverse."""
    from scipy import linalg

    factor, failed = linalg.lapack.dpotrf(hessian, lower=0)
    if failed != 0:
        return None
    solved, _ = linalg.lapack.dpotrs(factor, right)
    return np.asarray(solved) if np.isfinite(solved).all() else None


def _on_ball(ball: Ball, w: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Return the minimiser on the sphere: (H + nu I) v = H (w - c) - g, v = . - c, with the nu >= 0 for which ||v|| = radius.

    In the eigenbasis ||v(nu)|| falls with nu: 1/||v|| is nearly straight, so that Newton's method finds its root (the
    secular equation); bisection guards it.
    """
    center = np.zeros_like(w) if ball.center is None else ball.center
    values, vectors = np.linalg.eigh(hessian)
    values = np.maximum(values, 0.0)
    pull = vectors.T @ (hessian @ (w - center) - gradient)
    low, high = 0.0, float(np.linalg.norm(pull)) / ball.radius
    nu = 0.0 if values[0] > 0.0 else 0.5 * high
    for _ in range(_MOST_ROUNDS):
        inside = pull / np.where(values + nu > 0.0, values + nu, 1e-300)
        length = float(np.linalg.norm(inside))
        if abs(length - ball.radius) <= 1e-15 * ball.radius or high - low <= 1e-16 * high:
            break
        low, high = (nu, high) if length > ball.radius else (low, nu)
        fall = float(inside**2 @ (1.0 / np.maximum(values + nu, 1e-300))) / length**2
        nu += (length / ball.radius - 1.0) / fall
        if not low < nu < high:
            nu = 0.5 * (low + high)
    return ball.project(center + vectors @ inside)


def _in_box(low: FloatArray, high: FloatArray, w: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Return the minimiser in a box: Newton's method on the coefficients that are not held by an end, projected.

    A coefficient is held when it is at an end, up to a little, and the gradient points outward (Bertsekas 1982); the search
    along the projected path halves until the quadratic falls.
    """
    v, size = np.clip(w, low, high), max(float(np.trace(hessian)) / len(w), 1e-300)

    def fall(point: FloatArray) -> float:
        away = point - w
        return float(gradient @ away + 0.5 * away @ hessian @ away)

    for _ in range(_MOST_ROUNDS):
        g = gradient + hessian @ (v - w)
        near = float(np.linalg.norm(v - np.clip(v - g / size, low, high)))
        held = ((v <= low + near) & (g > 0.0)) | ((v >= high - near) & (g < 0.0))
        step = np.where(held, g / size, 0.0)
        loose = np.flatnonzero(~held)
        if loose.size:
            solved = _solve(hessian[np.ix_(loose, loose)], g[loose])
            step[loose] = g[loose] / size if solved is None else solved
        share, now = 1.0, fall(v)
        while share > 1e-12:
            point = np.clip(v - share * step, low, high)
            if fall(point) < now:
                break
            share *= 0.5
        else:
            return v
        v = point
    return v


def _by_gradients(domain: Set, w: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Return the minimiser in any set that can project: accelerated projected gradients, restarted when they overshoot."""
    largest = float(np.abs(hessian).sum(axis=1).max())
    v = ahead = domain.project(w)
    momentum = 1.0
    for _ in range(_MOST_STEPS):
        step = domain.project(ahead - (gradient + hessian @ (ahead - w)) / largest)
        if float((ahead - step) @ (step - v)) > 0.0:
            momentum, ahead = 1.0, v
            step = domain.project(v - (gradient + hessian @ (v - w)) / largest)
        moved = float(np.linalg.norm(step - v))
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead, v, momentum = step + (momentum - 1.0) / following * (step - v), step, following
        if moved <= 1e-15 * float(np.linalg.norm(v)):
            break
    return v
