import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import GaussianLeastSquares, LastIterate, NoiseModel, smallest_samples
from driftpace.bounds.gaussian import horizon
from driftpace.errors import ParameterError
from driftpace.records import Outcome
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime
from driftpace.testing import check_bound
from tests.reference.recursions import gaussian_risks, scan


@st.composite
def bounds(draw: st.DrawFn) -> GaussianLeastSquares:
    """One to five eigenvalues, some of them equal, falling or constant steps that do not explode, batches."""
    eigenvalues = draw(st.lists(st.sampled_from([1.0, 0.7, 0.3, 0.05]), min_size=1, max_size=5))
    batch = draw(st.integers(1, 4))
    longest = draw(st.floats(0.05, 1.0)) / (2.0 + sum(eigenvalues))
    shift = draw(st.floats(0.0, 50.0))
    falling = InverseTime(scale=longest * (1.0 + shift), shift=shift)
    schedule: InverseTime | ConstantSteps = falling if draw(st.booleans()) else ConstantSteps(step=longest)
    noise = draw(st.floats(0.0, 3.0))
    return GaussianLeastSquares(eigenvalues=tuple(eigenvalues), noise=noise, schedule=schedule, batch=batch)


@settings(max_examples=40, deadline=None)
@given(bound=bounds(), distance=st.floats(0.0, 5.0))
def test_it_is_the_recursion_from_the_worst_direction(bound: GaussianLeastSquares, distance: float) -> None:
    lam, steps = np.array(bound.eigenvalues), bound.schedule.steps(60)
    from_each = [gaussian_risks(distance**2 * e, steps, lam, bound.noise, bound.batch) for e in np.eye(lam.size)]
    worst = np.max(from_each, axis=0)
    values = [bound.raw(distance, count * bound.batch) for count in range(61)]
    assert values == pytest.approx(worst.tolist(), rel=1e-9, abs=1e-290)
    least = np.minimum.accumulate(worst)
    assert [bound(distance, k * bound.batch) for k in range(61)] == pytest.approx(least.tolist(), rel=1e-9, abs=1e-290)


@settings(max_examples=40, deadline=None)
@given(bound=bounds(), distance=st.floats(0.0, 5.0), share=st.floats(0.001, 1.2), cap=st.integers(0, 300))
def test_smallest_agrees_with_a_linear_scan(
    bound: GaussianLeastSquares, distance: float, share: float, cap: int
) -> None:
    epsilon = max(share * bound.start(distance), 1e-6)
    assert bound.smallest(distance, epsilon, cap) == scan(bound, distance, epsilon, cap)


def test_with_one_eigenvalue_it_is_the_scalar_recursion_with_any_number_of_samples() -> None:
    schedule = InverseTime(scale=4.0, shift=30.0)
    bound = GaussianLeastSquares(eigenvalues=(0.5,) * 7, noise=0.3, schedule=schedule)
    scalar = LastIterate(m=0.5, M=0.5, noise=NoiseModel(A=7 * 0.5 * 0.3, B=0.25 * 9), schedule=schedule)
    assert bound.horizon == math.inf
    for samples in (0, 1, 10, 1_000, 10_000_000):
        assert bound(2.0, samples) == scalar(2.0, samples)
    assert bound.smallest(2.0, 1e-6, 10**9) == scalar.smallest(2.0, 1e-6, 10**9)


def test_almost_equal_eigenvalues_give_almost_the_same() -> None:
    schedule = InverseTime(scale=4.0, shift=30.0)
    equal = GaussianLeastSquares(eigenvalues=(0.5,) * 3, noise=0.3, schedule=schedule, batch=2)
    nearly = GaussianLeastSquares(eigenvalues=(0.5, 0.5 + 1e-9, 0.5 - 1e-9), noise=0.3, schedule=schedule, batch=2)
    for samples in (0, 2, 20, 2_000):
        assert nearly(2.0, samples) == pytest.approx(equal(2.0, samples), rel=1e-6)


def test_past_the_horizon_it_is_flat_and_the_reason_says_so() -> None:
    lam = tuple(np.geomspace(1.0, 0.01, 300).tolist())
    bound = GaussianLeastSquares(eigenvalues=lam, noise=1.0, schedule=InverseTime(scale=200.0, shift=30_000.0))
    end = int(bound.horizon)
    assert end == horizon(300) == 2**28 // 300**2
    assert bound(1.0, 10 * end) == bound(1.0, end)
    assert bound.used(1.0, 10 * end) <= end
    answer = smallest_samples(bound, 1.0, 1e-9)
    assert answer.outcome is Outcome.INFEASIBLE
    assert f"{end} samples only" in answer.reason


def test_the_distance_reached_is_that_of_the_flattest_direction() -> None:
    bound = GaussianLeastSquares(eigenvalues=(1.0, 0.01), noise=1.0, schedule=InverseTime(scale=200.0, shift=600.0))
    assert bound.reach(0.5) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("eigenvalues", "schedule", "noise", "batch"),
    [
        ((1.0, 1.0), InverseTime(scale=2.0, shift=8.0), 0.5, 1),
        ((1.0, 0.1, 0.1), InverseTime(scale=20.0, shift=60.0), 0.5, 1),
        ((1.0, 0.1, 0.1), InverseTime(scale=20.0, shift=60.0), 0.5, 3),
        ((1.0, 0.1), InverseTime(scale=2.0, shift=8.0), 0.5, 1),
        ((1.0, 0.1), ConstantSteps(step=0.1), 0.5, 1),
        ((1.0, 0.1), ConstantSteps(step=0.1), 0.0, 1),
    ],
    ids=["isotropic", "steep", "batches", "slow: rate -0.4", "constant", "constant without noise"],
)
def test_it_keeps_the_contract(
    eigenvalues: tuple[float, ...], schedule: InverseTime | ConstantSteps, noise: float, batch: int
) -> None:
    bound = GaussianLeastSquares(eigenvalues=eigenvalues, noise=noise, schedule=schedule, batch=batch)
    check_bound(bound, rate_samples=(2**17, 2**19))


def test_impossible_numbers_are_refused() -> None:
    schedule = ConstantSteps(step=0.1)
    for eigenvalues in ((), (1.0, 0.0), (1.0, math.nan)):
        with pytest.raises(ParameterError, match=r"^GaussianLeastSquares\(eigenvalues=...\).*\.$"):
            GaussianLeastSquares(eigenvalues=eigenvalues, noise=1.0, schedule=schedule)
    with pytest.raises(ParameterError, match=r"^GaussianLeastSquares\(schedule=...\).*\.$"):
        GaussianLeastSquares(
            eigenvalues=(1.0,),
            noise=1.0,
            schedule=GreedySteps(m=1.0, A=1.0, B=1.0),  # type: ignore[arg-type]
        )
