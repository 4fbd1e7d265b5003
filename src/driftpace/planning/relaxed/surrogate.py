"""The bound for real-valued samples: spline interpolation of tables over distances and samples."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.interpolate import RectBivariateSpline

from driftpace.planning.outlook import Outlook
from driftpace.typing import FloatArray, IntArray

Recursion = Literal["paper", "distance"]

_STEP = 0.1
"""The cell width of a table, in the logarithm of the distance and of 1 + K; below 10 samples every integer has a row."""

_FINEST = 1e-6
"""The smallest distance of a table, as a share of the largest."""

_INSIDE = 1e-6
"""The margin inside the ends of a table, because splines must not be evaluated beyond them."""

_LEAST = 1e-300


@dataclass(frozen=True, eq=False, slots=True)
class RiskSurrogate:
    """b(d, K) and the distance that the next period starts from, as smooth functions of x = log d and u = log(1 + K).

    A bound is defined for integers only. Both are tabulated there and interpolated by cubic splines in logarithms, down to K = 0,
    where b(d, 0) = e(d^2). ``error`` is the largest relative error of the risk at integers and distances between those of the
    table; it is largest where the bound has a kink, such as where samples begin to help. ``low`` and ``high`` are the ends of x,
    ``top`` that of u, ``first`` the x of the first period.
    """

    risk: RectBivariateSpline
    step: RectBivariateSpline
    first: float
    low: float
    high: float
    top: float
    error: float

    def trajectory(self, samples: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return x and the risk of every period for real-valued samples."""
        logs = np.minimum(np.log1p(np.maximum(samples, 0.0)), self.top)
        x, risks = np.empty(len(logs)), np.empty(len(logs))
        here = self.first
        for index, u in enumerate(logs):
            x[index] = here
            risks[index] = math.exp(self.risk([here], [u])[0, 0])
            here = min(max(float(self.step([here], [u])[0, 0]), self.low), self.high)
        return x, risks


def build_surrogate(outlook: Outlook, horizon: int, most: int, recursion: Recursion) -> RiskSurrogate:
    """Return the tables for up to ``most`` samples in a period.

    With ``recursion="paper"`` every period counts as a fit, as an interior-point method sees it, to which all K are positive:
    the distance is that of case 4 one period after a fit, sqrt(2 r^2 + 2 rho^2) with printed steps. With ``"distance"`` it is
    that of case 3, r + rho, and a period without samples only moves the model's distance on: then skipping is modelled.
    Distances beyond ten times what idling from the start to the horizon gives are taken for that.

    >>> from driftpace.bounds import Anchored
    >>> outlook = Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0)
    >>> tables = build_surrogate(outlook, horizon=3, most=100, recursion="paper")
    >>> tables.trajectory(np.array([20.0, 0.0, 40.0]))[1]
    array([0.0918, 0.2654, 0.0386])
    """
    moves = _Moves(outlook, recursion, min(10.0 * (outlook.start + horizon * outlook.rho), outlook.diameter) or 1.0)
    first = moves.within(outlook.first_distance(0))
    low, high = math.log(moves.least(first, most, horizon)) - _STEP, math.log(moves.furthest) + _STEP
    x = np.linspace(low, high, max(5, math.ceil((high - low) / _STEP) + 1))
    counts = _counts(most)
    u = np.log1p(counts)
    degree = min(3, len(u) - 1)
    risk = RectBivariateSpline(x, u, _logarithms(outlook.bound, x, counts), kx=3, ky=degree)
    step = RectBivariateSpline(x, u, _logarithms(moves, x, counts), kx=3, ky=degree)
    x, counts = 0.5 * (x[:-1:2] + x[1::2]), (counts[:-1] + counts[1:])[::2] // 2
    off = risk(x, np.log1p(counts)) - _logarithms(outlook.bound, x, counts)
    return RiskSurrogate(
        risk=risk,
        step=step,
        first=math.log(first),
        low=low + _INSIDE,
        high=high - _INSIDE,
        top=math.log1p(most),
        error=float(np.expm1(np.abs(off).max())),
    )


@dataclass(frozen=True, slots=True)
class _Moves:
    """The distance at the start of the next period, for a model at ``distance`` before ``samples`` are bought."""

    outlook: Outlook
    recursion: Recursion
    furthest: float

    def __call__(self, distance: float, samples: int) -> float:
        if self.recursion == "distance" and samples == 0:
            return self.within(self.outlook.idle_distance(distance, 1))
        reach = self.outlook.reach(self.outlook.bound(distance, samples))
        moved = self.outlook.fit_distance if self.recursion == "paper" else self.outlook.idle_distance
        return self.within(moved(reach, 1))

    def within(self, distance: float) -> float:
        return min(max(distance, _FINEST * self.furthest), self.furthest)

    def least(self, first: float, most: int, horizon: int) -> float:
        """Return the smallest distance over the horizon: that of buying the most in every period."""
        least = first
        for _ in range(horizon):
            following = self(least, most)
            if following >= (1.0 - 1e-6) * least:
                break
            least = following
        return least


def _counts(most: int) -> IntArray:
    """Return the samples of a table: consecutive integers, then wider steps; the last row lies beyond ``most``."""
    counts = [0]
    while counts[-1] <= most or len(counts) < 3:
        counts.append(max(counts[-1] + 1, round((1 + counts[-1]) * math.exp(_STEP)) - 1))
    return np.array(counts, dtype=np.int64)


def _logarithms(of: Callable[[float, int], float], x: FloatArray, counts: IntArray) -> FloatArray:
    table = [[of(distance, count) for count in counts.tolist()] for distance in np.exp(x).tolist()]
    logs: FloatArray = np.log(np.maximum(np.array(table), _LEAST))
    return logs
