"""Losses of counts, amounts and quantiles: derivatives, bad input, extreme scores, and names with parameters."""

import numpy as np
import pytest

from driftpace import GammaLoss, HuberLoss, PoissonLoss, QuantileLoss, SquaredLoss, Tracker, TweedieLoss
from driftpace.constraints import Ball
from driftpace.errors import DataError, ParameterError
from driftpace.learners import Sgd
from driftpace.losses import LinearLoss, LogLinkLoss, get_loss, parse_loss
from driftpace.testing import check_loss
from driftpace.typing import FloatArray


def counts(rng: np.random.Generator, rows: int) -> FloatArray:
    return rng.poisson(2.0, rows).astype(np.float64)


def amounts(rng: np.random.Generator, rows: int) -> FloatArray:
    return rng.gamma(2.0, 1.0, rows)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_contract(l2: float) -> None:
    check_loss(PoissonLoss(l2=l2), targets=counts)
    check_loss(TweedieLoss(l2=l2, power=1.2), targets=counts)
    check_loss(GammaLoss(l2=l2), targets=amounts)
    check_loss(QuantileLoss(l2=l2, tau=0.9, bandwidth=0.5))


@pytest.mark.parametrize(
    "loss", [PoissonLoss(), TweedieLoss(power=1.7), GammaLoss()], ids=["poisson", "tweedie", "gamma"]
)
def test_deviances_are_zero_at_the_mean_and_positive_elsewhere(loss: LogLinkLoss) -> None:
    y = np.array([0.01, 1.0, 250.0])
    at, off = loss.curve.phi(np.log(y), y), loss.curve.phi(np.log(y) + 0.3, y)
    assert np.abs(at).max() < 1e-9
    assert (off > 0.0).all()
    assert np.allclose(loss.link(np.log(y)), y)


@pytest.mark.parametrize(
    "loss", [PoissonLoss(), TweedieLoss(power=1.5), GammaLoss()], ids=["poisson", "tweedie", "gamma"]
)
def test_extreme_scores_stay_finite(loss: LogLinkLoss) -> None:
    scores, y = np.array([-1e300, -700.0, 700.0, 1e200]), np.array([1.0, 1e15, 1.0, 1e-9])
    with np.errstate(over="raise", invalid="raise"):
        for function in (loss.curve.phi, loss.curve.slope, loss.curve.bend):
            assert np.isfinite(function(scores[1:], y[1:])).all()
        assert np.isfinite(loss.link(scores)).all()


def test_the_smoothed_check_loss_is_the_mean_over_blurred_targets() -> None:
    rng = np.random.default_rng(0)
    loss, y = QuantileLoss(tau=0.8, bandwidth=0.4), np.array([-1.0, 0.1, 2.0])
    blurred = y + 0.4 * rng.standard_normal((400_000, 3))
    exact = loss.exact.curve.phi(np.zeros(3), blurred).mean(axis=0)
    assert np.abs(loss.curve.phi(np.zeros(3), y) - exact).max() < 4e-3  # four standard errors


@pytest.mark.parametrize(
    "loss", [QuantileLoss(tau=0.8, bandwidth=0.4), HuberLoss(threshold=0.7)], ids=["quantile", "huber"]
)
def test_majorants_are_above_the_loss(loss: LinearLoss) -> None:
    curve = loss.curve
    assert curve.majorant is not None
    at, to = np.meshgrid(np.linspace(-5.0, 5.0, 41), np.linspace(-5.0, 5.0, 41))
    y = np.zeros_like(at)
    above = curve.phi(at, y) + curve.slope(at, y) * (to - at) + 0.5 * curve.majorant(at, y) * (to - at) ** 2
    assert (above >= curve.phi(to, y) - 1e-9).all()


@pytest.mark.parametrize(
    ("loss", "y", "problem"),
    [
        (PoissonLoss(), [1.0, -1.0], r"must be numbers from 0 to 1e\+15 for PoissonLoss; got -1.0 in row 1\.$"),
        (TweedieLoss(), [-0.5], r"must be numbers from 0 to 1e\+15 for TweedieLoss"),
        (GammaLoss(), [0.0, 1.0], r"must be numbers from 1e-15 to 1e\+15 for GammaLoss; got 0.0 in row 0\.$"),
        (PoissonLoss(), [np.nan], r"must be finite"),
        (PoissonLoss(), [1e20], r"must be numbers from 0 to 1e\+15"),
    ],
)
def test_targets_out_of_range_are_refused_and_change_nothing(loss: LinearLoss, y: list[float], problem: str) -> None:
    tracker = Tracker(loss, epsilon=0.1, features=1)
    tracker.ask()
    before = tracker.snapshot()
    with pytest.raises(DataError, match=problem):
        tracker.tell(np.ones((len(y), 1)), np.array(y))
    assert tracker.snapshot() == before


def test_rates_are_allowed() -> None:
    assert PoissonLoss().encode(np.array([0.5, 2.0])).tolist() == [0.5, 2.0]


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, np.nan])
def test_quantiles_are_inside_zero_and_one(tau: float) -> None:
    with pytest.raises(ParameterError, match=r"^QuantileLoss\(tau=\.\.\.\) must be strictly between 0 and 1"):
        QuantileLoss(tau=tau)


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0, "1.5"])
def test_powers_are_between_one_and_two(power: float) -> None:
    with pytest.raises(ParameterError, match=r"^TweedieLoss\(power=\.\.\.\) must be strictly between 1 and 2"):
        TweedieLoss(power=power)


def test_names_with_parameters() -> None:
    assert get_loss("quantile(0.9)") == get_loss("quantile(tau=0.9)") == QuantileLoss(tau=0.9)
    assert get_loss("quantile(0.9, bandwidth=2)", l2=0.1) == QuantileLoss(l2=0.1, tau=0.9, bandwidth=2.0)
    assert get_loss("tweedie(1.2)") == TweedieLoss(l2=1e-4, power=1.2)
    assert parse_loss("squared()")[1] == {}
    for wrong in ("quantile(high)", "quantile(tau=0.9, tau=0.8)", "squared(1)", "quantile(0.1, 1, 2)", "huber(size=1)"):
        with pytest.raises(ParameterError, match=r"get_loss\(loss=\.\.\.\) must be '"):
            get_loss(wrong)
    with pytest.raises(ParameterError, match="did you mean 'poisson'"):
        get_loss("poison")


@pytest.mark.parametrize("loss", [PoissonLoss(l2=0.1), GammaLoss(), QuantileLoss(), HuberLoss(threshold=None)])
def test_composed_methods_refuse_losses_without_a_curvature_bound(loss: LinearLoss) -> None:
    with pytest.raises(ParameterError, match=r"must have a bounded and known curvature .* is for the default method\."):
        Tracker(loss, epsilon=0.1, learner=Sgd(), domain=Ball(radius=1.0))
    with pytest.raises(ParameterError, match="bounded and known curvature"):
        Tracker.as_in_paper(loss, epsilon=0.1, domain=Ball(radius=1.0), first_samples=(10, 10))


def test_exposure_needs_a_loss_of_counts_or_amounts() -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, features=1)
    tracker.ask()
    with pytest.raises(
        ParameterError, match=r"Tracker.tell\(exposure=\.\.\.\) must be None with SquaredLoss: counts and"
    ):
        tracker.tell(np.ones((2, 1)), np.ones(2), exposure=[1.0, 2.0])
