"""What all runs found, put together: strategies, the ledger, and the assumptions at their worst."""

from collections import Counter

import numpy as np

from driftpace.backtest.anchored import STRENGTHS
from driftpace.backtest.measure import Measured
from driftpace.backtest.records import Choices, Ledger, Strategy
from driftpace.backtest.run import RunFound
from driftpace.records import Assumption, Verdict
from driftpace.typing import FloatArray

_SEVERITY = {Verdict.PASS: 0, Verdict.WARN: 1, Verdict.FAIL: 2}
_LEDGER = ("samples_theory", "risk_bound", "certificate", "drift", "drift_upper", "status")


def gather_strategy(name: str, title: str, note: str, runs: list[Measured], *, classification: bool) -> Strategy:
    """Return one strategy over all runs."""
    return Strategy(
        name=name,
        title=title,
        note=note,
        samples=np.array([run.samples for run in runs]),
        excess_risk=np.array([run.excess_risk for run in runs]),
        test_loss=np.array([run.test_loss for run in runs]),
        auc=np.array([run.auc for run in runs]) if classification else None,
    )


def gather_ledger(found: list[RunFound]) -> Ledger:
    """Return what the tracker said, (runs, periods) each."""
    stacked: dict[str, FloatArray] = {
        name: np.array([getattr(run.followed, name) for run in found]) for name in _LEDGER
    }
    return Ledger(**stacked)


def gather_choices(found: list[RunFound]) -> Choices | None:
    """Return what the tracker chose, None where it chose among nothing."""
    candidates = found[0].followed.candidates
    if not candidates:
        return None
    return Choices(candidates=candidates, chosen=np.array([run.followed.chosen for run in found]))


def best_even(found: list[RunFound]) -> tuple[list[Measured], float]:
    """Return the runs with the anchoring strength of least mean excess risk, and that strength."""
    means = np.array([[one.excess_risk.mean() for one in run.even] for run in found]).mean(axis=0)
    best = int(means.argmin())
    return [run.even[best] for run in found], float(STRENGTHS[best])


def worst_assumptions(found: list[RunFound]) -> tuple[tuple[Assumption, float], ...]:
    """Return for each assumption its worst verdict, as first said, and the share of runs and periods that had it.

    Names come in the order in which they were first said.
    """
    worst: dict[str, Assumption] = {}
    times: Counter[tuple[str, Verdict]] = Counter()
    periods = 0
    for run in found:
        for said in run.followed.assumptions:
            periods += 1
            for assumption in said:
                times[assumption.name, assumption.verdict] += 1
                known = worst.get(assumption.name)
                if known is None or _SEVERITY[assumption.verdict] > _SEVERITY[known.verdict]:
                    worst[assumption.name] = assumption
    return tuple((one, times[one.name, one.verdict] / periods) for one in worst.values())
