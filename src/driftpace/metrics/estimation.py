"""Estimates that a target in a metric needs: the error of a model on rows with its variance, and what an excess loss adds to it.

Every metric is handled as an *error*, which is zero or more and smaller where the model is better: 1 - accuracy, 1 - AUC, 1 - R^2,
the squared RMSE, the log loss and the MAE themselves (:meth:`driftpace.metrics.Metric.to_error`).
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.losses import LinearLoss, classifies
from driftpace.typing import BoolArray, FloatArray, IntArray

_LEAST_ERROR = 1e-6
_MOST_PAIRED = 160
"""Rows whose pairs show what an excess loss adds to 1 - AUC: evenly spaced ones of more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """The error of a model on rows that had no part in it.

    Parameters
    ----------
    error : float
        The error; NaN where the rows cannot show it, such as the AUC of one class.
    variance : float
        Its estimated variance.
    rows : float
        The rows that it stands for: for the AUC, those of two equally frequent classes with as many pairs.
    """

    error: float
    variance: float
    rows: float


def measure(
    name: str,
    loss: LinearLoss,
    y: FloatArray,
    scores: FloatArray,
    *,
    scale: float = 1.0,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
) -> Measurement:
    """Return the error of scores on rows; ``scale`` is the variance of ``y`` where the metric is relative to it.

    >>> from driftpace.losses import LogisticLoss
    >>> y, scores = np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, -1.0, -2.0, -3.0])
    >>> measure("accuracy", LogisticLoss(), y, scores).error, measure("auc", LogisticLoss(), y, scores).error
    (0.25, 0.0)
    """
    count = len(y)
    mass = np.ones(count) if weights is None else weights
    total = float(mass.sum())
    if count == 0 or not total > 0.0:
        return Measurement(error=math.nan, variance=math.inf, rows=0.0)
    units = total**2 / float(mass @ mass)
    if name == "auc":
        return _measure_auc(y > 0.0, scores, mass, groups)
    values = row_errors(name, loss, y, scores) / scale
    error = float(mass @ values) / total
    variance = _variance(mass * (values - error) / total, groups)
    if name == "accuracy":
        variance = max(variance, _share_variance(error, units))
    return Measurement(error=max(error, _LEAST_ERROR), variance=variance, rows=units)


def row_errors(name: str, loss: LinearLoss, y: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the error of each row, for metrics that are means over rows."""
    if name == "accuracy":
        return 0.5 * (1.0 - y * np.where(scores >= 0.0, 1.0, -1.0))
    if name == "log_loss":
        probabilities = loss.probabilities(scores)
        assert probabilities is not None
        likely = np.clip(probabilities, 1e-15, 1.0 - 1e-15)
        return np.asarray(-0.5 * (1.0 + y) * np.log(likely) - 0.5 * (1.0 - y) * np.log1p(-likely))
    return np.abs(scores - y) if name == "mae" else np.square(scores - y)


def _measure_auc(positive: BoolArray, scores: FloatArray, mass: FloatArray, groups: IntArray | None) -> Measurement:
    """Return 1 - AUC with the variance of DeLong: that of the placements of rows among those of the other class."""
    ones, zeros = mass * positive, mass * ~positive
    first, second = float(ones.sum()), float(zeros.sum())
    if not (first > 0.0 and second > 0.0):
        return Measurement(error=math.nan, variance=math.inf, rows=0.0)
    _, of_row = np.unique(scores, return_inverse=True)
    at_zero, at_one = np.bincount(of_row, zeros), np.bincount(of_row, ones)
    above = (second - np.cumsum(at_zero) + 0.5 * at_zero)[of_row] / second
    below = (np.cumsum(at_one) - 0.5 * at_one)[of_row] / first
    error = float(ones @ above) / first
    influence = np.where(positive, ones * (above - error) / first, zeros * (below - error) / second)
    effective = [side.sum() ** 2 / float(side @ side) for side in (ones, zeros)]
    variance = max(_variance(influence, groups), _share_variance(error, min(effective)))
    return Measurement(
        error=max(error, _LEAST_ERROR),
        variance=variance,
        rows=4.0 * effective[0] * effective[1] / (effective[0] + effective[1]),
    )


def _variance(influence: FloatArray, groups: IntArray | None) -> float:
    """Return the variance of a mean from what each row, or group, adds to it."""
    each = influence if groups is None else np.bincount(groups, influence)
    count = len(each)
    return float(each @ each) * (count / (count - 1.0) if count > 1 else 1.0)


def _share_variance(share: float, rows: float) -> float:
    """Return the least variance of a share that so many rows showed: none may be seen by chance."""
    likely = (rows * share + 1.0) / (rows + 2.0)
    return 0.5 * likely * (1.0 - likely) / (rows + 2.0)


def added_error(
    name: str,
    loss: LinearLoss,
    y: FloatArray,
    scores: FloatArray,
    directions: FloatArray,
    excess: FloatArray,
    *,
    scale: float = 1.0,
) -> FloatArray:
    """Return what models with these excess losses add to the error of the best one, on average over their directions.

    The scores of such a model differ from ``scores`` by ``sqrt(excess) directions @ g`` with g standard normal. For classes the
    labels are replaced by their probabilities under the model, so that few rows are enough.

    >>> from driftpace.losses import SquaredLoss
    >>> rows = np.sqrt(2.0) * np.ones((3, 1))
    >>> added_error("rmse", SquaredLoss(), np.zeros(3), np.zeros(3), rows, np.array([0.1, 0.2]))
    array([0.2, 0.4])
    """
    from scipy.special import ndtr  # slow to import

    if name == "auc":
        return _added_to_auc(_probabilities(loss, scores), scores, directions, excess)
    lengths = np.einsum("ij,ij->i", directions, directions)
    spread = np.sqrt(np.maximum(excess[:, None] * lengths, 1e-300))
    if name == "accuracy":
        p = _probabilities(loss, scores)
        return np.asarray((np.abs(2.0 * p - 1.0) * ndtr(-np.abs(scores) / spread)).mean(axis=1))
    if name == "log_loss":
        return np.asarray(0.5 * excess * float((loss.curve.bend(scores, y) * lengths).mean()))
    if name == "mae":
        away = np.abs(scores - y) / spread
        density = np.exp(-0.5 * away**2) / math.sqrt(2.0 * math.pi)
        return np.asarray((2.0 * spread * (density - away * ndtr(-away))).mean(axis=1))
    return np.asarray(excess * float(lengths.mean()) / scale)


def _probabilities(loss: LinearLoss, scores: FloatArray) -> FloatArray:
    """Return the probabilities of the second class; of a loss that has none, those whose squared error its scores minimise."""
    known = loss.probabilities(scores)
    return np.clip(0.5 * (1.0 + scores), 0.0, 1.0) if known is None else known


def _added_to_auc(p: FloatArray, scores: FloatArray, directions: FloatArray, excess: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    if len(p) > _MOST_PAIRED:
        chosen = np.linspace(0, len(p) - 1, _MOST_PAIRED).astype(np.int64)
        p, scores, directions = p[chosen], scores[chosen], directions[chosen]
    i, j = np.triu_indices(len(p), 1)
    one, other = p[i] * (1.0 - p[j]), p[j] * (1.0 - p[i])
    pairs = float((one + other).sum())
    if not pairs > 0.0:
        return np.zeros(len(excess))
    gram = directions @ directions.T
    lengths = np.diag(gram)
    apart = np.sqrt(np.maximum(lengths[i] + lengths[j] - 2.0 * gram[i, j], 1e-300))
    margins, stakes = np.abs(scores[i] - scores[j]) / apart, np.abs(one - other) / pairs
    return np.array([float(stakes @ ndtr(-margins / math.sqrt(max(each, 1e-300)))) for each in excess])


def fits(name: str, loss: object) -> bool:
    """Return whether a target in the metric can be met with models of the loss."""
    if not isinstance(loss, LinearLoss):
        return False
    if name in ("mae", "rmse", "r2"):
        return not classifies(loss) and bool(np.array_equal(loss.link(np.array([-1.5, 2.0])), [-1.5, 2.0]))
    if not classifies(loss):
        return False
    return name != "log_loss" or loss.probabilities(np.zeros(1)) is not None
