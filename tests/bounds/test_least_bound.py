import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import (
    Anchored,
    AveragedSquares,
    ConstantStep,
    ExactAverage,
    LeastBound,
    Minimiser,
    Nature,
    NoiseModel,
    OrdinaryLeastSquares,
    RiskBound,
    smallest_samples,
)
from driftpace.errors import ParameterError
from driftpace.testing import check_bound
from tests.reference.recursions import scan

ISOTROPIC: tuple[RiskBound, ...] = (
    AveragedSquares(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0, M=1.0),
    OrdinaryLeastSquares(noise=0.5, features=2),
    ConstantStep(m=1.0, M=1.0, noise=NoiseModel(A=1.0, B=4.0), step=0.05),
)


def test_is_a_bound() -> None:
    check_bound(LeastBound(bounds=ISOTROPIC))
    check_bound(LeastBound(bounds=ISOTROPIC[:1]))


@settings(max_examples=100, deadline=None)
@given(distance=st.floats(0.0, 5.0), samples=st.integers(0, 300), epsilon=st.floats(1e-3, 1.0), cap=st.integers(0, 200))
def test_the_least_of_its_members(distance: float, samples: int, epsilon: float, cap: int) -> None:
    least = LeastBound(bounds=ISOTROPIC)
    values = {bound.name: bound(distance, samples) for bound in ISOTROPIC}
    assert least(distance, samples) == min(values.values())
    decider = least.decided_by(distance, samples)
    assert values[decider] == min(values.values())
    (member,) = (bound for bound in ISOTROPIC if bound.name == decider)
    assert least.used(distance, samples) == member.used(distance, samples)
    assert least.smallest(distance, epsilon, cap) == scan(least, distance, epsilon, cap)


def test_it_takes_the_weakest_nature_and_every_condition() -> None:
    exact = ExactAverage(noise=0.5, features=2, step=1 / 16)
    upper = Anchored(noise=0.5, features=2)
    asymptotic = Minimiser(spread=1.0, features=2)
    assert LeastBound(bounds=(exact,)).nature is Nature.EXACT
    assert LeastBound(bounds=(exact, upper)).nature is Nature.UPPER
    assert LeastBound(bounds=(upper, asymptotic, exact)).nature is Nature.ASYMPTOTIC
    both = LeastBound(bounds=(exact, upper))
    assert set(both.conditions) == {*exact.conditions, *upper.conditions}
    assert len(both.conditions) == len(set(both.conditions))
    assert both.rate == -1.0
    assert exact.name in both.name


def test_reach_is_true_whichever_member_promised() -> None:
    flat = OrdinaryLeastSquares(noise=0.5, features=2, m=0.1)
    steep = Anchored(noise=0.5, features=2)
    assert LeastBound(bounds=(flat, steep)).reach(0.1) == flat.reach(0.1) > steep.reach(0.1)


def test_the_answer_says_who_decided() -> None:
    least = LeastBound(bounds=ISOTROPIC)
    answer = smallest_samples(least, 2.0, 0.01)
    assert answer.decided_by == least.decided_by(2.0, answer.samples)
    assert answer.samples == min(smallest_samples(bound, 2.0, 0.01).samples for bound in ISOTROPIC[:2])


def test_floors() -> None:
    assert LeastBound(bounds=ISOTROPIC).floor(1.0) == 0.0
    assert LeastBound(bounds=ISOTROPIC[2:]).floor(1.0) == ISOTROPIC[2].floor(1.0) > 0.0  # type: ignore[attr-defined]


def test_one_member_keeps_its_factors_and_more_have_none() -> None:
    assert LeastBound(bounds=ISOTROPIC[:1]).factors(10) == ISOTROPIC[0].factors(10)
    assert LeastBound(bounds=ISOTROPIC).factors(10) is None


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"LeastBound\(bounds=...\) must be one or more bounds in a tuple; got \(\)"
    ):
        LeastBound(bounds=())
