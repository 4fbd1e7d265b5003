"""A Kalman filter the slow, obvious way: dense matrices over (theta, v, w*) of all coordinates at once.

    theta' = theta + v,   v' = phi v + N(0, (1 - phi^2) q),   w* = theta + N(0, nu)

What is seen is z = w* + N(0, R). Nothing here knows that coordinates are alike.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import multivariate_normal

from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Dense:
    """Mean and covariance of (theta, v), each of ``size`` coordinates."""

    mean: FloatArray
    covariance: FloatArray

    @property
    def size(self) -> int:
        """The number of coordinates of theta."""
        return self.mean.size // 2


def begun(mean: FloatArray, place: float, speed: float) -> Dense:
    """Theta about ``mean`` with variance ``place``, v about zero with variance ``speed``, independent."""
    size = mean.size
    return Dense(
        mean=np.concatenate([mean, np.zeros(size)]),
        covariance=np.diag(np.concatenate([np.full(size, place), np.full(size, speed)])),
    )


def moved(state: Dense, *, step: float, persistence: float) -> Dense:
    """One period later: F m and F P F' + Q."""
    unit, none = np.eye(state.size), np.zeros((state.size, state.size))
    F = np.block([[unit, unit], [none, persistence * unit]])
    Q = np.block([[none, none], [none, (1.0 - persistence**2) * step * unit]])
    return Dense(mean=F @ state.mean, covariance=F @ state.covariance @ F.T + Q)


def seen(state: Dense, z: FloatArray, R: FloatArray, *, wobble: float) -> tuple[Dense, float]:
    """After z = theta + wobble + error; and the log likelihood of z."""
    H = np.hstack([np.eye(state.size), np.zeros((state.size, state.size))])
    S = H @ state.covariance @ H.T + wobble * np.eye(state.size) + R
    gain = state.covariance @ H.T @ np.linalg.inv(S)
    chance = float(multivariate_normal.logpdf(z, mean=H @ state.mean, cov=S))
    after = Dense(
        mean=state.mean + gain @ (z - H @ state.mean), covariance=state.covariance - gain @ H @ state.covariance
    )
    return after, chance


def isotropic(state: Dense) -> tuple[FloatArray, FloatArray, float, float, float]:
    """Means of theta and v, and their three variances in one coordinate; fails where coordinates are not alike."""
    d, P = state.size, state.covariance
    numbers = []
    for block in (P[:d, :d], P[:d, d:], P[d:, d:]):
        np.testing.assert_allclose(block, block[0, 0] * np.eye(d), atol=1e-12 * max(1.0, float(np.abs(P).max())))
        numbers.append(float(block[0, 0]))
    return state.mean[:d], state.mean[d:], numbers[0], numbers[1], numbers[2]
