"""Whether strategies met the target, how many labels they took, and statistics over runs.

NaN (not measured) is left out; infinity is counted, so that a mean becomes infinite.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.backtest.promise import promise, promise_kept
from driftpace.backtest.result import BacktestResult, Strategy
from driftpace.backtest.yardstick import JUDGED_AFTER
from driftpace.metrics import get_metric
from driftpace.typing import FloatArray

YARDSTICK = "best_constant"


@dataclass(frozen=True, kw_only=True, slots=True)
class StrategyJudgement:
    """Whether a strategy met the target, with the measured value.

    In the mean, ``measured`` is the excess risk averaged over runs and periods and ``asked`` the target; ``above`` counts the
    periods whose run-average was significantly above it. In high probability, ``measured`` is the share of runs and periods within
    the target and ``asked`` the confidence. ``periods`` counts those that every run measured, ``missing`` the others. Of one of
    the ``runs`` alone, single periods cannot be judged. Of a target in a ``metric`` the mean is that of the metric on test rows.
    """

    kept: bool
    measured: float
    asked: float
    above: int
    periods: int
    missing: int
    in_mean: bool
    runs: int = 1
    metric: str | None = None


def judge_strategy(
    strategy: Strategy, epsilon: Sequence[float], confidence: float | None = None, *, after: int = 0
) -> StrategyJudgement:
    """Judge whether a strategy met the target; periods that some run did not measure are left out.

    ``after`` is the number of first periods to leave out.

    >>> flat = np.full((4, 10), 0.01)
    >>> strategy = Strategy(name="even", title="Even", note="", samples=flat, excess_risk=flat, test_loss=flat)
    >>> judge_strategy(strategy, [0.02] * 10).kept, judge_strategy(strategy, [0.005] * 10).above
    (True, 10)
    """
    target, measured_risk = np.asarray(epsilon, dtype=float)[after:], strategy.excess_risk[:, after:]
    complete = np.isfinite(target) & ~np.isnan(measured_risk).any(axis=0)
    risk, target = np.ascontiguousarray(measured_risk[:, complete]), target[complete]  # the order of a sum counts
    if not risk.size:
        asked = math.nan if confidence is None else confidence
        return StrategyJudgement(
            kept=False,
            measured=math.nan,
            asked=asked,
            above=0,
            periods=0,
            missing=complete.size,
            in_mean=confidence is None,
            runs=len(strategy.excess_risk),
        )
    with np.errstate(invalid="ignore"):  # an infinite risk has no standard error; its mean says enough
        judged = promise(risk, target)
        kept = promise_kept(risk, target, confidence)
    if confidence is None:
        measured, asked = judged.mean, float(target.mean())
    else:
        measured, asked = float((risk <= target).mean()), confidence
    return StrategyJudgement(
        kept=kept,
        measured=measured,
        asked=asked,
        above=judged.periods_above,
        periods=target.size,
        missing=complete.size - target.size,
        in_mean=confidence is None,
        runs=len(risk),
    )


def judge(result: BacktestResult, strategy: Strategy, *, after: int = 0) -> StrategyJudgement:
    """Judge whether a strategy met the target of a backtest; ``after`` is the number of first periods to leave out."""
    if result.metric is None:
        return judge_strategy(strategy, result.epsilon, result.confidence, after=after)
    name, target = result.metric
    values = strategy.metrics[name][:, after:]
    known = ~np.isnan(values)
    sign = 1.0 if get_metric(name).higher else -1.0
    measured = nan_mean(values)
    count, worse = len(values), 0
    if count > 1 and known.all():
        error = values.std(axis=0, ddof=1) / math.sqrt(count)
        worse = int(np.count_nonzero(sign * (values.mean(axis=0) - target) < -2.0 * error))
    return StrategyJudgement(
        kept=bool(sign * (measured - target) >= 0.0),
        measured=measured,
        asked=target,
        above=worse,
        periods=int(known.any(axis=0).sum()),
        missing=int((~known.any(axis=0)).sum()),
        in_mean=True,
        runs=count,
        metric=name,
    )


def kept_after_learning(result: BacktestResult, strategy: Strategy) -> bool:
    """Return whether the yardstick met the target after its warm-up; no other strategy has one."""
    if strategy.name != YARDSTICK:
        return False
    after = min(JUDGED_AFTER, len(result.periods) - 1)
    return judge(result, strategy, after=after).kept


def total_labels(strategy: Strategy) -> float:
    """Return the labels of one run, on average over runs."""
    return nan_mean(np.nansum(strategy.samples, axis=1))


def find_strategy(result: BacktestResult, name: str) -> Strategy | None:
    """Return the strategy of that name, if it was replayed."""
    return next((each for each in result.strategies if each.name == name), None)


def shows_money(result: BacktestResult) -> bool:
    """Return whether a price or a currency was given."""
    return result.price != 1.0 or bool(result.currency)


def nan_mean(array: FloatArray) -> float:
    """Return the mean without NaN, NaN when nothing is left.

    >>> nan_mean(np.array([1.0, np.nan, 3.0])), nan_mean(np.array([]))
    (2.0, nan)
    """
    known = array[~np.isnan(array)]
    return float(known.mean()) if known.size else math.nan


def period_means(array: FloatArray) -> FloatArray:
    """Return the mean over runs of each period."""
    return np.array([nan_mean(column) for column in array.T])


def period_quantiles(array: FloatArray, level: float) -> FloatArray:
    """Return a quantile over runs of each period: an order statistic when there are infinities, NaN when nothing was measured.

    >>> period_quantiles(np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]]), 0.5)
    array([ 2., nan])
    """
    return np.array([_quantile(column[~np.isnan(column)], level) for column in array.T])


def _quantile(values: FloatArray, level: float) -> float:
    if not values.size:
        return math.nan
    if np.isfinite(values).all():
        return float(np.quantile(values, level))
    return float(np.quantile(values, level, method="lower"))
