import math

import numpy as np
import pytest

from driftpace.bounds import FullPasses
from driftpace.constraints import Ball, WholeSpace
from driftpace.errors import ParameterError
from driftpace.learners import GradientPasses, Learner
from driftpace.losses import LogisticLoss, SquaredLoss
from driftpace.records import Constants, Outcome

CONSTANTS = Constants.given(m=0.2, M=2.0, m_rows=0.2, L=2.0, sigma_star=0.5)


def test_passes_are_projected_gradient_steps(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((30, 3)), np.sign(rng.standard_normal(30))
    loss, ball, start = LogisticLoss(l2=0.2), Ball(0.1), np.array([0.05, 0.0, 0.0])
    fitted = GradientPasses(4).fit(loss, ball, start, X, y, constants=CONSTANTS, distance=1.0)
    w = start
    for _ in range(4):
        w = ball.project(w - loss.gradient(w, X, y) / 2.0)
    np.testing.assert_array_equal(fitted.coef, w)
    np.testing.assert_array_equal(fitted.gradient, loss.gradient(w, X, y))
    assert (fitted.rows, fitted.updates, fitted.outcome) == (30, 4, Outcome.MET)


def test_many_passes_reach_the_minimiser_of_the_rows(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    fitted = GradientPasses(400).fit(
        SquaredLoss(l2=0.2), WholeSpace(), np.zeros(2), X, y, constants=CONSTANTS, distance=math.inf
    )
    wanted = np.linalg.solve(X.T @ X / 50 + 0.2 * np.eye(2), X.T @ y / 50)
    np.testing.assert_allclose(fitted.coef, wanted, atol=1e-12)


def test_its_bound_is_that_of_full_passes() -> None:
    bound = GradientPasses(7, eta=0.5).bound(CONSTANTS, features=3)
    assert bound == FullPasses(m=0.2, M=2.0, L=2.0, trace_sigma=0.25, passes=7, eta=0.5)
    assert isinstance(GradientPasses(1), Learner)


def test_no_rows_and_overflow(rng: np.random.Generator) -> None:
    passes = GradientPasses(3)
    nothing = passes.fit(
        SquaredLoss(), WholeSpace(), np.ones(2), np.empty((0, 2)), np.empty(0), constants=CONSTANTS, distance=1.0
    )
    assert (nothing.coef == 1.0).all()
    assert not nothing.gradient.any()
    huge = passes.fit(
        SquaredLoss(), WholeSpace(), np.ones(2), np.full((3, 2), 1e200), np.ones(3), constants=CONSTANTS, distance=1.0
    )
    assert huge.outcome is Outcome.NONFINITE


def test_wrong_numbers_are_refused() -> None:
    for wrong in ({"passes": 0}, {"passes": 3, "eta": -1.0}):
        with pytest.raises(ParameterError, match=r"^GradientPasses\("):
            GradientPasses(**wrong)
