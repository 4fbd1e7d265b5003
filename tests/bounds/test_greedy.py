import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import ClosedForm, Greedy, GreedyClosedForm, LastIterate, NoiseModel
from driftpace.testing import check_bound
from tests.reference.recursions import greedy_distances, scan, squared_distances

PAPER = Greedy(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))


def of_a_step(value: float, truth: float, bound: Greedy) -> float:
    """By how large a part of one step's gain a value is above the truth."""
    return (value / truth - 1.0) / gain(2.0 * truth / bound.M, bound)


def gain(squared: float, bound: Greedy) -> float:
    """The part of the squared distance that one step removes."""
    return bound.m**2 * squared / (bound.noise.A + max(bound.noise.B, bound.m**2) * squared)


@settings(max_examples=60, deadline=None)
@given(
    distance=st.floats(1e-3, 1e3),
    m=st.floats(0.01, 3.0),
    log_A=st.floats(-12.0, 3.0),
    log_beta=st.floats(-9.0, 5.0),
)
def test_the_closed_form_of_the_recursion_is_above_it_by_less_than_two_millionths_of_a_step(
    distance: float, m: float, log_A: float, log_beta: float
) -> None:
    bound = Greedy(m=m, M=5.0, noise=NoiseModel(A=10.0**log_A, B=m * m * (1.0 + 10.0**log_beta)))
    plain = greedy_distances(distance**2, 3_000, m, bound.noise.A, bound.noise.B)
    for samples in (1, 2, 10, 64, 65, 100, 500, 3_000):
        off = of_a_step(bound(distance, samples), 2.5 * plain[samples], bound)
        rounding = 1e-13 * (10.0 + 10.0**-log_beta) / gain(plain[samples], bound)  # B - m^2 is known to so much only
        assert -rounding <= off <= 2e-6 + rounding


def test_it_holds_for_hundreds_of_thousands_of_steps() -> None:
    for bound, distance in (
        (PAPER, 1.5),
        (Greedy(m=1.0, M=1.0, noise=NoiseModel(A=1e-6, B=60.0)), 1.0),
        (Greedy(m=0.1, M=1.0, noise=NoiseModel(A=2.0, B=3.0)), 5.0),
    ):
        plain = greedy_distances(distance**2, 300_000, bound.m, bound.noise.A, bound.noise.B)
        for samples in (10_000, 100_000, 300_000):
            assert -1e-9 <= of_a_step(bound(distance, samples), 0.5 * bound.M * plain[samples], bound) <= 2e-6


@settings(max_examples=60, deadline=None)
@given(
    distance=st.floats(0.01, 30.0),
    limit=st.floats(0.005, 1.0),
    A=st.just(0.0) | st.floats(1e-100, 2.0),
    V=st.floats(0.0, 20.0),
)
def test_steps_cut_at_the_limit_are_followed(distance: float, limit: float, A: float, V: float) -> None:
    bound = Greedy(m=1.0, M=2.0, noise=NoiseModel(A=A, B=1.0 + V, step_limit=limit))
    plain = greedy_distances(distance**2, 600, 1.0, A, 1.0 + V, limit)
    for samples in (0, 1, 5, 50, 600):
        assert bound.raw(distance, samples) == pytest.approx(plain[samples], rel=1e-6, abs=1e-250)


@settings(max_examples=100, deadline=None)
@given(
    distance=st.floats(0.0, 10.0),
    share=st.floats(0.001, 1.2),
    A=st.floats(0.0, 5.0),
    V=st.floats(0.0, 10.0),
    limit=st.sampled_from([math.inf, 0.05]),
    batch=st.integers(1, 4),
    cap=st.integers(0, 300),
)
def test_smallest_agrees_with_a_linear_scan(
    distance: float, share: float, A: float, V: float, limit: float, batch: int, cap: int
) -> None:
    noise = NoiseModel(A=A, B=1.0 + V, step_limit=limit)
    for bound in (
        Greedy(m=1.0, M=2.0, noise=noise, batch=batch),
        GreedyClosedForm(m=1.0, M=2.0, noise=noise, batch=batch),
    ):
        epsilon = max(share * bound.start(distance), 1e-9)
        assert bound.smallest(distance, epsilon, cap) == scan(bound, distance, epsilon, cap)


@pytest.mark.parametrize("exponent", [-3, -5, -7, -9, -10])
def test_smallest_is_verified_on_both_sides_however_far(exponent: int) -> None:
    epsilon = 1.5 * 10.0**exponent
    smallest = PAPER.smallest(1.5, epsilon, 10**10)
    assert smallest is not None
    assert PAPER(1.5, smallest) <= epsilon < PAPER(1.5, smallest - 1)


@settings(max_examples=60, deadline=None)
@given(
    distance=st.floats(0.01, 10.0),
    samples=st.integers(1, 300),
    A=st.floats(0.001, 5.0),
    V=st.floats(0.0, 10.0),
    seed=st.integers(0, 10**6),
)
def test_no_other_steps_end_lower(distance: float, samples: int, A: float, V: float, seed: int) -> None:
    noise = NoiseModel(A=A, B=1.0 + V)
    greedy = Greedy(m=1.0, M=1.0, noise=noise)
    best = greedy.raw(distance, samples) * (1.0 - 3e-6)  # its margin of a millionth of a step
    assert best <= LastIterate(m=1.0, M=1.0, noise=noise, schedule=ClosedForm(m=1.0, M=1.0, noise=noise).schedule).raw(
        distance, samples
    )
    factors = np.random.default_rng(seed).uniform(0.3, 3.0, samples)
    disturbed = greedy.schedule.steps(samples, distance) * factors
    assert best <= 0.5 * squared_distances(distance**2, disturbed, 1.0, A, 1.0 + V)[-1]


@settings(max_examples=60, deadline=None)
@given(tuned=st.floats(0.01, 5.0), true=st.floats(0.0, 5.0), samples=st.integers(0, 300), limit=st.floats(0.02, 1.0))
def test_steps_tuned_elsewhere_are_bounded_by_a_line(tuned: float, true: float, samples: int, limit: float) -> None:
    bound = Greedy(m=1.0, M=2.0, noise=NoiseModel(A=0.5, B=4.0, step_limit=limit))
    line = bound.tuned_factors(tuned, samples)
    steps = bound.schedule.steps(samples, tuned)
    assert line.alpha * true**2 + line.beta == pytest.approx(squared_distances(true**2, steps, 1.0, 0.5, 4.0)[-1])
    assert line.alpha * tuned**2 + line.beta == pytest.approx(bound.raw(tuned, samples), rel=1e-5)
    assert bound.factors(samples) is None


@settings(max_examples=100, deadline=None)
@given(distance=st.floats(0.0, 10.0), samples=st.integers(0, 5_000), limit=st.sampled_from([math.inf, 0.2, 0.01]))
def test_the_simple_closed_form_is_never_below(distance: float, samples: int, limit: float) -> None:
    noise = NoiseModel(A=0.5, B=4.0, step_limit=limit)
    simple, exact = GreedyClosedForm(m=1.0, M=1.0, noise=noise), Greedy(m=1.0, M=1.0, noise=noise)
    assert exact(distance, samples) <= simple(distance, samples) * (1.0 + 1e-9)
    if limit == math.inf and distance > 1e-3:
        inverse = 1.0 / distance**2 + samples / (0.5 + 4.0 * distance**2)
        assert simple(distance, samples) == pytest.approx(0.5 / inverse)


def test_no_samples_are_needed_as_the_distance_goes_to_zero_and_the_leading_term_is_a_quarter() -> None:
    epsilon = 1e-3
    asked = [PAPER.smallest(distance, epsilon, 10**9) for distance in (1.0, 0.1, 0.05, 0.0448, 0.0447, 0.0)]
    assert asked == sorted(asked, reverse=True)  # type: ignore[type-var]
    assert asked[-2:] == [0, 0]
    falling = ClosedForm(m=1.0, M=1.0, noise=PAPER.noise)
    assert falling(1.0, 10**8) / PAPER(1.0, 10**8) == pytest.approx(4.0, rel=1e-4)


def test_a_second_moment_smaller_than_possible_is_taken_as_the_least_possible() -> None:
    small = Greedy(m=2.0, M=2.0, noise=NoiseModel(A=0.5, B=0.1))
    assert small.schedule.B == 4.0
    assert small(1.0, 20) == Greedy(m=2.0, M=2.0, noise=NoiseModel(A=0.5, B=4.0))(1.0, 20)
    assert small(1.0, 20) == pytest.approx(1.0 / (1.0 + 20 * 4.0 / 0.5))  # B = m^2: 1/D grows by m^2/A exactly


@pytest.mark.parametrize(
    "bound",
    [
        PAPER,
        Greedy(m=0.5, M=2.0, noise=NoiseModel.row_smooth(sigma_star=1.0, L=3.0, m=0.5, M=2.0), batch=4),
        Greedy(m=0.5, M=2.0, noise=NoiseModel(A=0.0, B=3.0)),
        Greedy(m=1.0, M=2.0, noise=NoiseModel(A=0.0, B=0.0)),
        GreedyClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0)),
        GreedyClosedForm(m=0.5, M=2.0, noise=NoiseModel.row_smooth(sigma_star=1.0, L=3.0, m=0.5), batch=4),
    ],
    ids=["paper", "limited, batches", "without noise", "nothing random", "closed", "closed, limited, batches"],
)
def test_it_keeps_the_contract(bound: Greedy | GreedyClosedForm) -> None:
    check_bound(bound)


@pytest.mark.parametrize("A", [5e-324, 1e-224, 1e-150, 1e-121])
def test_a_noise_next_to_nothing_still_bounds(A: float) -> None:
    bound = Greedy(m=1.0, M=2.0, noise=NoiseModel(A=A, B=2.0, step_limit=1.0))
    plain = greedy_distances(1.0, 600, 1.0, A, 2.0, 1.0)
    values = [bound.raw(1.0, samples) for samples in (1, 100, 600, 10**9)]
    assert all(value >= 0.0 for value in values)  # and not NaN
    assert values == sorted(values, reverse=True)
    assert all(bound.raw(1.0, samples) >= plain[samples] * (1 - 1e-12) for samples in (1, 100, 300, 600))
