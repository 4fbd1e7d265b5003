"""What the levels of all segments have in common: one bank of drift models, over the rows of all of them.

    level_sn = a_s + f_n + e_sn

The rows of segment s in period n are off what its model predicts by r_s = f_n - f_(n-1) + own error, known with the variance v_s.
Their robust mean over the segments is a measurement of the common step, and the bank of f says what steps are usual: where there
are none, it soon stands still, and the mean counts for nothing. A segment is told the step that the others show; its own bank then
follows e_sn alone. Where the rows of a segment were never explained by the steps of the others, it is not told of them any more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive import AdaptiveState, DesignRows
from driftpace.adaptive.bank import Bank, Prediction, first_bank, predict, prediction_of, skip, update
from driftpace.fleet.lent import LEAST_SEGMENTS
from driftpace.typing import BoolArray, FloatArray

LIMIT = 2.0
"""Measurements further off than so many standard errors weigh less in the mean."""

JUMP = 0.7
"""The variance of a jump of all levels, in units of the noise."""

AFFORDED = 0.1
"""The variance of the common step that orders count on, in targets: a twentieth of the risk that they may leave."""

UNLIKE = -3.0
"""The log odds at which a segment is taken not to move with the others: one in twenty."""

_MOST_ODDS, _KEPT = 6.0, 0.97
_ROUNDS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelGap:
    """By how much the level of a segment is off its prediction, with the variance before the common step is known.

    ``variance`` is that of the gap, ``own`` the part of it that is the prediction's, and ``noise`` that of one row.
    """

    gap: float
    variance: float
    own: float
    noise: float

    def after(self, rows: int) -> float:
        """Return the variance that so many rows more would leave of the gap."""
        return self.own + self.noise / rows if rows else math.inf


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CommonMovement:
    """The bank of what levels have in common; ``moved`` is what segments were told so far, of which their levels count."""

    bank: Bank | None = None
    moved: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CommonStep:
    """The step of the open period as each segment is told it: means and variances, and what updates the bank."""

    means: FloatArray
    variances: FloatArray
    whole: float
    gap: float | None = None
    error: float = 0.0

    @property
    def seen(self) -> bool:
        """Whether rows of the period show it."""
        return self.gap is not None


UNSEEN = LevelGap(gap=0.0, variance=math.inf, own=math.inf, noise=math.inf)
"""Of a segment whose rows cannot be fitted."""


def level_gap(state: AdaptiveState, rows: DesignRows, noise: float) -> LevelGap:
    """Return by how much the rows of the open period are off the level that was predicted; without rows, with infinite variance."""
    assert state.coordinates is not None
    white = state.coordinates
    unit = float(white.factor[0, 0]) ** 2
    banks = [predict(bank) for bank in state.banks]
    nothing = LevelGap(gap=0.0, variance=math.inf, own=_total(banks[0]) / unit, noise=noise / unit)
    if len(rows) == 0:
        return nothing
    center = np.concatenate([bank.shares @ bank.place for bank in banks])
    model = white.plain(center)
    curvature = float(rows.bends(model).sum())
    if not curvature > 0.0:
        return nothing
    gap = -float(rows.slopes(model).sum()) / curvature
    slopes = sum(bank.size * _total(bank) for bank in banks[1:])
    return replace(nothing, gap=gap, variance=nothing.own + (noise + slopes) / curvature)


def _total(bank: Bank) -> float:
    view = prediction_of(bank, 0.0, jumps=False)
    return float(view.shares @ view.around)


def common_step(movement: CommonMovement, gaps: Sequence[LevelGap], like: BoolArray, noise: float) -> CommonStep:
    """Return the step of the open period for each segment; ``like`` are those that move with the others."""
    count = len(gaps)
    if movement.bank is None:
        means, whole = np.zeros(count), np.inf
        prior = None
    else:
        prior = _prediction(movement.bank, noise)
        whole = prior.total
        means = np.full(count, float(prior.center[0]) - movement.moved)
    gap = np.array([one.gap for one in gaps])
    variance = np.array([one.variance for one in gaps])
    seen = np.isfinite(variance) & like
    if seen.sum() <= LEAST_SEGMENTS:
        return CommonStep(means=means, variances=np.full(count, whole), whole=whole)
    middle, weights = _robust_mean(gap[seen], variance[seen])
    total = float(weights.sum())
    scatter = float(np.square(weights * (gap[seen] - middle)).sum()) / total**2 * seen.sum() / (seen.sum() - 1)
    error = max(scatter, 1.0 / float((1.0 / variance[seen]).sum()))
    own = np.zeros(count)
    own[seen] = weights
    middles = (total * middle - own * gap) / (total - own)
    errors = error * total / (total - own)
    if prior is None:
        return CommonStep(means=middles, variances=errors, whole=whole, gap=middle, error=error)
    means, variances = _told(prior, movement.moved, middles, errors)
    return CommonStep(means=means, variances=variances, whole=whole, gap=middle, error=error)


def after_period(movement: CommonMovement, step: CommonStep, unit: float, noise: float) -> CommonMovement:
    """Return the movement after a period was closed; a first step, before which nothing is known, starts the bank."""
    if movement.bank is None:
        if step.gap is None:
            return movement
        return CommonMovement(bank=first_bank(np.array([step.gap]), step.error, unit), moved=step.gap)
    bank = predict(movement.bank)
    if step.gap is None:
        view = prediction_of(bank, JUMP * noise)
        return CommonMovement(bank=skip(bank), moved=float(view.center[0]))
    view = prediction_of(bank, JUMP * noise)
    at, error = movement.moved + step.gap, step.error
    each = view.variance + error
    logs = np.log(np.maximum(view.shares, 1e-300)) - 0.5 * np.log(each) - 0.5 * np.square(at - view.mean[:, 0]) / each
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    mean = view.mean + (view.variance / each)[:, None] * (at - view.mean)
    variance = view.variance * error / each
    told = float(shares @ mean[:, 0])
    return CommonMovement(bank=update(bank, view, shares, mean, variance), moved=told)


def odds_of(odds: FloatArray, gaps: Sequence[LevelGap], step: CommonStep) -> FloatArray:
    """Return the log odds after a period that the levels of segments move with the others, from those before."""
    gap = np.array([one.gap for one in gaps])
    variance = np.array([one.variance for one in gaps])
    seen = np.isfinite(variance) & np.isfinite(step.variances)
    variance = np.where(seen, variance, 1.0)
    means, both = np.where(seen, step.means, 0.0), variance + np.where(seen, step.variances, 0.0)
    gained = _student(gap - means, both) - _student(gap, variance)
    return np.where(seen, np.clip(_KEPT * odds + gained, -_MOST_ODDS, _MOST_ODDS), odds)


def _student(gap: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the log density of a Student variable with five degrees of freedom, up to a constant: own jumps say little."""
    return -0.5 * np.log(variance) - 3.0 * np.log1p(np.square(gap) / (5.0 * variance))


def _prediction(bank: Bank, noise: float) -> Prediction:
    return prediction_of(predict(bank), JUMP * noise)


def _told(prior: Prediction, moved: float, gaps: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and variance of the step for each of several measurements of it."""
    mean = prior.mean[:, 0] - moved
    each = prior.variance[None, :] + errors[:, None]
    off = gaps[:, None] - mean[None, :]
    logs = np.log(np.maximum(prior.shares, 1e-300)) - 0.5 * np.log(each) - 0.5 * np.square(off) / each
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    means = mean + prior.variance / each * off
    left = prior.variance * errors[:, None] / each
    told = (shares * means).sum(axis=1)
    return told, (shares * (left + np.square(means - told[:, None]))).sum(axis=1)


def _robust_mean(values: FloatArray, variances: FloatArray) -> tuple[float, FloatArray]:
    """Return the mean weighted by precision and the weights, smaller for values far off (Huber)."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum((1.0 / variances)[order])
    middle = float(values[order][np.searchsorted(mass, 0.5 * mass[-1])])
    weights = 1.0 / variances
    for _ in range(_ROUNDS):
        far = np.abs(values - middle) / np.sqrt(variances)
        weights = np.minimum(1.0, LIMIT / np.maximum(far, 1e-300)) / variances
        middle = float(weights @ values / weights.sum())
    return middle, weights
