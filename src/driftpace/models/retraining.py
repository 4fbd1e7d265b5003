"""What training a model again would gain, estimated from labels that were bought for something else.

The rows of the last periods are scored by the model in use. The model is trained on those of all periods but some, from the scores
in use where it can be and from nothing, and compared on the periods left out, row by row, so that the noise of labels cancels.
How much training pays, and from where, is chosen on the other periods, so that the gain is not that of a lucky choice. Rows that a
model in use was fitted to look easier than they are: :func:`held_out_scores` takes out what a row did for its own score. Recent
periods count more, so that what was lost in the last of them is seen.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from driftpace.errors import DataError
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.losses.softmax import helmert
from driftpace.models.adapter import ModelAdapter
from driftpace.models.rows import join, take
from driftpace.typing import FloatArray, IntArray

Way = Literal["correction", "fresh"]

FOLDS = 5
LEAST_ROWS = 40
"""Fewer rows than this are no evidence of anything."""

LEAST_PERIODS = 2
"""A model is judged in periods that it was not trained on."""

HALF_LIFE = 8.0
"""Periods after which a row counts half when a model is trained."""

HALF_LIFE_JUDGED = 1.5
"""Periods after which a row counts half when the gain is averaged."""

ALARM = 0.2
"""The share of the target that the gain must exceed for training to be due."""

CONFIDENCE = 1.2816
"""Standard errors below the estimate of its lower 90 % end."""

JUDGED_ROWS = 3_000
"""The most rows that the gain is averaged over, the newest."""

SMOOTH_ROWS = 600
"""The most rows that a smooth correction is fitted to."""

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Noise against the size of a smooth correction: those that are tried."""

BANDWIDTH = 0.7
"""The width of the kernel of a smooth correction, in standard deviations, times the root of the number of columns."""

MOST_LEVERAGE = 0.5
"""The largest share of its own score that a row is taken to have."""

_LEAST_CLUSTERS = 4


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoredRows:
    """The labelled rows of a period: as the model takes them, targets as the loss takes them, and the scores of the model in use.

    ``y`` are numbers of classes where there are classes; ``scores`` are (rows, outputs) and None for rows that the present base
    was trained on.
    """

    period: int
    X: Any
    y: FloatArray
    scores: FloatArray | None
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """What the base lacks: the mean fall of the loss with its standard error, and how training is best done.

    The fall is that of the model trained again or, where it is larger, of a smooth correction fitted to the same rows: few rows
    show by it what trees need many to learn. ``trained`` is the mean fall of the model alone; ``way`` says whether its training
    starts from the scores in use or from nothing, ``stage`` how much of it pays.
    """

    mean: float
    error: float
    trained: float
    rows: int
    periods: int
    way: Way
    stage: int

    @property
    def lower(self) -> float:
        """The lower end of the gain, at 90 %."""
        return self.mean - CONFIDENCE * self.error


def losses_of(loss: LinearLoss | VectorLoss, scores: FloatArray, y: FloatArray) -> FloatArray:
    """Return the loss of each row, without penalty; ``scores`` are (rows, outputs) and ``y`` numbers of classes where there are.

    >>> from driftpace.losses import LogisticLoss
    >>> losses_of(LogisticLoss(), np.zeros((2, 1)), np.array([0.0, 1.0])).round(3).tolist()
    [0.693, 0.693]
    """
    if isinstance(loss, VectorLoss):
        return np.asarray(loss.phi(scores @ helmert(scores.shape[1]), y))
    return np.asarray(loss.exact.curve.phi(scores[:, 0], loss.encode(y)))


def held_out_scores(loss: LinearLoss | VectorLoss, scores: FloatArray, y: FloatArray, risk: float) -> FloatArray:
    """Return scores as if each row had not been fitted, (rows, outputs).

    A fit that loses ``risk`` to the best one gives each row the leverage h = 2 risk/s^2 in the mean, s^2 the noise: a Newton step
    against the gradient of the row, h/(1 - h) over the curvature, takes it out. Rows of several scores are left as they are.

    >>> from driftpace.losses import SquaredLoss
    >>> held_out_scores(SquaredLoss(), np.zeros((4, 1)), np.array([-1.0, 1.0, -1.0, 1.0]), 0.1).round(2).ravel().tolist()
    [0.2, -0.2, 0.2, -0.2]
    """
    if isinstance(loss, VectorLoss) or not math.isfinite(risk):
        return scores
    curve, targets, at = loss.exact.curve, loss.encode(y), scores[:, 0]
    slopes, bends = np.asarray(curve.slope(at, targets)), np.asarray(curve.bend(at, targets))
    bend = float(bends.mean())
    noise = float(np.square(slopes).mean()) / bend if bend > 0.0 else 0.0
    if noise <= 0.0:
        return scores
    leverage = np.minimum(2.0 * risk / (noise + 2.0 * risk) * bends / bend, MOST_LEVERAGE)
    return np.asarray((at + leverage / (1.0 - leverage) * slopes / np.maximum(bends, 0.1 * bend))[:, None])


def train(
    base: ModelAdapter, parts: Sequence[ScoredRows], way: Way, *, now: int, rows: Sequence[IntArray] | None = None
) -> ModelAdapter:
    """Return the model trained again on rows, which count less the older they are.

    A correction uses rows with scores only, since the base has seen the others. ``rows`` selects some of each part.
    """
    chosen = []
    for place, part in enumerate(parts):
        at = np.arange(len(part)) if rows is None else rows[place]
        if len(at) and (way == "fresh" or part.scores is not None):
            chosen.append((part, at))
    X = join([take(part.X, at) for part, at in chosen])
    y = np.concatenate([part.y[at] for part, at in chosen])
    weights = np.concatenate([0.5 ** ((now - part.period) / HALF_LIFE) * _weights(part)[at] for part, at in chosen])
    offset = None
    if way == "correction":
        offset = np.concatenate([part.scores[at] for part, at in chosen if part.scores is not None])
    return base.refit(X, y, sample_weight=weights / weights.mean(), offset=offset)


def gain_of_training(
    base: ModelAdapter,
    loss: LinearLoss | VectorLoss,
    parts: Sequence[ScoredRows],
    *,
    now: int,
    window: int = 8,
    columns: Callable[[Any], FloatArray] | None = None,
) -> Gain | None:
    """Return what training the base again would gain; None where periods or rows are too few, or of one class.

    Parameters
    ----------
    base : ModelAdapter
        The model.
    loss : LinearLoss or VectorLoss
        What is compared.
    parts : sequence of ScoredRows
        The rows of each period. Those without scores are trained on, never compared on.
    now : int
        The period at hand.
    window : int
        The periods that are compared on.
    columns : callable, optional
        Rows as numbers of unit variance, for a smooth correction.
    """
    judged = _judged(parts, now - window)
    total = sum(len(part) for part in judged)
    if (
        len(judged) < LEAST_PERIODS
        or total < LEAST_ROWS
        or len(np.unique(np.concatenate([part.y for part in judged]))) < 2
    ):
        return None
    ways: tuple[Way, ...] = ("correction", "fresh") if base.takes_offset else ("fresh",)
    try:
        falls = {way: np.concatenate(_falls(base, loss, parts, judged, way, now), axis=1) for way in ways}
    except DataError:  # such as folds of one class, which not every library trains on
        return None
    choices = [(way, stage) for way in ways for stage in range(len(falls[way]))]
    trained = np.concatenate([falls[way] for way in ways])
    fold = np.concatenate(_folds(judged))
    ages = np.concatenate([np.full(len(part), float(now - part.period)) for part in judged])
    weights = 0.5 ** (ages / HALF_LIFE_JUDGED) * np.concatenate([_weights(part) for part in judged])
    table = trained
    if columns is not None and isinstance(loss, LinearLoss):
        table = np.concatenate([trained, _smooth_falls(loss, judged, fold, ages, columns)])
    way, stage = choices[int(np.argmax(trained @ weights))]
    mean, error = _mean(_chosen(table, fold, weights), weights, ages)
    alone = float(_chosen(trained, fold, weights) @ weights) / float(weights.sum())
    return Gain(mean=mean, error=error, trained=alone, rows=total, periods=len(judged), way=way, stage=stage)


def _judged(parts: Sequence[ScoredRows], after: int) -> list[ScoredRows]:
    """Return the scored parts after a period, the newest up to a number of rows and two of them in any case."""
    judged: list[ScoredRows] = []
    rows = 0
    for part in reversed(parts):
        if part.scores is None or not len(part) or part.period <= after:
            continue
        rows += len(part)
        if len(judged) >= LEAST_PERIODS and rows > JUDGED_ROWS:
            break
        judged.append(part)
    return judged[::-1]


def _weights(part: ScoredRows) -> FloatArray:
    return np.ones(len(part)) if part.weights is None else part.weights


def _chosen(table: FloatArray, fold: IntArray, weights: FloatArray) -> FloatArray:
    """Return the fall of each row by what is best on the other folds; zero where nothing is better than the model in use."""
    each = np.zeros(table.shape[1])
    for one in np.unique(fold):
        held = fold == one
        others = table[:, ~held] @ weights[~held]
        best = int(np.argmax(others))
        each[held] = table[best, held] if others[best] > 0.0 else 0.0
    return each


def _smooth_falls(
    loss: LinearLoss,
    judged: Sequence[ScoredRows],
    fold: IntArray,
    ages: FloatArray,
    columns: Callable[[Any], FloatArray],
) -> FloatArray:
    """Return how much the loss of each row falls by a kernel ridge regression of the gradients of the other folds."""
    Z = np.concatenate([columns(part.X) for part in judged])
    scores = np.concatenate([part.scores[:, 0] for part in judged if part.scores is not None])
    curve, y = loss.exact.curve, loss.encode(np.concatenate([part.y for part in judged]))
    bend = max(float(np.mean(curve.bend(scores, y))), 1e-12)
    residuals = -np.asarray(curve.slope(scores, y)) / bend
    before = np.asarray(curve.phi(scores, y))
    falls = np.zeros((len(RIDGES), len(y)))
    root = np.sqrt(0.5 ** (ages / HALF_LIFE_JUDGED) * np.concatenate([_weights(part) for part in judged]))
    for one in np.unique(fold):
        held, at = fold == one, np.flatnonzero(fold != one)
        at = at[:: -(-len(at) // SMOOTH_ROWS)]
        values, basis = np.linalg.eigh(_kernel(Z[at], Z[at]) * root[at, None] * root[at])
        across = _kernel(Z[held], Z[at]) * root[at] @ basis
        along = basis.T @ (root[at] * residuals[at])
        for place, ridge in enumerate(RIDGES):
            moved = scores[held] + across @ (along / (np.maximum(values, 0.0) + ridge))
            falls[place, held] = before[held] - np.asarray(curve.phi(moved, y[held]))
    return falls


def _kernel(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return Gaussian similarities of rows."""
    apart = np.square(left).sum(axis=1)[:, None] + np.square(right).sum(axis=1) - 2.0 * left @ right.T
    return np.asarray(np.exp(-np.maximum(apart, 0.0) / (2.0 * BANDWIDTH**2 * left.shape[1])))


def _folds(judged: Sequence[ScoredRows]) -> list[IntArray]:
    """Return the fold of each row of each part: whole periods, since rows of a period may be alike."""
    return [np.full(len(part), place % FOLDS, dtype=np.int64) for place, part in enumerate(judged)]


def _falls(
    base: ModelAdapter,
    loss: LinearLoss | VectorLoss,
    parts: Sequence[ScoredRows],
    judged: Sequence[ScoredRows],
    way: Way,
    now: int,
) -> list[FloatArray]:
    """Return how much the loss of each row falls with a model that did not see its fold, (stages, rows) for each judged part."""
    folds = dict(zip((id(part) for part in judged), _folds(judged), strict=True))
    falls: dict[int, Any] = {}
    for one in range(FOLDS):
        kept = [np.flatnonzero(folds[id(part)] != one) if id(part) in folds else np.arange(len(part)) for part in parts]
        held = [part for part in judged if (folds[id(part)] == one).any()]
        if not held:
            continue
        model = train(base, parts, way, now=now, rows=kept)
        for part in held:
            at = np.flatnonzero(folds[id(part)] == one)
            assert part.scores is not None
            staged = model.staged_scores(take(part.X, at)).reshape(-1, len(at), part.scores.shape[1])
            scores = staged + part.scores[at] if way == "correction" else staged
            before = losses_of(loss, part.scores[at], part.y[at])
            fall = np.array([before - losses_of(loss, each, part.y[at]) for each in scores])
            falls.setdefault(id(part), np.zeros((len(fall), len(part))))[:, at] = fall
    return [falls[id(part)] for part in judged]


def _mean(each: FloatArray, weights: FloatArray, period: IntArray) -> tuple[float, float]:
    """Return the weighted mean and its standard error: the larger of that of rows and that of periods."""
    total = float(weights.sum())
    mean = float(each @ weights) / total
    around = (each - mean) * weights
    by_rows = math.sqrt(float(around @ around)) / total
    sums = np.bincount(np.unique(period, return_inverse=True)[1], weights=around)
    if len(sums) < _LEAST_CLUSTERS:
        return mean, by_rows
    by_periods = math.sqrt(float(sums @ sums) * len(sums) / (len(sums) - 1.0)) / total
    return mean, max(by_rows, by_periods)
