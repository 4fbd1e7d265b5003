"""Scores far out: no overflow, no loss of accuracy."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LogisticLoss, SmoothedHinge

SCORES = np.array([0.0, 1e-300, 1e-16, 1.0, 36.0, 40.0, 709.0, 710.0, 745.0, 800.0, 1e5, 1e300])


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_logistic_loss_is_finite_in_both_tails(sign: float, y: float) -> None:
    curve, scores = LogisticLoss().curve, sign * SCORES
    targets = np.full_like(scores, y)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        phi, slope, bend = curve.phi(scores, targets), curve.slope(scores, targets), curve.bend(scores, targets)
    assert np.isfinite(phi).all()
    assert ((-y * slope >= 0.0) & (-y * slope <= 1.0)).all()
    assert ((bend >= 0.0) & (bend <= 0.25)).all()


@given(score=st.floats(-700.0, 700.0), y=st.sampled_from([-1.0, 1.0]))
@settings(max_examples=200, deadline=None)
def test_the_logistic_loss_is_accurate_to_rounding(score: float, y: float) -> None:
    with localcontext() as context:
        context.prec = 400
        odds = (-Decimal(y) * Decimal(score)).exp()
        phi, slope, bend = (1 + odds).ln(), -Decimal(y) * odds / (1 + odds), odds / (1 + odds) ** 2
    curve, scores, targets = LogisticLoss().curve, np.array([score]), np.array([y])
    assert curve.phi(scores, targets)[0] == pytest.approx(float(phi), rel=1e-14)
    assert curve.slope(scores, targets)[0] == pytest.approx(float(slope), rel=1e-13)
    assert curve.bend(scores, targets)[0] == pytest.approx(float(bend), rel=1e-13)


def test_huber_is_a_line_far_out() -> None:
    curve = HuberLoss(threshold=0.5).curve
    far, zero = np.array([-1e300, 1e300]), np.zeros(2)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(curve.phi(far, zero), [5e299, 5e299])
        np.testing.assert_array_equal(curve.slope(far, zero), [-0.5, 0.5])
        np.testing.assert_array_equal(curve.bend(far, zero), [0.0, 0.0])


def test_huber_is_continuous_at_its_threshold() -> None:
    curve = HuberLoss(threshold=2.0).curve
    beside, zero = np.array([np.nextafter(2.0, 0.0), 2.0, np.nextafter(2.0, 3.0)]), np.zeros(3)
    np.testing.assert_allclose(curve.phi(beside, zero), 2.0, rtol=1e-15)
    np.testing.assert_allclose(curve.slope(beside, zero), 2.0, rtol=1e-15)


def test_the_hinge_rests_beyond_its_margin() -> None:
    curve = SmoothedHinge().curve
    scores, y = np.array([1.0, 2.0, 1e300]), np.ones(3)
    for function in (curve.phi, curve.slope, curve.bend):
        assert not np.abs(function(scores, y)).any()


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.nan, math.inf])
def test_a_strange_threshold_is_refused(threshold: float) -> None:
    with pytest.raises(ParameterError, match=r"^HuberLoss\(threshold=\.\.\.\) must be positive and finite"):
        HuberLoss(threshold=threshold)
