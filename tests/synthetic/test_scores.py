"""One-dimensional Gaussian means, against closed forms and against a rule of another kind."""

import math

import numpy as np
import pytest

from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic.scores import breaks, mean_curve, normal_rule
from driftpace.typing import FloatArray

MEANS = [-60.0, -3.0, 0.0, 0.5, 1.0, 4.0, 20.0]
SCALES = [0.0, 1e-8, 1e-3, 0.3, 1.0, 2.1, 10.0, 300.0]


@pytest.mark.parametrize("power", range(9))
def test_moments_of_a_normal_variable(power: int) -> None:
    u, p = normal_rule(np.array([0.0, 1.0]), np.array([1.0, 2.0]), breaks=[0.3])
    exact = 0.0 if power % 2 else math.prod(range(1, power, 2))
    np.testing.assert_allclose((p * u**power).sum(axis=-1), exact, rtol=1e-13, atol=1e-12)


def trapezoid(loss: LinearLoss, mean: float, scale: float) -> float:
    """The trapezoidal rule, which converges geometrically for an analytic function that decays (poles at +-i pi)."""
    step = min(0.05, 0.4 / max(scale, 1e-300))
    u: FloatArray = np.arange(-14.0, 14.0, step)
    t = mean + scale * u
    density = np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
    return float(np.sum(loss.curve.phi(t, np.ones_like(t)) * density) * step)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("mean", MEANS)
def test_the_logistic_risk_is_good_to_rounding(mean: float, scale: float) -> None:
    loss = LogisticLoss()
    stated = float(mean_curve(loss, np.array([mean]), np.array([scale]), 1.0)[0])
    assert stated == pytest.approx(trapezoid(loss, mean, scale), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("loss", [SquaredLoss(), SmoothedHinge(), HuberLoss(threshold=0.4)], ids=repr)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("mean", MEANS)
def test_closed_forms_agree_with_the_rule(loss: LinearLoss, mean: float, scale: float) -> None:
    u, p = normal_rule(np.array(mean), np.array(scale), breaks(loss, 1.0))
    t = mean + scale * u
    by_rule = float(p @ loss.curve.phi(t, np.ones_like(t)))
    stated = float(mean_curve(loss, np.array(mean), np.array(scale), 1.0))
    assert stated == pytest.approx(by_rule, rel=1e-11, abs=1e-14)


def test_a_kink_that_is_not_cut_costs_accuracy() -> None:
    """The control: the same comparison fails without the cut at the kink, so it can fail."""
    loss, t_mean, t_scale = HuberLoss(threshold=0.4), np.array(0.3), np.array(0.7)
    u, p = normal_rule(t_mean, t_scale)
    uncut = float(p @ loss.curve.phi(0.3 + 0.7 * u, np.ones_like(u)))
    stated = float(mean_curve(loss, t_mean, t_scale, 1.0))
    assert uncut == pytest.approx(stated, rel=1e-3)
    assert uncut != pytest.approx(stated, rel=1e-9)


def test_blocks_do_not_show(rng: np.random.Generator) -> None:
    means, scales = rng.standard_normal(1100), rng.random(1100)
    whole = mean_curve(LogisticLoss(), means, scales, 1.0)
    alone = [
        float(mean_curve(LogisticLoss(), np.array(a), np.array(b), 1.0)) for a, b in zip(means, scales, strict=True)
    ]
    np.testing.assert_allclose(whole, alone, rtol=1e-14)
