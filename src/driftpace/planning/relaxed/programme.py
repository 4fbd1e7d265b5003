"""The relaxed programme of section IV-A, independent of the solver.

It has a bound for real-valued samples (splines over tables of distances and samples), smoothed prices, adjacency rows and starting
points.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.interpolate import RectBivariateSpline
from scipy.sparse import csc_matrix

from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, affordable_units, budget_units
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem
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
    counts = _knot_counts(most)
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


def _knot_counts(most: int) -> IntArray:
    """Return the samples of a table: consecutive integers, then wider steps; the last row lies beyond ``most``."""
    counts = [0]
    while counts[-1] <= most or len(counts) < 3:
        counts.append(max(counts[-1] + 1, round((1 + counts[-1]) * math.exp(_STEP)) - 1))
    return np.array(counts, dtype=np.int64)


def _logarithms(of: Callable[[float, int], float], x: FloatArray, counts: IntArray) -> FloatArray:
    table = [[of(distance, count) for count in counts.tolist()] for distance in np.exp(x).tolist()]
    logs: FloatArray = np.log(np.maximum(np.array(table), _LEAST))
    return logs


Rows = Literal["paper", "corrected", "none"]
Aim = Literal["mean", "largest", "runs"]

MAX_PERIOD_SAMPLES = 10**6
"""The largest number of samples in one period."""


_KNOTS = 40
"""The maximum number of knots of a price list; longer lists are interpolated linearly between that many prices."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RealPrice:
    """p-hat(K) = p(K0) K/K0 up to K0, p(K) beyond, p(K) = base + slope K + the sum of bends max(K - knot, 0), in units of money.

    As in the paper, the jump P0 at 0 becomes a steep line up to ``K0``, whose slope p(K0)/K0 is far above that of further samples,
    so that p-hat is not convex and a solver finds local optima (theory I25).
    """

    K0: float
    base: float
    slope: float
    knots: tuple[float, ...] = ()
    bends: tuple[float, ...] = ()

    @property
    def ramp(self) -> float:
        """p(K0)/K0."""
        return self.base / self.K0 + self.slope

    def __call__(self, samples: FloatArray) -> FloatArray:
        """Return p-hat of each number of samples.

        >>> RealPrice(K0=0.5, base=20.0, slope=1.0)(np.array([0.0, 0.25, 0.5, 94.0]))
        array([  0.  ,  10.25,  20.5 , 114.  ])
        """
        price = self.base + self.slope * samples
        for knot, bend in zip(self.knots, self.bends, strict=True):
            price = price + bend * np.maximum(samples - knot, 0.0)
        return np.where(samples <= self.K0, self.ramp * samples, price)

    def scaled(self, samples: FloatArray, budget: float, most: int) -> FloatArray:
        """Return the samples scaled by one factor such that they cost the budget, at most ``most`` each.

        >>> RealPrice(K0=0.5, base=20.0, slope=1.0).scaled(np.ones(4), 120.0, 1_000)
        array([10., 10., 10., 10.])
        """
        low, high = 0.0, 1.0
        while self(np.minimum(high * samples, most)).sum() < budget and high < 1e18:
            high *= 2.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            within = self(np.minimum(middle * samples, most)).sum() <= budget
            low, high = (middle, high) if within else (low, middle)
        return np.minimum(low * samples, float(most))


def real_price(cost: Cost, most: int, K0: float) -> RealPrice:
    """Return p-hat for up to ``most`` samples: linear between integers, below 1 the extension of the line from 1 to 2.

    Linear costs, tiers and minimum orders are exact; of a price list with more than 40 knots only 40 are kept.

    >>> from driftpace.planning.costs import LinearCost, TieredCost
    >>> real_price(LinearCost(fixed=20), 100, 0.5)
    RealPrice(K0=0.5, base=20.0, slope=1.0, knots=(), bends=())
    >>> real_price(TieredCost(tiers=((1, 2), (51, 1))), 100, 0.5)
    RealPrice(K0=0.5, base=0.0, slope=2.0, knots=(50.0,), bends=(-1.0,))
    """
    counts = _counts(most)
    prices = cost.units(counts).astype(np.float64)
    knots, bends, first = _bends(counts, prices)
    if len(knots) > _KNOTS:
        kept = np.unique(np.geomspace(1, most, _KNOTS).round().astype(np.int64))
        prices = cost.units(kept).astype(np.float64)
        knots, bends, first = _bends(kept, prices)
    slope = min(first, float(prices[0]))  # below 1, never a negative price
    if slope < first:
        knots, bends = (1.0, *knots), (first - slope, *bends)
    return RealPrice(K0=K0, base=float(prices[0]) - slope, slope=slope, knots=knots, bends=bends)


def _counts(most: int) -> IntArray:
    """Return 1, 2, ..., 512, then a geometric sequence up to ``most``."""
    dense = np.arange(1, min(most, 512) + 1)
    wide = np.geomspace(512, most, 1 + int(50 * np.log(most / 512))).round() if most > 512 else dense
    return np.unique(np.concatenate((dense, wide, [most]))).astype(np.int64)


def _bends(counts: IntArray, prices: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Return the knots of the prices, the changes of slope there, and the first slope."""
    if len(counts) == 1:
        return (), (), 0.0
    slopes = np.diff(prices) / np.diff(counts)
    change = np.diff(slopes)
    at = np.flatnonzero(np.abs(change) > 1e-9 * max(float(slopes.max()), 1e-300))
    return tuple(counts[at + 1].astype(float).tolist()), tuple(change[at].tolist()), float(slopes[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class RelaxedProgramme:
    """minimise phi(xi) over real K_n in [0, ``most``].

    Subject to

    * x_1 = first, x_(n+1) = step(x_n, u_n), the distance recursion, x = log d and u = log(1 + K);
    * sum p-hat(K_n) <= ``budget``, in units of money;
    * ``neighbours`` K <= 0;
    * xi_n >= b(x_n, u_n) - ``epsilon``, xi_n >= 0; a gap of 1 in period n counts for ``shares[n]``.
    """

    surrogate: RiskSurrogate
    price: RealPrice
    budget: float
    epsilon: float
    shares: FloatArray
    neighbours: csc_matrix
    most: int

    @classmethod
    def of(cls, problem: Problem, *, K0: float, rows: Rows, recursion: Recursion) -> "RelaxedProgramme | None":
        """Return the programme of a problem, or None if the budget does not pay for a single sample."""
        gap = problem.gap
        if not isinstance(gap, MeanGap | LargestGap | LargestRun):
            raise ParameterError(
                f"must be MeanGap, LargestGap or LargestRun, which are differentiable almost everywhere; got {gap!r}.",
                owner="plan_relaxed",
                name="gap",
            )
        budget = budget_units(problem.cost, problem.budget)
        most = affordable_units(problem.cost, budget, MAX_PERIOD_SAMPLES)
        if most == 0:
            return None
        return cls(
            surrogate=build_surrogate(problem.outlook, problem.horizon, most, recursion),
            price=real_price(problem.cost, most, K0),
            budget=float(max(budget, 1)),
            epsilon=problem.epsilon,
            shares=gap.shares(problem.horizon),
            neighbours=neighbour_rows(problem.horizon, rows, bought_before=problem.bought_before),
            most=most,
        )

    def starts(self, starts: int, seed: int) -> list[FloatArray]:
        """Return real-valued starting points, all of which cost the budget.

        The first start has the same number in every period. In the others each number is drawn log-uniformly, from a half of
        K0 (almost nothing) to four times the uniform number, and all are scaled by one factor.
        """
        rng, horizon = np.random.default_rng(seed), len(self.shares)
        uniform = self.price.scaled(np.ones(horizon), self.budget, self.most)
        few, many = np.log(0.5 * self.price.K0), np.log(4.0 * float(uniform[0]) + 1.0)
        drawn = (np.exp(rng.uniform(few, many, horizon)) for _ in range(starts - 1))
        return [uniform, *(self.price.scaled(samples, self.budget, self.most) for samples in drawn)]


def neighbour_rows(horizon: int, rows: Rows, *, bought_before: bool = False) -> csc_matrix:
    """Return R of the adjacency rows R K <= 0.

    As printed: K_1 <= K_2, K_n <= K_(n-1) + K_(n+1), K_(T-1) <= K_T. Corrected, the last is K_T <= K_(T-1) (theory I12), and
    the first is omitted if samples were bought in the period before (I13).

    >>> neighbour_rows(3, "paper").toarray()
    array([[ 1., -1.,  0.],
           [-1.,  1., -1.],
           [ 0.,  1., -1.]])
    >>> neighbour_rows(3, "corrected", bought_before=True).toarray()
    array([[-1.,  1., -1.],
           [ 0., -1.,  1.]])
    """
    if rows == "none" or horizon == 1:
        return csc_matrix((0, horizon))
    entries = [] if rows == "corrected" and bought_before else [{0: 1.0, 1: -1.0}]
    entries += [{n - 1: -1.0, n: 1.0, n + 1: -1.0} for n in range(1, horizon - 1)]
    sign = 1.0 if rows == "paper" else -1.0
    entries.append({horizon - 2: sign, horizon - 1: -sign})
    at = [(row, column, value) for row, entry in enumerate(entries) for column, value in entry.items()]
    row, column, value = zip(*at, strict=True)
    return csc_matrix((value, (row, column)), shape=(len(entries), horizon))
