"""The yardstick: the smallest constant number of labels per period that meets the target, chosen in hindsight.

The first two periods label ten rows per coefficient; from the third on every period labels K rows, and the target is judged
after period 3. K is the least for which some constant anchoring strength keeps it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftpace.backtest.anchored import STRENGTHS, follow_anchored
from driftpace.backtest.job import Job
from driftpace.backtest.metrics import RunMetrics, measure
from driftpace.backtest.promise import promise_kept
from driftpace.typing import FloatArray, IntArray

ROWS_PER_COEFFICIENT = 10
PILOT_PERIODS = 2
JUDGED_AFTER = 3
_GROWTH = 1.5
_SCANNED = 8  # gaps this narrow are scanned one by one


@dataclass(frozen=True, kw_only=True, slots=True)
class BestConstant:
    """The best size and anchoring strength; ``kept`` is False when no size meets the target."""

    size: int
    strength: float
    kept: bool


def constant_sizes(job: Job, size: int) -> IntArray:
    """Return the labels of each period when K = ``size``, as far as the pools go."""
    wanted = np.full(len(job.populations), size)
    wanted[:PILOT_PERIODS] = ROWS_PER_COEFFICIENT * job.coefficients
    sizes: IntArray = np.minimum(wanted, job.pools).astype(np.int64)
    return sizes


def constant_risks(job: Job, item: tuple[int, int]) -> FloatArray:
    """Return excess risks (strengths, periods) of one run at one size; ``item`` is (run, size)."""
    run, size = item
    rows = job.rows(run)
    models = follow_anchored(rows, constant_sizes(job, size), STRENGTHS, job.scale)
    return np.array([now.population.excess_risk(models[:, period]) for period, now in enumerate(rows)]).T


def constant_run(job: Job, item: tuple[int, int, float]) -> RunMetrics:
    """Measure one run at the best size and strength; ``item`` is (run, size, strength)."""
    run, size, strength = item
    rows, sizes = job.rows(run), constant_sizes(job, size)
    coefs = follow_anchored(rows, sizes, np.array([strength]), job.scale)[0]
    return measure(rows, coefs, sizes.astype(np.float64))


def find_best_constant(
    risks: Callable[[int], FloatArray], epsilon: FloatArray, largest: int, confidence: float | None = None
) -> BestConstant:
    """Return the least size in 0..largest that meets the target; ``risks(K)`` is (strengths, runs, periods).

    Sizes are tried upwards in steps of a half more; then the gap below the first that keeps is halved while it is wide,
    and scanned upwards once it is narrow. Of the strengths that meet the target, the one with the least risk is returned.
    """
    judged = min(JUDGED_AFTER, len(epsilon) - 1)

    def strength(size: int) -> float | None:
        late = risks(size)[:, :, judged:]
        kept = np.array([promise_kept(one, epsilon[judged:], confidence) for one in late])
        means = np.where(kept, late.mean(axis=(1, 2)), np.inf)
        return float(STRENGTHS[int(means.argmin())]) if kept.any() else None

    below, size, best_strength = -1, 0, strength(0)
    while best_strength is None and size < largest:
        below, size = size, min(max(size + 1, round(_GROWTH * size)), largest)
        best_strength = strength(size)
    if best_strength is None:
        means = risks(largest)[:, :, judged:].mean(axis=(1, 2))
        return BestConstant(size=largest, strength=float(STRENGTHS[int(means.argmin())]), kept=False)
    while size - below > _SCANNED:
        middle = (below + size) // 2
        other = strength(middle)
        if other is None:
            below = middle
        else:
            size, best_strength = middle, other
    for candidate in range(below + 1, size):
        other = strength(candidate)
        if other is not None:
            size, best_strength = candidate, other
            break
    return BestConstant(size=size, strength=best_strength, kept=True)
