"""How many rows a period is missing: in all, as it looks, and in the next batch.

The prediction sizes a first batch; its rows show whether the drift was as predicted, and more are requested until the
remaining risk meets the target. What remains is averaged over the drift models: a model that allows for a large drift is
corrected by few rows, so the average of what the models leave is below what their average variance leaves (Jensen).
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.bank import first_bank
from driftpace.adaptive.delay import (
    InUse,
    RowsInUse,
    Walks,
    arrival_shares,
    expected_moments,
    moments_of,
    rows_in_use,
    steady,
)
from driftpace.adaptive.sizing import Criterion, proven_samples, rows_needed, variances_after
from driftpace.adaptive.state import AdaptiveConfig, AdaptiveState, PeriodJudgement, drift, early

BATCHES, SHARE = 2, 0.5
"""The batches before this one ask for a share of what seems missing: they may show that fewer are enough."""

EARLY_BATCHES, EARLY_SHARE = 8, 0.3
"""The same in early periods, when the drift models still disagree."""

ONE_ORDER, TWO_ORDERS = 0.7, 0.9
"""The share of the usual aim where a period has a single order, which no row of the period can correct, or two."""

FIRST_ORDER = 0.6
"""The share of what seems missing in an order that another one follows."""

MOST = 10**9
"""More rows than any period has."""

LEAST = 4
"""A batch has at least so many rows, and a tenth of those before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsNeeded:
    """How many rows are missing: ``now`` in the next batch, ``all`` as it looks.

    ``theory`` is what the proven rule asks for the whole period, ``low`` and ``high`` a range for the whole period, ``risk``
    what is left after all of them. ``in_use`` says more where labels may be late: the risk is then that of the model in use when
    they are known.
    """

    now: int
    all: int
    theory: int
    low: int
    high: int
    risk: float
    in_use: RowsInUse | None = None


def rows_missing(
    config: AdaptiveConfig,
    state: AdaptiveState,
    judged: PeriodJudgement,
    *,
    gathered: int,
    seen: int,
    batch: int,
    lost: int = 0,
) -> RowsNeeded:
    """Return how many rows are missing after ``gathered`` of them, of which the judgement has ``seen`` some.

    Uneven weights leave so many rows fewer, ``lost``, in the initial sample; after it what they cost is part of the noise.
    """
    criterion, kept = aim_of(config, state, judged), gathered - seen
    pilot = state.pilot - state.memory.rows - gathered + lost  # a model passes through fewer, and looks certain
    if config.delay is not None:
        return _missing_in_use(config, state, judged, gathered=gathered, pilot=pilot, batch=batch)
    missing = max(_needed(criterion, state, judged) - kept, pilot, 0)
    low, high = (missing, missing) if not state.banks else _range(criterion, judged, state, kept)
    return RowsNeeded(
        now=next_batch(state, missing, gathered=gathered, batch=batch, orders=config.orders),
        all=missing,
        theory=_theory(judged, state),
        low=gathered + min(low, missing),
        high=gathered + max(high, missing),
        risk=risk_after(criterion, state, judged, missing + kept),
    )


def is_enough(
    config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement, *, gathered: int, seen: int, lost: int = 0
) -> bool:
    """Whether :func:`rows_missing` finds none missing, where labels are in time."""
    pilot = state.pilot - state.memory.rows - gathered + lost
    return pilot <= 0 and _needed(aim_of(config, state, judged), state, judged) <= gathered - seen


def aim_of(config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement) -> Criterion:
    """Return what orders aim at: the target with its margin, and a larger one where a period has one or two orders."""
    criterion = config.criterion(judged, state.audit)
    if config.orders not in (1, 2):
        return criterion
    share = ONE_ORDER if config.orders == 1 else TWO_ORDERS
    return Criterion(epsilon=share * criterion.epsilon, confidence=criterion.confidence)


def _missing_in_use(
    config: AdaptiveConfig,
    state: AdaptiveState,
    judged: PeriodJudgement,
    *,
    gathered: int,
    pilot: int,
    batch: int,
) -> RowsNeeded:
    """Return the same where labels may be late; an initial sample has ``pilot`` more rows."""
    use, criterion = in_use(config, state, judged), aim_of(config, state, judged)
    sized = rows_in_use(
        use, lambda variances: criterion.risk(state.sizes, variances), criterion.epsilon, judged.epsilon, MOST
    )
    rows = sized.rows if sized.refused else steady(sized, state.closed)
    wanted = max(rows - gathered, pilot, 0)
    return RowsNeeded(
        now=next_batch(state, wanted, gathered=gathered, batch=batch, orders=config.orders),
        all=wanted,
        theory=_theory(judged, state),
        low=min(sized.low, gathered + wanted),
        high=max(sized.high, gathered + wanted),
        risk=risk_in_use(config, state, judged, gathered + wanted),
        in_use=sized,
    )


def in_use(config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement) -> InUse:
    """Return what orders leave while models are in use; before the first period is closed, with the drift as it is before any."""
    assert config.delay is not None
    known = arrival_shares(state.closed, config.delay)
    noise = float(judged.noise_upper) / (1.0 - (config.audit or 0.0))  # rows held out are ordered too
    if not state.banks:
        banks = [
            first_bank(np.zeros(int(size)), float(variance), 2.0 * judged.epsilon / size)
            for size, variance in zip(state.sizes, judged.variances, strict=True)
        ]
        start = moments_of(banks)
        return InUse(walks=Walks.of(banks, noise), now=start, start=start, known=known)
    walks = Walks.of(judged.banks, noise)
    now = moments_of(state.banks)
    start = expected_moments(walks, now, state.closed, config.delay)
    return InUse(walks=walks, now=walks.next(now), start=walks.next(start), known=known)


def risk_in_use(config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement, rows: int) -> float:
    """Return the risk, when the labels of this period are known, that an order of so many rows leaves in use."""
    use = in_use(config, state, judged)
    return config.judged_by(judged.epsilon).risk(state.sizes, use.walks.mean(use.variances(rows)))


def risk_after(criterion: Criterion, state: AdaptiveState, judged: PeriodJudgement, rows: int) -> float:
    """Return the risk that ``rows`` more than the judgement has seen leave."""
    noise = float(judged.noise_upper)
    if rows == 0 or criterion.confidence is not None or not (state.banks or state.bands):
        return criterion.risk(state.sizes, variances_after(state.output_sizes, judged.variances, noise, rows))
    from driftpace.adaptive.kernels import mean_risk

    return state.outputs * float(mean_risk(state.output_sizes, *judged.components(), noise, float(rows)))


def _needed(criterion: Criterion, state: AdaptiveState, judged: PeriodJudgement) -> int:
    """Return how many rows beyond those that the judgement has seen meet the criterion."""
    noise = float(judged.noise_upper)
    if criterion.confidence is not None or not (state.banks or state.bands):
        return rows_needed(criterion, state.sizes, judged.variances, noise, MOST, state.outputs)
    from driftpace.adaptive.kernels import fewest_rows

    target = criterion.epsilon / state.outputs
    return int(fewest_rows(state.output_sizes, *judged.components(), noise, target, MOST))


def next_batch(state: AdaptiveState, missing: int, *, gathered: int, batch: int, orders: int | None = None) -> int:
    """Return how many of the rows that seem to be missing are asked for next: they may show that fewer are enough."""
    least = max(LEAST, gathered // 10)
    if missing == 0:
        return 0
    if orders is not None:
        pilot = state.pilot - gathered
        if not state.banks and pilot > 0:  # the initial sample is no order: before it the noise is not known
            return pilot
        return max(math.ceil(FIRST_ORDER * missing) if batch + 1 < orders else missing, least)
    if not state.banks:
        return max(min(missing, gathered), least)
    batches, share = (EARLY_BATCHES, EARLY_SHARE) if early(state) else (BATCHES, SHARE)
    return max(math.ceil(share * missing) if batch < batches else missing, least)


def _range(criterion: Criterion, judged: PeriodJudgement, state: AdaptiveState, kept: int) -> tuple[int, int]:
    """Return the rows missing if the drift is as small, or as large, as nine models in ten allow."""
    from driftpace.adaptive.kernels import share_quantile

    ends = []
    for level in (0.1, 0.9):
        variances = np.array([share_quantile(each.variance, each.shares, level) for each in judged.mixtures])
        needed = rows_needed(criterion, state.sizes, variances, judged.noise_upper, MOST, state.outputs)
        ends.append(max(needed - kept, 0))
    return ends[0], ends[1]


def _theory(judged: PeriodJudgement, state: AdaptiveState) -> int:
    """Return what the proven rule asks: from a last model at the target and the largest plausible step straight away."""
    if not state.banks:
        return proven_samples(judged.epsilon, state.size, judged.noise_upper, math.inf)
    _, upper = drift(judged.banks)
    return proven_samples(judged.epsilon, state.size, judged.noise_upper, math.sqrt(2.0 * judged.epsilon) + upper)
