"""The models that remain when a fold is left out, for every candidate and every fold, at far less than a fit for each.

The fit of a period minimises, over its rows, sum phi(x'w, y) + (rows/2) w'Pw + 1/2 (w - a)'S(w - a): the loss, the penalty, and
how strongly the model is held to what was known before. Leaving fold f out takes its rows out of the sums; S and a stay, and a
follows from the full fit w being a minimum, Sa = Sw + gradient(w).

Squared loss: with G, c the sums of xx' and xy, G_f, c_f those of the fold, and n_f the rows that stay,

    w_f = (G - G_f + n_f P + S)^-1 (c - c_f + Sa),

exactly. The sums are made once for all candidates (one pass over the rows), and each model is a d by d system: no fit at all.
Other losses: the same with the Hessian at the full fit, made once for each candidate, as the metric of steps that start at
the full fit; a step costs a gradient, and a few suffice, since a fold changes little. Where they do not settle, Newton's
method goes on.
"""

from dataclasses import dataclass, field

import numpy as np

from driftpace.losses import Curve, LinearLoss, SquaredLoss, VectorLoss
from driftpace.losses.vector import kronecker_sum
from driftpace.typing import FloatArray, IntArray

_STEPS = 25
_NEWTON = 30
_SETTLED = 1e-8
_CONDITION = 1e13


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Design:
    """Rows and their folds, with the sums that all candidates share. ``y`` is encoded; ``weights`` have mean 1.

    >>> rows = Design(X=np.array([[1.0], [1.0], [1.0]]), y=np.array([1.0, 2.0, 6.0]), fold=np.array([0, 1, 2]))
    >>> held = Held(loss=SquaredLoss(), model=np.array([3.0]), strength=np.zeros((1, 1)))
    >>> left_out(rows, held).ravel()  # the means of the other two
    array([4. , 3.5, 1.5])
    """

    X: FloatArray
    y: FloatArray
    fold: IntArray
    weights: FloatArray | None = None
    folds: int = field(init=False)
    rows: FloatArray = field(init=False)
    _sums: dict[str, FloatArray] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folds", int(self.fold.max()) + 1)
        object.__setattr__(self, "rows", np.bincount(self.fold, self.weights, minlength=self.folds).astype(np.float64))

    @property
    def squares(self) -> FloatArray:
        """The sum of xx' in each fold, (folds, features, features)."""
        if "squares" not in self._sums:
            self._sums["squares"] = self.weighted(np.ones(len(self.y)))
        return self._sums["squares"]

    @property
    def products(self) -> FloatArray:
        """The sum of xy in each fold, (folds, features)."""
        if "products" not in self._sums:
            parts = (self.fold == f for f in range(self.folds))
            y = self.times_weight(self.y)
            self._sums["products"] = np.array([self.X[part].T @ y[part] for part in parts])
        return self._sums["products"]

    def times_weight(self, values: FloatArray) -> FloatArray:
        """Return values, the last axis of which are rows, times the weights of the rows."""
        return values if self.weights is None else np.asarray(values * self.weights)

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return the sum of weight xx' in each fold, besides the weights of the rows themselves."""
        scaled = self.X * np.sqrt(self.times_weight(weights))[:, None]
        return np.array([scaled[part].T @ scaled[part] for part in (self.fold == f for f in range(self.folds))])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Held:
    """The full fit of one candidate: its loss, its model, and the matrix S by which it is held to what was known before."""

    loss: LinearLoss | VectorLoss
    model: FloatArray
    strength: FloatArray
    penalty: FloatArray | None = None

    @property
    def weights(self) -> FloatArray:
        """The diagonal of P."""
        return self.loss.penalty_weights(self.model.size) if self.penalty is None else self.penalty


def left_out(design: Design, held: Held) -> FloatArray:
    """Return the model without each fold, (folds, features)."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(held.loss, VectorLoss):
            return _of_scores(design, held, held.loss)
        return _squared(design, held) if isinstance(held.loss, SquaredLoss) else _curved(design, held, held.loss)


def losses_left_out(design: Design, models: FloatArray, score: LinearLoss | VectorLoss) -> FloatArray:
    """Return the loss of each row, without any penalty, by the model of its fold, which has not seen it."""
    if isinstance(score, VectorLoss):
        several = np.einsum("ij,ijk->ik", design.X, np.array([score.matrix(model) for model in models])[design.fold])
        return score.phi(several, design.y)
    scores = np.einsum("ij,ij->i", design.X, models[design.fold])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(score.curve.phi(scores, design.y))


def _squared(design: Design, held: Held) -> FloatArray:
    whole, sums = design.squares.sum(axis=0), design.products.sum(axis=0)
    count, weights = float(design.rows.sum()), held.weights
    pull = whole @ held.model + count * weights * held.model + held.strength @ held.model - sums  # S a
    stay = (count - design.rows)[:, None] * weights
    matrices = whole - design.squares + held.strength
    matrices = matrices + stay[:, :, None] * np.eye(held.model.size)
    return _solved(matrices, sums - design.products + pull)


def _of_scores(design: Design, held: Held, loss: VectorLoss) -> FloatArray:
    """Return the models of a loss of several scores, each by Newton's method from the model of all rows."""
    own = np.ones(len(design.y)) if design.weights is None else design.weights
    w, penalty = held.model, held.weights
    slope = _gradient(loss, w, design.X, design.y, own) + float(design.rows.sum()) * penalty * w
    pull = held.strength @ w + slope  # S a
    models = []
    for fold in range(design.folds):
        keep = design.fold != fold
        ridge = held.strength + np.diag((float(design.rows.sum()) - design.rows[fold]) * penalty)
        models.append(_minimiser(loss, w, (design.X[keep], design.y[keep], own[keep]), ridge, pull))
    return np.array(models)


def _gradient(loss: VectorLoss, w: FloatArray, X: FloatArray, y: FloatArray, own: FloatArray) -> FloatArray:
    return np.asarray((X.T @ (own[:, None] * loss.slope(loss.scores(w, X), y))).ravel())


def _minimiser(
    loss: VectorLoss,
    w: FloatArray,
    rows: tuple[FloatArray, FloatArray, FloatArray],
    ridge: FloatArray,
    pull: FloatArray,
) -> FloatArray:
    """Return where the weighted loss of rows + w'Rw/2 - pull'w is least, with steps halved until it falls."""
    X, y, own = rows

    def objective(at: FloatArray) -> float:
        return float(own @ loss.phi(loss.scores(at, X), y) + 0.5 * at @ ridge @ at - pull @ at)

    now = objective(w)
    for _ in range(_NEWTON):
        slope = _gradient(loss, w, X, y, own) + ridge @ w - pull
        bends = loss.bend(loss.scores(w, X), y) * own[:, None, None]
        step = _solved((kronecker_sum(X, bends) + ridge)[None], slope[None])[0]
        share = 1.0
        while share > 1e-6 and not (after := objective(w - share * step)) <= now:
            share *= 0.5
        if share <= 1e-6:
            break
        w, gain, now = w - share * step, now - after, after
        if gain <= 1e-10 * (1.0 + abs(now)):
            break
    return w


def _curved(design: Design, held: Held, loss: LinearLoss) -> FloatArray:
    curve, weights, w = loss.curve, held.weights, held.model
    scores = design.X @ w
    bends = design.weighted(curve.bend(scores, design.y))
    count = float(design.rows.sum())
    slope = design.times_weight(curve.slope(scores, design.y)) @ design.X + count * weights * w
    pull = held.strength @ w + slope  # S a
    stay = count - design.rows
    outside = design.fold[:, None] != np.arange(design.folds)
    ridge = held.strength + np.einsum("f,i,ij->fij", stay, weights, np.eye(w.size))
    matrices = bends.sum(axis=0) - bends + ridge

    def gradients(models: FloatArray) -> FloatArray:
        slopes = np.where(outside, curve.slope(design.X @ models.T, design.y[:, None]), 0.0)
        return np.asarray(
            design.times_weight(slopes.T) @ design.X + stay[:, None] * weights * models + models @ held.strength - pull
        )

    models = np.tile(w, (design.folds, 1))
    now = gradients(models)
    size = np.linalg.norm(now, axis=1)
    enough = _SETTLED * np.maximum(size, 1e-300)
    for _ in range(_STEPS):
        tried = models - _solved(matrices, now)
        there = gradients(tried)
        after = np.linalg.norm(there, axis=1)
        better = after < 0.7 * size
        models, now = np.where(better[:, None], tried, models), np.where(better[:, None], there, now)
        size = np.where(better, after, size)
        if (size <= enough).all() or not better.any():
            break
    for f in np.flatnonzero(size > enough):
        models[f] = _newton(design, curve, pull, ridge[f], int(f), models[f])
    return models


def _newton(design: Design, curve: Curve, pull: FloatArray, ridge: FloatArray, fold: int, w: FloatArray) -> FloatArray:
    """Return the model without one fold, by Newton's method with steps halved until the objective falls."""
    keep = design.fold != fold
    X, y = design.X[keep], design.y[keep]
    own = np.ones(len(y)) if design.weights is None else design.weights[keep]

    def objective(at: FloatArray) -> float:
        return float(own @ curve.phi(X @ at, y) + 0.5 * at @ ridge @ at - pull @ at)

    now = objective(w)
    for _ in range(_NEWTON):
        scores = X @ w
        slope = (own * curve.slope(scores, y)) @ X + ridge @ w - pull
        step = _solved(((X.T * (own * curve.bend(scores, y))) @ X + ridge)[None], slope[None])[0]
        share = 1.0
        while share > 1e-6 and not (after := objective(w - share * step)) <= now:
            share *= 0.5
        if share <= 1e-6:
            break
        w, gain, now = w - share * step, now - after, after
        if gain <= 1e-14 * (1.0 + abs(now)):
            break
    return w


def _solved(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solutions of symmetric systems; the shortest where a fold leaves some direction unseen.

    Rounding hides such a direction from the solver. So a second right side is solved for beside the first, in the units of the
    columns: its solution is of the size of the condition, and tells.
    """
    probe = np.sqrt(matrices.diagonal(axis1=1, axis2=2))
    both = np.empty((*right.shape, 2))
    both[:, :, 0], both[:, :, 1] = right, probe * np.cos(np.square(np.arange(right.shape[1])))
    try:
        found = np.linalg.solve(matrices, both)
        if np.isfinite(found[:, :, 0]).all() and (np.abs(found[:, :, 1] * probe) < _CONDITION).all():
            return np.asarray(found[:, :, 0])
    except np.linalg.LinAlgError:
        pass
    if not (np.isfinite(matrices).all() and np.isfinite(right).all()):
        return np.full_like(right, np.nan)
    return np.asarray((np.linalg.pinv(matrices, hermitian=True) @ right[:, :, None])[:, :, 0])
