"""The certificate of a period: an upper confidence bound of the excess risk of the model that was fitted."""

import numpy as np

from driftpace.adaptive.fit import noise_of
from driftpace.adaptive.state import AdaptiveConfig, AdaptiveState, PeriodJudgement, noise_floor
from driftpace.typing import FloatArray

MARGIN, MARGIN_CURVED = 1.25, 1.3
"""By how much a certificate is widened, and where the loss is a quadratic only near its minimiser: the banks do not hold every
drift there is, and in many dimensions quantiles are too near the mean to forgive that."""

_NOISE_ERRORS = 1.64
_IGNORED = 1e-3
"""Components that together have less than this share of the allowed failures are left out."""

_BISECTIONS = 24


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
        _, upper = noise_of(state.memory.noise.with_rows(fit.sums), noise_floor(config), _NOISE_ERRORS)
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
    from scipy.special import gammaincc  # slow to import, and not always needed

    weights, means, squares = np.ones(1), np.zeros(1), np.zeros(1)
    for size, share, variance, wide in zip(sizes, shares, variances, spread, strict=True):
        order = np.argsort(share)
        kept = order[np.cumsum(share[order]) > _IGNORED * (1.0 - level) * share.sum()]
        weights = np.multiply.outer(weights, share[kept]).ravel()
        means = np.add.outer(means, 0.5 * size * variance[kept]).ravel()
        squares = np.add.outer(squares, 0.5 * size * wide * np.square(variance[kept])).ravel()
    known = (means > 0.0) & (squares > 0.0)
    if not known.any() or not np.isfinite(means).all():
        return float(means.max())
    weights = weights / weights.sum()
    shapes = np.where(known, means * means / np.where(known, squares, 1.0), 1.0)
    rates = np.where(known, shapes / np.where(known, means, 1.0), np.inf)
    low, high = 0.0, float((means + 40.0 * np.sqrt(squares)).max())
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high) if low == 0.0 else float(np.sqrt(low * high))
        beyond = np.where(known, gammaincc(shapes, rates * middle), 0.0)
        if float(weights @ beyond) > 1.0 - level:
            low = middle
        else:
            high = middle
    return high
