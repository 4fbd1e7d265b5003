"""The certificate of any weighted average of SGD's iterates, for every number of steps at once (theory 1.2)."""

import numpy as np

from driftpace import validation
from driftpace.bounds.moments import SecondMoment
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray


def average_certificate(
    steps: FloatArray, weights: FloatArray, *, m: float, moment: SecondMoment
) -> tuple[FloatArray, FloatArray]:
    """Return alpha, beta with risk(average of w_1 .. w_K) <= alpha_K d0^2 + beta_K, K = 1 .. len(steps) (theory 1.2).

    Any steps (of at most 2/C) and any non-negative weights: with v_k = mu_k(1 - C mu_k/2), a_k, s_k of the recursion R, and
    e_k = th_k(1/(2 v_k) - m/2 + B mu_k^2/(2 v_k)) - th_{k-1}/(2 v_{k-1}), the bound is
    [sum max(e_k,0)(a_{k-1} d0^2 + s_{k-1}) + (A/2) sum th_k mu_k^2/v_k] / sum th_k. It may rise with K.

    >>> alpha, beta = average_certificate(np.full(4, 0.1), np.ones(4), m=1.0, moment=SecondMoment(A=0.16, B=4.0))
    >>> alpha.round(4), beta.round(4)
    (array([4.7   , 2.35  , 1.5667, 1.175 ]), array([0.008, 0.008, 0.008, 0.008]))
    """
    validation.positive("average_certificate", m=m)
    steps, weights = np.asarray(steps, dtype=float), np.asarray(weights, dtype=float)
    if steps.ndim != 1 or weights.shape != steps.shape or not (steps > 0.0).all():
        raise ParameterError(
            f"must be positive, as many as weights; got {steps.shape} and {weights.shape}.",
            owner="average_certificate",
            name="steps",
        )
    if not (weights >= 0.0).all() or not (weights[:1] > 0.0).all():
        raise ParameterError(
            f"must be zero or more, the first positive; got {weights}.",
            owner="average_certificate",
            name="weights",
        )
    if (moment.C * steps >= 2.0).any():
        raise ParameterError(
            f"must be below 2/C={2.0 / moment.C}; got {steps.max()}.",
            owner="average_certificate",
            name="steps",
        )
    shrink = np.maximum(0.0, 1.0 - 2.0 * m * steps + moment.per_distance(m=m) * steps**2)
    a, s = np.ones(steps.size), np.zeros(steps.size)
    for k in range(1, steps.size):
        a[k], s[k] = shrink[k - 1] * a[k - 1], shrink[k - 1] * s[k - 1] + moment.A * steps[k - 1] ** 2
    v = steps * (1.0 - 0.5 * moment.C * steps)
    ahead = weights / (2.0 * v)
    e = ahead * (1.0 + moment.B * steps**2) - 0.5 * m * weights - np.concatenate([[0.0], ahead[:-1]])
    e = np.maximum(e, 0.0)
    total = np.cumsum(weights)
    noise = 0.5 * moment.A * weights * steps**2 / v
    return np.cumsum(e * a) / total, np.cumsum(e * s + noise) / total
