"""Minimise the mean loss plus an anchor over a set: Newton's method with a line search, on quadratics solved exactly."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.constraints import Ball, Box, ConstraintSet, WholeSpace
from driftpace.losses import HuberLoss, SquaredLoss, VectorLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Outcome
from driftpace.typing import FloatArray

_WELL = 1e-9  # a Hessian with a reciprocal condition number above this is solved as it is
_MOST_ROUNDS = 200
_MOST_GRADIENT_STEPS = 20_000


def nearest_minimiser(
    X: FloatArray, y: FloatArray, penalty: FloatArray, strength: float, anchor: FloatArray
) -> FloatArray:
    """Return argmin of mean (y - x'w)^2/2 + w'diag(penalty)w/2 + (strength/2)||w - anchor||^2, nearest to the anchor.

    By Cholesky where that is safe, and otherwise by a pivoted QR of the rows and the roots of the penalties, which does
    not square the condition number; there, singular values under 1e-12 of the largest count as zero.

    Examples
    --------
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


def minimise_quadratic(
    domain: ConstraintSet, w: FloatArray, gradient: FloatArray, hessian: FloatArray
) -> FloatArray | None:
    """Return argmin over the set of g'(v - w) + (v - w)'H(v - w)/2; None where H has no inverse and the set no border.

    Examples
    --------
    >>> minimise_quadratic(Box(low=0.0, high=1.0), np.zeros(2), np.array([-2.0, 1.0]), np.eye(2))
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


def _by_gradients(domain: ConstraintSet, w: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Return the minimiser in any set that can project: accelerated projected gradients, restarted when they overshoot."""
    largest = float(np.abs(hessian).sum(axis=1).max())
    v = ahead = domain.project(w)
    momentum = 1.0
    for _ in range(_MOST_GRADIENT_STEPS):
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


TOLERANCE = 1e-10
_MOST_STEPS = 100
_MOST_HALVINGS = 12
_MOST_DOUBLINGS = 40
_DAMPINGS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)  # in units of the rows' mean smoothness
_ARMIJO = 1e-4
_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Objective:
    """F(w) = mean loss + (strength/2)||w - anchor||^2."""

    loss: Loss
    X: FloatArray
    y: FloatArray
    anchor: FloatArray
    strength: float

    def value(self, w: FloatArray) -> float:
        away = w - self.anchor
        return self.loss.value(w, self.X, self.y) + 0.5 * self.strength * float(away @ away)

    def gradient(self, w: FloatArray) -> FloatArray:
        return self.loss.gradient(w, self.X, self.y) + self.strength * (w - self.anchor)

    def hessian(self, w: FloatArray) -> FloatArray:
        hessian = np.array(self.loss.hessian(w, self.X, self.y), dtype=np.float64)
        hessian[np.diag_indices_from(hessian)] += self.strength
        return hessian

    def chords(self, w: FloatArray) -> FloatArray | None:
        """Return the Hessian with chords for bends where a Huber loss is straight; None where it is straight nowhere.

        The bend of a row is then slope / residual, and the quadratic it makes lies above the loss: its minimiser is lower,
        also where the true Hessian has nothing to say.
        """
        if not isinstance(self.loss, HuberLoss):
            return None
        bends = np.minimum(1.0, self.loss.shape / np.maximum(np.abs(self.X @ w - self.y), self.loss.shape))
        if bends.min() == 1.0:
            return None
        hessian = (self.X.T * bends) @ self.X / len(self.y)
        hessian[np.diag_indices_from(hessian)] += self.strength + self.loss.penalty_weights(w.size)
        return hessian

    def small(self, w: FloatArray) -> float:
        """Return what counts as no gradient at w: 1e-10 of the gradients of rows, or what rounding leaves of their terms."""
        rows = self.loss.row_gradients(w, self.X, self.y)
        if isinstance(self.loss, VectorLoss):
            heights = 1.0 + np.abs(self.loss.scores(w, self.X)).sum(axis=1)
        else:
            heights = np.abs(self.y) + np.abs(self.X @ w)
        terms = _root_mean_square(self.X) * math.sqrt(w.size) * _root_mean_square(heights)
        penalised = w[: max(w.size - self.loss.unpenalised, 0)]
        away = self.strength * float(np.linalg.norm(w - self.anchor)) + self.loss.l2 * float(np.linalg.norm(penalised))
        return TOLERANCE * (_root_mean_square(rows) * math.sqrt(w.size) + away) + _ROUNDING * terms


def _root_mean_square(array: FloatArray) -> float:
    return math.sqrt(float(np.mean(np.square(array))))


def minimise(
    loss: Loss, domain: ConstraintSet, anchor: FloatArray, X: FloatArray, y: FloatArray, strength: float
) -> tuple[FloatArray, int, Outcome]:
    """Return the minimiser, the number of Newton steps, and whether the tolerance was reached.

    A point is a minimiser when h (w - Pi(w - g/h)), h the rows' mean smoothness, is at most 1e-10 of the gradients of single
    rows; inside the set that is the gradient g itself.

    Examples
    --------
    >>> from driftpace.constraints import Ball
    >>> X, y = np.eye(2), np.array([3.0, 4.0])
    >>> minimise(SquaredLoss(), Ball(1.0), np.zeros(2), X, y, 0.0)[0]
    array([0.6, 0.8])
    """
    objective = _Objective(loss=loss, X=X, y=y, anchor=anchor, strength=strength)
    w = domain.project(anchor)
    if not (np.isfinite(w).all() and np.isfinite(X).all() and np.isfinite(y).all()):
        return w, 0, Outcome.NONFINITE
    smoothness = float(np.mean(loss.row_smoothness(X))) + strength
    if type(loss) is SquaredLoss:  # the least change, also where the rows do not decide; what follows polishes it
        free = nearest_minimiser(X, y, loss.penalty_weights(w.size), strength, anchor)
        if domain.contains(free):
            w = free
    for steps in range(_MOST_STEPS):
        gradient = objective.gradient(w)
        if not np.isfinite(gradient).all():
            return w, steps, Outcome.NONFINITE
        hessian = objective.hessian(w)
        if _error(domain, w, gradient, smoothness) <= objective.small(w):
            return w, max(steps, 1), Outcome.MET
        moved = _newton_step(objective, domain, w, gradient, hessian, smoothness)
        chords = objective.chords(w)
        other = None if chords is None else _newton_step(objective, domain, w, gradient, chords, smoothness)
        if other is not None and (moved is None or objective.value(other) < objective.value(moved)):
            moved = other
        if moved is None:
            moved = _long_step(objective, domain, w, gradient, smoothness)
        if moved is None:
            return w, steps, Outcome.STALLED
        w = moved
    return w, _MOST_STEPS, Outcome.STALLED


def _error(domain: ConstraintSet, w: FloatArray, gradient: FloatArray, smoothness: float) -> float:
    """Return the length of the gradient as far as the set lets one follow it."""
    if isinstance(domain, WholeSpace) or smoothness == 0.0:
        return float(np.linalg.norm(gradient))
    return smoothness * float(np.linalg.norm(domain.project(w - gradient / smoothness) - w))


def _newton_step(
    objective: _Objective,
    domain: ConstraintSet,
    w: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    smoothness: float,
) -> FloatArray | None:
    """Return a lower point towards the quadratic's minimiser, the Hessian damped as far as it takes; None without one."""
    for damping in _DAMPINGS:
        damped = hessian + damping * smoothness * np.eye(w.size) if damping else hessian
        target = minimise_quadratic(domain, w, gradient, damped)
        if target is not None:
            moved = _search(objective, domain, w, gradient, target - w, smoothness)
            if moved is not None:
                return moved
    return None


def _search(
    objective: _Objective,
    domain: ConstraintSet,
    w: FloatArray,
    gradient: FloatArray,
    direction: FloatArray,
    smoothness: float,
) -> FloatArray | None:
    """Return the first of w + d, w + d/2, .. that is lower by Armijo's rule; None where there is none soon."""
    slope, now = float(gradient @ direction), objective.value(w)
    if not slope <= _ROUNDING * abs(now):
        return None
    error, share = _error(domain, w, gradient, smoothness), 1.0
    for _ in range(_MOST_HALVINGS):
        point = domain.project(w + share * direction)  # there already, but for rounding
        lower = objective.value(point)
        if slope < 0.0 and lower <= now + _ARMIJO * share * slope:
            return point
        if (
            lower <= now + _ROUNDING * abs(now)
            and _error(domain, point, objective.gradient(point), smoothness) < 0.9 * error
        ):
            return point  # too close for values to differ: gradients decide
        share *= 0.5
    return None


def _long_step(
    objective: _Objective, domain: ConstraintSet, w: FloatArray, gradient: FloatArray, smoothness: float
) -> FloatArray | None:
    """Return the lowest point that doubled gradient steps reach: far from the minimiser a loss may have no curvature."""
    length, best, now = 1.0 / smoothness, w, objective.value(w)
    for _ in range(_MOST_DOUBLINGS):
        point = domain.project(w - length * gradient)
        value = objective.value(point)
        if not value < now:
            break
        best, now, length = point, value, 2.0 * length
    return None if best is w else best
