import math

import numpy as np
import pytest

from driftpace.bounds import Nature, OrdinaryLeastSquares
from driftpace.errors import ParameterError
from driftpace.testing import check_bound
from tests.reference.bound_checks import SQUARES, Squares, hold
from tests.reference.minimisers import least_squares


@pytest.mark.parametrize("features", [1, 2, 50])
def test_is_a_bound(features: int) -> None:
    bound = OrdinaryLeastSquares(noise=0.5, features=features, m=0.5, M=2.0)
    check_bound(bound)
    assert bound.nature is Nature.EXACT


@pytest.mark.statistical
@pytest.mark.parametrize("squares", SQUARES, ids=repr)
def test_equal_to_the_truth_whatever_the_covariance(squares: Squares, rng: np.random.Generator) -> None:
    """Error budget of a case: three two-sided comparisons at 4.9 standard errors of at least 240 runs, 6e-6, and one of 40
    runs, 2e-5 (Student t).
    """
    d = squares.features
    bound = OrdinaryLeastSquares(noise=squares.noise, features=d, m=squares.m)
    runs = 12_000 // d
    # the risk has a finite variance from d + 6 rows on: below that a mean says little
    held = hold(
        bound,
        1.0,
        {K: squares.risk(least_squares(*squares.draw(runs, K, rng))) for K in (d + 10, 2 * d + 10, 6 * d)},
    )
    assert held.equals()
    assert not held.equals(factor=1.3)
    assert not held.equals(factor=0.7)
    few = 40
    assert hold(bound, 1.0, {1_000: squares.risk(least_squares(*squares.draw(few, 1_000, rng)))}).equals()


@pytest.mark.statistical
def test_exact_where_the_usual_formula_is_not(rng: np.random.Generator) -> None:
    """Error budget: 1 comparison at 4.9 standard errors of 4,000 runs or more: 1e-6 (Student t)."""
    squares = Squares(features=10, condition=1.0)
    bound = OrdinaryLeastSquares(noise=squares.noise, features=10)
    risks = squares.risk(least_squares(*squares.draw(4_000, 30, rng)))
    held = hold(bound, 1.0, {30: risks})
    assert held.equals()
    assert not held.equals(factor=(30 - 11) / 30)  # noise d/(2K), which forgets that the rows are random


def test_too_few_rows_promise_nothing() -> None:
    bound = OrdinaryLeastSquares(noise=0.5, features=10)
    assert all(bound.raw(1.0, K) == math.inf for K in range(1, 12))
    assert bound(1.0, 11) == 0.5
    assert bound.used(1.0, 11) == 0
    assert bound.factors(11) is None
    assert bound(3.0, 12) == 2.5
    assert bound.used(3.0, 12) == 12


def test_the_inversion_of_the_theory() -> None:
    for features in (1, 2, 37):
        bound = OrdinaryLeastSquares(noise=0.5, features=features)
        for epsilon in (1e-4, 0.003, 0.1):
            expected = features + 1 + max(1, math.ceil(0.5 * features / (2.0 * epsilon) - 1e-9))
            assert bound.smallest(10.0, epsilon, cap=10**9) == expected


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"OrdinaryLeastSquares\(m=...\) must be at most M=1.0; got 2.0"):
        OrdinaryLeastSquares(noise=0.5, features=2, m=2.0)
    with pytest.raises(ParameterError, match=r"noise=...\) must be zero or more"):
        OrdinaryLeastSquares(noise=-0.5, features=2)
