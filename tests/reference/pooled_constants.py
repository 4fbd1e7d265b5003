"""Constants of the squared loss from all rows kept, the slow and obvious way; one entry per period."""

import numpy as np

Array = np.ndarray


def second(periods: list[tuple[Array, Array]]) -> Array:
    rows = np.concatenate([X for X, _ in periods])
    return np.asarray(sum(np.outer(x, x) for x in rows) / len(rows))


def fourth(periods: list[tuple[Array, Array]]) -> Array:
    rows = np.concatenate([X for X, _ in periods])
    return np.asarray(sum((x @ x) * np.outer(x, x) for x in rows) / len(rows))


def noise(periods: list[tuple[Array, Array]]) -> float:
    """Sum of squared residuals over sum of (K - d), of periods with at least d + 3 rows."""
    squares, freedom = 0.0, 0
    for X, y in periods:
        if len(y) > X.shape[1] + 2:
            theta = np.linalg.lstsq(X, y, rcond=None)[0]
            squares += float(((y - X @ theta) ** 2).sum())
            freedom += len(y) - X.shape[1]
    return squares / freedom


def score_covariance(periods: list[tuple[Array, Array]], power: float) -> Array:
    """Mean of e^2 xx' / (1 - h)^(2 power) over the rows of periods fitted on their own."""
    total, rows = np.zeros((periods[0][0].shape[1],) * 2), 0
    for X, y in periods:
        if len(y) > X.shape[1] + 2:
            theta = np.linalg.lstsq(X, y, rcond=None)[0]
            inverse = np.linalg.inv(X.T @ X)
            for x, target in zip(X, y, strict=True):
                score = (x @ theta - target) / (1.0 - x @ inverse @ x) ** power * x
                total += np.outer(score, score)
            rows += len(y)
    return total / rows
