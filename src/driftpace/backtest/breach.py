"""Where and why a backtest missed its target: the periods, the coefficients that moved there, and the checks."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.backtest.judgement import judge_strategy, nan_mean
from driftpace.backtest.promise import surely_above
from driftpace.backtest.result import BacktestResult
from driftpace.formatting import number, plural, ratio, share
from driftpace.records.requests import MEASURED_RISK
from driftpace.typing import BoolArray, FloatArray

_NAMED = 3
"""The number of periods, coefficients and checks that are named."""
_FEWEST_PERIODS = 6
"""Held-out rows of fewer periods do not show how uncertain their mean is."""
_SPOKE = 0.5
"""A check that warns or fails in fewer of the periods above the target did not speak."""

Line = tuple[str, str]
"""A label and its text."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Breach:
    """The periods in which driftpace missed its target.

    ``above`` says of each period whether it was clearly above the target; ``worst`` are its largest periods, the worst first.
    ``excess`` is the mean excess risk of each period over its target or, with a confidence, the share of runs above the target.
    ``periods`` are those that the explanation is about: those above the target, or else the worst.
    """

    above: BoolArray
    excess: FloatArray
    worst: tuple[int, ...]
    periods: BoolArray


def find_breach(result: BacktestResult) -> Breach | None:
    """Return where driftpace missed its target, None where it met it or nothing was measured."""
    if result.metric is not None:  # periods are compared with what the target affords in hindsight only
        return None
    own = result.strategies[0]
    judged = judge_strategy(own, result.epsilon, result.confidence)
    if judged.kept or not judged.periods:
        return None
    risk, target = own.excess_risk, np.array(result.epsilon)
    measured = np.isfinite(target) & ~np.isnan(risk).any(axis=0)
    if result.confidence is None:
        with np.errstate(invalid="ignore"):
            excess = np.where(measured, risk.mean(axis=0) / target, -math.inf)
            above = measured & surely_above(risk, target)
    else:
        excess = np.where(measured, (risk > target).mean(axis=0), -math.inf)
        above = measured & (excess > 1.0 - result.confidence)
    order = np.argsort(-excess, kind="stable")
    worst = tuple(int(period) for period in order[: min(_NAMED, int(measured.sum()))])
    periods = above.copy()
    if not above.any():
        periods[list(worst)] = True
    return Breach(above=above, excess=excess, worst=worst, periods=periods)


def breach_lines(result: BacktestResult) -> list[Line]:
    """Return where the target was missed, what moved there, and which checks noticed; nothing where it was met."""
    breach = find_breach(result)
    if breach is None:
        return []
    lines = [
        ("Held out", held_out_text(result)),
        ("Where", _where(result, breach)),
        ("Moved", _moved(result, breach)),
        ("Checks", _checks(result, breach)),
    ]
    return [(label, text) for label, text in lines if text]


def held_out_text(result: BacktestResult) -> str:
    """Return the excess loss on held-out rows where it is clearly within a target that the best models of periods exceed.

    Those are fitted to the rows of a period, and their own error counts as excess loss of every strategy.
    """
    risk, target = result.strategies[0].held_out_risk, np.array(result.epsilon)
    if risk is None or result.confidence is not None:
        return ""
    periods = (risk.mean(axis=0) / target)[np.isfinite(target) & np.isfinite(risk).all(axis=0)]
    if periods.size < _FEWEST_PERIODS:
        return ""
    mean, error = float(periods.mean()), float(periods.std(ddof=1)) / math.sqrt(periods.size)
    if mean + 2.0 * error >= 1.0:
        return ""
    return (
        f"within the target: {mean:.2f} ± {error:.2f} times the target on held-out rows; what is above it is the error of the best "
        "model of each period, which has too few rows to judge this target"
    )


def audit_text(result: BacktestResult) -> str:
    """Return what the tracker promised and measured, and the truth, on average over the runs and periods that it measured."""
    cells = audited_cells(result)
    if not cells.any():
        return ""
    ledger, true = result.ledger, result.strategies[0].excess_risk
    runs = _measured_by_run(result, cells)
    error = (
        float(np.std(runs, ddof=1)) / math.sqrt(len(runs))
        if len(runs) > 1
        else math.sqrt(float(np.square(ledger.measured_error[cells]).sum())) / int(cells.sum())
    )
    aim = nan_mean(ledger.aim[:, -1])
    change = round(100.0 * abs(aim - 1.0)) if math.isfinite(aim) else 0
    corrected = f"; at the end orders aim {change} % {'lower' if aim < 1.0 else 'higher'}" if change >= 5 else ""
    mean = float(np.mean(runs))
    measured = f"{number(mean)} ± {error:.2g}" if mean > 0.0 else f"not distinguishable from 0, ± {error:.2g}"
    return (
        f"promised {number(nan_mean(ledger.risk_bound[cells]))}, measured from labels {measured}, "
        f"true {number(nan_mean(true[cells]))}{corrected}"
    )


def measured_mean(result: BacktestResult) -> float:
    """Return the excess risk that the tracker measured, on average over runs; at least 0, NaN where nothing was measured."""
    runs = _measured_by_run(result, audited_cells(result))
    return max(float(np.mean(runs)), 0.0) if runs else math.nan


def _measured_by_run(result: BacktestResult, cells: BoolArray) -> list[float]:
    measured = result.ledger.measured
    return [nan_mean(row[chosen]) for row, chosen in zip(measured, cells, strict=True) if chosen.any()]


def audited_cells(result: BacktestResult) -> BoolArray:
    """Return the runs and periods whose excess risk the tracker promised and measured."""
    ledger, true = result.ledger, result.strategies[0].excess_risk
    cells: BoolArray = np.isfinite(ledger.measured) & np.isfinite(ledger.risk_bound) & np.isfinite(true)
    return cells


def _where(result: BacktestResult, breach: Breach) -> str:
    count, periods = int(breach.above.sum()), len(result.periods)
    if result.confidence is None:
        named = [f"{result.periods[index]} ({ratio(breach.excess[index])} times the target)" for index in breach.worst]
        clear = "" if result.runs < 2 else f"{count} of {plural(periods, 'period')} clearly above the target; "
    else:
        named = [f"{result.periods[index]} ({share(breach.excess[index])} of runs above)" for index in breach.worst]
        clear = f"{count} of {plural(periods, 'period')} above the target in more runs than allowed; "
    return f"{clear}worst {', '.join(named)}"


def _moved(result: BacktestResult, breach: Breach) -> str:
    """Return the coefficients of the best model that moved most in those periods, beside the other periods."""
    if result.movement is None:
        return ""
    there = breach.periods & np.isfinite(result.movement).all(axis=1)
    rest = ~breach.periods & np.isfinite(result.movement).all(axis=1)
    if not there.any():
        return "the target was missed in the first period, before anything moved"
    names = (*result.features, "intercept")
    moved = result.movement[there].mean(axis=0)
    elsewhere = result.movement[rest].mean(axis=0) if rest.any() else np.full(moved.shape, np.nan)
    parts = [
        f"{names[index]} {number(moved[index])}"
        + (f" ({number(elsewhere[index])} in the others)" if rest.any() else "")
        for index in np.argsort(-moved, kind="stable")[:_NAMED]
    ]
    return f"coefficients that changed most in those periods, as excess loss per period: {', '.join(parts)}"


def _checks(result: BacktestResult, breach: Breach) -> str:
    """Return whether the target was stated as met in those periods, which checks spoke, and which one should have.

    Where the tracker itself stated that it missed the target, no check had to.
    """
    ledger, target = result.ledger, np.array(result.epsilon)
    stated = float((ledger.risk_bound <= target)[:, breach.periods].mean())
    texts = [f"in {share(stated)} of those periods and runs the target was predicted to be met"]
    spoke: dict[str, float] = {}
    if result.checks is not None:
        for name, verdicts in zip(result.checks.names, result.checks.verdicts, strict=True):
            spoke[name] = float((verdicts[:, breach.periods] > 0.0).mean())
    loud = sorted((name for name in spoke if spoke[name] >= _SPOKE), key=lambda name: -spoke[name])[:_NAMED]
    spoken = ", ".join(f"“{name}” in {share(spoke[name])}" for name in loud)
    texts.append(f"warned or failed: {spoken}" if loud else "no check warned or failed in half of them")
    if MEASURED_RISK in spoke and MEASURED_RISK not in loud and stated >= _SPOKE:
        cells = audited_cells(result) & breach.periods
        true = result.strategies[0].excess_risk
        numbers = (
            f" (measured {number(max(nan_mean(ledger.measured[cells]), 0.0))}, true {number(nan_mean(true[cells]))})"
            if cells.any()
            else " (nothing was measured)"
        )
        texts.append(f"“{MEASURED_RISK}” should have, and did in only {share(spoke[MEASURED_RISK])}{numbers}")
    return "; ".join(texts)
