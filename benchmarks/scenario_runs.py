"""Runs of the default tracker with its audit beside the truth: scenarios and tables, and what is printed of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.scenarios import Scenario, scenarios
from driftpace import Tracker
from driftpace.backtest.promise import promise
from driftpace.executors import Executor, one_thread
from driftpace.records import StepReport, Verdict
from driftpace.typing import FloatArray

LEVEL, CAP = 0.95, 20_000
STRETCHES = (2, 3, 4)
FIELDS = (
    *("risk", "samples", "deliveries", "promised", "certificate", "failed", "unpromised"),
    *("measured", "error", "weight", "mean", "mean_error", "low", "high", "aim"),
)
HEADS = (
    *("scenario", "eps", "risk/eps", "above", "promise", "worst period", "worst 2-4", "labels/period", "batches"),
    *("stated", "coverage", "cert/truth", "FAIL", "not promised"),
)
LEGEND = f"""
- risk/eps: mean excess risk over the target; above: periods whose run-average is above it by over two standard errors.
- worst period, worst 2-4: the largest run-average of a period, and of two to four consecutive ones, over the target.
- batches: the median number of deliveries in a period after the first; stated: mean predicted risk over the target.
- coverage: run-periods with risk <= certificate (level {LEVEL:g}) where no check failed; cert/truth: ratio of their means.
- FAIL: share of run-periods with a failed check; not promised: share whose outcome says that the target is not promised.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Runs:
    """Runs of one scenario or table at one target; ``values`` is (runs, periods, fields), NaN where there is no number."""

    name: str
    epsilon: float
    values: FloatArray

    def __getitem__(self, name: str) -> FloatArray:
        return np.asarray(self.values[:, :, FIELDS.index(name)])


def follow(tracker: Tracker, sources: Sequence[tuple[Any, int | None, Callable[[FloatArray], float]]]) -> FloatArray:
    """Run a tracker; each period is (source that counts its deliveries, pool, excess risk). Return (periods, fields)."""
    lines = []
    for source, pool, excess_risk in sources:
        report = tracker.step(source, pool=pool)
        risk = excess_risk(np.append(tracker.coef, tracker.intercept))
        lines.append([risk, report.samples, source.deliveries, *_reported(report), *_audited(tracker, report)])
    return np.array(lines, dtype=np.float64)


def _reported(report: StepReport) -> list[float]:
    return [
        report.risk_bound,
        math.nan if report.certificate is None else report.certificate,
        any(check.verdict is Verdict.FAIL for check in report.assumptions),
        not report.outcome.promised,
    ]


def _audited(tracker: Tracker, report: StepReport) -> list[float]:
    """Return the audit of the period, and the weight that its measurement had."""
    audit = report.audit
    if audit is None:
        return [math.nan] * 7 + [1.0]
    measured, error, weight = math.nan, math.nan, math.nan
    if audit.measured is not None and audit.error is not None:
        measured, error = audit.measured, audit.error
        weight = float(tracker.snapshot()[1].adaptive.audit.recent[-1, 0])
    return [measured, error, weight, audit.mean, audit.mean_error, *audit.interval, audit.aim]


def run_scenario(item: tuple[str, int, int]) -> FloatArray:
    """Return (periods, fields) of one run; ``item`` is (name, run, periods). It depends on nothing else."""
    name, run, periods = item
    scenario = next(one for one in scenarios() if one.name == name)
    with one_thread():
        tracker = Tracker(
            scenario.loss,
            epsilon=scenario.epsilon,
            certificate_level=LEVEL,
            features=scenario.features,
            cap=CAP,
            rng=scenario.run_seed(run),
        )
        truths = scenario.truths(run, periods)
        sources = [(scenario.stream(truth, run, n), None, truth.excess_risk) for n, truth in enumerate(truths, start=1)]
        return follow(tracker, sources)


def run_scenarios(chosen: Sequence[Scenario], *, runs: int, periods: int, executor: Executor) -> Iterator[Runs]:
    """Yield the runs of each scenario in turn; the numbers do not depend on the executor."""
    items = [(scenario.name, run, periods) for scenario in chosen for run in range(runs)]
    results = iter(executor.map(run_scenario, items))
    for scenario in chosen:
        values = np.array([next(results) for _ in range(runs)])
        yield Runs(name=scenario.name, epsilon=scenario.epsilon, values=values)


def worst_stretch(risk: FloatArray, length: int) -> float:
    """Return the largest mean of ``length`` consecutive run-averages.

    >>> worst_stretch(np.array([[1.0, 4.0, 2.0], [1.0, 2.0, 0.0]]), 2)
    2.0
    """
    return float(np.convolve(risk.mean(axis=0), np.full(length, 1.0 / length), mode="valid").max())


def promise_line(runs: Runs) -> list[str]:
    """Return what is printed of the promise in one scenario."""
    risk, epsilon, certificate = runs["risk"], runs.epsilon, runs["certificate"]
    judged = promise(risk, epsilon)
    counted = np.isfinite(certificate) & (runs["failed"] == 0.0)
    stated = runs["promised"][np.isfinite(runs["promised"])]
    coverage = float((risk <= certificate)[counted].mean()) if counted.any() else math.nan
    return [
        runs.name,
        f"{epsilon:g}",
        f"{judged.mean / epsilon:.2f}",
        f"{judged.periods_above} of {risk.shape[1]}",
        "kept" if judged.kept else "**broken**",
        f"{worst_stretch(risk, 1) / epsilon:.2f}",
        f"{max(worst_stretch(risk, length) for length in STRETCHES) / epsilon:.2f}",
        f"{runs['samples'].mean():.1f}",
        f"{np.median(runs['deliveries'][:, 1:]):.0f}",
        f"{stated.mean() / epsilon:.2f}",
        f"{coverage:.3f}" if coverage >= LEVEL else f"**{coverage:.3f}**",
        f"{certificate[counted].mean() / risk[counted].mean():.1f}" if counted.any() else "-",
        f"{100.0 * runs['failed'].mean():.0f} %",
        f"{100.0 * runs['unpromised'].mean():.0f} %",
    ]
