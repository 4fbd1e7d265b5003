"""The default tracker let loose on shaped worlds, many runs: what it risked, bought, bound, certified and said."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace import SquaredLoss, Tracker
from driftpace.losses import Loss
from driftpace.records import StepReport, Verdict
from driftpace.synthetic import ShapedClasses, ShapedRegression
from driftpace.typing import FloatArray

SQUARED = SquaredLoss()
Draw = Callable[[int], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """Everything is (runs, periods). ``failed`` says where a check failed."""

    risk: FloatArray
    samples: FloatArray
    bound: FloatArray
    certificate: FloatArray
    epsilon: FloatArray
    failed: FloatArray
    status: Any

    @property
    def covered(self) -> FloatArray:
        """Where the certificate was true."""
        return np.asarray(self.risk <= self.certificate)


def drawer(period: Any, rng: np.random.Generator) -> Draw:
    """Return a function that draws rows of a period."""
    return lambda count: period.draw(count, rng=rng)


def follow(
    world: Callable[[int], ShapedRegression | ShapedClasses],
    *,
    features: int,
    runs: int,
    periods: int,
    seed: int,
    loss: Loss = SQUARED,
    pool: int | None = None,
    **changes: Any,
) -> Followed:
    """Let a default tracker follow ``world(run)`` for each run; ``changes`` go to the tracker."""
    reports = list[list[StepReport]]()
    risk = np.empty((runs, periods))
    for run in range(runs):
        moving, rng = world(run), np.random.default_rng([seed, run, 7])
        tracker = Tracker(loss, **{"epsilon": 0.05, "features": features, "cap": 20_000, "rng": run, **changes})
        reports.append([])
        for index in range(periods):
            now = moving.period(index + 1)
            reports[-1].append(tracker.step(drawer(now, rng), pool=pool))
            risk[run, index] = now.excess_risk(loss, tracker.coef, intercept=tracker.intercept)

    def table(read: Callable[[StepReport], Any]) -> Any:
        return np.array([[read(report) for report in row] for row in reports])

    return Followed(
        risk=risk,
        samples=table(lambda report: float(report.samples)),
        bound=table(lambda report: report.risk_bound),
        certificate=table(lambda report: report.certificate),
        epsilon=table(lambda report: report.epsilon),
        failed=table(lambda report: any(assumption.verdict is Verdict.FAIL for assumption in report.assumptions)),
        status=table(lambda report: report.status),
    )
