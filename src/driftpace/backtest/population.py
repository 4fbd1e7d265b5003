"""A period as a population: all its rows, its best model, and the excess risk of any other model."""

from dataclasses import dataclass

import numpy as np

from driftpace.adaptive import DesignRows
from driftpace.constraints import WholeSpace
from driftpace.errors import DataError
from driftpace.learners.newton import minimise
from driftpace.losses import LinearLoss, Loss, SquaredLoss, VectorLoss
from driftpace.records import Outcome
from driftpace.typing import FloatArray, IntArray

_NEWTON, _LEAST_STEP = 50, 1e-8
_ANCHOR = 1e-8
"""Keeps the intercept of a class finite that a period does not have; its probability is then about 1e-7."""


def intercept_free(loss: Loss) -> Loss:
    """Return the loss with a penalty that leaves out the intercept, which comes last: one coefficient for each score.

    >>> intercept_free(SquaredLoss(l2=0.1)).unpenalised
    1
    """
    return loss.with_unpenalised(scores_of(loss))


def scores_of(loss: Loss) -> int:
    """Return the number of scores of a row, which is that of the coefficients of a column."""
    return loss.outputs if isinstance(loss, VectorLoss) else 1


def mean_losses(
    loss: Loss, coefs: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the mean loss of each model, the penalty included; with the weights of the rows, if they have any.

    >>> from driftpace.losses import SquaredLoss
    >>> mean_losses(SquaredLoss(), np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([1.0, 4.0]))
    array([4.25, 1.  ])
    """
    if isinstance(loss, VectorLoss):
        rows = [np.average(loss.phi(loss.scores(coef, X), y), weights=weights) for coef in coefs]
        return np.array(rows) + 0.5 * np.square(coefs) @ loss.penalty_weights(coefs.shape[1])
    if not isinstance(loss, LinearLoss):
        return np.array([loss.value(coef, X, y) for coef in coefs])
    losses: FloatArray = np.average(loss.curve.phi(coefs @ X.T, y[None, :]), axis=1, weights=weights)
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Population:
    """All rows of a period; ``X`` ends with a column of ones, ``y`` is encoded, ``loss`` leaves the intercept alone.

    ``best`` minimises the mean loss over the rows and ``least`` is its value; ``hessian`` is taken there. ``noise`` is
    tr(H^-1 Cov g), g the gradient of a row at ``best``: K rows fitted from nothing lose about noise / 2K. ``groups`` and
    ``weights``, of mean 1, are those of the rows, if any; means are then weighted.
    """

    label: str
    loss: Loss
    X: FloatArray
    y: FloatArray
    best: FloatArray
    least: float
    hessian: FloatArray
    noise: float
    groups: IntArray | None = None
    weights: FloatArray | None = None

    def excess_risk(self, coefs: FloatArray) -> FloatArray:
        """Return the excess risk of each model, one per row; never negative."""
        models = np.atleast_2d(coefs)
        if type(self.loss) is SquaredLoss:  # exact, and without the rounding of a difference
            offsets = models - self.best
            quadratic: FloatArray = 0.5 * np.einsum("ij,ij->i", offsets @ self.hessian, offsets)
            return np.maximum(quadratic, 0.0)
        return np.maximum(mean_losses(self.loss, models, self.X, self.y, self.weights) - self.least, 0.0)


def with_intercept(X: FloatArray) -> FloatArray:
    """Return the rows with a last column of ones."""
    return np.column_stack([X, np.ones(len(X))])


def find_population(
    label: str,
    loss: Loss,
    X: FloatArray,
    y: FloatArray,
    groups: IntArray | None = None,
    weights: FloatArray | None = None,
) -> Population:
    """Return the population of a period, with its minimiser over all rows; weights need a linear loss.

    >>> X, y = np.array([[-1.0], [1.0]]), np.array([0.0, 2.0])
    >>> find_population("1974", SquaredLoss(), X, y).best
    array([1., 1.])
    """
    objective = intercept_free(loss)
    rows, targets = with_intercept(X), objective.encode(y)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        start, anchor = np.zeros(rows.shape[1] * scores_of(loss)), _ANCHOR if isinstance(loss, VectorLoss) else 0.0
        best, _, outcome = minimise(objective, WholeSpace(), start, rows, targets, anchor)
    if outcome is Outcome.NONFINITE:
        raise DataError(
            f"must have numbers of moderate size; those of {label!r} overflow: rescale the columns.",
            owner="backtest",
            name="period",
        )
    hessian, least = objective.hessian(best, rows, targets), objective.value(best, rows, targets)
    gradients = objective.row_gradients(best, rows, targets)
    if weights is not None:
        assert isinstance(objective, LinearLoss | VectorLoss)
        weights = weights / weights.mean()
        best, least, hessian = weighted_best(objective, rows, targets, weights, best)
        gradients = weights[:, None] * objective.row_gradients(best, rows, targets)
    covariance = np.atleast_2d(np.cov(gradients, rowvar=False))
    return Population(
        label=label,
        loss=objective,
        X=rows,
        y=targets,
        best=best,
        least=least,
        hessian=hessian,
        noise=float(np.trace(np.linalg.pinv(hessian, hermitian=True) @ covariance)),
        groups=groups,
        weights=weights,
    )


def weighted_best(
    loss: LinearLoss | VectorLoss, X: FloatArray, y: FloatArray, weights: FloatArray, start: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Return the minimiser of the weighted mean loss, the loss and the Hessian there: Newton's method with halved steps."""
    rows = DesignRows(loss=loss, X=X, y=y, penalty=loss.penalty_weights(start.size), weights=weights)
    w, now = start, rows.value(start)
    for _ in range(_NEWTON):
        hessian = rows.hessian_sum(w) + np.diag(rows.mass * rows.penalty)
        step = np.linalg.lstsq(hessian, rows.gradient(w), rcond=None)[0]
        share = 1.0
        while share > _LEAST_STEP and not (after := rows.value(w - share * step)) <= now:
            share *= 0.5
        if share <= _LEAST_STEP or now - after <= 1e-13 * (1.0 + abs(now)):
            break
        w, now = np.asarray(w - share * step), after
    hessian = rows.hessian_sum(w) + np.diag(rows.mass * rows.penalty)
    return w, now / rows.mass, np.asarray(hessian / rows.mass)
