"""The certificate of a period: an upper end for the excess risk of the model that was fitted."""

from collections.abc import Sequence

import numpy as np

from driftpace.adaptive.bank import Prediction
from driftpace.adaptive.fit import Posterior, noise_of
from driftpace.adaptive.sizing import gamma_quantile, risk_quantile
from driftpace.adaptive.state import AdaptiveConfig, AdaptiveState, PeriodJudgement, noise_floor, share_quantile
from driftpace.typing import FloatArray

LARGER_DRIFT = 0.9
"""The share of drift models that a certificate allows for."""

MARGIN, MARGIN_CURVED = 1.15, 1.25
"""By how much a certificate is widened, and where the loss is a quadratic only near its minimiser: the banks do not hold every
drift there is, and in many dimensions quantiles are too near the mean to forgive that."""


def certificate(config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement) -> float:
    """Return an upper end for the excess risk of the model at the level asked for, given everything seen.

    The risk is 1/2 e'e with e of the covariance of the look. That is taken with the drift as large as nine models in ten allow,
    the noise 1.64 standard errors up, and a margin; the quantile is that of a Gamma law with the same mean and variance.
    """
    level = config.certificate_level
    wider = _larger_drift(judged, state.sizes)
    if judged.fit is None:
        return risk_quantile(state.sizes, wider * judged.variances, level)
    fit = judged.fit
    sums = state.memory.noise.with_rows(fit.sums)
    _, upper = noise_of(sums, noise_floor(config), 1.64)
    widened = (wider * max(upper / fit.noise_upper, 1.0)) * fit.covariance  # a first look may know of more noise
    return gamma_quantile(0.5 * float(np.trace(widened)), 0.5 * float(np.sum(widened * widened)), level)


def _larger_drift(judged: PeriodJudgement, sizes: FloatArray) -> float:
    """Return by how much the risk is larger than expected when the drift is at its upper end among the models.

    A jump counts among them once it is as likely as the failure that is allowed for.
    """
    expected = upper = 0.0
    known: Sequence[Prediction | Posterior] = judged.views if judged.fit is None else judged.fit.posteriors
    for size, block in zip(sizes, known, strict=True):
        shares = block.shares
        mean = shares @ block.mean
        each = block.variance + np.square(block.mean - mean).mean(axis=1)
        average = float(shares @ each)
        if len(shares) > 1 and shares[-1] < 1.0 - LARGER_DRIFT:
            shares, each = shares[:-1] / shares[:-1].sum(), each[:-1]
        expected += size * average
        upper += size * max(average, share_quantile(each, shares, LARGER_DRIFT))
    margin = MARGIN if judged.quadratic else MARGIN_CURVED
    return margin * upper / expected if expected > 0.0 else margin
