"""Learning curves of a model: how much a period's own labels lower the loss of training it again, and what more of them would.

In a period, the model is trained on the rows of earlier periods with half and all of the fresh rows but a fold, and compared on
that fold with the model in use. The falls of the loss are compared with a(1 - (1 + k/h)^-p), where a is the excess loss without
fresh rows, together with those of earlier periods: every curve of a grid counts by how well it agrees, so that what the rows do not
show stays open. Measured curves that rise are made isotonic first, and no order trusts a curve beyond twice the rows that it was
measured at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.records import Assumption, Verdict
from driftpace.typing import FloatArray

FORGETTING = 4.0
"""Periods after which a measured curve counts half."""

VARIATION = 0.3
"""How much the heights of different periods differ, as a share."""

MISFIT = 0.01
"""How much a curve differs from the nearest one of the grid, as a share."""

MEMORY = 0.8
"""What an audited period counts for one period later."""

_POWERS = (0.5, 0.75, 1.0)
_HALVES = np.geomspace(5.0, 5000.0, 19)
_SIZES = np.geomspace(1e-3, 1.0, 31)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeasuredCurve:
    """A period: the mean fall of the loss with ``rows`` fresh rows, its standard errors, and the loss of the model in use.

    ``doubling`` is what the last doubling of the rows brought, and a standard error.
    """

    period: int
    rows: FloatArray
    falls: FloatArray
    errors: FloatArray
    start: float
    start_error: float = 0.0
    doubling: float = math.inf


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LearningCurve:
    """Possible curves and the weight of each.

    ``bound`` is the most that the excess loss can be at a number of rows of the period: no power is below 1/2, so what is left is
    at most 2.4 times what the last doubling brought.
    """

    heights: FloatArray
    halves: FloatArray
    powers: FloatArray
    weights: FloatArray
    bound: tuple[float, float] = (math.inf, 0.0)

    @classmethod
    def of(cls, measured: Sequence[MeasuredCurve], *, now: int) -> "LearningCurve":
        """Return the curves of period ``now`` that agree with those measured; the excess is below the loss itself.

        Periods share their shape, recent ones counting more. The height may be that of an earlier period or any other, at least
        about as much as the loss has risen since the last one.

        >>> k = np.array([50.0, 100.0])
        >>> one = MeasuredCurve(period=1, rows=k, falls=0.2 - 0.2 / (1 + k / 50), errors=np.full(2, 0.001), start=0.5)
        >>> bool(0.02 < LearningCurve.of([one], now=1).excess(200.0) < 0.08)
        True
        """
        sizes = _SIZES * max(each.start for each in measured)
        log = np.zeros((sizes.size, _HALVES.size, len(_POWERS)))
        earlier = np.zeros(sizes.size)
        for each in measured:
            agreement = _agreement(each, sizes)
            if each.period == now:
                log += agreement
                continue
            recent = 0.5 ** ((now - each.period) / FORGETTING)
            top = agreement.max()
            log += recent * np.log(np.exp(agreement - top).sum(axis=0) + 1e-300)
            heights = np.exp(agreement - top).sum(axis=(1, 2))
            earlier += recent * heights / heights.sum()
        if earlier.any():
            log += np.log(0.5 * earlier / earlier.sum() + 0.5 / sizes.size)[:, None, None]
        log -= _rise(measured, sizes, now)[:, None, None]
        weights = np.exp(log - log.max()).ravel()
        heights, halves, powers = (grid.ravel() for grid in np.meshgrid(sizes, _HALVES, _POWERS, indexing="ij"))
        own = [
            (each.doubling / (2.0 ** _POWERS[0] - 1.0), float(each.rows[-1])) for each in measured if each.period == now
        ]
        bound = own[-1] if own else (math.inf, 0.0)
        return cls(heights=heights, halves=halves, powers=powers, weights=weights / weights.sum(), bound=bound)

    def fall(self, rows: FloatArray) -> FloatArray:
        """Return the mean fall of the loss that fresh rows are expected to bring."""
        falls = self.heights * (1.0 - (1.0 + np.asarray(rows)[:, None] / self.halves) ** -self.powers)
        return np.asarray(falls @ self.weights)

    def excess(self, rows: float) -> float:
        """Return the mean excess loss with so many fresh rows."""
        mean = float((self.heights * (1.0 + rows / self.halves) ** -self.powers) @ self.weights)
        most, measured = self.bound
        return min(mean, most * (measured / rows) ** _POWERS[0]) if rows >= measured > 0.0 else mean

    def rows_for(self, target: float, most: int) -> int | None:
        """Return the least number of rows whose excess loss is within a target; None where more than ``most`` are."""
        if self.excess(float(most)) > target:
            return None
        low, high = -1, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.excess(float(middle)) <= target else (middle, high)
        return high


@dataclass(frozen=True, kw_only=True, slots=True)
class CurveAudit:
    """Falls of the loss that learning curves predicted before a period, and those measured in it, older periods counting less.

    ``excess`` is their difference, ``variance`` that of its noise.
    """

    predicted: float = 0.0
    measured: float = 0.0
    variance: float = 0.0
    periods: int = 0

    def after(self, curve: LearningCurve, measured: MeasuredCurve) -> "CurveAudit":
        """Return the audit with one period more, measured after the curve was known."""
        predicted, error = float(curve.fall(measured.rows)[-1]), float(measured.errors[-1])
        return CurveAudit(
            predicted=MEMORY * self.predicted + predicted,
            measured=MEMORY * self.measured + float(measured.falls[-1]),
            variance=MEMORY**2 * self.variance + error**2 + (VARIATION * predicted) ** 2,
            periods=self.periods + 1,
        )

    @property
    def factor(self) -> float:
        """How many times the excess loss is stated of what curves say: above 1 where labels brought more than was predicted."""
        if self.predicted <= 0.0:
            return 1.0
        return max(1.0, (self.measured - math.sqrt(self.variance)) / self.predicted)

    @property
    def check(self) -> Assumption:
        """Whether the measured falls agree with those predicted."""
        if self.periods == 0:
            return Assumption(
                name="learning curve", verdict=Verdict.PASS, sentence="no curve was predicted yet.", judged=False
            )
        apart = (self.measured - self.predicted) / max(math.sqrt(self.variance), 1e-300)
        verdict = Verdict.PASS if apart < 2.0 else Verdict.WARN if apart < 4.0 else Verdict.FAIL
        sentence = (
            f"fresh labels lowered the loss by {self.measured:.2g} where {self.predicted:.2g} was predicted "
            f"({self.periods} period{'' if self.periods == 1 else 's'}, recent ones counting more)."
        )
        return Assumption(name="learning curve", verdict=verdict, sentence=sentence)


def _agreement(measured: MeasuredCurve, sizes: FloatArray) -> FloatArray:
    """Return the log-likelihood of each curve, (heights, halves, powers), up to a constant."""
    rows = measured.rows[:, None, None, None]
    reached = 1.0 - (1.0 + rows / _HALVES[:, None]) ** -np.array(_POWERS)
    predicted = sizes[:, None, None] * reached
    variance = np.square(measured.errors)[:, None, None, None] + np.square(MISFIT * predicted) + 1e-18
    misfit = np.square(isotonic(measured.falls)[:, None, None, None] - predicted) / variance + np.log(variance)
    return np.asarray(-0.5 * misfit.mean(axis=0))


def _rise(measured: Sequence[MeasuredCurve], sizes: FloatArray, now: int) -> FloatArray:
    """Return what speaks against each height: the loss of the model in use has risen by more since the last period."""
    own = [each for each in measured if each.period == now]
    before = [each for each in measured if each.period < now]
    if not own or not before:
        return np.zeros(sizes.size)
    rise = own[-1].start - (before[-1].start - max(float(before[-1].falls[-1]), 0.0))
    error = max(math.hypot(own[-1].start_error, before[-1].start_error), 0.5 * abs(rise), 1e-12)
    return np.asarray(0.5 * np.square(np.maximum(rise - sizes, 0.0) / error))


def isotonic(falls: FloatArray) -> FloatArray:
    """Return falls that do not fall with the number of rows, from zero, by pooling neighbours.

    >>> isotonic(np.array([0.3, 0.1, 0.4])).round(2).tolist(), isotonic(np.array([-0.1, 0.2])).tolist()
    ([0.2, 0.2, 0.4], [0.0, 0.2])
    """
    from scipy.optimize import isotonic_regression

    return np.maximum(np.asarray(isotonic_regression(falls).x), 0.0)
