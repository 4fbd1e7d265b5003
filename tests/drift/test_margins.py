"""Margins: their formulas, their coverage, and what they claim of themselves."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from driftpace.constants.concentration import series_converges, standard_error
from driftpace.drift import (
    BernsteinMargin,
    Combined,
    MeanChange,
    NoMargin,
    RecentChange,
    RootMargin,
    StandardErrorMargin,
    Step,
    TheoreticalMargin,
    WindowedChange,
)
from driftpace.errors import ParameterError

MARGINS = [
    NoMargin(),
    RootMargin(),
    TheoreticalMargin(diameter=1.0, m=1.0, G=1.0),
    StandardErrorMargin(),
    BernsteinMargin(delta=0.05, width=1.0),
]


def _combined(
    values: list[float], combine: Any = None, *, squared: bool = False, error: float | None = None
) -> Combined:
    combine = MeanChange() if combine is None else combine
    state = combine.init()
    for value in values:
        state = combine.add(state, Step(value=value, error=error), squared=squared)
    combined = combine.combined(state, squared=squared)
    assert isinstance(combined, Combined)
    return combined


@pytest.mark.parametrize("margin", MARGINS, ids=lambda margin: type(margin).__name__)
@pytest.mark.parametrize("squared", [False, True])
def test_an_upper_end_is_at_least_the_value(margin: Any, squared: bool, rng: np.random.Generator) -> None:
    for count in (2, 3, 10):
        combined = _combined(rng.standard_normal(count).tolist(), squared=squared)
        assert margin.upper(combined) >= combined.value >= 0.0
    assert margin.account


def test_the_footnote_is_one_over_the_root_of_the_periods() -> None:
    assert RootMargin(scale=2.0).upper(_combined([1.0] * 16)) == pytest.approx(1.5)


@pytest.mark.parametrize(("diameter", "m", "G"), [(1.0, 1.0, 0.1), (1.0, 0.5, 3.0)])
def test_the_theoretical_margin_meets_the_series_and_is_vacuous_for_few_periods(
    diameter: float, m: float, G: float
) -> None:
    margin = TheoreticalMargin(diameter=diameter, m=m, G=G, slack=1.001)
    scale = margin.t(50) / math.sqrt(math.log(50) / 49)
    assert series_converges(scale, diameter=diameter, m=m, G=G)
    assert not series_converges(scale / 1.002, diameter=diameter, m=m, G=G)
    assert margin.t(25) > diameter


def test_the_theoretical_margin_shrinks_below_the_diameter_when_the_theory_says() -> None:
    margin = TheoreticalMargin(diameter=1.0, m=1.0, G=0.0, slack=1.0 + 1e-9)
    assert margin.t(80) < 1.0 < margin.t(79)  # theory 3.1
    assert margin.t(17_597) < 0.1 < margin.t(17_596)


def test_windows_widen_the_theoretical_margin() -> None:
    margin = TheoreticalMargin(diameter=1.0, m=1.0, G=0.0)
    combined = _combined([0.5] * 10, WindowedChange(window=3))
    n = 11
    assert margin.upper(combined) - combined.value == pytest.approx(margin.t(n) * 4.0 * (n - 1) / (n - 3))


def test_the_standard_error_allows_for_neighbours_and_for_overlapping_windows(rng: np.random.Generator) -> None:
    values = rng.random(30)
    combined = _combined(values.tolist())
    centred = values - values.mean()
    gammas = [float(centred[: 30 - lag] @ centred[lag:]) / 30 for lag in range(2)]
    assert StandardErrorMargin(z=2.0).upper(combined) == pytest.approx(values.mean() + 2.0 * standard_error(gammas, 30))
    plain = values.mean() + 2.0 * values.std(ddof=1) / math.sqrt(30)
    assert StandardErrorMargin(z=2.0, lags=0).upper(combined) == pytest.approx(plain)
    assert len(_combined(values.tolist(), WindowedChange(window=4)).autocovariances) == 5


def test_the_standard_error_of_squares_is_added_before_the_root() -> None:
    combined = _combined([4.0, 4.0], squared=True, error=5.0 * math.sqrt(2.0))
    assert StandardErrorMargin(z=1.0).upper(combined) == pytest.approx(3.0)


def test_nothing_is_stated_while_the_spread_is_unknown() -> None:
    assert StandardErrorMargin().upper(_combined([1.0])) is None
    assert StandardErrorMargin(z=1.0).upper(_combined([1.0], error=0.5)) == 1.5
    assert StandardErrorMargin(step_errors=False).upper(_combined([1.0], error=0.5)) is None


def test_bernstein_is_the_formula() -> None:
    values = [0.2, 0.4, 0.9]
    log = math.log(3.0 / (0.1 / (4 * 5)))
    expected = 0.5 + math.sqrt(2.0 * float(np.var(values)) * log / 3) + 3.0 * 2.0 * log / 3
    assert BernsteinMargin(delta=0.1, width=2.0).upper(_combined(values)) == pytest.approx(expected)


def _misses(rng: np.random.Generator, shrink: float, runs: int = 400, periods: int = 60) -> int:
    """Count runs in which the upper end is below the mean at any period at all."""
    values = rng.random((runs, periods)) ** 3
    totals, squares = np.cumsum(values, axis=1), np.cumsum(values**2, axis=1)
    count = np.arange(1, periods + 1)
    low = np.zeros(runs, dtype=bool)
    margin = BernsteinMargin(delta=0.2, width=1.0)
    for k in count.tolist():
        mean, variance = totals[:, k - 1] / k, np.maximum(squares[:, k - 1] / k - (totals[:, k - 1] / k) ** 2, 0.0)
        for run in np.flatnonzero(~low):
            combined = Combined(
                mean=float(mean[run]),
                count=k,
                steps=k,
                squared=False,
                window=1,
                weights=1.0,
                stretch=1.0,
                autocovariances=(float(variance[run]),),
                step_error=None,
            )
            low[run] = mean[run] + shrink * (margin.upper(combined) - mean[run]) < 0.25
    return int(low.sum())


@pytest.mark.statistical
def test_bernstein_covers_at_all_periods_at_once(rng: np.random.Generator) -> None:
    """Error budget: a binomial quantile of 400 runs at 0.2, 1e-6."""
    allowed = stats.binom.ppf(1 - 1e-6, 400, 0.2)
    assert _misses(rng, 1.0) <= allowed
    assert (
        _misses(rng, 0.05) > allowed
    )  # the control: bounds for every period at once are far from tight, but not that far


@pytest.mark.statistical
def test_the_standard_error_covers_about_as_often_as_stated(rng: np.random.Generator) -> None:
    """Error budget: one two-sided comparison at 4.9 standard errors of 1,500 runs, 1e-6."""
    runs, count = 1500, 60
    values = rng.random((runs, count))
    lows = sum(
        float(StandardErrorMargin(lags=0).upper(_combined(row.tolist(), RecentChange(window=count))) or 0.0) < 0.5
        for row in values
    )
    error = math.sqrt(0.05 * 0.95 * runs)
    assert (
        abs(lows - 0.05 * runs) < 4.9 * error + 0.01 * runs
    )  # a normal quantile for 60 values errs by under a hundredth


def test_parameters_are_refused_in_a_sentence() -> None:
    for make in (
        lambda: RootMargin(scale=-1.0),
        lambda: StandardErrorMargin(z=-1.0),
        lambda: StandardErrorMargin(lags=-1),
        lambda: BernsteinMargin(delta=1.0, width=1.0),
        lambda: BernsteinMargin(delta=0.1, width=0.0),
        lambda: TheoreticalMargin(diameter=0.0, m=1.0, G=1.0),
        lambda: TheoreticalMargin(diameter=1.0, m=1.0, G=1.0, slack=1.0),
    ):
        with pytest.raises(ParameterError, match=r"\(\w+=\.\.\.\) must be .*; got .*\.$"):
            make()
