import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import ClosedForm, LastIterate, NoiseModel, smallest_samples
from driftpace.bounds.recursion import CheckpointTable, RecursionNumbers, TableCache
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime
from driftpace.testing import check_bound
from tests.reference.recursions import scan, squared_distances

LEAST_SQUARES = NoiseModel.least_squares(noise=0.5, trace=3.0, R2=5.0, m=0.5, M=1.0)


@st.composite
def bounds(draw: st.DrawFn, *, batched: bool = True) -> LastIterate:
    """Any constants, a bare noise model (any step) or one with a limit, falling or constant steps, batches."""
    m = draw(st.floats(0.05, 2.0))
    M = m * draw(st.floats(1.0, 20.0))
    batch = draw(st.integers(1, 7)) if batched else 1
    noise = draw(
        st.one_of(
            st.builds(NoiseModel, A=st.floats(0.0, 5.0), B=st.floats(0.0, 50.0)),
            st.builds(
                NoiseModel.variance, sigma=st.floats(0.0, 2.0), V=st.floats(0.0, 20.0), m=st.just(m), M=st.just(M)
            ),
            st.builds(
                NoiseModel.row_smooth, sigma_star=st.floats(0.0, 2.0), L=st.just(2.0 * M), m=st.just(m), M=st.just(M)
            ),
        )
    )
    longest = draw(st.floats(0.01, 1.0)) * min(noise.batched(batch).step_limit, 10.0 / m)
    shift = draw(st.floats(0.0, 100.0))
    falling = InverseTime(scale=longest * (1.0 + shift), shift=shift)
    schedule: InverseTime | ConstantSteps = falling if draw(st.booleans()) else ConstantSteps(step=longest)
    return LastIterate(m=m, M=M, noise=noise, schedule=schedule, batch=batch)


@settings(max_examples=80, deadline=None)
@given(bound=bounds(batched=False), distance=st.floats(0.0, 10.0))
def test_it_is_the_recursion_and_rises_at_most_once_before_it_falls(bound: LastIterate, distance: float) -> None:
    steps = bound.schedule.steps(150)
    plain = squared_distances(distance**2, steps, bound.m, bound.noise.A, bound.noise.B)
    values = [bound.raw(distance, count) for count in range(151)]
    factors = squared_distances(
        1.0, steps, bound.m, 0.0, bound.noise.B
    )  # past 1e308 they, and so the bound, are infinite
    finite = [value for value, factor in zip(plain, factors, strict=True) if value < 1e290 and factor < 1e290]
    assert values[: len(finite)] == pytest.approx([0.5 * bound.M * value for value in finite], rel=1e-9, abs=1e-290)
    falls = [b < a * (1.0 - 1e-12) for a, b in pairwise(values)]
    rises = [b > a * (1.0 + 1e-12) + 1e-290 for a, b in pairwise(values)]
    if any(falls):
        assert not any(rises[falls.index(True) :])


@settings(max_examples=150, deadline=None)
@given(bound=bounds(), distance=st.floats(0.0, 10.0), share=st.floats(0.001, 1.2), cap=st.integers(0, 300))
def test_smallest_agrees_with_a_linear_scan(bound: LastIterate, distance: float, share: float, cap: int) -> None:
    epsilon = max(share * bound.start(distance), 1e-6)
    assert bound.smallest(distance, epsilon, cap) == scan(bound, distance, epsilon, cap)


@settings(max_examples=60, deadline=None)
@given(bound=bounds(), distance=st.floats(0.0, 10.0), samples=st.integers(0, 60))
def test_the_envelope_is_the_least_so_far_also_with_batches(bound: LastIterate, distance: float, samples: int) -> None:
    so_far = [bound.raw(distance, count) for count in range(samples + 1)]
    assert bound(distance, samples) == pytest.approx(min(so_far), rel=1e-12, abs=1e-290)
    assert so_far[bound.used(distance, samples)] == pytest.approx(bound(distance, samples), rel=1e-12, abs=1e-290)


@pytest.mark.parametrize("steps", [70_000, 1_000_000, 2**25 + 1_000])
def test_bisection_over_checkpoints_is_exact_far_out(steps: int) -> None:
    bound = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0))
    epsilon = 0.5 * (bound(1.5, steps) + bound(1.5, steps - 1))
    assert bound.smallest(1.5, epsilon, 10**9) == steps
    assert bound(1.5, steps) <= epsilon < bound(1.5, steps - 1)
    assert bound.smallest(1.5, epsilon, steps) == steps
    assert bound.smallest(1.5, epsilon, steps - 1) is None


def test_far_out_values_are_those_of_one_long_loop() -> None:
    bound = LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=InverseTime(scale=4.0, shift=20.0))
    plain = squared_distances(4.0, bound.schedule.steps(100_001), 0.5, LEAST_SQUARES.A, LEAST_SQUARES.B)
    for count in (255, 256, 257, 65_535, 65_536, 65_537, 100_001):
        assert bound.raw(2.0, count) == pytest.approx(0.5 * plain[count], rel=1e-12)


def test_checkpoints_stay_small_and_cover_every_number_once() -> None:
    from driftpace.bounds.kernels.recursion import index_before, position

    assert 16 * index_before(10**9) < 13 * 10**6  # bytes
    generator = np.random.default_rng(0)
    edges = [2**e + off for e in range(31) for off in (-1, 0, 1) if 2**e + off >= 0]
    for steps in [*edges, *generator.integers(0, 2**31, 2_000).tolist()]:
        index = index_before(steps)
        assert position(index) <= steps < position(index + 1)
        assert position(index + 1) - position(index) <= max(256, steps // 2**17)


@pytest.mark.parametrize(("most", "limit"), [(3, 10**9), (100, 3 * 16)], ids=["many", "large"])
def test_equal_problems_share_one_table_and_a_full_shelf_lets_the_oldest_go(most: int, limit: int) -> None:
    numbers = [RecursionNumbers(m=1.0, A=0.1, B=4.0, scale=2.0, grow=1.0, shift=float(shift)) for shift in range(8, 12)]
    shelf = TableCache(most=most, limit=limit)
    first = shelf.table(numbers[0])
    assert shelf.table(RecursionNumbers(*numbers[0])) is first
    for other in numbers[1:]:
        shelf.table(other)
    assert shelf.table(numbers[0]) is not first


def test_threads_may_ask_one_table_at_once() -> None:
    table = CheckpointTable(RecursionNumbers(m=1.0, A=0.16, B=4.0, scale=2.0, grow=1.0, shift=8.0))
    targets = np.geomspace(1e-2, 1e-6, 64).tolist()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda epsilon: table.first(2.25, 0.5, epsilon, 10**7), targets))
    fresh = CheckpointTable(RecursionNumbers(m=1.0, A=0.16, B=4.0, scale=2.0, grow=1.0, shift=8.0))
    assert results == [fresh.first(2.25, 0.5, epsilon, 10**7) for epsilon in targets]


def test_a_batch_that_is_not_whole_is_used_only_where_its_step_is_legal() -> None:
    noise = NoiseModel.least_squares(noise=0.5, trace=10.0, R2=12.0, m=1.0, M=1.0)
    assert noise.batched(3).step_limit < 0.5 < noise.batched(8).step_limit
    bound = LastIterate(m=1.0, M=1.0, noise=noise, schedule=ConstantSteps(step=0.5), batch=8)
    assert bound.raw(3.0, 8 + 3) == math.inf  # three rows do not allow the step of eight
    assert bound(3.0, 8 + 3) == bound(3.0, 8)
    assert bound.used(3.0, 8 + 3) == 8
    falling = LastIterate(m=1.0, M=1.0, noise=noise, schedule=InverseTime(scale=2.0, shift=24.0), batch=8)
    assert falling(3.0, 803) < falling(3.0, 800)
    assert falling.used(3.0, 803) == 803


def test_steps_past_the_noise_model_are_refused() -> None:
    limit = LEAST_SQUARES.step_limit
    with pytest.raises(ParameterError, match=r"^LastIterate\(schedule=...\).*\.$"):
        LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=ConstantSteps(step=1.01 * limit))
    LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=ConstantSteps(step=limit))
    with pytest.raises(ParameterError, match=r"^LastIterate\(schedule=...\).*\.$"):
        LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=GreedySteps(m=0.5, A=1.0, B=2.0))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^LastIterate\(m=...\).*\.$"):
        LastIterate(m=2.0, M=1.0, noise=LEAST_SQUARES, schedule=ConstantSteps(step=0.1))


def test_steps_that_explode_give_infinity_not_a_wrong_number() -> None:
    bound = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.0, B=1e4), schedule=ConstantSteps(step=1.0))
    assert bound.raw(1.0, 1_000) == math.inf
    assert bound.raw(0.0, 1_000) == 0.0
    assert bound(1.0, 1_000) == 0.5
    assert bound.used(1.0, 1_000) == 0
    assert "too long" in smallest_samples(bound, 1.0, 0.1).reason


def test_a_long_run_does_not_slow_down_in_numbers_too_small_to_be_normal() -> None:
    bound = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.0, B=1.0), schedule=InverseTime(scale=60.0, shift=99.0))
    factors = bound.factors(10_000_000)
    assert factors.alpha == 0.5 * 1e-300
    assert factors.beta == 0.0


@pytest.mark.parametrize(
    "bound",
    [
        LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=InverseTime(scale=4.0, shift=20.0)),
        LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=InverseTime(scale=0.5, shift=3.0)),  # slow: rate -1/2
        LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=InverseTime(scale=4.0, shift=20.0), batch=6),
        LastIterate(m=0.5, M=1.0, noise=LEAST_SQUARES, schedule=ConstantSteps(step=0.1)),
        LastIterate(m=0.5, M=1.0, noise=NoiseModel(A=0.0, B=2.0), schedule=ConstantSteps(step=0.1)),
        LastIterate(m=0.5, M=1.0, noise=NoiseModel(A=0.0, B=2.0), schedule=InverseTime(scale=1.5, shift=10.0)),
    ],
    ids=["falling", "slow", "batches", "constant", "constant without noise", "falling without noise"],
)
def test_it_keeps_the_contract(bound: LastIterate) -> None:
    check_bound(bound)
    assert pickle.loads(pickle.dumps(bound)) == bound


@settings(max_examples=50, deadline=None)
@given(distance=st.floats(0.0, 10.0), samples=st.integers(1, 2_000), sigma=st.floats(0.0, 3.0), V=st.floats(0.0, 30.0))
def test_it_is_never_above_its_closed_form(distance: float, samples: int, sigma: float, V: float) -> None:
    noise = NoiseModel.variance(sigma=sigma, V=V, m=0.7, M=2.0)
    closed = ClosedForm(m=0.7, M=2.0, noise=noise)
    exact = LastIterate(m=0.7, M=2.0, noise=noise, schedule=closed.schedule)
    assert exact.raw(distance, samples) <= closed.raw(distance, samples) * (1.0 + 1e-12) + 1e-290
