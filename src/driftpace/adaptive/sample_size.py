"""How many rows a period is missing: in all, as it looks, and in the next batch.

The prediction sizes a first batch; its rows show whether the drift was as predicted, and more are requested until the
remaining risk meets the target.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.sizing import Criterion, proven_samples, rows_needed, variances_after
from driftpace.adaptive.state import PILOT, AdaptiveConfig, AdaptiveState, PeriodJudgement, drift, share_quantile
from driftpace.typing import FloatArray

BATCHES = 8
"""From this batch of a period on, each asks for all that seems missing."""

SHARE = 0.3
"""The share of what seems missing that a batch asks for while the drift models disagree about it."""

LEAST = 4
"""A batch has at least so many rows, and a tenth of those before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsNeeded:
    """How many rows are missing: ``now`` in the next batch, ``all`` as it looks.

    ``theory`` is what the proven rule asks for the whole period, ``low`` and ``high`` a range for the whole period, ``risk``
    what is left after all of them.
    """

    now: int
    all: int
    theory: int
    low: int
    high: int
    risk: float


def rows_missing(
    config: AdaptiveConfig, state: AdaptiveState, judged: PeriodJudgement, *, gathered: int, batch: int, most: int
) -> RowsNeeded:
    """Return how many rows are missing after ``gathered`` of them; ``most`` is what the pool or the cap leaves."""
    criterion, sizes = config.criterion(judged), state.sizes
    missing = rows_needed(criterion, sizes, judged.variances, judged.noise_upper, most)
    first = not state.banks
    pilot = PILOT * state.size - state.memory.rows - gathered  # a model passes through fewer, and looks certain
    missing = min(max(missing, pilot), most)
    after = variances_after(sizes, judged.variances, judged.noise_upper, missing)
    low, high = (missing, missing) if first else _range(criterion, judged, sizes, most)
    return RowsNeeded(
        now=min(next_batch(state, missing, gathered=gathered, batch=batch), most),
        all=missing,
        theory=_theory(judged, state),
        low=gathered + min(low, missing),
        high=gathered + max(high, missing),
        risk=criterion.risk(sizes, after),
    )


def next_batch(state: AdaptiveState, missing: int, *, gathered: int, batch: int) -> int:
    """Return how many of the rows that seem to be missing are asked for next: they may show that fewer are enough."""
    least = max(LEAST, gathered // 10)
    if missing == 0:
        return 0
    if not state.banks:
        return max(min(missing, gathered), least)
    return max(math.ceil(SHARE * missing) if batch < BATCHES else missing, least)


def _range(criterion: Criterion, judged: PeriodJudgement, sizes: FloatArray, most: int) -> tuple[int, int]:
    """Return the rows missing if the drift is as small, or as large, as nine models in ten allow."""
    ends = []
    for level in (0.1, 0.9):
        if judged.fit is None:
            variances = np.array([share_quantile(view.variance, view.shares, level) for view in judged.views])
        else:
            variances = np.array(
                [share_quantile(posterior.variance, posterior.shares, level) for posterior in judged.fit.posteriors]
            )
        ends.append(rows_needed(criterion, sizes, variances, judged.noise_upper, most))
    return ends[0], ends[1]


def _theory(judged: PeriodJudgement, state: AdaptiveState) -> int:
    """Return what the proven rule asks: from a last model at the target and the largest plausible step straight away."""
    if not state.banks:
        return proven_samples(judged.epsilon, state.size, judged.noise_upper, math.inf)
    _, upper = drift(judged.banks)
    return proven_samples(judged.epsilon, state.size, judged.noise_upper, math.sqrt(2.0 * judged.epsilon) + upper)
