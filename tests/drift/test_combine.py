"""Combinations against the whole sequence of one-step estimates at once."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.drift import Combined, MeanChange, RecentChange, Step, WindowedChange
from driftpace.errors import ParameterError

STEPS = st.lists(st.floats(-2.0, 10.0), min_size=1, max_size=25)


def _combine(combine: Any, values: list[float], *, squared: bool, errors: list[float | None] | None = None) -> Any:
    state = combine.init()
    for index, value in enumerate(values):
        step = Step(value=value, error=None if errors is None else errors[index])
        state = combine.add(state, step, squared=squared)
    return combine.combined(state, squared=squared)


def _length(mean: float, squared: bool) -> float:
    return math.sqrt(max(0.0, mean)) if squared else max(0.0, mean)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.booleans())
def test_the_mean_of_squares_is_rooted_after_averaging(values: list[float], squared: bool) -> None:
    combined = _combine(MeanChange(), values, squared=squared)
    assert combined.value == pytest.approx(_length(float(np.mean(values)), squared), abs=1e-7)
    assert (combined.steps, combined.count, combined.window, combined.inflation) == (len(values), len(values), 1, 1.0)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.booleans(), st.integers(1, 6))
def test_recent_is_the_mean_of_the_latest(values: list[float], squared: bool, window: int) -> None:
    combined = _combine(RecentChange(window=window), values, squared=squared)
    latest = values[-window:]
    assert combined.value == pytest.approx(_length(float(np.mean(latest)), squared), abs=1e-7)
    assert combined.steps == len(latest)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.booleans(), st.integers(1, 6), st.sampled_from(["max", "mean"]))
def test_windows_are_averaged_over_full_ones_only(values: list[float], squared: bool, window: int, h: str) -> None:
    """(1/(n-W)) sum over i >= W+1 (theory I20): n - 1 one-step estimates give n - W windows."""
    combined = _combine(WindowedChange(window=window, h=h), values, squared=squared)
    if len(values) < window:
        assert combined is None
        return
    windows = [values[i : i + window] for i in range(len(values) - window + 1)]
    factors = {("max", False): (window + 1) / window, ("max", True): (window + 2) / window}
    factors |= {("mean", False): 2.0, ("mean", True): 3.0}
    of = max if h == "max" else np.mean
    slow = float(np.mean([factors[h, squared] * of(each) for each in windows]))
    assert combined.value == pytest.approx(_length(slow, squared), abs=1e-7)
    n = len(values) + 1
    assert combined.count == n - window
    assert combined.inflation == pytest.approx((n - 1) / (n - window) * (window + 1 if h == "max" else 2.0))


def test_a_custom_window() -> None:
    def upper_half(recent: tuple[float, ...]) -> float:
        return 2.0 * sorted(recent)[1]

    combined = _combine(
        WindowedChange(window=3, h=upper_half, weights=(2.0, 2.0, 2.0)), [1.0, 5.0, 3.0, 4.0], squared=False
    )
    assert combined.value == pytest.approx((6.0 + 8.0) / 2)
    assert combined.weights == 6.0
    assert "upper_half" in WindowedChange(window=3, h=upper_half, weights=(2.0, 2.0, 2.0)).account


def test_own_errors_add_up_like_those_of_independent_values_and_are_forgotten_when_one_is_unknown() -> None:
    for combine in (MeanChange(), RecentChange(window=5)):
        known = _combine(combine, [1.0, 2.0], squared=True, errors=[3.0, 4.0])
        assert known.step_error == pytest.approx(2.5)
        assert _combine(combine, [1.0, 2.0], squared=True, errors=[3.0, None]).step_error is None


@pytest.mark.parametrize(
    "combine", [MeanChange(), RecentChange(window=4), WindowedChange(window=4)], ids=lambda c: type(c).__name__
)
def test_nothing_is_combined_before_the_first_value(combine: Any) -> None:
    assert combine.combined(combine.init(), squared=False) is None


def test_a_raise_is_in_the_units_of_the_mean() -> None:
    combined = _combine(MeanChange(), [9.0], squared=True)
    assert isinstance(combined, Combined)
    assert combined.raised(7.0) == 4.0
    assert combined.raised(-20.0) == 0.0


def test_parameters_are_refused_in_a_sentence() -> None:
    for make in (
        lambda: RecentChange(window=0),
        lambda: WindowedChange(window=0),
        lambda: WindowedChange(window=2, h="median"),
        lambda: WindowedChange(window=2, weights=(1.0, 1.0)),
        lambda: WindowedChange(window=2, h=max),
        lambda: WindowedChange(window=2, h=max, weights=(1.0,)),
    ):
        with pytest.raises(ParameterError, match=r"\(\w+=\.\.\.\) must be .*; got .*[.?]$"):
            make()


@pytest.mark.statistical
@pytest.mark.parametrize("h", ["max", "mean"])
@pytest.mark.parametrize("squared", [False, True])
def test_windows_find_the_largest_change_when_changes_are_even_over_an_interval(
    rng: np.random.Generator, h: str, squared: bool
) -> None:
    """rho_i ~ Unif[0, rho] known exactly: h_W has mean rho, or rho^2 of squares; the plain mean does not.

    Error budget of a case: one two-sided comparison at 4.9 standard errors of 200 runs, 2e-6 (Student t).
    """
    runs, count, rho = 200, 60, 0.8
    changes = rho * rng.random((runs, count))
    observed = changes**2 if squared else changes
    results = [_combine(WindowedChange(window=3, h=h), row.tolist(), squared=squared) for row in observed]
    means = np.array([result.mean for result in results])
    target = rho**2 if squared else rho
    error = means.std() / math.sqrt(runs)
    assert abs(means.mean() - target) < 4.9 * error
    plain = np.array([_combine(MeanChange(), row.tolist(), squared=squared).mean for row in observed])
    assert abs(plain.mean() - target) > 4.9 * error  # the control: a mean of changes is not the largest change
