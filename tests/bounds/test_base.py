import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import FormulaBound, Nature
from driftpace.errors import ParameterError
from tests.reference.recursions import scan


@dataclass(frozen=True, kw_only=True)
class Shape(FormulaBound):
    """Any values of the right shape: those after 1, 2, ... samples, the last one for ever."""

    values: tuple[float, ...]
    before: float
    first_guess: Callable[[float, float], float] = lambda distance, epsilon: 1.0

    name, nature, rate, conditions = "a shape", Nature.UPPER, 0.0, ("none",)

    def start(self, distance: float) -> float:
        return self.before

    def raw(self, distance: float, samples: int) -> float:
        return self.values[min(samples, len(self.values)) - 1]

    def reach(self, risk: float) -> float:
        return risk

    def guess(self, distance: float, epsilon: float) -> float:
        return self.first_guess(distance, epsilon)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Rising, then falling; infinities before; a start anywhere; a guess that may be anything."""
    numbers = st.floats(0.01, 10.0)
    rising = sorted(draw(st.lists(numbers, max_size=8)))
    falling = sorted(draw(st.lists(numbers, min_size=1, max_size=40)), reverse=True)
    top = max([*rising, *falling])
    values = (*rising, top, *falling)
    if draw(st.booleans()):
        values = (math.inf,) * draw(st.integers(1, 5)) + tuple(falling)
    guess = draw(st.one_of(st.floats(), st.integers(-5, 100)))
    return Shape(values=values, before=draw(st.one_of(numbers, st.just(math.inf))), first_guess=lambda d, e: guess)


@settings(max_examples=300, deadline=None)
@given(shape=shapes(), samples=st.integers(0, 60))
def test_the_envelope_is_the_least_so_far_and_used_says_where(shape: Shape, samples: int) -> None:
    so_far = [shape.before, *(shape.raw(1.0, count) for count in range(1, samples + 1))]
    assert shape(1.0, samples) == min(so_far)
    used = shape.used(1.0, samples)
    assert so_far[used] == min(so_far)


@settings(max_examples=300, deadline=None)
@given(shape=shapes(), epsilon=st.floats(0.005, 11.0), cap=st.integers(0, 80))
def test_smallest_is_what_a_scan_finds_whatever_the_guess(shape: Shape, epsilon: float, cap: int) -> None:
    assert shape.smallest(1.0, epsilon, cap) == scan(shape, 1.0, epsilon, cap)


def test_questions_outside_what_is_allowed_are_refused() -> None:
    shape = Shape(values=(1.0,), before=1.0)
    for distance, samples in ((-1.0, 1), (math.nan, 1), (1.0, -1), (1.0, True)):
        with pytest.raises(ParameterError):
            shape(distance, samples)
        with pytest.raises(ParameterError):
            shape.used(distance, samples)
    with pytest.raises(ParameterError):
        shape.smallest(-1.0, 0.1, 10)


def test_no_promise_about_factors_or_floors_is_made_by_default() -> None:
    shape = Shape(values=(1.0,), before=1.0)
    assert shape.factors(3) is None
    assert shape.floor(1.0) == 0.0
