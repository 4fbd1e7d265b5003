"""What an excess loss adds to the errors of models of several classes, by models that are drawn."""

import numpy as np

from driftpace.losses import VectorLoss
from driftpace.typing import FloatArray

_DRAWS = 24
_MOST_ROWS = 400
"""Rows that are looked at: evenly spaced ones of more."""


def sampled_moves(loss: VectorLoss, X: FloatArray, root: FloatArray) -> FloatArray:
    """Return the moves of the scores of rows, (rows, outputs, draws), by coefficients drawn with the covariance ``root root'``.

    The draws are the same in each call, one half of them the negatives of the other.
    """
    normal = np.random.default_rng(0).standard_normal((root.shape[1], _DRAWS // 2))
    drawn = root @ np.hstack([normal, -normal])
    moves: FloatArray = np.stack([loss.scores(each, X) for each in drawn.T], axis=-1)
    return moves


def added_to_classes(
    name: str,
    loss: VectorLoss,
    y: FloatArray,
    scores: FloatArray,
    moves: FloatArray,
    excess: FloatArray,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return what the moves add to 1 - accuracy, or 1 - AUC of each class of ``y`` against the rest; labels are not needed else.

    >>> from driftpace.losses import SoftmaxLoss
    >>> loss, scores = SoftmaxLoss(classes=2), np.array([[1.0], [-1.0]])
    >>> added_to_classes("accuracy", loss, np.array([0.0, 1.0]), scores, -2.0 * scores[:, :, None], np.array([0.1, 1.0])).round(3)
    array([0.   , 0.609])
    """
    if len(y) > _MOST_ROWS:
        chosen = np.linspace(0, len(y) - 1, _MOST_ROWS).astype(np.int64)
        y, scores, moves = y[chosen], scores[chosen], moves[chosen]
        weights = None if weights is None else weights[chosen]
    mass = np.ones(len(y)) if weights is None else weights
    p = loss.probabilities(scores)
    assert p is not None, "losses of classes estimate probabilities"
    present = np.unique(y.astype(np.int64))
    by_draw = moves.transpose(2, 0, 1)
    added = []
    for each in excess:
        moved = scores + np.sqrt(each) * by_draw
        if name == "accuracy":
            predicted = loss.link(moved.reshape(-1, scores.shape[1])).astype(np.int64).reshape(len(by_draw), -1)
            lost = p.max(axis=1) - p[np.arange(len(y)), predicted]
            added.append(float(np.average(lost.mean(axis=0), weights=mass)))
            continue
        ranks = loss.probabilities(moved.reshape(-1, scores.shape[1]))
        assert ranks is not None
        ranks = ranks.reshape(len(by_draw), len(y), -1)
        areas = [
            _areas(p[:, label], p[None, :, label], mass)[0] - _areas(p[:, label], ranks[:, :, label], mass).mean()
            for label in present
        ]
        added.append(float(np.mean(areas)))
    return np.asarray(np.maximum(added, 0.0), dtype=np.float64)


def _areas(p: FloatArray, ranks: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the expected AUC of each line of ``ranks`` where rows are of the class with the probabilities ``p``."""
    ones, zeros = mass * p, mass * (1.0 - p)
    order = np.argsort(ranks, axis=1, kind="stable")
    lower = np.cumsum(zeros[order], axis=1) - zeros[order]
    pairs = float(ones.sum() * zeros.sum() - ones @ zeros)
    return np.asarray((ones[order] * lower).sum(axis=1) / max(pairs, 1e-300))
