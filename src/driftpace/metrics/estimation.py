"""Estimates that a target in a metric needs: the error of a model on rows with its variance, and what an excess loss adds to it.

Every metric is handled as an *error*, which is zero or more and smaller where the model is better: 1 - accuracy, 1 - AUC, 1 - R^2,
1 - deviance explained, the squared RMSE; the log loss, the MAE and the pinball loss themselves
(:meth:`driftpace.metrics.Metric.to_error`). Models of several classes are in :mod:`driftpace.metrics.multiclass`.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.losses import LinearLoss, LogLinkLoss, VectorLoss
from driftpace.metrics.constant import constant_model
from driftpace.metrics.multiclass import added_to_classes, sampled_moves
from driftpace.typing import BoolArray, FloatArray, IntArray

_LEAST_ERROR = 1e-6
_MOST_PAIRED = 160
"""Rows whose pairs show what an excess loss adds to 1 - AUC: evenly spaced ones of more."""

_OF_THE_LOSS = ("log_loss", "deviance_explained", "pinball")
"""Metrics that are the loss itself, up to a scale: an excess loss adds just that."""

_MOST_SPREAD = 4.0
"""The standard deviation of the logarithm of a mean up to which means are spread, so that nothing overflows."""


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


UNKNOWN = Measurement(error=math.nan, variance=math.inf, rows=0.0)
"""What rows say that cannot show the error."""


def measure(
    name: str,
    loss: LinearLoss | VectorLoss,
    y: FloatArray,
    scores: FloatArray,
    *,
    scale: float = 1.0,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
) -> Measurement:
    """Return the error of scores on rows; ``scale`` is what a metric is relative to: the variance of ``y``, or a constant's loss.

    >>> from driftpace.losses import LogisticLoss
    >>> y, scores = np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, -1.0, -2.0, -3.0])
    >>> measure("accuracy", LogisticLoss(), y, scores).error, measure("auc", LogisticLoss(), y, scores).error
    (0.25, 0.0)
    """
    count = len(y)
    mass = np.ones(count) if weights is None else weights
    total = float(mass.sum())
    if count == 0 or not total > 0.0 or not scale > 0.0:
        return UNKNOWN
    units = total**2 / float(mass @ mass)
    if name == "auc":
        return _measure_auc(loss, y, scores, mass, groups)
    values = row_errors(name, loss, y, scores) / scale
    error = float(mass @ values) / total
    variance = _variance(mass * (values - error) / total, groups)
    if name == "deviance_explained":  # the scale is an estimate too, from these rows and earlier ones
        ratio = values - error * constant_model(loss, y, mass).losses / scale
        variance = max(variance, _variance(mass * (ratio - float(mass @ ratio) / total) / total, groups))
    if name == "accuracy":
        variance = max(variance, _share_variance(error, units))
    return Measurement(error=max(error, _LEAST_ERROR), variance=variance, rows=units)


def row_errors(name: str, loss: LinearLoss | VectorLoss, y: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the error of each row, for metrics that are means over rows."""
    if isinstance(loss, VectorLoss):
        return loss.phi(scores, y) if name in _OF_THE_LOSS else (loss.link(scores) != y).astype(np.float64)
    if name == "accuracy":
        return 0.5 * (1.0 - y * np.where(scores >= 0.0, 1.0, -1.0))
    if name in _OF_THE_LOSS:
        return loss.exact.curve.phi(scores, y)
    away = loss.link(scores) - y
    return np.abs(away) if name == "mae" else np.square(away)


def _measure_auc(
    loss: LinearLoss | VectorLoss, y: FloatArray, scores: FloatArray, mass: FloatArray, groups: IntArray | None
) -> Measurement:
    """Return 1 - AUC with its variance; of several classes the mean over those that can be compared, each against the rest."""
    if isinstance(loss, VectorLoss):
        ranks = loss.probabilities(scores)
        assert ranks is not None, "losses of classes estimate probabilities"
        found = [_one_auc(y == label, ranks[:, label], mass) for label in range(ranks.shape[1])]
    else:
        found = [_one_auc(y > 0.0, scores, mass)]
    known = [each for each in found if each is not None]
    if not known:
        return UNKNOWN
    error, rows = (float(np.mean([each[place] for each in known])) for place in (0, 2))
    least = sum(each[3] for each in known) / len(known) ** 2
    variance = max(_variance(np.mean([each[1] for each in known], axis=0), groups), least)
    return Measurement(error=max(error, _LEAST_ERROR), variance=variance, rows=rows)


def _one_auc(
    positive: BoolArray, scores: FloatArray, mass: FloatArray
) -> tuple[float, FloatArray, float, float] | None:
    """Return 1 - AUC, what each row adds to it, as how many rows they count, and the least variance.

    The variance is that of DeLong: of the placements of rows among those of the other class.
    """
    ones, zeros = mass * positive, mass * ~positive
    first, second = float(ones.sum()), float(zeros.sum())
    if not (first > 0.0 and second > 0.0):
        return None
    _, of_row = np.unique(scores, return_inverse=True)
    at_zero, at_one = np.bincount(of_row, zeros), np.bincount(of_row, ones)
    above = (second - np.cumsum(at_zero) + 0.5 * at_zero)[of_row] / second
    below = (np.cumsum(at_one) - 0.5 * at_one)[of_row] / first
    error = float(ones @ above) / first
    influence = np.where(positive, ones * (above - error) / first, zeros * (below - error) / second)
    effective = [side.sum() ** 2 / float(side @ side) for side in (ones, zeros)]
    rows = 4.0 * effective[0] * effective[1] / (effective[0] + effective[1])
    return error, influence, rows, _share_variance(error, min(effective))


def _variance(influence: FloatArray, groups: IntArray | None) -> float:
    """Return the variance of a mean from what each row, or group, adds to it."""
    each = influence if groups is None else np.bincount(groups, influence)
    count = len(each)
    return float(each @ each) * (count / (count - 1.0) if count > 1 else 1.0)


def _share_variance(share: float, rows: float) -> float:
    """Return the least variance of a share that so many rows showed: none may be seen by chance."""
    likely = (rows * share + 1.0) / (rows + 2.0)
    return 0.5 * likely * (1.0 - likely) / (rows + 2.0)


def score_directions(loss: LinearLoss | VectorLoss, X: FloatArray, root: FloatArray) -> FloatArray:
    """Return how the scores of rows move with the model: as many directions as coefficients, the columns of ``root``.

    Where rows have several scores they are moves of scores (rows, outputs, draws), drawn with the covariance ``root root'``.
    """
    if isinstance(loss, VectorLoss):
        return sampled_moves(loss, X, root)
    return np.asarray(X @ root)


def quadratic_cost(
    loss: LinearLoss | VectorLoss,
    y: FloatArray,
    scores: FloatArray,
    directions: FloatArray,
    weights: FloatArray | None = None,
) -> float:
    """Return the mean excess loss of models whose scores differ by the directions, to second order."""
    if isinstance(loss, VectorLoss):
        bends = loss.bend(scores, y)
        costs = np.einsum("iak,iab,ibk->i", directions, bends, directions, optimize=True) / directions.shape[2]
    else:
        bends, shared = loss.curve.bend(scores, y), loss.shared_curvature
        if shared:
            bends = (1.0 - shared) * bends + shared * bends.mean()
        costs = bends * np.einsum("ij,ij->i", directions, directions)
    return 0.5 * float(np.average(costs, weights=weights))


def added_error(
    name: str,
    loss: LinearLoss | VectorLoss,
    y: FloatArray,
    scores: FloatArray,
    directions: FloatArray,
    excess: FloatArray,
    *,
    scale: float = 1.0,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return what models with these excess losses add to the error of the best one, on average over their directions.

    The scores of such a model differ from ``scores`` by ``sqrt(excess) directions @ g`` with g standard normal, or by
    ``sqrt(excess)`` times one of the moves drawn (:func:`score_directions`). For classes the labels are replaced by their
    probabilities under the model, and for squared errors by the mean, so that few rows are enough.

    >>> from driftpace.losses import SquaredLoss
    >>> rows = np.sqrt(2.0) * np.ones((3, 1))
    >>> added_error("rmse", SquaredLoss(), np.zeros(3), np.zeros(3), rows, np.array([0.1, 0.2]))
    array([0.2, 0.4])
    """
    from scipy.special import ndtr  # slow to import

    if name in _OF_THE_LOSS:
        return np.asarray(excess * quadratic_cost(loss, y, scores, directions, weights) / scale)
    if isinstance(loss, VectorLoss):
        return added_to_classes(name, loss, y, scores, directions, excess, weights)
    if name == "auc":
        return _added_to_auc(_probabilities(loss, scores), scores, directions, excess)
    lengths = np.einsum("ij,ij->i", directions, directions)
    spread = np.sqrt(np.maximum(excess[:, None] * lengths, 1e-300))
    if name == "accuracy":
        p = _probabilities(loss, scores)
        added = np.abs(2.0 * p - 1.0) * ndtr(-np.abs(scores) / spread)
    elif isinstance(loss, LogLinkLoss):
        added = _added_to_means(name, loss.link(scores), y, np.minimum(spread, _MOST_SPREAD)) / scale
    elif name == "mae":
        away = np.abs(scores - y) / spread
        density = np.exp(-0.5 * away**2) / math.sqrt(2.0 * math.pi)
        added = 2.0 * spread * (density - away * ndtr(-away))
    else:
        return np.asarray(excess * float(np.average(lengths, weights=weights)) / scale)
    return np.asarray(np.average(added, axis=1, weights=weights))


def _added_to_means(name: str, means: FloatArray, y: FloatArray, spread: FloatArray) -> FloatArray:
    """Return what lognormal factors of the means add to the absolute, or squared, errors of rows, (excess losses, rows).

    With X lognormal, E|X - y| = 2 E max(X - y, 0) - E X + y, and E max(X - y, 0) is the value of an option.
    """
    from scipy.special import ndtr

    grown = means * np.exp(0.5 * np.square(spread))
    if name != "mae":
        return np.asarray(np.square(means) * (np.exp(2.0 * np.square(spread)) + 1.0) - 2.0 * means * grown)
    with np.errstate(divide="ignore"):
        away = (np.log(means) - np.log(y)) / spread
    above = grown * ndtr(away + spread) - y * ndtr(away)
    return np.asarray(2.0 * above - grown + y - np.abs(means - y))


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
