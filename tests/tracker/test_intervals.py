"""Intervals of new targets hold what they say, on average over rows: Monte Carlo over trackers and fresh rows, with controls."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from driftpace import GammaLoss, LogisticLoss, PoissonLoss, QuantileLoss, SquaredLoss, Tracker, TweedieLoss
from driftpace.errors import ParameterError, ProtocolError
from driftpace.losses import HuberLoss, Loss
from driftpace.tracker.intervals import amount_intervals
from driftpace.typing import FloatArray

COEF = np.array([0.4, -0.3, 0.2])
LEVEL, TRACKERS, FRESH = 0.9, 40, 2_000
Draw = Callable[[FloatArray, np.random.Generator], FloatArray]


def sums(means: FloatArray, dispersion: float, power: float, rng: np.random.Generator) -> FloatArray:
    """Draw Tweedie variables: sums of a Poisson number of gamma variables."""
    parts = rng.poisson(means ** (2.0 - power) / (dispersion * (2.0 - power)))
    scale = dispersion * (power - 1.0) * means ** (power - 1.0)
    return np.asarray(np.where(parts > 0, rng.gamma(np.maximum(parts, 1) * (2.0 - power) / (power - 1.0), scale), 0.0))


def covered(
    loss: Loss,
    draw: Draw,
    *,
    rows: int,
    exposed: bool = False,
    control: bool = False,
    trackers: int = TRACKERS,
    counted: bool = False,
) -> tuple[float, float]:
    """Return the share of fresh targets in their intervals, and its standard error; the control leaves the model's error out."""
    shares = []
    for seed in range(trackers):
        rng = np.random.default_rng((3, seed))
        tracker = Tracker(loss, epsilon=5.0, rng=seed)
        tracker.ask()
        exposed = exposed or counted
        exposure = rng.uniform(0.5, 4.0, rows + FRESH) if exposed else np.ones(rows + FRESH)
        X = rng.standard_normal((rows + FRESH, 3))
        y = _counts(X, exposure, rng) if counted else _totals(X, exposure, rng) if exposed else draw(X, rng)
        given: dict[str, Any] = {"exposure": exposure[:rows]} if exposed else {}
        tracker.tell(X[:rows], y[:rows], **given)
        if control:
            noise = tracker._spread()[0]
            half = stats.norm.ppf(0.5 + 0.5 * LEVEL) * np.sqrt(noise)
            means = tracker.predict(X[rows:])
            inside = np.column_stack([means - half, means + half])
        else:
            later: dict[str, Any] = {"exposure": exposure[rows:]} if exposed else {}
            inside = tracker.predict_interval(X[rows:], level=LEVEL, **later)
        shares.append(np.mean((inside[:, 0] <= y[rows:]) & (y[rows:] <= inside[:, 1])))
    return float(np.mean(shares)), float(np.std(shares, ddof=1) / np.sqrt(trackers))


def _totals(X: FloatArray, exposure: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw totals of gamma amounts over an exposure: of twice as much they are relatively half as dispersed."""
    shape = exposure / 0.5
    return np.asarray(rng.gamma(shape, exposure * np.exp(1.0 + X @ COEF) / shape))


def _counts(X: FloatArray, exposure: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw over-dispersed totals of counts over an exposure: a variance of 2.5 times the mean."""
    means = exposure * np.exp(2.0 + X @ COEF)
    return np.asarray(rng.negative_binomial(means / 1.5, 1.0 / 2.5), dtype=np.float64)


CASES: dict[str, tuple[Loss, Draw]] = {
    "squares": (SquaredLoss(), lambda X, rng: 3.0 + X @ COEF + 2.0 * rng.standard_normal(len(X))),
    "amounts": (GammaLoss(), lambda X, rng: rng.gamma(2.0, 0.5 * np.exp(1.0 + X @ COEF))),
    "sums": (TweedieLoss(power=1.5), lambda X, rng: sums(np.exp(1.0 + X @ COEF), 1.5, 1.5, rng)),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_the_share_that_they_say(name: str) -> None:
    share, error = covered(*CASES[name], rows=150)
    assert abs(share - LEVEL) < 4.5 * error + 0.01  # rounding of an estimated dispersion to the second order
    tails = amount_intervals(np.array([3.0]), np.array([1.5]), 1.5, LEVEL) if name == "sums" else None
    if tails is not None:
        drawn = sums(np.full(400_000, 3.0), 1.5, 1.5, np.random.default_rng(0))
        assert float(np.mean(drawn <= tails[0, 1])) == pytest.approx(0.9, abs=0.002)


def test_totals_over_an_exposure() -> None:
    share, error = covered(GammaLoss(), CASES["amounts"][1], rows=150, exposed=True)
    assert abs(share - LEVEL) < 4.5 * error + 0.01
    counts, error = covered(PoissonLoss(), lambda X, rng: _counts(X, np.ones(len(X)), rng), rows=150, counted=True)
    assert -0.01 - 4.5 * error < counts - LEVEL < 0.04  # whole counts cover more


def test_the_uncertainty_of_the_model_counts() -> None:
    """With twenty rows intervals about a model that is taken for the truth hold too little: the control."""
    share, error = covered(*CASES["squares"], rows=20, trackers=100)
    alone, alone_error = covered(*CASES["squares"], rows=20, control=True, trackers=100)
    assert abs(share - LEVEL) < 4.5 * error + 0.02
    assert alone < LEVEL - 4.5 * alone_error


def test_two_quantiles_are_an_interval_without_a_distribution() -> None:
    """Rows of which some are three times as noisy: 90 % of both kinds between the quantiles, and far less of one by squares."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(22_000), rng.integers(0, 2, 22_000)])
    y = X[:, 0] + (1.0 + 2.0 * X[:, 1]) * rng.standard_normal(22_000)
    noisy = X[2000:, 1] > 0.0

    def model(loss: Loss) -> Tracker:
        tracker = Tracker(loss, epsilon=5.0, rng=0)
        tracker.ask()
        tracker.tell(X[:2000], y[:2000])
        return tracker

    ends = [model(QuantileLoss(tau=tau)).predict(X[2000:]) for tau in (0.05, 0.95)]
    inside = (ends[0] <= y[2000:]) & (y[2000:] <= ends[1])
    squares = model(SquaredLoss()).predict_interval(X[2000:])
    plain = (squares[:, 0] <= y[2000:]) & (y[2000:] <= squares[:, 1])
    assert abs(inside[noisy].mean() - 0.9) < 0.03
    assert inside[~noisy].mean() > 0.87  # its smoothing widens what is nearer together
    assert plain[noisy].mean() < 0.85


def test_many_columns_have_intervals_too() -> None:
    rng = np.random.default_rng(1)
    tracker = Tracker(SquaredLoss(), epsilon=0.5, method="wide", rng=0)
    X = rng.standard_normal((4000, 6))
    y = X @ np.r_[COEF, 0.0, 0.0, 0.0] + rng.standard_normal(4000)
    tracker.ask()
    tracker.tell(X[:400], y[:400])
    inside = tracker.predict_interval(X[400:])
    assert abs(np.mean((inside[:, 0] <= y[400:]) & (y[400:] <= inside[:, 1])) - 0.9) < 0.03


@pytest.mark.parametrize("loss", [LogisticLoss(l2=0.1), QuantileLoss(tau=0.9), HuberLoss(threshold=1.0)])
def test_other_losses_have_none(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(loss, epsilon=5.0, rng=0)
    tracker.ask()
    tracker.tell(rng.standard_normal((60, 2)), np.sign(rng.standard_normal(60)))
    with pytest.raises(ProtocolError, match=r"needs SquaredLoss, PoissonLoss, GammaLoss or TweedieLoss.*Two trackers"):
        tracker.predict_interval([[0.0, 0.0]])


def test_a_level_is_between_zero_and_one_and_a_tracker_without_a_model_has_no_interval() -> None:
    tracker = Tracker(PoissonLoss(), epsilon=0.5, features=1)
    with pytest.raises(ParameterError, match="level"):
        tracker.predict_interval([[0.0]], level=1.5)
    with pytest.raises(ProtocolError, match="no model yet"):
        tracker.predict_interval([[0.0]])


def test_a_saved_tracker_has_the_same_intervals_of_totals(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((300, 3)), rng.uniform(2.0, 5.0, 300)
    tracker = Tracker(GammaLoss(), epsilon=5.0, rng=0)
    tracker.ask()
    tracker.tell(X, _totals(X, exposure, rng), exposure=exposure, final=False)
    tracker.forget()
    tracker.ask()
    tracker.tell(X, _totals(X, exposure, rng), exposure=exposure, final=False)
    tracker.save(tmp_path / "open.json")
    again = Tracker.load(tmp_path / "open.json")
    for one in (tracker, again):
        one.tell()
    inside = tracker.predict_interval(X, exposure=exposure)
    np.testing.assert_array_equal(again.predict_interval(X, exposure=exposure), inside)
    assert np.diff(tracker.predict_interval(X, exposure=exposure, level=0.5)).mean() < np.diff(inside).mean()
