"""A period as a population: all its rows, its best model, and the excess risk of any other model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive import DesignRows, robust_start
from driftpace.constraints import WholeSpace
from driftpace.errors import DataError
from driftpace.learners.newton import minimise
from driftpace.losses import LinearLoss, LogLinkLoss, Loss, QuantileLoss, SquaredLoss, VectorLoss
from driftpace.records import Outcome
from driftpace.typing import FloatArray, IntArray

_NEWTON, _LEAST_STEP = 50, 1e-8
_BANDWIDTHS = (0.1, 0.03, 0.01)  # of the residual scale, towards the check loss itself
_NO_CURVATURE = 1e-10
"""Eigenvalues of the curvature below this share of the largest are rounding errors."""
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


def mean_gradients(
    loss: Loss, coefs: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the gradient of the mean loss of each model, (models, coefficients), with the weights of rows of mean 1, if any."""
    if not isinstance(loss, LinearLoss):
        if weights is None:
            return np.array([loss.gradient(coef, X, y) for coef in coefs])
        rows = _weighted_rows(loss, coefs, X, y, weights)
        return np.array([rows.gradient(coef) / rows.mass for coef in coefs])
    slopes = loss.curve.slope(coefs @ X.T, y[None, :])
    slopes = slopes if weights is None else slopes * weights
    return slopes @ X / len(y) + coefs * loss.penalty_weights(coefs.shape[1])


def _weighted_rows(loss: Loss, coefs: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray) -> DesignRows:
    assert isinstance(loss, LinearLoss | VectorLoss)
    return DesignRows(loss=loss, X=X, y=y, penalty=loss.penalty_weights(coefs.shape[1]), weights=weights)


def mean_hessians(
    loss: Loss,
    coefs: FloatArray,
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray | None = None,
    *,
    majorant: bool = False,
) -> FloatArray:
    """Return the Hessian of the mean loss of each model, (models, coefficients, coefficients), or that of parabolas above it."""
    if not isinstance(loss, LinearLoss):
        if weights is None:
            return np.array([loss.hessian(coef, X, y) for coef in coefs])
        rows = _weighted_rows(loss, coefs, X, y, weights)
        return np.array([rows.hessian_sum(coef) / rows.mass + np.diag(rows.penalty) for coef in coefs])
    features = coefs.shape[1]
    curve = loss.curve
    bend = curve.majorant if majorant and curve.majorant is not None else curve.bend
    bends = bend(coefs @ X.T, y[None, :])
    bends = bends if weights is None else bends * weights
    products = (X[:, :, None] * X[:, None, :]).reshape(len(y), features * features)
    hessians: FloatArray = (bends @ products / len(y)).reshape(len(coefs), features, features)
    return hessians + np.diag(loss.penalty_weights(features))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Population:
    """All rows of a period; ``X`` ends with a column of ones, ``y`` is encoded, ``loss`` leaves the intercept alone.

    ``best`` minimises the mean loss over the rows and ``least`` is its value, of counts that are all zero the least that there can
    be, zero; ``hessian`` is taken there. A loss that smooths
    another is the one that is fitted; ``best`` and ``least`` are those of the other. ``noise`` is
    tr(H^-1 Cov g), g the gradient of a row at ``best``: K rows fitted from nothing lose about noise / 2K. ``model_error`` is the
    expected excess risk of ``best`` in the world that the rows are a sample of: noise / 2N of N rows, with the sums of gradients
    of ``groups`` in their place where there are any. ``weights`` of mean 1 are those of the rows, if any; means are then weighted.
    """

    label: str
    loss: Loss
    X: FloatArray
    y: FloatArray
    best: FloatArray
    least: float
    hessian: FloatArray
    noise: float
    model_error: float
    groups: IntArray | None = None
    weights: FloatArray | None = None

    @property
    def zeros(self) -> bool:
        """Whether all rows are counts or amounts of zero, so that no model is the best one."""
        return isinstance(self.loss, LogLinkLoss) and not self.y.any()

    def excess_risk(self, coefs: FloatArray) -> FloatArray:
        """Return the excess risk of each model, one per row; never negative."""
        models = np.atleast_2d(coefs)
        if type(self.loss) is SquaredLoss:  # exact, and without the rounding of a difference
            offsets = models - self.best
            quadratic: FloatArray = 0.5 * np.einsum("ij,ij->i", offsets @ self.hessian, offsets)
            return np.maximum(quadratic, 0.0)
        loss = self.loss.exact if isinstance(self.loss, LinearLoss) else self.loss
        return np.maximum(mean_losses(loss, models, self.X, self.y, self.weights) - self.least, 0.0)


def model_error_share(populations: Sequence[Population], epsilon: FloatArray) -> float:
    """Return how uncertain the best models of the periods are themselves, as a share of the target."""
    return float(np.mean([now.model_error for now in populations]) / np.mean(epsilon))


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
    if isinstance(objective, LinearLoss) and (
        objective.open or objective.curve.majorant or not objective.bounded_curvature
    ):
        return _started_population(label, objective, rows, targets, groups, weights)
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
    noise, model_error = _noise(hessian, gradients, groups)
    return Population(
        label=label,
        loss=objective,
        X=rows,
        y=targets,
        best=best,
        least=least,
        hessian=hessian,
        noise=noise,
        model_error=model_error,
        groups=groups,
        weights=weights,
    )


def _noise(hessian: FloatArray, gradients: FloatArray, groups: IntArray | None) -> tuple[float, float]:
    """Return tr(H^-1 Cov g), and the expected excess risk of the best model of the rows.

    Directions without curvature but for rounding do not count: a column that is constant in the period, or for a quantile one that
    differs only in rows far from it.
    """
    inverse: FloatArray = np.asarray(np.linalg.pinv(hessian, rcond=_NO_CURVATURE, hermitian=True), dtype=np.float64)
    count = len(gradients)
    noise = grouped = _trace(inverse, gradients)
    if groups is not None:
        grouped = _trace(inverse, _group_sums(gradients, groups)) * len(np.unique(groups)) / count
    return noise, grouped / (2.0 * count)


def _trace(inverse: FloatArray, gradients: FloatArray) -> float:
    """Return tr(H^-1 Cov g)."""
    return float(np.trace(inverse @ np.atleast_2d(np.cov(gradients, rowvar=False))))


def _group_sums(gradients: FloatArray, groups: IntArray) -> FloatArray:
    """Return the sum of the gradients of each group."""
    numbers = np.unique(groups, return_inverse=True)[1]
    sums = np.zeros((numbers.max() + 1, gradients.shape[1]))
    np.add.at(sums, numbers, gradients)
    return sums


def _started_population(
    label: str,
    loss: LinearLoss,
    X: FloatArray,
    y: FloatArray,
    groups: IntArray | None,
    weights: FloatArray | None,
) -> Population:
    """Return the population of a loss that needs a start near the data; parameters that are open are set by its residuals."""
    if not loss.bounded_curvature and not y.any():
        return _of_zeros(label, loss, X, y, groups, weights)
    counts = np.ones(len(y)) if weights is None else weights / weights.mean()
    model, scale = robust_start(loss, X, y, counts)
    loss = loss.tuned(scale)
    best, least, hessian = weighted_best(loss, X, y, counts, model)
    gradients = counts[:, None] * loss.row_gradients(best, X, y)
    noise, model_error = _noise(hessian, gradients, groups)
    if isinstance(loss, QuantileLoss):
        for share in _BANDWIDTHS:
            sharper = replace(loss, bandwidth=share * scale)
            best = weighted_best(sharper, X, y, counts, best)[0]
        least = float(mean_losses(loss.exact, best[None], X, y, counts)[0])
    return Population(
        label=label,
        loss=loss,
        X=X,
        y=y,
        best=best,
        least=least,
        hessian=hessian,
        noise=noise,
        model_error=model_error,
        groups=groups,
        weights=None if weights is None else counts,
    )


def _of_zeros(
    label: str,
    loss: LinearLoss,
    X: FloatArray,
    y: FloatArray,
    groups: IntArray | None,
    weights: FloatArray | None,
) -> Population:
    """Return the population of a period whose counts are all zero: the lower a model predicts, the better, and no loss is left.

    In its place stands the model of half a count in all rows.
    """
    counts = None if weights is None else weights / weights.mean()
    best = np.append(np.zeros(X.shape[1] - 1), loss.constant_score(y, counts) or 0.0)
    return Population(
        label=label,
        loss=loss,
        X=X,
        y=y,
        best=best,
        least=0.0,
        hessian=loss.hessian(best, X, y),
        noise=0.0,
        model_error=0.0,
        groups=groups,
        weights=counts,
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
        if share < 0.5 and (above := rows.majorant_sum(w)) is not None:
            safe = np.linalg.lstsq(above + np.diag(rows.mass * rows.penalty), rows.gradient(w), rcond=None)[0]
            lower = rows.value(w - safe)
            if share <= _LEAST_STEP or lower < after:
                share, step, after = (1.0 if lower <= now else 0.0), safe, lower
        if share <= _LEAST_STEP or now - after <= 1e-13 * (1.0 + abs(now)):
            break
        w, now = np.asarray(w - share * step), after
    hessian = rows.hessian_sum(w) + np.diag(rows.mass * rows.penalty)
    return w, now / rows.mass, np.asarray(hessian / rows.mass)
