"""One-step estimates the slow, obvious way, by loops over rows; squared loss only."""

import itertools

import numpy as np

Array = np.ndarray


def mean_gradient(w: Array, X: Array, y: Array) -> Array:
    total = np.zeros_like(w)
    for x, target in zip(X, y, strict=True):
        total += (x @ w - target) * x
    return total / len(y)


def direct(w: Array, X: Array, y: Array, w_before: Array, X_before: Array, y_before: Array, m: float) -> float:
    pull = np.linalg.norm(mean_gradient(w, X, y)) + np.linalg.norm(mean_gradient(w_before, X_before, y_before))
    return float(np.linalg.norm(w - w_before) + pull / m)


def least_squares(X: Array, y: Array, power: float) -> tuple[Array, float]:
    """Return the least squares fit and the trace of its sandwich variance, residuals over (1 - h)^power."""
    theta = np.linalg.lstsq(X, y, rcond=None)[0]
    inverse = np.linalg.inv(X.T @ X)
    variance = 0.0
    scores = []
    for x, target in zip(X, y, strict=True):
        scores.append((x @ theta - target) / (1.0 - x @ inverse @ x) ** power * x)
    for score in scores:
        push = inverse @ score
        variance += float(push @ push)
    return theta, variance


def debiased(X: Array, y: Array, X_before: Array, y_before: Array, power: float) -> float:
    (now, noise), (before, noise_before) = least_squares(X, y, power), least_squares(X_before, y_before, power)
    return float((now - before) @ (now - before)) - noise - noise_before


def u_statistic(w: Array, X: Array, y: Array) -> float:
    """(1/(K(K-1))) sum over ordered pairs j != k of <g_j, g_k>."""
    gradients = [(x @ w - target) * x for x, target in zip(X, y, strict=True)]
    count = len(gradients)
    total = sum(float(a @ b) for a, b in itertools.permutations(gradients, 2))
    return total / (count * (count - 1))


def mmd(a: Array, b: Array, kernel: object) -> float:
    """The unbiased MMD^2, by loops over pairs."""
    assert callable(kernel)

    def within(rows: Array) -> float:
        return float(sum(kernel(x, y) for x, y in itertools.permutations(rows, 2))) / (len(rows) * (len(rows) - 1))

    across = sum(kernel(x, y) for x, y in itertools.product(a, b)) / (len(a) * len(b))
    return float(within(a) + within(b) - 2.0 * across)
