"""Every one-step estimate against the slow, obvious version; what it skips; what it refuses; what it does at 1e150."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance

from driftpace.drift import (
    DebiasedDifference,
    Direct,
    DirectHeldOut,
    Drift,
    GradientMmd,
    NoMargin,
    Prequential,
    Step,
    WassersteinChange,
)
from driftpace.drift.one_step.distribution import gaussian_mmd, linear_mmd, transport
from driftpace.drift.one_step.unbiased import squared_gradient
from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LogisticLoss, SquaredLoss
from driftpace.records import Constants, PeriodData
from tests.reference import one_steps
from tests.reference.drift_simulation import sgd, simulate

LOSS = SquaredLoss()
M = Constants.given(m=0.7, M=2.0)
STEPS = [
    Direct(),
    DirectHeldOut(),
    DebiasedDifference(),
    Prequential(),
    GradientMmd(),
    GradientMmd(kernel="gaussian"),
    WassersteinChange(row_lipschitz=1.0),
]


def _named(one_step: Any) -> str:
    return type(one_step).__name__ + getattr(one_step, "kernel", "")


NEIGHBOURS = [step for step in STEPS if not isinstance(step, Prequential)]


def _periods(
    seed: int, *, samples: int = 9, features: int = 3, periods: int = 4, held_out: float = 0.0
) -> list[PeriodData]:
    rng = np.random.default_rng(seed)
    batches = simulate(
        rng,
        sgd(1.0, 5.0),
        runs=1,
        samples=samples,
        rho=0.5,
        periods=periods,
        spectrum=np.ones(features),
        held_out=held_out,
    )
    return [batch.seen(0, M) for batch in batches]


def _measure(one_step: Any, periods: list[PeriodData], loss: Any = LOSS) -> list[Step | None]:
    state, result = one_step.init(periods[0].X.shape[1]), []
    for observed in periods:
        state, step = one_step.measure(state, observed, loss)
        result.append(step)
    return result


def _values(one_step: Any, periods: list[PeriodData], loss: Any = LOSS) -> list[float | None]:
    return [None if step is None else step.value for step in _measure(one_step, periods, loss)]


def _empty(seen: PeriodData) -> PeriodData:
    return replace(seen, X=seen.X[:0], y=seen.y[:0], X_held=seen.X_held[:0], y_held=seen.y_held[:0], coef=seen.start)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_direct_is_the_slow_version(seed: int) -> None:
    periods = _periods(seed)
    drifts = _values(Direct(), periods)
    assert drifts[0] is None
    for before, now, value in zip(periods, periods[1:], drifts[1:], strict=False):
        slow = one_steps.direct(now.coef, now.X, now.y, before.coef, before.X, before.y, 0.7)
        assert value == pytest.approx(slow, rel=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_held_out_takes_its_gradients_from_rows_kept_apart(seed: int) -> None:
    periods = _periods(seed, held_out=DirectHeldOut().held_out)
    drifts = _values(DirectHeldOut(), periods)
    for before, now, value in zip(periods, periods[1:], drifts[1:], strict=False):
        assert len(now.y_held) == 3
        slow = one_steps.direct(now.coef, now.X_held, now.y_held, before.coef, before.X_held, before.y_held, 0.7)
        assert value == pytest.approx(slow, rel=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([("hc2", 0.5), ("hc3", 1.0)]))
def test_debiased_difference_is_the_slow_version(seed: int, residuals: tuple[str, float]) -> None:
    periods = _periods(seed)
    drifts = _values(DebiasedDifference(residuals=residuals[0]), periods)
    for before, now, value in zip(periods, periods[1:], drifts[1:], strict=False):
        slow = one_steps.debiased(now.X, now.y, before.X, before.y, residuals[1])
        assert value == pytest.approx(slow, rel=1e-8, abs=1e-10)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_prequential_is_the_slow_version(seed: int) -> None:
    periods = _periods(seed)
    drifts = _values(Prequential(), periods)
    assert drifts[0] is None
    for now, value in zip(periods[1:], drifts[1:], strict=True):
        assert value == pytest.approx(one_steps.u_statistic(now.start, now.X, now.y) / 0.49, rel=1e-9, abs=1e-11)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_the_distances_between_distributions_are_the_slow_versions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((5, 2)), rng.standard_normal((7, 2)) + 0.5
    assert linear_mmd(a, b) == pytest.approx(one_steps.mmd(a, b, lambda x, y: float(x @ y)), abs=1e-12)
    slow = one_steps.mmd(a, b, lambda x, y: float(np.exp(-((x - y) @ (x - y)) / (2 * 0.64))))
    assert gaussian_mmd(a, b, 0.8) == pytest.approx(0.64 * slow, abs=1e-12)
    rows = np.concatenate([a, b])
    h = np.sqrt(np.median([(x - y) @ (x - y) for x, y in itertools.combinations(rows, 2)]))
    assert gaussian_mmd(a, b, None) == pytest.approx(gaussian_mmd(a, b, float(h)), rel=1e-9)


def test_gradient_mmd_compares_two_periods_at_a_model_that_neither_trained() -> None:
    periods = _periods(3)
    drifts = _values(GradientMmd(), periods)
    before, now = periods[1], periods[2]
    a, b = (LOSS.row_gradients(before.start, observed.X, observed.y) for observed in (before, now))
    assert drifts[2] == pytest.approx(linear_mmd(a, b) / 0.49, rel=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8))
def test_transport_is_the_known_one_on_a_line_and_for_equal_numbers(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((n, 1)), rng.standard_normal((k, 1))
    assert transport(a, b) == pytest.approx(wasserstein_distance(a[:, 0], b[:, 0]), abs=1e-9)
    a, b = rng.standard_normal((k, 3)), rng.standard_normal((k, 3))
    costs = np.linalg.norm(a[:, None] - b[None], axis=2)
    assert transport(a, b) == pytest.approx(costs[linear_sum_assignment(costs)].mean(), abs=1e-9)
    assert transport(a, a) == pytest.approx(0.0, abs=1e-12)


def test_wasserstein_takes_at_most_so_many_rows_and_scales_by_lipschitz_over_m() -> None:
    periods = _periods(4, samples=30)
    few = WassersteinChange(row_lipschitz=2.0, most=5)
    state = few.init(3)
    state, _ = few.measure(state, periods[0], LOSS)
    assert state.rows.shape == (5, 4)
    all_of = WassersteinChange(row_lipschitz=2.0, most=100)
    drifts = _values(all_of, periods)
    rows = [np.column_stack([observed.X, observed.y]) for observed in periods]
    assert drifts[1] == pytest.approx(2.0 / 0.7 * transport(rows[0], rows[1]), rel=1e-9)


@pytest.mark.parametrize("one_step", NEIGHBOURS, ids=_named)
def test_an_empty_period_leaves_its_neighbours_without_an_estimate(one_step: Any) -> None:
    held = one_step.held_out
    periods = _periods(1, periods=6, held_out=held)
    periods[2] = _empty(periods[2])
    drifts = _values(one_step, periods)
    assert [value is None for value in drifts] == [True, False, True, True, False, False]


def test_prequential_needs_a_trained_model_and_two_rows_but_no_neighbour() -> None:
    periods = _periods(1, periods=6)
    periods[0] = _empty(periods[0])
    periods[3] = _empty(periods[3])
    periods[4] = replace(periods[4], X=periods[4].X[:1], y=periods[4].y[:1])
    drifts = _values(Prequential(), periods)
    assert [value is None for value in drifts] == [True, True, False, True, True, False]


def test_prequential_uses_rows_kept_apart_too() -> None:
    periods = _periods(2, held_out=1 / 3)
    now = periods[1]
    whole = one_steps.u_statistic(now.start, np.concatenate([now.X, now.X_held]), np.concatenate([now.y, now.y_held]))
    assert _values(Prequential(), periods)[1] == pytest.approx(whole / 0.49, rel=1e-9)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_no_more_rows_than_features_have_no_unique_minimiser(samples: int) -> None:
    assert _values(DebiasedDifference(), _periods(0, samples=samples)) == [None] * 4


def test_collinear_columns_have_no_unique_minimiser() -> None:
    periods = [replace(observed, X=observed.X[:, [0, 1, 1]]) for observed in _periods(0)]
    assert _values(DebiasedDifference(), periods) == [None] * 4


@pytest.mark.parametrize("one_step", [Direct(), Prequential(), GradientMmd()], ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("m", [None, 0.0])
def test_without_a_positive_m_gradients_say_nothing_of_distances(one_step: Any, m: float | None) -> None:
    known = Constants.given(M=1.0)
    if m is not None:
        estimate = Constants.given(m=1.0).m
        assert estimate is not None
        known = replace(known, m=replace(estimate, lower=m, rows=5))
    periods = [replace(observed, constants=known) for observed in _periods(0)]
    with pytest.raises(
        ParameterError, match=rf"{type(one_step).__name__} needs Constants\(m=...\) to be positive.*\.$"
    ):
        _measure(one_step, periods)


@pytest.mark.parametrize("one_step", [Direct(), DirectHeldOut()], ids=lambda step: type(step).__name__)
def test_lengths_are_at_most_a_diameter_that_was_given(one_step: Any) -> None:
    known = Constants.given(m=1e-6, diameter=2.0)
    periods = [replace(observed, constants=known) for observed in _periods(0, held_out=one_step.held_out)]
    assert _values(one_step, periods)[1:] == [2.0] * 3
    estimated = replace(known, diameter=replace(known.diameter, rows=10))  # type: ignore[type-var]
    periods = [replace(observed, constants=estimated) for observed in periods]
    assert min(value for value in _values(one_step, periods) if value is not None) > 2.0


@pytest.mark.parametrize("one_step", STEPS, ids=_named)
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_huge_and_tiny_features_are_handled(one_step: Any, scale: float) -> None:
    """Rows c x give models w/c: lengths shrink by c, which is exact for a power of two."""
    scale = 2.0 ** round(np.log2(scale))
    plain = _periods(5, samples=12, held_out=one_step.held_out)
    huge = [
        replace(
            observed,
            X=observed.X * scale,
            X_held=observed.X_held * scale,
            start=observed.start / scale,
            coef=observed.coef / scale,
            gradient=observed.gradient * scale,
            constants=Constants.given(m=0.7 * scale * scale),
        )
        for observed in plain
    ]
    steps = [one_step, one_step]
    if isinstance(one_step, WassersteinChange):
        huge = [replace(observed, y=observed.y * scale) for observed in huge]
        steps[1] = replace(one_step, row_lipschitz=scale)
    results = []
    for periods, step in zip((plain, huge), steps, strict=True):
        drift = Drift(one_step=step, margin=NoMargin())
        state = drift.init(3)
        for observed in periods:
            state = drift.update(state, observed, LOSS)
        estimate = drift.estimate(state)
        assert estimate is not None
        results.append(estimate)
    factor = 1.0 if isinstance(one_step, WassersteinChange) else scale
    assert results[1].value * factor == pytest.approx(results[0].value, rel=1e-9)


@pytest.mark.parametrize("loss", [LogisticLoss(l2=0.1), HuberLoss()], ids=lambda loss: type(loss).__name__)
def test_other_losses_are_measured_too(loss: Any) -> None:
    periods = _periods(6, samples=40)
    if isinstance(loss, LogisticLoss):
        periods = [replace(observed, y=np.where(observed.y >= 0.0, 1.0, -1.0)) for observed in periods]
    for one_step in (DebiasedDifference(), Prequential(), GradientMmd()):
        drifts = _values(one_step, periods, loss)
        assert all(value is not None and np.isfinite(value) for value in drifts[1:])


@pytest.mark.statistical
@pytest.mark.parametrize("features", [2, 10])
def test_the_standard_error_of_the_prequential_statistic_is_right(rng: np.random.Generator, features: int) -> None:
    """Gaussian gradients: Var U = 4 g'Sg/K + 2 tr(S^2)/(K(K-1)); the estimate of it errs upwards, and little.

    Error budget of a case: six two-sided comparisons at 4.9 standard errors of 4,000 runs, 6e-6.
    """
    rows, runs = 12, 4000
    spread = np.sqrt(np.linspace(0.5, 2.0, features))
    for size in (0.0, 0.6):
        mean = np.full(features, size / np.sqrt(features))
        gradients = mean + rng.standard_normal((runs, rows, features)) * spread
        result = np.array([squared_gradient(sample) for sample in gradients])
        values, squares = result[:, 0], result[:, 1] ** 2
        assert abs(values.mean() - size**2) < 4.9 * values.std() / np.sqrt(runs)  # U has no bias
        true = 4 * (mean**2 * spread**2).sum() / rows + 2 * (spread**4).sum() / (rows * (rows - 1))
        fourth = ((values - values.mean()) ** 4).mean()
        assert abs(values.var() - true) < 4.9 * np.sqrt((fourth - values.var() ** 2) / runs)  # the formula
        tolerance = 4.9 * squares.std() / true / np.sqrt(runs)
        assert (
            -tolerance < squares.mean() / true - 1.0 < 1.0 + tolerance
        )  # cutting g'Sg at zero leaves a little, upwards
        if size == 0.0:  # the control: what plugging in gbar and S would give is three times the truth and more
            naive = np.array([_plug_in(sample) for sample in gradients])
            assert naive.mean() / true - 1.0 > 1.0 + tolerance


def _plug_in(gradients: np.ndarray) -> float:
    rows, mean, spread = len(gradients), gradients.mean(axis=0), np.cov(gradients.T)
    return float(4.0 * mean @ spread @ mean / rows + 2.0 * np.trace(spread @ spread) / (rows * (rows - 1)))


def test_parameters_are_refused_in_a_sentence() -> None:
    for make in (
        lambda: DirectHeldOut(fraction=1.0),
        lambda: DebiasedDifference(residuals="hc9"),
        lambda: GradientMmd(kernel="cubic"),
        lambda: GradientMmd(most=1),
        lambda: GradientMmd(bandwidth=0.0),
        lambda: WassersteinChange(row_lipschitz=0.0),
        lambda: WassersteinChange(row_lipschitz=1.0, most=0),
    ):
        with pytest.raises(ParameterError, match=r"must be .*; got .*[.?]$"):
            make()
