"""The certificate of a period: an upper confidence bound of the excess risk of the model that was fitted."""

import math

import numpy as np

from driftpace.adaptive.fit import noise_of
from driftpace.adaptive.sizing import gamma_quantile
from driftpace.adaptive.state import AdaptiveConfig, AdaptiveState, PeriodJudgement, noise_floor
from driftpace.typing import FloatArray, IntArray

MARGIN, MARGIN_CURVED = 1.25, 1.3
"""By how much a certificate is widened, and where the loss is a quadratic only near its minimiser: the banks do not hold every
drift there is, and in many dimensions quantiles are too near the mean to forgive that."""

_NOISE_ERRORS = 1.64
_ALIKE = 0.1
"""Components whose means differ by less than this share, and variances by twice as much, count as one: an error below 0.05 %."""

_FAR = 1e3
"""Components that many times below the mean count as one, and so do those that many times above it."""

_EXACT = 1e-8
"""A step of Newton's method as small as this leaves an error of about its square."""

_STEPS = 60

_TINY = 1e-300
"""Risks that underflow count as this."""


def certificate(config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement) -> float:
    """Return an upper confidence bound of the excess risk of the model at the level asked for, given everything seen.

    The risk is 1/2 e'e, with e from a mixture: one component for each drift model of each block. The bound is the quantile of
    the mixture of Gamma laws with the mean and the variance of each component, with the noise 1.64 standard errors up, and a
    margin.
    """
    level, sizes = config.certificate_level, state.sizes
    shares, variances = judged.components()
    wider = MARGIN if judged.quadratic else MARGIN_CURVED
    spread = np.ones(len(sizes))
    if judged.fit is not None:
        fit = judged.fit
        _, upper = noise_of(state.memory.noise.with_rows(fit.sums).estimate(), noise_floor(config), _NOISE_ERRORS)
        wider *= max(upper / fit.noise_upper, 1.0)  # a first look may know of more noise
        spread = np.array([_spread(fit.covariance[part, part]) for part in state.parts])
    return wider * mixture_quantile(sizes, shares, variances, spread, level)


def _spread(covariance: FloatArray) -> float:
    """Return d tr(C^2) / tr(C)^2: 1 where every direction is known equally well."""
    total = float(np.trace(covariance))
    return len(covariance) * float(np.sum(covariance * covariance)) / (total * total) if total > 0.0 else 1.0


def mixture_quantile(
    sizes: FloatArray, shares: FloatArray, variances: FloatArray, spread: FloatArray, level: float
) -> float:
    """Return the quantile of 1/2 sum_b v_b chi^2_(d_b), with v_b drawn independently from the components of block b.

    Each combination of components is a Gamma law with the right mean and variance, the latter times the ``spread`` of the block.

    >>> one = mixture_quantile(np.array([10.0]), np.array([[1.0]]), np.array([[0.2]]), np.ones(1), 0.95)
    >>> round(one, 3)  # chi^2_10 has 18.31 there
    1.831
    """
    from scipy.special import gammaincc, gammaln  # slow to import, and not always needed

    if not np.isfinite(shares).all() or not np.isfinite(variances).all():
        return math.inf
    weights, means, squares = np.ones(1), np.zeros(1), np.zeros(1)
    for size, share, variance, wide in zip(sizes, shares, variances, spread, strict=True):
        wider = 0.5 * size * wide * np.square(variance)
        if not np.isfinite(wider).all():
            return math.inf
        weights, means, squares = _grouped(
            np.multiply.outer(weights, share).ravel(),
            np.add.outer(means, 0.5 * size * variance).ravel(),
            np.add.outer(squares, wider).ravel(),
        )
    known = (means > 0.0) & (squares > 0.0)
    if not known.any():
        return float(means.max())
    weights, means, squares = weights[known] / weights.sum(), means[known], squares[known]
    shapes, rates = means * means / squares, means / squares
    logs = gammaln(shapes)
    low, high = 0.0, float((means + 40.0 * np.sqrt(squares)).max())
    mean = float(weights @ means)
    at = gamma_quantile(mean, float(weights @ (squares + np.square(means - mean))), level)
    for _ in range(_STEPS):  # Newton's method for the logarithm of the tail in that of the risk, kept within a bracket
        scaled = rates * at
        tail = float(weights @ gammaincc(shapes, scaled))
        if tail > 1.0 - level:
            low = at
        else:
            high = at
        density = float(weights @ np.exp(shapes * np.log(np.maximum(scaled, _TINY)) - scaled - logs))
        after = (
            at * math.exp(min(math.log(tail / (1.0 - level)) * tail / density, 1.0)) if density * tail > 0.0 else 0.0
        )
        if not low < after < high:
            after = 0.5 * (low + high)
        if abs(after - at) <= _EXACT * at:
            return after
        at = after
    return high


def _grouped(
    weights: FloatArray, means: FloatArray, variances: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights, means and variances of groups of components that are nearly the same."""
    width = round(2.0 * math.log(_FAR) / _ALIKE) + 1
    group = width * _place(weights, means, _ALIKE) + _place(weights, variances, 2.0 * _ALIKE)
    total = _sums(group, weights)
    kept = total.nonzero()[0]
    share = weights / (total[group] + 1e-300)
    mean = _sums(group, share * means)
    gaps = means - mean[group]
    variance = _sums(group, share * (variances + gaps * gaps))
    return total[kept], mean[kept], variance[kept]


def _sums(group: IntArray, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(group, values), dtype=np.float64)


def _place(weights: FloatArray, values: FloatArray, alike: float) -> IntArray:
    """Return the place of each value on a scale with steps of the share ``alike``."""
    mean = max(float(weights @ values) / float(weights.sum()), 1e-300)
    steps = np.log(np.minimum(np.maximum(values / mean, 1.0 / _FAR), _FAR))
    steps += math.log(_FAR)
    steps /= alike
    return steps.astype(np.int64)
