"""The table of theory section 0: K* for d = 2, m = M = 1, isotropic Gaussian least squares, rho known."""

import math

import pytest

from driftpace.bounds import (
    Anchored,
    AveragedSquares,
    BachMoulines,
    FormulaBound,
    OrdinaryLeastSquares,
    SecondMoment,
    Weighted,
    WeightedClosedForm,
)

TABLE = {  # noise, rho, epsilon: k-weighted average (closed), constant-step average (BM13), least squares from scratch
    (0.08, 1.0, 0.1): (60, 218, 4),
    (0.5, 1.0, 0.1): (76, 304, 8),
    (1.0, 0.1, 0.1): (61, 126, 13),
    (0.5, 0.1, 0.02): (176, 257, 28),
    (0.5, 0.02, 0.02): (173, 208, 28),
}


def samples(bound: FormulaBound, rho: float, epsilon: float) -> int:
    smallest = bound.smallest(math.sqrt(2.0 * epsilon) + rho, epsilon, cap=10**6)
    assert smallest is not None
    return smallest


@pytest.mark.parametrize(("problem", "expected"), TABLE.items())
def test_the_columns_of_the_theory(problem: tuple[float, float, float], expected: tuple[int, int, int]) -> None:
    noise, rho, epsilon = problem
    moment = SecondMoment(A=2.0 * noise, B=4.0)
    bounds = (
        WeightedClosedForm(m=1.0, M=1.0, moment=moment),
        BachMoulines(noise=noise, features=2, R2=4.0, step=1 / 16),
        OrdinaryLeastSquares(noise=noise, features=2),
    )
    assert tuple(samples(bound, rho, epsilon) for bound in bounds) == expected


@pytest.mark.parametrize("problem", TABLE)
def test_what_the_sharper_forms_save(problem: tuple[float, float, float]) -> None:
    noise, rho, epsilon = problem
    weighted, published, plain = TABLE[problem]
    assert samples(Weighted(m=1.0, M=1.0, moment=SecondMoment(A=2.0 * noise, B=4.0)), rho, epsilon) <= 0.81 * weighted
    sharper = AveragedSquares(noise=noise, features=2, R2=4.0, step=1 / 4, m=1.0, M=1.0)
    assert samples(sharper, rho, epsilon) <= 0.25 * published
    assert samples(Anchored(noise=noise, features=2), rho, epsilon) <= plain
