"""How segments drift, learned from all of them: the prior of drift models and of jumps that each segment has.

The shares of a bank are prior times likelihood, so the likelihood that the rows of segment s give to drift model j is
l_sj = w_sj/pi_sj. The prior of the fleet is found by EM,

    w_sj = pi_j l_sj / sum_i pi_i l_si,      pi_j <- (1 - k) mean_s w_sj + k default_j,

over segments of other folds, since its own rows count in its likelihood. Much of the default is kept, k = 0.3: a prior that is
right on average is too sure of the few segments that move, and of those that begin to. A segment whose rows speak so much against
the prior with k = 0.08 that it is probably none of the fleet's kind has the default again, and is called freed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.bank import JUMPS, Bank
from driftpace.adaptive.models import drift_models
from driftpace.typing import BoolArray, FloatArray

KEPT = 0.3
"""The least share of the default in the prior of a segment."""

NONE_OF_ITS_KIND = 0.08
"""The least share of segments that are expected to be none of the fleet's kind."""

FEW = 2.0
"""The default counts for so many segments in small fleets."""

ROUNDS = 10
"""Rounds of EM."""

FOLDS = 10
"""Segments are dealt into so many folds; what one is told is learned from the other folds."""

ODD = 0.5
"""A segment is freed when it is at least so probable that it is none of the fleet's kind."""

RATES = 0.3 * 0.5 ** np.arange(8)
"""Chances of a jump in a period that segments may have."""

_LEAST = 1e-300


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DriftPriors:
    """The log prior of drift models and the expected jumps of each segment in one block, and how probably a segment is odd."""

    priors: FloatArray
    expected_jumps: FloatArray
    odd: FloatArray

    @property
    def freed(self) -> BoolArray:
        """Which segments are probably none of the fleet's kind."""
        return self.odd >= ODD


def learn_drift(banks: Sequence[Bank], *, kept: float = KEPT, free: bool = True) -> DriftPriors:
    """Return the priors that banks of one block, one of each segment, have from each other.

    ``kept`` is the least share of the default; without ``free`` odd segments have the prior of the fleet too.
    """
    default = np.exp(drift_models(1.0).prior)
    few = FEW / (FEW + len(banks))
    kept, strange = max(kept, few) if kept else 0.0, max(NONE_OF_ITS_KIND, few)
    likelihood = np.array([bank.shares * np.exp(-bank.models.prior) for bank in banks])
    likelihood /= np.maximum(likelihood.max(axis=1, keepdims=True), _LEAST)
    others, kind = _of_others(likelihood, default, kept), _of_others(likelihood, default, strange)
    by_default, by_fleet = likelihood @ default, np.einsum("sj,sj->s", likelihood, kind)
    odd = strange * by_default / np.maximum(strange * by_default + (1.0 - strange) * by_fleet, _LEAST)
    priors = (1.0 - kept) * others + kept * default
    expected = _expected_jumps(banks, kept)
    if free:
        freed = odd >= ODD
        priors[freed], expected[freed] = default, np.maximum(expected[freed], JUMPS[0])
    return DriftPriors(priors=np.log(np.maximum(priors, _LEAST)), expected_jumps=expected, odd=odd)


def lend_drift(banks: Sequence[tuple[Bank, ...]]) -> tuple[list[tuple[tuple[FloatArray, float], ...]], FloatArray]:
    """Return the prior and the expected jumps of each block of each segment, from the others, and how odd each segment is."""
    odd = np.zeros(len(banks))
    blocks = []
    for block in zip(*banks, strict=True):
        learned = learn_drift(block)
        odd = np.maximum(odd, learned.odd)
        blocks.append(list(zip(learned.priors, learned.expected_jumps.tolist(), strict=True)))
    return list(zip(*blocks, strict=True)), odd


def _of_others(likelihood: FloatArray, default: FloatArray, kept: float) -> FloatArray:
    """Return for each segment the shares that segments of the other folds have on average, found by EM."""
    count = len(likelihood)
    fold = np.arange(count) % min(FOLDS, count)
    found = np.empty_like(likelihood)
    for one in range(int(fold.max()) + 1):
        own = fold == one
        rest, prior = likelihood[~own], default
        for _ in range(ROUNDS):
            shares = prior * rest
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), _LEAST)
            mean = shares.mean(axis=0)
            prior = (1.0 - kept) * mean + kept * default
        found[own] = mean
    return found


def _expected_jumps(banks: Sequence[Bank], kept: float) -> FloatArray:
    """Return the prior number of jumps with which each bank has the chance of one that the others show.

    Rates differ: their distribution over :data:`RATES` is found like that of drift models, and a segment has the mean of its
    posterior.
    """
    jumps, periods = np.array([[bank.jumps, float(bank.periods)] for bank in banks]).T
    usual = (JUMPS[0] + jumps) / (JUMPS[1] + periods)
    logs = jumps[:, None] * np.log(RATES) + np.maximum(periods - jumps, 0.0)[:, None] * np.log1p(-RATES)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    default = np.full(len(RATES), 1.0 / len(RATES))
    shares = ((1.0 - kept) * _of_others(likelihood, default, kept) + kept * default) * likelihood
    chance = (1.0 - kept) * (shares @ RATES) / shares.sum(axis=1) + kept * usual
    return np.asarray(chance * (JUMPS[1] + periods) - jumps)
