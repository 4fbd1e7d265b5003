"""The cost of the relaxation: prices of real numbers of samples, without the jump at 0 (section IV-A, p-hat)."""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.costs import Cost
from driftpace.typing import FloatArray, IntArray

_KNOTS = 40
"""The most knots that a price list keeps; one with more is joined by straight lines between that many of its prices."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RealPrice:
    """p-hat(K) = p(K0) K/K0 up to K0, p(K) beyond, p(K) = base + slope K + the sum of bends max(K - knot, 0), in units of money.

    As the paper has it: the jump P0 at 0 becomes a steep line up to ``K0``, whose slope p(K0)/K0 is far above that of the samples
    after it, so p-hat is not convex and a solver finds local optima (theory I25).
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
        """Return the samples times the one factor for which they cost the budget, at most ``most`` each.

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
    """Return p-hat for up to ``most`` samples: straight lines between whole numbers, below 1 on with the line from 1 to 2.

    A linear cost with a fixed part is met exactly, so are tiers and minimum orders; of a price list that bends at more than
    40 numbers of samples only 40 are kept.

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
    """Return 1, 2, ..., and beyond 512 wider and wider steps, with both ends."""
    dense = np.arange(1, min(most, 512) + 1)
    wide = np.geomspace(512, most, 1 + int(50 * np.log(most / 512))).round() if most > 512 else dense
    return np.unique(np.concatenate((dense, wide, [most]))).astype(np.int64)


def _bends(counts: IntArray, prices: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Return where the slope of the prices changes, by how much, and the first slope."""
    if len(counts) == 1:
        return (), (), 0.0
    slopes = np.diff(prices) / np.diff(counts)
    change = np.diff(slopes)
    at = np.flatnonzero(np.abs(change) > 1e-9 * max(float(slopes.max()), 1e-300))
    return tuple(counts[at + 1].astype(float).tolist()), tuple(change[at].tolist()), float(slopes[0])
