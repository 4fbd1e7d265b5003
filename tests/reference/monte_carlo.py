"""Stochastic gradient descent the slow, obvious way, many replications at once: the truth that bounds are held against.

Iterates are w_1 (the start), w_2, ...: step k takes the gradient at w_k and makes w_{k+1}. Averages are over the points at
which gradients were taken, w_1 .. w_K (theory 1.2 to 1.4); the last iterate after K steps is w_{K+1}.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray

Draw = Callable[[int, np.random.Generator], tuple[FloatArray, FloatArray]]
"""draw(count, rng) -> X (count, features), y (count,)."""
Slope = Callable[[FloatArray, FloatArray], FloatArray]
"""slope(score, y): the derivative of the loss of a row with respect to its score x'w."""
Project = Callable[[FloatArray], FloatArray]
"""project(W) for W (runs, features), row by row."""

Z = 4.9
"""Standard errors that a mean may be off by: a false alarm in two million (one-sided), one in a million (two-sided)."""


def squared_slope(score: FloatArray, y: FloatArray) -> FloatArray:
    """Slope of (y - score)^2 / 2."""
    return score - y


def logistic_slope(score: FloatArray, y: FloatArray) -> FloatArray:
    """Slope of log(1 + exp(-y score)), y = -1 or 1."""
    return -y / (1.0 + np.exp(np.clip(y * score, -700.0, 700.0)))


def gaussian_rows(eigenvalues: Sequence[float] | FloatArray, minimiser: FloatArray, noise: float) -> Draw:
    """Rows x ~ N(0, diag(eigenvalues)), y = x'w* + N(0, noise)."""
    root = np.sqrt(np.asarray(eigenvalues, dtype=float))

    def draw(count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((count, root.size)) * root
        return X, X @ minimiser + np.sqrt(noise) * rng.standard_normal(count)

    return draw


def quadratic_risk(W: FloatArray, eigenvalues: Sequence[float] | FloatArray, minimiser: FloatArray) -> FloatArray:
    """Excess risk of each row of W for the rows of :func:`gaussian_rows`: (1/2) sum lambda_i (w_i - w*_i)^2."""
    risk: FloatArray = 0.5 * ((W - minimiser) ** 2) @ np.asarray(eigenvalues, dtype=float)
    return risk


def ball(radius: float, center: FloatArray | float = 0.0) -> Project:
    """Projection to a ball."""

    def project(W: FloatArray) -> FloatArray:
        offset = W - center
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        inside: FloatArray = center + offset * np.minimum(1.0, radius / np.maximum(length, 1e-300))
        return inside

    return project


def sgd(
    draw: Draw,
    slope: Slope,
    start: FloatArray,
    steps: FloatArray,
    *,
    runs: int,
    rng: np.random.Generator,
    batch: int | Sequence[int] = 1,
    l2: float = 0.0,
    project: Project | None = None,
    at: Sequence[int] = (),
    averages: Mapping[str, FloatArray] | None = None,
) -> dict[str, dict[int, FloatArray]]:
    """Run SGD ``runs`` times; return, for "last" and each average, the models (runs, features) after each count in ``at``.

    ``start`` is one for all, or (runs, features). ``steps`` are mu_1 .. mu_K; step k uses ``batch`` fresh rows, or the k-th
    number in it. ``averages`` names weights theta_1 .. theta_K: uniform is ones, k-weighted is 1, 2, ..., a tail average has
    zeros first. ``at`` counts steps, 0 is the start; by default the end. An average after 0 steps, or with weights that add
    up to 0, is the start.
    """
    wanted = set(at) or {len(steps)}
    averages = dict(averages or {})
    first = np.broadcast_to(np.asarray(start, dtype=float), (runs, np.shape(start)[-1]))
    W = first.copy()
    batches = [batch] * len(steps) if isinstance(batch, int) else list(batch)
    sums = {name: np.zeros_like(W) for name in averages}
    totals = dict.fromkeys(averages, 0.0)
    kept: dict[str, dict[int, FloatArray]] = {name: {} for name in ("last", *averages)}

    def keep(count: int) -> None:
        if count in wanted:
            kept["last"][count] = W.copy()
            for name in averages:
                kept[name][count] = sums[name] / totals[name] if totals[name] > 0 else first.copy()

    keep(0)
    for k, step in enumerate(steps):
        for name, weights in averages.items():
            sums[name] += weights[k] * W
            totals[name] += weights[k]
        rows = batches[k]
        X, y = draw(runs * rows, rng)
        X, y = X.reshape(runs, rows, -1), y.reshape(runs, rows)
        gradient = np.einsum("rb,rbd->rd", slope(np.einsum("rbd,rd->rb", X, W), y), X) / rows + l2 * W
        W = W - step * gradient
        if project is not None:
            W = project(W)
        keep(k + 1)
    return kept


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A Monte Carlo mean and its standard error; ``skew`` is the skewness of the values over the root of their number.

    Risks are skewed: a few runs carry much of the mean, and a sample that missed them has too small a mean and too small a
    standard error at once. To first order (Cornish and Fisher) a mean may therefore be too small by
    z + skew (2 z^2 + 1)/6 standard errors where one of a normal sample may be by z; twice that correction is allowed, because
    the sample's skewness is too small as well. Too large it is rather less often.
    """

    mean: float
    error: float
    skew: float = 0.0

    def at_most(self, bound: float, *, z: float = Z) -> bool:
        """Whether the truth can be at most ``bound``."""
        return self.mean <= bound + z * self.error

    def equal_to(self, value: float, *, z: float = Z) -> bool:
        """Whether the truth can be ``value``."""
        below = z + max(0.0, self.skew) * (2.0 * z * z + 1.0) / 3.0
        return -below * self.error <= self.mean - value + 1e-12 * abs(value) and self.at_most(
            value * (1.0 + 1e-12), z=z
        )


def measure(values: FloatArray) -> Measured:
    """Return the mean over replications and its standard error."""
    mean, spread, root = float(values.mean()), float(values.std(ddof=1)), float(np.sqrt(values.size))
    skewness = float(((values - mean) ** 3).mean()) / spread**3 if spread > 0.0 else 0.0
    return Measured(mean=mean, error=spread / root, skew=skewness / root)
