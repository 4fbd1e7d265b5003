"""Which rows of a pool to label: some more often than others, with weights that keep every sum over rows what it was.

With N rows in the pool, n drawn, row i with probability pi_i and counted n/(N pi_i) times, the error of the model adds up to

    1/2 sum_i v_i |H^(1/2) P z_i|^2 / pi_i  (over N^2),

v_i being the noise of the row under the model (the variance of its class, in part replaced by the average), z_i its features, H the
Hessian of the pool and P the inverse of the Hessian of the period with all that is known before it: what is known is not bought
again. It is least for pi_i in proportion to sqrt(v_i) |H^(1/2) P z_i|. A tenth of the draw is uniform, so that a wrong model cannot
hide rows from the draw and no row counts for more than ten.
"""

import numpy as np

from driftpace.adaptive.coordinates import with_diagonal
from driftpace.adaptive.fit import solved
from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.state import AdaptiveState, PeriodJudgement
from driftpace.losses import VectorLoss
from driftpace.losses.vector import kronecker_forms, kronecker_sum
from driftpace.typing import FloatArray, IntArray

CHOICES = ("uniform", "stratified", "informative")
"""The ways to choose rows."""

UNIFORM = 0.1
"""The share of an informative draw that is uniform."""

AVERAGE = 0.2
"""The share of the average noise in that of each row. Where a line is not the truth, rows that the model is sure of may have the
other class: without it such rows are hardly ever drawn and then count for ten. The variance relative to uniform draws in a world
of 0.4 % positives and a curve is 1.07 without and 0.54 with it; where the model is right, 0.72 and 0.75."""

_NOTHING = 1e-300
_ROUNDS = 10
_LEAST_LEFT = 0.2


def importance(
    state: AdaptiveState, judged: PeriodJudgement, rows: DesignRows, X: FloatArray, samples: int
) -> FloatArray:
    """Return for each row of a pool how often to draw it, up to a factor, when ``samples`` are added to ``rows``.

    ``X`` are the rows of the pool as ``rows`` has them: the intercept's column first, and columns centered.
    """
    white, loss = judged.coordinates, rows.loss
    if isinstance(loss, VectorLoss):
        bends = loss.bend(loss.scores(judged.model, X), np.zeros(len(X)))
        metric = white.white_matrix(kronecker_sum(X, bends) / len(X))
    else:
        probabilities = loss.probabilities(X @ judged.model)
        bends = np.ones(len(X)) if probabilities is None else probabilities * (1.0 - probabilities)
        z = white.white_rows(X)
        metric = (z.T * bends) @ z / len(z)
    noise = (1.0 - AVERAGE) * bends + AVERAGE * bends.mean(axis=0)
    strength = (
        np.concatenate(
            [
                np.full(part.stop - part.start, judged.noise / max(float(variance), _NOTHING))
                for part, variance in zip(state.parts, judged.variances, strict=True)
            ]
        )
        if judged.fit is None
        else judged.fit.strength
    )
    known = samples * metric
    if len(rows):
        known = known + white.white_matrix(with_diagonal(rows.hessian_sum(judged.model), rows.mass * rows.penalty))
    inverse = solved(with_diagonal(known, strength), np.eye(len(strength)))
    if isinstance(loss, VectorLoss):
        plain = white.inverse.T @ inverse @ metric @ inverse @ white.inverse
        forms = kronecker_forms(X, plain, loss.outputs)
        return np.asarray(np.sqrt(np.maximum(np.einsum("iab,iab->i", noise, forms), 0.0)))
    reach = z @ inverse
    lengths = np.einsum("ij,ij->i", reach @ metric, reach)
    return np.asarray(np.sqrt(np.maximum(noise * lengths, 0.0)))


def inclusion_probabilities(rates: FloatArray, samples: int) -> FloatArray:
    """Return the probabilities with which rows are drawn: in proportion to their rates, a tenth uniform, none above 1.

    >>> inclusion_probabilities(np.array([1.0, 1.0, 2.0, 40.0]), 2).round(3).tolist()
    [0.29, 0.29, 0.42, 1.0]
    """
    count = len(rates)
    samples = min(samples, count)
    total = float(rates.sum())
    shares = np.full(count, 1.0 / count)
    if 0.0 < total < np.inf:
        shares = UNIFORM / count + (1.0 - UNIFORM) * rates / total
    certain = np.zeros(count, dtype=np.bool_)
    while True:
        left = samples - int(certain.sum())
        rest = float(shares[~certain].sum())
        found = np.where(certain, 1.0, shares * (left / rest if rest > 0.0 else 0.0))
        beyond = ~certain & (found >= 1.0)
        if not beyond.any():
            return np.asarray(found)
        certain |= beyond


def draw_by_rate(
    rates: FloatArray, samples: int, rng: np.random.Generator, *, before: int = 0
) -> tuple[IntArray, FloatArray]:
    """Return rows drawn without replacement by their rates, in random order, and their weights n/(N pi), of mean 1 on average.

    Where so many rows were drawn ``before`` by about the same rates, and are no longer among these, weights are divided by the
    probability that a row is left too, so that each batch stands for the pool as it was.

    Systematic sampling of the rows in random order: a point in every stretch of length 1 along the probabilities, laid end to end.
    Their number and each row's probability are exact; those of pairs are nearly those of independent draws, so the noise that is
    computed as if rows were independent is slightly too large.

    >>> places, weights = draw_by_rate(np.arange(1.0, 101.0), 10, np.random.default_rng(0))
    >>> len(set(places.tolist())), bool(0.5 < weights.mean() < 2.0)
    (10, True)
    """
    samples = min(samples, len(rates))
    probabilities = inclusion_probabilities(rates, samples)
    order = rng.permutation(len(rates))
    ends = np.cumsum(probabilities[order])
    points = (np.arange(samples) + rng.random()) * (ends[-1] / max(samples, 1) if samples else 0.0)
    places = order[np.minimum(np.searchsorted(ends, points, side="right"), len(order) - 1)]
    places = rng.permutation(places)
    left = _left(rates, before)
    return places, samples / (float((1.0 / left).sum()) * probabilities[places] * left[places])


def _left(rates: FloatArray, before: int) -> FloatArray:
    """Return the probability with which each row is still in a pool from which so many were drawn ``before``."""
    left = np.ones(len(rates))
    total = float(rates.sum())
    if before == 0 or not 0.0 < total < np.inf:
        return left
    count = len(rates) + before
    for _ in range(_ROUNDS):  # the rates of the rows that are gone are not known: those that are left stand for them
        shares = UNIFORM / count + (1.0 - UNIFORM) * rates / float((rates / left).sum())
        left = np.maximum(1.0 - before * shares, _LEAST_LEFT)
    return left


def draw_stratified(scores: FloatArray, samples: int, rng: np.random.Generator) -> IntArray:
    """Return rows drawn in proportion to the quantiles of their scores, in random order; all are equally likely.

    One of each stretch of rows with neighbouring scores is drawn, by equal steps from a random start.

    >>> np.sort(draw_stratified(np.arange(100.0), 4, np.random.default_rng(0)) // 25).tolist()
    [0, 1, 2, 3]
    """
    samples = min(samples, len(scores))
    if samples == 0:
        return np.zeros(0, dtype=np.int64)
    order = rng.permutation(len(scores))
    order = order[np.argsort(scores[order], kind="stable")]
    at = (np.arange(samples) + rng.random()) * (len(scores) / samples)
    return np.asarray(rng.permutation(order[np.minimum(at.astype(np.int64), len(scores) - 1)]))
