"""The recursions of the last-iterate bounds, written as plainly as they are stated."""

import math
from typing import Any

import numpy as np

from driftpace.bounds import RiskBound
from driftpace.typing import FloatArray


def scan(bound: RiskBound, distance: float, epsilon: float, cap: int) -> int | None:
    """Return the least K <= cap with bound(distance, K) <= epsilon by trying each."""
    return next((count for count in range(cap + 1) if bound(distance, count) <= epsilon), None)


def squared_distances(start: float, steps: FloatArray, m: float, A: float, B: float) -> list[float]:
    """Return D_0 .. D_n of R: D' = max(0, 1 - 2 m mu + B mu^2) D + A mu^2 (theory 1.1)."""
    values = [start]
    for mu in steps.tolist():
        values.append(max(0.0, 1.0 - 2.0 * m * mu + B * mu**2) * values[-1] + A * mu**2)
    return values


def greedy_distances(start: float, count: int, m: float, A: float, B: float, limit: float = math.inf) -> list[float]:
    """Return D_0 .. D_count of the greedy recursion (theory 1.1f), computed in extended precision."""
    long: Any = np.longdouble
    strong, steady, growing, longest, squared = long(m), long(A), long(B), long(limit), long(start)
    values = [start]
    for _ in range(count):
        spread = steady + growing * squared
        mu = min(strong * squared / spread, longest) if spread > 0 else long(0)
        squared = (1 - 2 * strong * mu + growing * mu**2) * squared + steady * mu**2
        values.append(float(squared))
    return values


def gaussian_risks(
    start: FloatArray, steps: FloatArray, eigenvalues: FloatArray, noise: float, batch: int
) -> list[float]:
    """Return the risks of Gaussian least squares after 0, 1, ... steps from E(delta_i^2) = start_i (theory 1.1g)."""
    lam, state = np.asarray(eigenvalues, dtype=float), np.asarray(start, dtype=float)
    risks = [0.5 * float(lam @ state)]
    for mu in steps:
        mixed = lam**2 * state + lam * (lam @ state) + noise * lam
        state = (1.0 - 2.0 * mu * lam + mu**2 * lam**2) * state + mu**2 / batch * mixed
        risks.append(0.5 * float(lam @ state))
    return risks
