"""The audit: how far predictions and models were really off, measured on rows that no decision had seen.

The risk of a period is a forecast. Evidence of the excess risk really reached comes from gradients: at a model w the gradient of
a fresh row has the mean H(w - w*), so in whitened coordinates the mean product of the gradients of two different rows is
||u - u*||^2, whatever the noise and whatever the drift models say. Half the mean over all pairs of K rows is an unbiased estimate
of the excess risk (of its quadratic, for curved losses), as long as the rows had no part in the model, nor in the decision to
stop there. Two sets of rows qualify, and neither is bought for the audit:

* the rows of the first order of a period, whose number is decided before any of them is seen, measure the error of the
  *prediction*. Their record over the periods says how far predictions are usually off, and enters the next prediction;
* every third row of a period is kept from the decisions to ask for more (it enters the fit when the period is closed). These
  rows measure the model that was decided on, and the fit that includes them follows from it linearly.

Where rows belong together, only rows of different groups are paired, and whole groups are kept from decisions.

When measured and promised risk disagree, the share of the target that orders aim at is corrected, with steps that fall to a
constant: the weighted mean of the measured risks then approaches the goal at the rate 1/periods, whatever the drift does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from driftpace.adaptive.bank import Prediction
from driftpace.adaptive.coordinates import Coordinates
from driftpace.adaptive.rows import DesignRows, group_sums, number_groups
from driftpace.records import Audit
from driftpace.typing import BoolArray, FloatArray, IntArray

EVERY = 3
"""One row, or group, in so many is kept from the decisions of its period."""

GOAL = 0.75
"""The share of the target that the weighted mean of measured risks is steered to: small orders weigh less, and risk more."""

FIRST_STEP, LAST_STEP = 1.0 / 64.0, 1.0 / 128.0
"""Steps of the correction: as if sixty-four periods of full weight had agreed beforehand, and never less than half of that."""

_FLAT = 10.0
"""Measurements that are exact to about three targets weigh alike: by weights that follow orders, small ones would be missed."""

LEAST_AIM, MOST_AIM = 0.5, 1.3
"""The limits of the correction. With the least one orders are about twice as large."""

_MOST_RATIO = 6.0
"""A measured risk counts for at most so many targets and standard errors above or below the goal in one step: measured risks are
skewed, so a tighter limit would lower their mean."""

KEPT = 0.97
"""What the record of prediction errors keeps of its weight from period to period: thirty periods' worth."""

SPREAD = ((0.06, 0.3), (0.25, 0.3), (1.0, 0.25), (4.0, 0.15))
"""Sizes of the prediction error of a period relative to each other, and their shares at first: some periods move, others do not."""

_SPREAD_PERIODS = 5.0
"""The number of periods that these shares count for; after that they follow the sizes of the periods seen."""

SIZES, _SHARES = np.array(SPREAD).T

_MOST_ERROR = 4.0
"""An error beyond so many standard errors and targets is cut: rows show it by themselves, and one jump must not count for years."""

TRUST = 0.9
"""The share of the prediction that a long record has; the drift models keep the rest."""

BELIEVED = 2.0
"""The weight of a record at which it has half of that share, and the weight of the drift models in its mean."""

_LEAST_PAIRS = 1e-6
"""The weight of pairs that must be left when a row or a group is taken away, or its jackknife means nothing."""

_FEW = 10
"""Fewer rows than this do not know their own variance: it is then at least the expected one."""

WINDOW = 20
"""The number of last periods that a report pools."""

_ENOUGH = 3.0
"""Periods of equal weight from which on their spread is looked at, besides the stated variances."""

LEVEL = 0.95
"""The confidence of the interval that is valid at every period at once."""

_MIXTURE = 20.0
"""The variance at which that interval is tightest, in targets squared times weights squared: twenty to forty periods."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ErrorRecord:
    """How far the predictions of one block were off: decayed sums of weights and of weighted excess risks.

    ``counts`` are the decayed numbers of periods with an error of each size of :data:`SPREAD`, as probable as the rows of the
    period made it.
    """

    weight: float = 0.0
    total: float = 0.0
    counts: FloatArray = field(default_factory=lambda: np.zeros(len(SPREAD)))

    def spread(self) -> tuple[FloatArray, FloatArray]:
        """Return the sizes of errors, of mean 1, and their shares."""
        shares = _SPREAD_PERIODS * _SHARES + self.counts
        shares /= shares.sum()
        return SIZES / float(shares @ SIZES), shares

    def with_size(self, probabilities: FloatArray) -> "ErrorRecord":
        """Return the record after a period whose error had each size with these probabilities, up to a factor."""
        return replace(self, counts=KEPT * self.counts + probabilities / max(float(probabilities.sum()), 1e-300))

    def with_measured(self, measured: "Measured", epsilon: float) -> "ErrorRecord":
        """Return the record after a period; a measurement much less exact than the target hardly counts."""
        weight = 1.0 / (1.0 + measured.expected_variance / epsilon**2)
        most = _MOST_ERROR * (math.sqrt(measured.expected_variance) + epsilon)
        return replace(
            self,
            weight=KEPT * self.weight + weight,
            total=KEPT * self.total + weight * min(measured.excess, most),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditState:
    """What the audit remembers: O(1) numbers.

    ``records`` are those of the blocks. ``log_aim`` is the logarithm of the correction. ``weight``, ``total`` and ``squares`` are
    sums over all measured periods of the weights, the weighted measured risks in targets, and the squared weighted deviations
    from the running mean. ``recent`` has a row (weight, measured, variance, promised, target, held-out rows) for each of the last
    periods that were measured.
    """

    records: tuple[ErrorRecord, ...] = ()
    log_aim: float = 0.0
    periods: int = 0
    weight: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    recent: FloatArray = field(default_factory=lambda: np.zeros((0, 6)))

    @property
    def aim(self) -> float:
        """The correction: orders aim at so many times their usual share of the target."""
        return math.exp(self.log_aim)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """An unbiased estimate of an excess risk, its estimated variance, and the variance expected before the rows were seen."""

    excess: float
    variance: float
    expected_variance: float


def audit_rows(count: int, size: int, decided: int, groups: IntArray | None = None) -> BoolArray:
    """Return which of ``count`` rows of a period had no part in its decisions, the last of which saw the first ``decided`` rows.

    The first ``size`` rows, as many as there are coefficients, are never kept from a decision: without them it sees nothing. With
    ``groups``, numbered in the order of their first rows, a group is kept whole, or had a part in decisions as a whole.

    >>> audit_rows(8, 2, 6).tolist()
    [False, False, True, False, False, True, True, True]
    """
    return fresh_rows(count, decided, groups) | _every_third(count, size, groups)


def fresh_rows(count: int, decided: int, groups: IntArray | None = None) -> BoolArray:
    """Return which of ``count`` rows are later than the first ``decided``, and of groups that have no row among these.

    >>> fresh_rows(4, 2, np.array([0, 1, 1, 2])).tolist()
    [False, False, False, True]
    """
    return np.asarray(_first_of_group(count, groups) >= decided)


def _every_third(count: int, size: int, groups: IntArray | None) -> BoolArray:
    rank = np.arange(count) if groups is None else groups
    return np.asarray((rank % EVERY == EVERY - 1) & (_first_of_group(count, groups) >= size))


def _first_of_group(count: int, groups: IntArray | None) -> IntArray:
    """Return for each row the place of the first row of its group."""
    if groups is None:
        return np.arange(count)
    return np.asarray(np.unique(groups, return_index=True)[1][groups])


def mean_product(
    gradients: FloatArray, noise: float, groups: IntArray | None = None, weights: FloatArray | None = None
) -> Measured | None:
    """Return half the mean product of the gradients of two rows of different groups; None for fewer than three groups.

    Without ``groups`` each row is one. Gradients of weighted rows are times their ``weights``, and so are pairs. The variance is
    that of the jackknife over groups, less the part of products of noise, which the jackknife counts twice. The expected
    variance is that of pure noise, and of few groups the least that is stated.
    """
    rows, size = gradients.shape
    groups = None if groups is None else number_groups(groups)
    sums = group_sums(gradients, groups)
    count = len(sums)
    if count < 3:
        return None
    masses = np.ones(rows) if weights is None else weights
    sizes = masses if groups is None else np.bincount(groups, masses)
    mass = float(masses.sum())
    pairs = mass * mass - float(sizes @ sizes)
    rest = pairs - 2.0 * sizes * (mass - sizes)
    if not (rest > _LEAST_PAIRS * pairs).all():  # without one row hardly any pair is left
        return None
    total = sums.sum(axis=0)
    lengths = np.einsum("ij,ij->i", sums, sums)
    product = float(total @ total - lengths.sum())
    excess = 0.5 * product / pairs
    without = 0.5 * (product - 2.0 * (sums @ total - lengths)) / rest
    jackknife = (count - 1) / count * float(np.square(without - without.mean()).sum())
    inner = sums.T @ sums if count >= size else sums @ sums.T  # of the same length, and the smaller one
    products = float(np.square(inner).sum() - lengths @ lengths)
    pure = 0.5 * products / pairs**2
    expected = 0.5 * noise * noise * size / pairs
    variance = max(jackknife - pure, 0.5 * pure, expected if count < _FEW else 0.0)
    return Measured(excess=excess, variance=variance, expected_variance=expected)


def gradients_at(
    rows: DesignRows, whitened: FloatArray | None, white: Coordinates, model: FloatArray, curvature: float
) -> FloatArray:
    """Return the gradients of rows at a model, the penalty included, in the coordinates in which they are ``whitened``, if known.

    They are divided by the root of the ``curvature`` of the period, so that half their mean product is the excess risk.
    """
    gradients = rows.white_gradients(white, model, whitened)
    penalty = white.inverse @ (rows.penalty * model)
    gradients += penalty if rows.weights is None else rows.weights[:, None] * penalty
    return gradients if curvature == 1.0 else gradients / math.sqrt(curvature)


def with_record(view: Prediction, record: ErrorRecord, size: int) -> Prediction:
    """Return a prediction with the recorded errors among its components: about the same mean, in the sizes of :data:`SPREAD`.

    The recorded mean is shrunk to what the drift models expect, jumps left out: rows that are too few to measure an error
    say nothing against them.
    """
    if record.weight <= 0.0:
        return view
    share = TRUST * record.weight / (record.weight + BELIEVED)
    modelled = float(view.shares[:-1] @ view.around[:-1]) / float(view.shares[:-1].sum())
    variance = (2.0 / size * max(record.total, 0.0) + BELIEVED * modelled) / (record.weight + BELIEVED)
    return with_spread(view, view.center, variance, share, record)


def with_spread(view: Prediction, mean: FloatArray, variance: float, share: float, record: ErrorRecord) -> Prediction:
    """Return a prediction with components about ``mean`` put first: ``variance`` in the sizes of a record."""
    sizes, parts = record.spread()
    return Prediction(
        shares=np.concatenate([share * parts, (1.0 - share) * view.shares]),
        mean=np.concatenate([mean[None].repeat(len(sizes), axis=0), view.mean]),
        variance=np.concatenate([variance * sizes, view.variance]),
        recorded=view.recorded + len(sizes),
    )


def with_errors(
    records: tuple[ErrorRecord, ...],
    gradients: FloatArray,
    rows: DesignRows,
    parts: tuple[slice, ...],
    noise: float,
    epsilons: Sequence[float],
) -> tuple[ErrorRecord, ...]:
    """Return the records of the blocks after a period, the ``rows`` of whose first order had these gradients at a prediction.

    ``epsilons`` say how exact the measurement of each block has to be.
    """
    after = []
    for record, part, epsilon in zip(records, parts, epsilons, strict=True):
        measured = mean_product(gradients[:, part], noise, rows.groups, rows.weights)
        after.append(record if measured is None else record.with_measured(measured, epsilon))
    return tuple(after)


def with_measured_risk(
    state: AuditState, measured: Measured, promised: float, epsilon: float, held_out: int = 0
) -> AuditState:
    """Return the audit after a period whose risk was measured, on ``held_out`` rows if any, with the aim corrected."""
    weight = 1.0 / (1.0 + measured.expected_variance / (_FLAT * epsilon**2))
    ratio = measured.excess / epsilon
    step = max(1.0 / (1.0 / FIRST_STEP + state.weight), LAST_STEP)
    most = _MOST_RATIO * (1.0 + math.sqrt(measured.expected_variance) / epsilon)
    surplus = min(max(ratio - GOAL, -most), most)
    log_aim = min(max(state.log_aim - step * weight * surplus, math.log(LEAST_AIM)), math.log(MOST_AIM))
    total, all_weight = state.total + weight * ratio, state.weight + weight
    before = state.total / state.weight if state.weight > 0.0 else ratio
    deviation = (ratio - before) * (ratio - total / all_weight)
    line = np.array([[weight, measured.excess, measured.variance, promised, epsilon, held_out]])
    return replace(
        state,
        log_aim=log_aim,
        periods=state.periods + 1,
        weight=all_weight,
        total=total,
        squares=state.squares
        + weight * weight * max(deviation, measured.variance / epsilon**2 if not state.weight else 0.0),
        recent=np.concatenate([state.recent, line])[-WINDOW:],
    )


def audit_of(state: AuditState, measured: Measured | None, epsilon: float) -> Audit | None:
    """Return what a report says of the audit; None before anything was measured."""
    if state.periods == 0:
        return None
    weight, excess, variance, promised, _, held_out = state.recent.T
    mean = float(weight @ excess / weight.sum())
    effective = float(weight.sum() ** 2 / (weight @ weight))
    stated = float((weight * weight) @ variance)
    if effective >= _ENOUGH:
        stated = max(stated, float((weight * weight) @ np.square(excess - mean)) * effective / (effective - 1.0))
    radius = _radius(state)
    middle = state.total / state.weight
    return Audit(
        measured=None if measured is None else measured.excess,
        error=None if measured is None else math.sqrt(measured.variance),
        mean=mean,
        mean_error=math.sqrt(stated) / float(weight.sum()),
        promised=float(weight @ promised / weight.sum()),
        periods=len(excess),
        interval=(max(epsilon * (middle - radius), 0.0), epsilon * (middle + radius)),
        all_periods=state.periods,
        aim=state.aim,
        held_out=int(held_out.sum()),
    )


def _radius(state: AuditState) -> float:
    """Return the radius of an interval for the weighted mean of the risks, in targets, that is valid at every period at once.

    The normal mixture of Robbins with the variance that was seen: an asymptotic confidence sequence.
    """
    scale = state.squares + _MIXTURE
    return math.sqrt(scale * math.log(scale / (_MIXTURE * (1.0 - LEVEL) ** 2))) / state.weight
