import math

import numpy as np
import pytest

from driftpace.bounds import Anchored, AnchoredMinimiser, Minimiser, Nature, OrdinaryLeastSquares
from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge
from driftpace.synthetic import TwoClasses
from driftpace.testing import check_bound
from tests.reference.bound_checks import hold
from tests.reference.minimisers import newton

LOSSES = (LogisticLoss(l2=0.1), SmoothedHinge(l2=0.1))
RUNS = {
    (2, 20): 4_000,
    (2, 100): 2_000,
    (2, 1_000): 400,
    (10, 100): 1_000,
    (10, 1_000): 150,
    (50, 500): 40,
    (50, 1_000): 25,
}


def world_of(features: int) -> TwoClasses:
    """Two classes with unequal spreads, so that no coordinate is like another."""
    return TwoClasses(mean=np.eye(features)[0], covariance=np.diag(np.geomspace(0.8, 0.2, features)))


@pytest.mark.parametrize("margin", [0.0, 2.5])
def test_is_a_bound(margin: float) -> None:
    check_bound(Minimiser(spread=2.0, features=2, m=0.1, M=1.0, margin=margin))
    check_bound(AnchoredMinimiser(spread=2.0, features=20, h=0.5, margin=margin))
    assert Minimiser(spread=2.0, features=2).nature is Nature.ASYMPTOTIC


@pytest.mark.statistical
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("features", [2, 10, pytest.param(50, marks=pytest.mark.slow)])
def test_holds_from_ten_rows_to_a_feature(loss: LinearLoss, features: int, rng: np.random.Generator) -> None:
    """With the default margin of 3 d; at 1,000 rows it is within the margin and the Monte Carlo error of the truth.

    Error budget of a fast case: at most 3 comparisons at 4.9 standard errors of 150 runs or more: 2e-6 (Student t).
    """
    world = world_of(features)
    constants = world.constants(loss)
    bound = Minimiser(spread=constants.safe("spread"), features=features, m=constants.safe("m"), M=constants.safe("M"))
    risks = {}
    for (d, samples), runs in RUNS.items():
        if d == features:
            W = newton(loss, *world.draw_batch(runs, samples, rng=rng))
            risks[samples] = world.excess_risk(loss, W)
    held = hold(bound, 1.0, risks)
    assert held.holds()
    assert not held.holds(shrink=0.5)
    assert held.spare(1_000) < 1.35  # (K / (K - 3d)) is 1.006, 1.03, 1.18; the rest is Monte Carlo error


@pytest.mark.statistical
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("features", [2, 10])
@pytest.mark.parametrize("distance", [0.1, 0.4])
def test_anchored_holds_from_ten_rows_to_a_feature(
    loss: LinearLoss, features: int, distance: float, rng: np.random.Generator
) -> None:
    """Distances and the anchor in the norm of the Hessian (h = 1), a start off in a direction with no preference.

    Error budget of a fast case: at most 3 comparisons at 4.9 standard errors of 150 runs or more: 2e-6 (Student t).
    """
    world = world_of(features)
    best, hessian = world.minimiser(loss), world.hessian(loss)
    bound = AnchoredMinimiser(spread=world.constants(loss).safe("spread"), features=features)
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    anchor = best + root @ np.full(features, distance / math.sqrt(features))
    risks = {}
    for (d, samples), runs in RUNS.items():
        if d == features:
            lam = bound.strength(distance, samples)
            W = newton(loss, *world.draw_batch(runs, samples, rng=rng), anchoring=lam * hessian, anchor=anchor)
            risks[samples] = world.excess_risk(loss, W)
    held = hold(bound, distance, risks)
    assert held.holds()
    assert not held.holds(shrink=0.5)
    assert held.spare(1_000) < 1.4


def test_for_least_squares_it_is_the_theorem_with_a_larger_margin() -> None:
    ours, exact = Minimiser(spread=1.0, features=2), OrdinaryLeastSquares(noise=0.5, features=2)
    assert ours.raw(1.0, 50) == exact.raw(1.0, 50 - 6 + 3)
    anchored, theorem = AnchoredMinimiser(spread=1.0, features=2), Anchored(noise=0.5, features=2)
    assert anchored.raw(1.0, 50) == pytest.approx(theorem.raw(1.0, 47))
    assert anchored.strength(0.7, 50) == theorem.strength(0.7, 50)


def test_the_inversion_of_the_theory() -> None:
    bound = Minimiser(spread=0.46, features=2, margin=3.0)
    assert bound.smallest(5.0, 0.01, cap=1_000) == 6 + 23  # theory 6.2: 23 rows for epsilon 0.01, plus 3 d
    assert bound.smallest(5.0, 0.1, cap=1_000) == 6 + 3
    assert bound.raw(5.0, 6) == math.inf
    assert bound.used(5.0, 6) == 0
    assert AnchoredMinimiser(spread=0.46, features=2).smallest(0.05, 0.01, cap=10) == 0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"Minimiser\(m=...\) must be at most M=1.0; got 2.0"):
        Minimiser(spread=1.0, features=2, m=2.0)
    with pytest.raises(ParameterError, match=r"AnchoredMinimiser\(margin=...\) must be zero or more"):
        AnchoredMinimiser(spread=1.0, features=2, margin=-1.0)
