"""argmin over a set of the mean loss + (lam/2)||w - anchor||^2, by Newton's method with a line search."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.learners.quadratic import nearest_minimiser, on_set
from driftpace.losses import SquaredLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Outcome
from driftpace.sets import WholeSpace
from driftpace.sets.protocol import Set
from driftpace.typing import FloatArray

TOLERANCE = 1e-10
_MOST_STEPS = 100
_MOST_HALVINGS = 12
_MOST_DOUBLINGS = 100
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

    def size(self) -> float:
        """Return the size of what gradients are made of: ||x|| (|y| + |x'w|), root mean square, and penalties, at the anchor."""
        width = math.sqrt(float(np.einsum("ij,ij->", self.X, self.X)) / len(self.y))
        heights = np.abs(self.y) + np.abs(self.X @ self.anchor)
        length = float(np.linalg.norm(self.anchor))
        return width * math.sqrt(float(heights @ heights) / len(self.y)) + (self.loss.l2 + self.strength) * length


def minimise(
    loss: Loss, domain: Set, anchor: FloatArray, X: FloatArray, y: FloatArray, strength: float
) -> tuple[FloatArray, int, Outcome]:
    """Return the minimiser, the number of Newton steps, and whether the tolerance was reached.

    A point is a minimiser when the step Pi(w - g/h) - w, h the largest curvature, is at most 1e-10 of the objective's size
    over h: the gradient itself, inside the set.

    >>> from driftpace.sets import Ball
    >>> X, y = np.eye(2), np.array([3.0, 4.0])
    >>> minimise(SquaredLoss(), Ball(1.0), np.zeros(2), X, y, 0.0)[0]
    array([0.6, 0.8])
    """
    objective = _Objective(loss=loss, X=X, y=y, anchor=anchor, strength=strength)
    w = domain.project(anchor)
    if not (np.isfinite(w).all() and np.isfinite(X).all() and np.isfinite(y).all()):
        return w, 0, Outcome.NONFINITE
    wanted = TOLERANCE * objective.size()
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
        if _error(domain, w, gradient, _largest(hessian)) <= wanted:
            return w, max(steps, 1), Outcome.MET
        moved = _newton_step(objective, domain, w, gradient, hessian, smoothness)
        if moved is None:
            moved = _long_step(objective, domain, w, gradient, smoothness)
        if moved is None:
            return w, steps, Outcome.STALLED
        w = moved
    return w, _MOST_STEPS, Outcome.STALLED


def _largest(hessian: FloatArray) -> float:
    """Return a number of at least the largest eigenvalue, and of at most the features times it."""
    return max(float(np.abs(hessian).sum(axis=1).max()), 1e-300)


def _error(domain: Set, w: FloatArray, gradient: FloatArray, largest: float) -> float:
    """Return the length of the gradient as far as the set lets one follow it."""
    length = float(np.linalg.norm(gradient))
    if isinstance(domain, WholeSpace) or length == 0.0:
        return length
    return largest * float(np.linalg.norm(domain.project(w - gradient / largest) - w))


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
            moved = _search(objective, domain, w, gradient, target - w, _largest(hessian))
            if moved is not None:
                return moved
    return None


def _search(
    objective: _Objective,
    domain: Set,
    w: FloatArray,
    gradient: FloatArray,
    direction: FloatArray,
    largest: float,
) -> FloatArray | None:
    """Return the first of w + d, w + d/2, .. that is lower by Armijo's rule; None where there is none soon."""
    slope = float(gradient @ direction)
    if not slope < 0.0:
        return None
    now, error, share = objective.value(w), _error(domain, w, gradient, largest), 1.0
    for _ in range(_MOST_HALVINGS):
        point = w + share * direction
        lower = objective.value(point)
        if lower <= now + _ARMIJO * share * slope:
            return point
        if (
            lower <= now + _ROUNDING * abs(now)
            and _error(domain, point, objective.gradient(point), largest) < 0.9 * error
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
