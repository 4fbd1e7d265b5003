from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import ClosedForm, Greedy, GreedyClosedForm, NoiseModel
from driftpace.errors import ParameterError
from driftpace.testing import check_bound
from tests.reference.recursions import scan

PAPER = ClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))


def test_it_is_the_formula_of_the_notes() -> None:
    s = 8.0
    for distance, samples in ((0.0, 5), (1.5, 18), (3.0, 1_000)):
        squared = (s * (s - 1) * distance**2 + 4 * 0.16 * samples) / ((samples + s) * (samples + s - 1))
        assert PAPER.raw(distance, samples) == pytest.approx(0.5 * squared, rel=1e-14)


def test_the_shift_leaves_every_step_legal() -> None:
    for noise in (
        NoiseModel.variance(sigma=1.0, V=0.0, m=0.1, M=5.0),  # here the limit 2/(m+M) asks for more than 2B/m^2
        NoiseModel.row_smooth(sigma_star=1.0, L=3.0, m=0.1),
        NoiseModel.least_squares(noise=1.0, trace=2.0, R2=4.0, m=0.1),
    ):
        bound = ClosedForm(m=0.1, M=5.0, noise=noise)
        assert bound.schedule.steps(1)[0] <= noise.step_limit * (1.0 + 1e-12)
        assert bound.shift >= 2.0 * noise.B / 0.1**2


@settings(max_examples=200, deadline=None)
@given(
    distance=st.floats(0.0, 10.0),
    epsilon=st.floats(1e-3, 20.0),
    A=st.floats(0.0, 5.0),
    V=st.floats(0.0, 10.0),
    batch=st.integers(1, 5),
    cap=st.integers(0, 400),
)
def test_the_quadratic_root_agrees_with_a_linear_scan(
    distance: float, epsilon: float, A: float, V: float, batch: int, cap: int
) -> None:
    bound = ClosedForm(m=1.0, M=3.0, noise=NoiseModel(A=A, B=1.0 + V, A_kept=0.0, B_kept=1.0), batch=batch)
    assert bound.smallest(distance, epsilon, cap) == scan(bound, distance, epsilon, cap)


@settings(max_examples=100, deadline=None)
@given(distance=st.floats(0.0, 1e3), exponent=st.floats(-10.0, 1.0))
def test_the_root_is_verified_on_both_sides_however_far(distance: float, exponent: float) -> None:
    epsilon = 10.0**exponent
    smallest = PAPER.smallest(distance, epsilon, 10**12)
    assert smallest is not None
    assert PAPER(distance, smallest) <= epsilon
    assert smallest == 0 or PAPER(distance, smallest - 1) > epsilon


@pytest.mark.parametrize(
    "bound",
    [
        PAPER,
        ClosedForm(m=0.5, M=2.0, noise=NoiseModel.row_smooth(sigma_star=1.0, L=3.0, m=0.5), batch=4),
        ClosedForm(m=0.5, M=2.0, noise=NoiseModel(A=0.0, B=3.0)),
    ],
    ids=["paper", "batches", "without noise"],
)
def test_it_keeps_the_contract(bound: ClosedForm) -> None:
    check_bound(bound)


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^ClosedForm\(m=...\)"):
        ClosedForm(m=0.0, M=1.0, noise=NoiseModel(A=0.1, B=1.0))
    with pytest.raises(ParameterError, match=r"^ClosedForm\(batch=...\)"):
        ClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.1, B=1.0), batch=0)


@pytest.mark.parametrize("bound", [Greedy, ClosedForm, GreedyClosedForm], ids=lambda kind: kind.__name__)
def test_a_start_from_beyond_the_stars_is_answered_or_refused(bound: Any) -> None:
    far = bound(m=1.0, M=1.0, noise=NoiseModel(A=0.0, B=1.0))
    assert far.smallest(1e149, 1e-12, 10**9) is None or far(1e149, 10**9) <= 1e-12
    with pytest.raises(ParameterError, match="between 0 and 1e150"):
        far(1e200, 3)
