"""How many more rows a period in bands needs, and the next batch of them.

A component of band b with variance t and K further rows leave 1/m = 1/t + K/(s^2/c + (1 + 1/d) sum_b d_b m_b), the rule of
:mod:`driftpace.adaptive.sizing`, and the risk 1/2 sum_b c kappa_b d_b m_b: what counts is the effective number of coefficients.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.sample_size import (
    BATCHES,
    EARLY_BATCHES,
    EARLY_SHARE,
    FIRST_ORDER,
    LEAST,
    MOST,
    ONE_ORDER,
    SHARE,
    TWO_ORDERS,
)
from driftpace.adaptive.sizing import gamma_quantile, proven_samples
from driftpace.adaptive.state import AdaptiveConfig
from driftpace.typing import FloatArray
from driftpace.wide.state import (
    PILOT_ROWS,
    PILOT_WITHOUT_POOL,
    WideJudgement,
    WideState,
    aim_of,
    drift_of,
    early_wide,
)

_BISECTIONS = 50
_RANGE = (0.1, 0.9)


@dataclass(frozen=True, kw_only=True, slots=True)
class WideRowsNeeded:
    """How many rows are missing: ``now`` in the next batch, ``all`` as it looks; the others as in the adaptive method."""

    now: int
    all: int
    theory: int
    low: int
    high: int
    risk: float


def pilot_rows(state: WideState) -> int:
    """Return the rows of the very first batch: enough to show the noise and the power law.

    Of several classes there are as many for each two. Without a pool they show the components too, and more are needed.
    """
    spectrum, pairs = state.spectrum, 0.5 * (state.outputs + 1)
    if spectrum.from_pool:
        return min(3 * state.center.size, round(PILOT_ROWS * pairs))
    return max(min(3 * spectrum.columns, PILOT_WITHOUT_POOL), min(3 * state.center.size, round(PILOT_ROWS * pairs)))


def components(judged: WideJudgement) -> tuple[FloatArray, FloatArray]:
    """Return the shares of the components of each band, (bands, 1, components), and their variances in each direction of scores.

    They are padded with shares of zero.
    """
    mixtures = judged.mixtures
    most, outputs = max(len(mixture.shares) for mixture in mixtures), judged.variances.shape[1]
    shares, variances = np.zeros((len(mixtures), 1, most)), np.zeros((len(mixtures), outputs, most))
    for place, (mixture, known) in enumerate(zip(mixtures, judged.variances, strict=True)):
        count = len(mixture.shares)
        shares[place, 0, :count] = mixture.shares
        variances[place, :, :count] = mixture.around * (known / max(mixture.total, 1e-300))[:, None]
    return shares, variances


def variances_with(state: WideState, judged: WideJudgement, rows: float) -> FloatArray:
    """Return the variance of each band and direction of scores after so many further rows, averaged over its components."""
    shares, variances = components(judged)
    if rows <= 0:
        return np.asarray((shares * variances).sum(axis=2))
    return _left(state, judged, shares, variances, rows)


def _left(
    state: WideState, judged: WideJudgement, shares: FloatArray, variances: FloatArray, rows: float
) -> FloatArray:
    """Return the mean variances, (bands, directions), that so many rows leave; those of all bands are noise to each."""
    sizes, noise = state.sizes, judged.noise_upper / judged.bend
    more = 1.0 + 1.0 / state.size

    def left(rest: FloatArray) -> FloatArray:
        each = (rows / (noise + more * rest))[None, :, None]
        return np.asarray((shares * variances / (1.0 + variances * each)).sum(axis=2))

    high = sizes @ (shares * variances).sum(axis=2)
    low = np.zeros_like(high)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        more_left = sizes @ left(middle) > middle
        low, high = np.where(more_left, middle, low), np.where(more_left, high, middle)
    return left(high)


def risk_with(config: AdaptiveConfig, state: WideState, judged: WideJudgement, rows: float) -> float:
    """Return the risk that so many further rows leave: its mean, or its quantile at the confidence."""
    return risk_of(config, judged, variances_with(state, judged, rows))


def risk_of(config: AdaptiveConfig, judged: WideJudgement, variances: FloatArray) -> float:
    """Return the risk of variances: its mean, or its quantile at the confidence."""
    mean = 0.5 * float((judged.counts * variances).sum())
    if config.confidence is None:
        return mean
    weights = judged.counts * judged.kappa * judged.bend
    return gamma_quantile(mean, 0.5 * float((weights * np.square(variances)).sum()), config.confidence)


def wide_rows_missing(
    config: AdaptiveConfig, state: WideState, judged: WideJudgement, *, gathered: int, seen: int, batch: int
) -> WideRowsNeeded:
    """Return how many rows are missing after ``gathered`` of them, of which the judgement has ``seen`` some."""
    target, kept = aim_of(config, state, judged), gathered - seen
    if config.orders in (1, 2):
        target *= ONE_ORDER if config.orders == 1 else TWO_ORDERS
    needed = _fewest(lambda rows: risk_with(config, state, judged, rows) <= target)
    pilot = pilot_rows(state) - state.rows - gathered
    missing = max(needed - kept, pilot, 0)
    ends = (missing, missing)
    if state.banks:
        ends = tuple(max(_with_quantile(state, judged, level, target) - kept, 0) for level in _RANGE)  # type: ignore[assignment]
    return WideRowsNeeded(
        now=next_wide_batch(state, missing, gathered=gathered, batch=batch, orders=config.orders),
        all=missing,
        theory=_theory(state, judged),
        low=gathered + min(ends[0], missing),
        high=gathered + max(ends[1], missing),
        risk=risk_with(config, state, judged, missing + kept),
    )


def next_wide_batch(state: WideState, missing: int, *, gathered: int, batch: int, orders: int | None) -> int:
    """Return how many of the rows that seem to be missing are asked for next: they may show that fewer are enough."""
    least = max(LEAST, gathered // 10)
    if missing == 0:
        return 0
    if orders is not None:
        pilot = pilot_rows(state) - gathered
        if not state.banks and pilot > 0:
            return pilot
        return max(math.ceil(FIRST_ORDER * missing) if batch + 1 < orders else missing, least)
    if not state.banks:
        return max(min(missing, max(gathered, pilot_rows(state))), least)
    batches, share = (EARLY_BATCHES, EARLY_SHARE) if early_wide(state) else (BATCHES, SHARE)
    return max(math.ceil(share * missing) if batch < batches else missing, least)


def _fewest(met: Callable[[int], bool]) -> int:
    """Return the fewest rows that meet a condition, or MOST."""
    if met(0):
        return 0
    low, high = 0, 1
    while not met(high):
        if high >= MOST:
            return MOST
        low, high = high, min(2 * high, MOST)
    while high - low > max(high // 200, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def _with_quantile(state: WideState, judged: WideJudgement, level: float, target: float) -> int:
    """Return the rows missing if every band drifts as little, or as much, as ``level`` of its models allow."""
    from driftpace.adaptive.kernels import share_quantile

    each = np.array([share_quantile(mixture.variance, mixture.shares, level) for mixture in judged.mixtures])
    variances = np.tile(each[:, None, None], (1, judged.variances.shape[1], 1))
    alone = np.ones((len(each), 1, 1))

    def met(rows: float) -> bool:
        return 0.5 * float((judged.counts * _left(state, judged, alone, variances, rows)).sum()) <= target

    return _fewest(met)


def _theory(state: WideState, judged: WideJudgement) -> int:
    """Return what the proven rule asks for the effective number of coefficients."""
    size = max(round(judged.effective), 1)
    if not state.banks:
        return proven_samples(judged.epsilon, size, judged.noise_upper, math.inf)
    _, upper = drift_of(judged.banks, judged.counts)
    return proven_samples(judged.epsilon, size, judged.noise_upper, math.sqrt(2.0 * judged.epsilon) + upper)
