"""The frame around one-step estimate, combination and margin."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from driftpace.drift import (
    DebiasedDifference,
    Direct,
    DirectHeldOut,
    Drift,
    DriftEstimator,
    GradientMmd,
    KnownDrift,
    MeanChange,
    NoMargin,
    Prequential,
    RecentChange,
    RootMargin,
    StandardErrorMargin,
    TheoreticalMargin,
    WassersteinChange,
    WindowedChange,
)
from driftpace.errors import ParameterError
from driftpace.losses import SquaredLoss
from driftpace.records import Constants, PeriodData
from driftpace.storage.codec import decode, encode
from tests.reference.drift_simulation import sgd, simulate

KNOWN = Constants.given(m=1.0, M=2.0, sigma=3.0)
LOSS = SquaredLoss()
ONE_STEPS = [
    Direct(),
    DirectHeldOut(),
    DebiasedDifference(),
    Prequential(),
    GradientMmd(),
    GradientMmd(kernel="gaussian"),
    WassersteinChange(row_lipschitz=1.0, most=8),
]
COMBINES = [MeanChange(), RecentChange(window=3), WindowedChange(window=2)]


def _periods(rng: np.random.Generator, periods: int = 7, held_out: float = 0.0) -> list[PeriodData]:
    batches = simulate(rng, sgd(1.0, 4.0), runs=1, samples=12, rho=0.4, periods=periods, held_out=held_out)
    return [batch.seen(0, KNOWN, scatter=0.1 * batch.number) for batch in batches]


def _fold(drift: Any, periods: list[PeriodData]) -> Any:
    state = drift.init(2)
    for observed in periods:
        state = drift.update(state, observed, LOSS)
    return state


@pytest.mark.parametrize("one_step", ONE_STEPS, ids=lambda one: type(one).__name__ + getattr(one, "kernel", ""))
@pytest.mark.parametrize("combine", COMBINES, ids=lambda one: type(one).__name__)
def test_any_one_step_estimate_goes_with_any_combination(one_step: Any, combine: Any, rng: np.random.Generator) -> None:
    drift = Drift(one_step=one_step, combine=combine)
    assert isinstance(drift, DriftEstimator)
    assert drift.held_out == one_step.held_out
    state = _fold(drift, _periods(rng, held_out=drift.held_out))
    estimate = drift.estimate(state)
    assert estimate is not None
    assert estimate.upper >= estimate.value >= 0.0
    assert estimate.measures == one_step.measures
    for part in (one_step.account, combine.account, drift.margin.account):
        assert part in estimate.account
    again = decode(encode(state))
    assert drift.estimate(again) == estimate  # the state goes to a file and back, and says the same


def test_the_paper_is_the_mean_of_direct_estimates_plus_its_footnote(rng: np.random.Generator) -> None:
    periods = _periods(rng)
    drift = Drift(one_step=Direct(), combine=MeanChange(), margin=RootMargin())
    estimate = drift.estimate(_fold(drift, periods))
    pulls = [np.linalg.norm(observed.gradient) for observed in periods]
    steps = [
        np.linalg.norm(now.coef - before.coef) + pulls[i] + pulls[i + 1]
        for i, (before, now) in enumerate(pairwise(periods))
    ]
    assert estimate is not None
    assert estimate.value == pytest.approx(np.mean(steps))
    assert estimate.upper == pytest.approx(np.mean(steps) + 1 / np.sqrt(6))
    assert estimate.steps == 6


def test_a_period_without_an_estimate_is_counted_and_changes_nothing_else(rng: np.random.Generator) -> None:
    periods = _periods(rng)
    empty = replace(periods[3], X=periods[3].X[:0], y=periods[3].y[:0], coef=periods[3].start)
    drift = Drift()
    state = _fold(drift, periods[:3])
    after = drift.update(state, empty, LOSS)
    before, now = drift.estimate(state), drift.estimate(after)
    assert before is not None
    assert now is not None
    assert (now.value, now.upper, now.steps) == (before.value, before.upper, before.steps)
    assert (after.steps, after.skipped) == (state.steps, state.skipped + 1)
    later = _fold(drift, [*periods[:3], empty, *periods[4:]])
    assert (later.steps, later.skipped) == (4, 3)  # the first, the empty one, and its successor


def test_a_value_that_overflowed_is_left_out(rng: np.random.Generator) -> None:
    periods = [replace(observed, constants=Constants.given(m=1e-320)) for observed in _periods(rng)]
    drift = Drift(margin=NoMargin())
    assert drift.estimate(_fold(drift, periods)) is None


def test_the_correction_is_the_formula(rng: np.random.Generator) -> None:
    """D_n = mean of (1 + M/m)(C_i + C_{i-1}) + (sigma/m)(K_i^-1/2 + K_{i-1}^-1/2) (theory I3)."""
    periods = _periods(rng)
    terms = [3.0 * 0.1 * (2 * i + 1) + 3.0 * 2.0 / np.sqrt(12) for i in range(1, 7)]
    for combine, inflation in ((MeanChange(), 1.0), (WindowedChange(window=3), 4.0 * 6 / 4)):
        plain = Drift(combine=combine, margin=NoMargin())
        corrected = replace(plain, correction=True)
        without, with_it = (drift.estimate(_fold(drift, periods)) for drift in (plain, corrected))
        assert without is not None
        assert with_it is not None
        assert with_it.value == without.value
        assert with_it.upper - without.upper == pytest.approx(inflation * np.mean(terms))
        assert "correction" in with_it.account


def test_the_correction_of_an_unknown_scatter_is_infinite(rng: np.random.Generator) -> None:
    periods = [replace(observed, scatter=float("inf")) for observed in _periods(rng)]
    drift = Drift(correction=True)
    estimate = drift.estimate(_fold(drift, periods))
    assert estimate is not None
    assert estimate.upper == float("inf")


def test_the_correction_needs_its_constants(rng: np.random.Generator) -> None:
    periods = [replace(observed, constants=Constants.given(m=1.0, M=1.0)) for observed in _periods(rng)]
    with pytest.raises(ParameterError, match=r"Constants\(sigma=...\) is required"):
        _fold(Drift(correction=True), periods)


def test_combinations_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"Drift\(correction=...\) must be False with Prequential"):
        Drift(one_step=Prequential(), correction=True)
    with pytest.raises(
        ParameterError, match=r"Drift\(margin=...\) must not be TheoreticalMargin with DebiasedDifference"
    ):
        Drift(one_step=DebiasedDifference(), margin=TheoreticalMargin(diameter=1.0, m=1.0, G=1.0))


def test_a_known_drift_is_what_the_user_gave(rng: np.random.Generator) -> None:
    drift = KnownDrift(0.25)
    assert isinstance(drift, DriftEstimator)
    estimate = drift.estimate(_fold(drift, _periods(rng)))
    assert (estimate.value, estimate.upper, estimate.steps, estimate.measures, estimate.account) == (
        0.25,
        0.25,
        0,
        "rho",
        "given",
    )
    with pytest.raises(ParameterError, match=r"KnownDrift\(rho=...\) must be zero or more"):
        KnownDrift(-1.0)


def test_the_first_estimate_comes_when_the_margin_can_be_known(rng: np.random.Generator) -> None:
    periods = _periods(rng)
    for drift, first in ((Drift(), 3), (Drift(margin=RootMargin()), 2), (Drift(one_step=Prequential()), 2)):
        assert drift.estimate(_fold(drift, periods[: first - 1])) is None
        assert drift.estimate(_fold(drift, periods[:first])) is not None
    assert isinstance(Drift().margin, StandardErrorMargin)
