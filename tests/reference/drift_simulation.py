"""Many drifting regressions at once, followed by a learner: the periods that estimators of drift are shown.

Runs are batched, so that a statistical test costs seconds; every period can be taken apart again into one ``PeriodData`` per run.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftpace.drift import DriftEstimator
from driftpace.losses import SquaredLoss
from driftpace.records import Constants, DriftEstimate, PeriodData

LOSS = SquaredLoss()
Array = np.ndarray
Learner = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One period of every run: rows (runs, K, d), the model before and after, the truth, the rows used for training."""

    number: int
    X: Array
    y: Array
    start: Array
    coef: Array
    truth: Array
    training: int

    @property
    def distances(self) -> Array:
        """How far the model before is from this period's minimiser."""
        return np.asarray(np.linalg.norm(self.start - self.truth, axis=1))

    @property
    def gradients(self) -> Array:
        """The mean gradient at the new model on the training rows."""
        X, y = self.X[:, : self.training], self.y[:, : self.training]
        residuals = np.einsum("rkd,rd->rk", X, self.coef) - y
        return np.asarray(np.einsum("rk,rkd->rd", residuals, X) / max(self.training, 1))

    def seen(self, run: int, constants: Constants, scatter: float = math.inf) -> PeriodData:
        X, y, k = self.X[run], self.y[run], self.training
        return PeriodData(
            period=self.number,
            X=X[:k],
            y=y[:k],
            X_held=X[k:],
            y_held=y[k:],
            start=self.start[run],
            coef=self.coef[run],
            gradient=LOSS.gradient(self.coef[run], X[:k], y[:k]),
            scatter=scatter,
            constants=constants,
        )


def sgd(m: float, B: float) -> Learner:
    """Last iterate with steps 2/(m(k + s)), s = max(2, 2B/m^2) (theory 1.1d)."""
    shift = max(2.0, 2.0 * B / m**2)

    def learn(start: Array, X: Array, y: Array) -> Array:
        coef = start.copy()
        for k in range(X.shape[1]):
            x = X[:, k]
            coef -= 2.0 / (m * (k + 1 + shift)) * ((x * coef).sum(axis=1) - y[:, k])[:, None] * x
        return coef

    return learn


def simulate(
    rng: np.random.Generator,
    learn: Learner,
    *,
    runs: int,
    samples: int,
    rho: float | Array,
    periods: int = 25,
    spectrum: Array | None = None,
    noise: float = 0.5,
    held_out: float = 0.0,
    shape: str = "walk",
) -> list[Batch]:
    """Return every period of every run. ``rho`` may be (periods,) or (periods, runs): the move into each period."""
    eigenvalues = np.ones(2) if spectrum is None else spectrum
    d = eigenvalues.size
    moves = np.broadcast_to(np.asarray(rho, dtype=float).reshape(-1, 1) if np.ndim(rho) == 1 else rho, (periods, runs))
    truth, model, line = np.zeros((runs, d)), np.zeros((runs, d)), None
    results = []
    for index in range(periods):
        direction = rng.standard_normal((runs, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        if shape == "line":
            line = direction if line is None else line
            direction = line
        if index > 0:
            truth = truth + moves[index][:, None] * direction
        X = rng.standard_normal((runs, samples, d)) * np.sqrt(eigenvalues)
        y = np.einsum("rkd,rd->rk", X, truth) + math.sqrt(noise) * rng.standard_normal((runs, samples))
        training = samples - int(held_out * samples)
        start, model = model, learn(model, X[:, :training], y[:, :training])
        results.append(Batch(number=index + 1, X=X, y=y, start=start, coef=model, truth=truth, training=training))
    return results


def estimates(
    estimator: DriftEstimator, batches: list[Batch], constants: Constants, scatter: float = math.inf
) -> list[DriftEstimate]:
    """Return the estimate of each run after the last period."""
    results = []
    for run in range(len(batches[0].X)):
        state = estimator.init(batches[0].X.shape[2])
        for batch in batches:
            state = estimator.update(state, batch.seen(run, constants, scatter), LOSS)
        estimate = estimator.estimate(state)
        assert estimate is not None
        results.append(estimate)
    return results


def values(found: list[DriftEstimate]) -> Array:
    return np.array([estimate.value for estimate in found])


def uppers(found: list[DriftEstimate]) -> Array:
    return np.array([estimate.upper for estimate in found])
