"""The promise of the default tracker, by Monte Carlo in worlds whose truth is known.

Excess risk averaged over runs and periods is at most epsilon, at most one period in ten is above it by more than two
standard errors, certificates are true at their level where no check failed, and re-fitting from scratch costs more.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from driftpace import LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.adaptive import fit as look_module
from driftpace.adaptive import state
from driftpace.backtest.promise import promise
from driftpace.losses import Loss
from driftpace.synthetic import NoiseKind, Shape, ShapedClasses, ShapedRegression
from tests.reference.practical import Followed, follow

EPSILON, LEVEL, PERIODS = 0.05, 0.95, 20
AnyWorld = ShapedRegression | ShapedClasses

pytestmark = pytest.mark.statistical


@dataclass(frozen=True, kw_only=True)
class Case:
    """A world: one step costs a stale model ``cost`` targets."""

    shape: Shape
    cost: float
    features: int
    noise: NoiseKind = "gaussian"
    condition: float = 1.0
    loss: Loss = SquaredLoss()  # noqa: RUF009
    runs: int = 30

    def __str__(self) -> str:
        return f"{type(self.loss).__name__}-{self.shape}-{self.cost:g}-d{self.features}-{self.noise}"

    def world(self, seed: int) -> Callable[[int], AnyWorld]:
        """Return the world of each run: its own for regression, where that is cheap, one for all in classification."""
        shared: dict[str, Any] = {
            "features": self.features,
            "cost": self.cost * EPSILON,
            "shape": self.shape,
            "condition": self.condition,
        }
        if isinstance(self.loss, SquaredLoss):
            return lambda run: ShapedRegression(
                **shared, noise_kind=self.noise, jump_at=12, rng=1_000_003 * (seed + 1) + run
            )
        one = ShapedClasses(**shared, loss=self.loss, rng=seed)
        return lambda _: one

    def from_scratch(self, seed: int) -> float:
        """Return the textbook size of a fresh fit, d + 1 + tr(H^-1 Cov g)/(2 epsilon), by somebody who knows both."""
        now = self.world(seed)(0).period(1)
        trace = float(np.trace(np.linalg.solve(now.hessian(self.loss), now.gradient_covariance(self.loss))))
        d = self.features + 1
        return d + 1 + trace * d / self.features / (2.0 * EPSILON)


CASES = [
    Case(shape="walk", cost=0.3, features=2),
    Case(shape="line", cost=1.0, features=2, noise="student", condition=100.0),
    Case(shape="seasonal", cost=0.3, features=10, noise="student"),
    Case(shape="line", cost=0.3, features=10, noise="heteroscedastic", condition=100.0),
    Case(shape="jump", cost=20.0, features=10),
    Case(shape="walk", cost=0.3, features=2, loss=LogisticLoss(), runs=25),
    Case(shape="line", cost=0.3, features=10, loss=LogisticLoss(), runs=16),
    Case(shape="walk", cost=0.3, features=10, loss=SmoothedHinge(l2=0.1), runs=25),
]


@cache
def followed(case: Case, seed: int) -> Followed:
    """Follow a world once for all the claims."""
    return run(case, seed, case.runs, PERIODS)


def run(case: Case, seed: int, runs: int, periods: int) -> Followed:
    """Follow a world."""
    return follow(
        case.world(seed),
        features=case.features,
        loss=case.loss,
        runs=runs,
        periods=periods,
        seed=seed,
        epsilon=EPSILON,
        certificate_level=LEVEL,
    )


LONG = {
    "SquaredLoss-line-1-d2-student",
    "SquaredLoss-seasonal-0.3-d10-student",
    "SquaredLoss-line-0.3-d10-heteroscedastic",
    "LogisticLoss-line-0.3-d10-gaussian",
}
"""Cases for make test-all; each loss, and walks and jumps, stay in make test."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow) if str(case) in LONG else case for case in CASES],
    ids=str,
)
def test_the_promise_is_kept_certified_and_worth_it(case: Case, seed: int) -> None:
    found = followed(case, seed)
    judged = promise(found.risk, EPSILON)
    assert judged.kept, judged

    counted = np.where(found.failed, np.nan, found.covered)
    each = np.nanmean(counted, axis=1)
    error = max(float(each.std(ddof=1)), math.sqrt(LEVEL * (1.0 - LEVEL) / PERIODS)) / math.sqrt(len(each))
    assert each.mean() >= LEVEL - 3.0 * error
    assert np.mean(found.failed) < 0.2  # what is certified is nearly everything
    passed = np.logical_not(found.failed)
    size = case.features + 1
    known = float(chi2.ppf(LEVEL, size)) / size  # certificate over truth if noise and drift were known
    assert found.certificate[passed].mean() < 3.0 * known * found.risk[passed].mean()

    assert found.samples.mean() <= 1.3 * case.from_scratch(seed)


def test_a_tracker_that_is_told_a_third_of_the_noise_breaks_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the same worlds, the noise under-told; the promise is seen to break."""
    honest = look_module.noise_of

    def told(*given: Any) -> tuple[float, float]:
        mean, upper = honest(*given)
        return mean / 3.0, upper / 3.0

    monkeypatch.setattr(look_module, "noise_of", told)
    monkeypatch.setattr(state, "noise_of", told)
    broken = [not promise(run(case, seed, 12, 10).risk, EPSILON).kept for case in CASES[:3]]
    assert any(broken)
