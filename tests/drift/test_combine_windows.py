"""Changes that are bounded rather than constant: windows on top of real one-step estimates."""

import math

import numpy as np
import pytest
from scipy import stats

from driftpace.drift import DebiasedDifference, Direct, Drift, MeanChange, NoMargin, StandardErrorMargin, WindowedChange
from driftpace.records import Constants
from tests.reference.drift_simulation import estimates, sgd, simulate, uppers, values

KNOWN = Constants.given(m=1.0, M=1.0)
RHO = 1.0


@pytest.mark.statistical
@pytest.mark.parametrize("h", ["max", "mean"])
def test_windows_cover_the_largest_change_where_the_mean_does_not(h: str, rng: np.random.Generator) -> None:
    """rho_i ~ Unif[0, rho] in every run; debiased one-step estimates of 60 rows (theory 3.2).

    Error budget of a case: a binomial quantile, 1e-6, and one two-sided comparison at 4.9 standard errors of 40 runs,
    2e-5 (Student t).
    """
    runs, periods = 40, 30
    moves = RHO * rng.random((periods, runs))
    batches = simulate(rng, sgd(1.0, 4.0), runs=runs, samples=60, rho=moves, periods=periods)
    step, margin = DebiasedDifference(residuals="hc2"), StandardErrorMargin()
    windowed = estimates(Drift(one_step=step, combine=WindowedChange(window=3, h=h), margin=margin), batches, KNOWN)
    plain = estimates(Drift(one_step=step, combine=MeanChange(), margin=margin), batches, KNOWN)
    allowed = stats.binom.ppf(1 - 1e-6, runs, 0.1)
    assert (uppers(windowed) < RHO).sum() <= allowed
    assert (uppers(plain) < RHO).sum() > allowed  # the control: the mean of changes is not the largest change
    error = 4.9 * values(windowed).std(ddof=1) / math.sqrt(runs)
    assert abs(values(windowed).mean() - RHO) < error + 0.05 * RHO  # the root of a mean square leans down a little
    assert np.median(uppers(windowed)) < 1.5 * RHO


@pytest.mark.statistical
def test_the_largest_of_noisy_values_grows_with_the_window(rng: np.random.Generator) -> None:
    """No drift at all: the direct estimate has a floor, and its maximum over more periods a higher one (theory 3.2).

    Error budget: the gap is about 11 standard errors of 30 runs where 4.9 are asked for, 1e-6 (Student t).
    """
    runs = 30
    batches = simulate(rng, sgd(1.0, 4.0), runs=runs, samples=40, rho=0.0, periods=40)
    results = {
        window: values(
            estimates(
                Drift(one_step=Direct(), combine=WindowedChange(window=window), margin=NoMargin()), batches, KNOWN
            )
        )
        * window
        / (window + 1)
        for window in (3, 5, 12)
    }
    assert results[3].mean() < results[5].mean() < results[12].mean()
    gap = results[12].mean() - results[3].mean()
    assert gap > 4.9 * math.sqrt((results[3].var() + results[12].var()) / runs)
