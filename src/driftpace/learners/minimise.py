"""argmin over a set of the mean loss + (lam/2)||w - anchor||^2, by Newton's method with a line search."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.constraints import WholeSpace
from driftpace.constraints.protocol import Set
from driftpace.learners.quadratic import nearest_minimiser, on_set
from driftpace.losses import HuberLoss, SquaredLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Outcome
from driftpace.typing import FloatArray

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
        bends = np.minimum(1.0, self.loss.threshold / np.maximum(np.abs(self.X @ w - self.y), self.loss.threshold))
        if bends.min() == 1.0:
            return None
        hessian = (self.X.T * bends) @ self.X / len(self.y)
        hessian[np.diag_indices_from(hessian)] += self.strength + self.loss.penalty_weights(w.size)
        return hessian

    def small(self, w: FloatArray) -> float:
        """Return what counts as no gradient at w: 1e-10 of the gradients of rows, or what rounding leaves of their terms."""
        rows = self.loss.row_gradients(w, self.X, self.y)
        heights = np.abs(self.y) + np.abs(self.X @ w)
        terms = _root_mean_square(self.X) * math.sqrt(w.size) * _root_mean_square(heights)
        penalised = w[: max(w.size - self.loss.unpenalised, 0)]
        away = self.strength * float(np.linalg.norm(w - self.anchor)) + self.loss.l2 * float(np.linalg.norm(penalised))
        return TOLERANCE * (_root_mean_square(rows) * math.sqrt(w.size) + away) + _ROUNDING * terms


def _root_mean_square(array: FloatArray) -> float:
    return math.sqrt(float(np.mean(np.square(array))))


def minimise(
    loss: Loss, domain: Set, anchor: FloatArray, X: FloatArray, y: FloatArray, strength: float
) -> tuple[FloatArray, int, Outcome]:
    """Return the minimiser, the number of Newton steps, and whether the tolerance was reached.

    A point is a minimiser when h (w - Pi(w - g/h)), h the rows' mean smoothness, is at most 1e-10 of the gradients of single
    rows; inside the set that is the gradient g itself.

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


def _error(domain: Set, w: FloatArray, gradient: FloatArray, smoothness: float) -> float:
    """Return the length of the gradient as far as the set lets one follow it."""
    if isinstance(domain, WholeSpace) or smoothness == 0.0:
        return float(np.linalg.norm(gradient))
    return smoothness * float(np.linalg.norm(domain.project(w - gradient / smoothness) - w))


def _newton_step(
    objective: _Objective,
    domain: Set,
    w: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    smoothness: float,
) -> FloatArray | None:
    """Return a lower point towards the quadratic's minimiser, the Hessian damped as far as it takes; None without one."""
    for damping in _DAMPINGS:
        damped = hessian + damping * smoothness * np.eye(w.size) if damping else hessian
        target = on_set(domain, w, gradient, damped)
        if target is not None:
            moved = _search(objective, domain, w, gradient, target - w, smoothness)
            if moved is not None:
                return moved
    return None


def _search(
    objective: _Objective,
    domain: Set,
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
            return point  # too near for values to tell: gradients decide
        share *= 0.5
    return None


def _long_step(
    objective: _Objective, domain: Set, w: FloatArray, gradient: FloatArray, smoothness: float
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
