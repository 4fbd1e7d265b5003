import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import ConstantStep, LastIterate, NoiseModel, smallest_samples
from driftpace.errors import ParameterError
from driftpace.records import Outcome
from driftpace.testing import check_bound
from tests.reference.recursions import scan

NOISE = NoiseModel.variance(sigma=0.6, V=2.0, m=1.0, M=2.0)


@settings(max_examples=200, deadline=None)
@given(
    distance=st.floats(0.0, 10.0),
    samples=st.integers(0, 500),
    step=st.floats(1e-4, 0.9),
    B=st.floats(0.0, 5.0),
    batch=st.integers(1, 4),
)
def test_it_is_the_recursion_with_that_step(distance: float, samples: int, step: float, B: float, batch: int) -> None:
    noise = NoiseModel(A=0.3, B=B)
    closed = ConstantStep(m=1.0, M=2.0, noise=noise, step=step, batch=batch)
    exact = LastIterate(m=1.0, M=2.0, noise=noise, schedule=closed.schedule, batch=batch)
    whole = samples - samples % batch
    assert closed.raw(distance, whole) == pytest.approx(exact.raw(distance, whole), rel=1e-9)
    assert closed.floor(distance) == pytest.approx(exact.floor(distance))


@settings(max_examples=200, deadline=None)
@given(
    distance=st.floats(0.0, 10.0), epsilon=st.floats(1e-3, 20.0), step=st.floats(1e-3, 0.66), cap=st.integers(0, 300)
)
def test_the_logarithm_agrees_with_a_linear_scan(distance: float, epsilon: float, step: float, cap: int) -> None:
    bound = ConstantStep(m=1.0, M=2.0, noise=NOISE, step=step)
    assert bound.smallest(distance, epsilon, cap) == scan(bound, distance, epsilon, cap)


def test_a_target_under_the_floor_is_infeasible_and_the_reason_says_so() -> None:
    bound = ConstantStep(m=1.0, M=2.0, noise=NOISE, step=0.2)
    floor = bound.floor(2.0)
    assert floor == pytest.approx(0.36 * 0.2 / (2.0 - 3.0 * 0.2))
    answer = smallest_samples(bound, 2.0, 0.99 * floor)
    assert answer.outcome is Outcome.INFEASIBLE
    assert "levels off" in answer.reason
    assert smallest_samples(bound, 2.0, 1.01 * floor).outcome is Outcome.MET


def test_a_step_too_long_never_gains() -> None:
    for step in (2.0 / 5.0, 0.5):  # 2m/B: the factor is one; and past it
        bound = ConstantStep(m=1.0, M=2.0, noise=NoiseModel(A=0.1, B=5.0), step=step)
        assert bound(1.0, 10**6) == bound(1.0, 0) == 1.0
        answer = smallest_samples(bound, 1.0, 0.5)
        assert answer.outcome is Outcome.INFEASIBLE
        assert "too long" in answer.reason
        assert bound.rate == 0.0


@pytest.mark.parametrize(
    "bound",
    [
        ConstantStep(m=1.0, M=2.0, noise=NOISE, step=0.2),
        ConstantStep(m=1.0, M=2.0, noise=NOISE, step=0.3, batch=5),
        ConstantStep(m=1.0, M=2.0, noise=NoiseModel(A=0.0, B=3.0), step=0.2),
        ConstantStep(m=1.0, M=2.0, noise=NoiseModel(A=0.1, B=1.0), step=1.0),
        ConstantStep(m=1.0, M=2.0, noise=NoiseModel(A=0.1, B=5.0), step=0.5),
    ],
    ids=["plain", "batches", "without noise", "all forgotten in one step", "too long"],
)
def test_it_keeps_the_contract(bound: ConstantStep) -> None:
    check_bound(bound)


def test_steps_past_the_noise_model_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^ConstantStep\(step=...\).*\.$"):
        ConstantStep(m=1.0, M=2.0, noise=NOISE, step=0.7)
    assert math.isclose(NOISE.step_limit, 2.0 / 3.0)
