"""Whether delivered rows look like the pool they were drawn from: a sequential classifier two-sample test on the features.

Each row is a bet against the pool. A bet multiplies its stake by 1 + b(row), where b has mean 0 over the pool and never loses more
than the stake: by Ville's inequality a stake that started at 1 ever reaches 100 with probability at most 1 %, so that a period may
be looked at after each of its deliveries. None of 4,800 simulated periods of random rows did, looked at six times each. Half of
the stake is on a classifier, the linear discriminant between the pool and the rows seen so far, which judges the next row before
it learns from it. The other half is spread evenly over the columns: on larger or smaller ranks, and on more or less spread ones,
each at five sizes. Ranks are those of the deciles of the pool, so that no outlier matters. Rows that were drawn with weights bet
in proportion to them, which is what gives b mean 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.tables.pool_mismatch import ColumnDifference, PoolMismatch
from driftpace.tables.pool_profile import ColumnProfile, PoolProfile
from driftpace.typing import FloatArray

LEVEL = 0.01
"""An upper bound of the probability with which random rows are ever said not to look like their pool in a period. In simulations it
is below 0.1 %, since the stake is spread over many bets."""

_BETS = np.array([0.01, 0.03, 0.1, 0.3, 0.8])
_LARGEST_BET = 0.5
_LEARNED = 10.0
_ERRORS = 3.3
"""Standard errors of the pool's own means that rows from elsewhere are allowed."""
_NAMED = 3
_NAMED_EVIDENCE = math.log(10.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DeliveredRows:
    """Rows that were delivered together, and the profile of their pool.

    ``X`` has the columns of the profile. ``weights`` are those that the rows were drawn with; None where all were equally likely.
    ``members`` says that the rows are known to be rows of the pool, so that it has no sampling error for them.
    """

    X: FloatArray
    profile: PoolProfile
    weights: FloatArray | None = None
    members: bool = True


def find_mismatch(parts: Sequence[DeliveredRows], *, level: float = LEVEL) -> PoolMismatch | None:
    """Return how rows differ from their pools, in the order of delivery; None where they look like them.

    >>> rng = np.random.default_rng(0)
    >>> pool = rng.normal(40.0, 10.0, size=(5000, 1))
    >>> profile = PoolProfile.of_rows(pool, ("age",))
    >>> find_mismatch([DeliveredRows(X=pool[:100], profile=profile)]) is None
    True
    >>> young = pool[pool[:, 0] < 36.0][:50]
    >>> print(find_mismatch([DeliveredRows(X=young, profile=profile)]).columns[0].sentence)
    age: the pool's median is 39.7, the rows' 30.8
    """
    parts = [part for part in parts if len(part.X)]
    if not parts:
        return None
    ranks, spreads, joint = evidence(parts)
    each = np.logaddexp(ranks, spreads)
    with np.errstate(invalid="ignore"):
        columns = _log_mean(each[np.isfinite(each)])
    if np.logaddexp(joint, columns) - math.log(2.0) < -math.log(level):
        return None
    order = [place for place in np.argsort(-each).tolist() if np.isfinite(each[place])]
    named = [place for place in order[:_NAMED] if each[place] > _NAMED_EVIDENCE] or order[:1]
    profile = max(parts, key=lambda part: len(part.X)).profile
    places = [list(part.profile.names) for part in parts]
    differences = []
    for place in named:
        column = profile.columns[place]
        values = np.concatenate(
            [part.X[:, names.index(column.name)] for part, names in zip(parts, places, strict=True)]
        )
        weights = np.concatenate([_weights(part) for part in parts])
        differences.append(_difference(column, values, weights, spread=bool(spreads[place] > ranks[place])))
    return PoolMismatch(rows=sum(len(part.X) for part in parts), columns=tuple(differences))


def evidence(parts: Sequence[DeliveredRows]) -> tuple[FloatArray, FloatArray, float]:
    """Return the logarithms of the stakes: on the ranks and on the spread of each column, and on the classifier.

    The columns are those of the profile of most rows; one that does not vary in its pool has -inf.
    """
    names = max(parts, key=lambda part: len(part.X)).profile.names
    most = max(float(_weights(part).max()) for part in parts)
    ranks, spreads = (np.zeros((len(names), 2 * len(_BETS))) for _ in range(2))
    sums, seen, joint = np.zeros(len(names)), 0.0, 0.0
    varies = np.ones((2, len(names)), dtype=np.bool_)
    for part in parts:
        columns = {column.name: (column, place) for place, column in enumerate(part.profile.columns)}
        weights = _weights(part) / most
        error = 0.0 if part.members else _ERRORS / math.sqrt(max(part.profile.rows, 1))
        scores = np.zeros((len(part.X), len(names)))
        deviations, bounds = np.ones(len(names)), np.zeros(len(names))
        for index, name in enumerate(names):
            if name not in columns or columns[name][0].constant:
                varies[:, index] = False
                continue
            column, place = columns[name]
            intervals = column.intervals(part.X[:, place])
            for kind, (stakes, levels) in enumerate(((ranks, column.ridits), (spreads, column.spreads))):
                deviation = math.sqrt(float(column.shares @ levels**2))
                if deviation < 1e-9:
                    varies[kind, index] = False
                    continue
                stakes[index] += _log_stakes(levels[intervals], weights, levels, error * deviation)
                if kind == 0:
                    scores[:, index] = levels[intervals]
                    deviations[index], bounds[index] = deviation, float(np.abs(levels).max())
        order = np.random.default_rng(len(scores)).permutation(len(scores))  # rows may be sorted
        weighted = (weights[:, None] * scores)[order]
        before = sums + np.cumsum(weighted, axis=0) - weighted
        counts = seen + np.cumsum(weights[order]) - weights[order]
        direction = before / (counts + _LEARNED * weights.mean())[:, None] / deviations**2
        reach = np.abs(direction) @ bounds + 1e-300
        size = np.minimum(1.0, _LARGEST_BET / reach)
        bets = np.einsum("ij,ij->i", direction, scores[order]) - error * (np.abs(direction) @ deviations)
        joint += float(np.log1p(size * weights[order] * bets).sum())
        sums, seen = sums + weighted.sum(axis=0), seen + float(weights.sum())
    logs = [np.where(varies[kind], _log_mean(stakes), -np.inf) for kind, stakes in enumerate((ranks, spreads))]
    both = np.where(varies[1], math.log(2.0), 0.0)  # a column has one stake, on one kind or on two
    return logs[0] - both, logs[1] - both, joint


def _log_stakes(scores: FloatArray, weights: FloatArray, levels: FloatArray, error: float) -> FloatArray:
    """Return the logarithms of the stakes after bets on larger and on smaller scores, of each size."""
    lowest, highest = error - float(levels.min()), error + float(levels.max())
    up, down = weights * (scores - error), weights * (scores + error)
    return np.array(
        [np.log1p(size / lowest * up).sum() for size in _BETS]
        + [np.log1p(-size / highest * down).sum() for size in _BETS]
    )


def _log_mean(logs: FloatArray) -> Any:
    """Return the logarithm of the mean of stakes along the last axis."""
    if logs.shape[-1] == 0:
        return -np.inf
    return np.logaddexp.reduce(logs, axis=-1) - math.log(logs.shape[-1])


def _weights(part: DeliveredRows) -> FloatArray:
    return np.ones(len(part.X)) if part.weights is None else part.weights


def _difference(column: ColumnProfile, values: FloatArray, weights: FloatArray, *, spread: bool) -> ColumnDifference:
    """Return the plainest statistic in which a column differs."""
    mean = float(weights @ values / weights.sum())
    if column.is_share:
        return ColumnDifference(column=column.name, statistic="share", pool=column.mean, delivered=mean)
    low, middle, high = (_quantile(values, weights, share) for share in (0.1, 0.5, 0.9))
    if spread:
        pool = column.quantile(0.9) - column.quantile(0.1)
        return ColumnDifference(column=column.name, statistic="spread", pool=pool, delivered=high - low)
    if middle != column.quantile(0.5):
        return ColumnDifference(column=column.name, statistic="median", pool=column.quantile(0.5), delivered=middle)
    return ColumnDifference(column=column.name, statistic="mean", pool=column.mean, delivered=mean)


def _quantile(values: FloatArray, weights: FloatArray, share: float) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, share - 1e-9)), len(values) - 1)])
