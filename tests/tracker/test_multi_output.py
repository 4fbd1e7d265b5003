"""Several targets of the same rows: the promise by Monte Carlo, one target as with SquaredLoss, and refusals."""

import numpy as np
import pytest

from driftpace import MultiSquaredLoss, SquaredLoss, Tracker
from driftpace.errors import DataError
from driftpace.typing import FloatArray

EPSILON, OUTPUTS, FEATURES = 0.1, 3, 4


def walk(rng: np.random.Generator, periods: int) -> FloatArray:
    """Return coefficients whose steps cost a stale model half the target, in the mean."""
    step = np.sqrt(2.0 * 0.5 * EPSILON / (OUTPUTS * FEATURES))
    return np.cumsum(step * rng.standard_normal((periods, FEATURES, OUTPUTS)), axis=0)


def follow(seed: int, periods: int = 12) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    tracker, stated, true = Tracker(MultiSquaredLoss(outputs=OUTPUTS), epsilon=EPSILON, rng=0), [], []
    for coef in walk(rng, periods):

        def draw(samples: int, coef: FloatArray = coef) -> tuple[FloatArray, FloatArray]:
            X = rng.standard_normal((samples, FEATURES))
            return X, X @ coef + rng.standard_normal((samples, OUTPUTS))

        report = tracker.step(draw)
        stated.append(report.risk_bound)
        errors = tracker.coef.T - coef
        true.append(0.5 * float(np.square(errors).sum() + np.square(tracker.intercept).sum()))
    return np.array(stated[3:]), np.array(true[3:])


@pytest.mark.statistical
def test_the_promise_is_kept_and_the_stated_risk_is_true(seed: int) -> None:
    """Error budget: two standard errors over six runs for the mean, a quarter for the ratio of stated to true risk."""
    stated, true = (np.array(part) for part in zip(*(follow(100 * seed + run) for run in range(6)), strict=True))
    means = true.mean(axis=1)
    assert means.mean() <= EPSILON + 2.0 * means.std(ddof=1) / np.sqrt(len(means))
    assert 0.75 <= stated.mean() / true.mean() <= 1.35


def test_one_target_is_least_squares(rng: np.random.Generator) -> None:
    X = rng.standard_normal((60, 3))
    y = X @ np.array([1.0, -2.0, 0.5]) + rng.standard_normal(60)
    one, several = Tracker(SquaredLoss(), epsilon=0.2, rng=0), Tracker(MultiSquaredLoss(outputs=1), epsilon=0.2, rng=0)
    reports = []
    for tracker, target in ((one, y), (several, y[:, None])):
        tracker.ask()
        reports.append(tracker.tell(X, target))
    assert reports[0] is not None
    assert reports[1] is not None
    np.testing.assert_allclose(several.coef[0], one.coef, rtol=1e-10)
    np.testing.assert_allclose(reports[1].risk_bound, reports[0].risk_bound, rtol=0.05)
    assert several.predict(X).shape == (60, 1)


def test_wrong_shapes_change_nothing(rng: np.random.Generator) -> None:
    tracker = Tracker(MultiSquaredLoss(outputs=2), epsilon=0.2, rng=0)
    before = tracker.ask()
    with pytest.raises(DataError, match=r"y=\.\.\.\) must be two-dimensional"):
        tracker.tell(rng.standard_normal((9, 3)), rng.standard_normal(9))
    with pytest.raises(DataError, match=r"y=\.\.\.\) must have 2 targets for each row"):
        tracker.tell(rng.standard_normal((9, 3)), rng.standard_normal((9, 3)))
    with pytest.raises(DataError, match=r"y=\.\.\.\) must be finite; got nan in row 4"):
        tracker.tell(rng.standard_normal((9, 3)), np.where(np.arange(18).reshape(9, 2) == 9, np.nan, 0.0))
    assert tracker.ask() == before
