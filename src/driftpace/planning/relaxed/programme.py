"""The relaxed programme of section IV-A, independent of the solver: smoothed prices, adjacency rows and starting points."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csc_matrix

from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, affordable_units, budget_units
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Problem
from driftpace.planning.relaxed.surrogate import Recursion, RiskSurrogate, build_surrogate
from driftpace.typing import FloatArray, IntArray

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
