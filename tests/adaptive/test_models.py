"""The bank's drift models: a prior that adds up, a model that stands still, costs in units of the target."""

import numpy as np
import pytest

from driftpace.adaptive.models import COSTS, drift_models


def test_prior_weights_add_up_to_one() -> None:
    prior = np.exp(drift_models(0.3).prior)
    assert prior.sum() == pytest.approx(1.0, abs=1e-12)
    assert (prior > 0.0).all()


def test_standing_still_is_a_model_and_only_one() -> None:
    models = drift_models(0.3)
    still = (models.step == 0.0) & (models.wobble == 0.0)
    assert np.flatnonzero(still).tolist() == [0]
    assert np.exp(models.prior[0]) > 0.01


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("epsilon", [1e-9, 0.05, 1e6])
def test_a_step_costs_what_its_model_says(size: int, epsilon: float) -> None:
    """With unit 2 epsilon / d a step of d coordinates costs 1/2 d q = cost x epsilon, for walks, trends and wobbles."""
    models = drift_models(2.0 * epsilon / size)
    cost = 0.5 * size * np.maximum(models.step, models.wobble)[1:] / epsilon
    np.testing.assert_allclose(np.unique(cost.round(12)), COSTS, rtol=1e-9)


def test_every_cost_has_a_walk_a_turning_trend_a_line_and_a_wobble() -> None:
    models = drift_models(1.0)
    for cost in COSTS:
        moves = (models.step == cost) & (models.wobble == 0.0)
        persistence = models.persistence[moves]
        assert (persistence == 0.0).any()
        assert (persistence == 1.0).any()
        assert ((persistence > 0.0) & (persistence < 1.0)).any()
        assert ((models.wobble == cost) & (models.step == 0.0)).any()


def test_the_unit_scales_the_steps_and_nothing_else() -> None:
    first, other = drift_models(1.0), drift_models(2.5)
    np.testing.assert_allclose(other.step, 2.5 * first.step)
    np.testing.assert_allclose(other.wobble, 2.5 * first.wobble)
    np.testing.assert_array_equal(other.prior, first.prior)
    np.testing.assert_array_equal(other.persistence, first.persistence)
