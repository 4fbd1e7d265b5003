"""The excess risk on held-out rows is that in the world, where the best model of a table's rows is itself uncertain."""

import numpy as np
import pytest

from driftpace.backtest import replay
from driftpace.backtest.population import find_population
from driftpace.losses import SquaredLoss
from tests.backtest.panels import panel_of

PERIODS, ROWS, FEATURES, TABLES = 10, 60, 5, 40


def _estimates() -> np.ndarray:
    """Return, for each table, excess risks of fresh fits of 4/5 of the rows: on all rows, on held-out rows, in the world.

    The world is y = noise with x standard normal and coefficients that are known to be 0, so that the excess risk of w in the
    world is |w|^2/2 with its intercept, and a fit of K rows has about 0.5 (d + 1)/K.
    """
    found = []
    for seed in range(TABLES):
        rng = np.random.default_rng([seed, 5])
        X = [rng.normal(size=(ROWS, FEATURES)) for _ in range(PERIODS)]
        y = [rng.normal(size=ROWS) for _ in range(PERIODS)]
        result = replay(
            panel_of(X, y), loss=SquaredLoss(), epsilon=1e-4, runs=1, seed=seed, workers=1, baselines=["from_scratch"]
        )
        (scratch,) = [one for one in result.strategies if one.name == "from_scratch"]
        assert scratch.held_out_risk is not None
        assert (scratch.samples == ROWS * 4 // 5).all()
        found.append((scratch.excess_risk.mean(), scratch.held_out_risk.mean()))
    return np.array(found)


def test_held_out_rows_measure_the_world_and_all_rows_do_not() -> None:
    """Mean over 40 tables of 10 periods; allowed are four standard errors, which chance exceeds once in 16,000 runs.

    A fit of 48 normal rows with six coefficients has about 6/(2 (48 - 6 - 1)) on average in the world. All rows of
    the table say less than half of it: that is the control.
    """
    all_rows, held_out = _estimates().T
    truth = (FEATURES + 1) / (2.0 * (48 - FEATURES - 2))
    error = held_out.std(ddof=1) / np.sqrt(TABLES)
    assert held_out.mean() == pytest.approx(truth, abs=4.0 * error)
    assert 4.0 * error < 0.5 * truth
    assert all_rows.mean() < 0.5 * truth


def test_groups_make_the_best_model_less_certain(rng: np.random.Generator) -> None:
    X, groups = rng.normal(size=(40, 2)).repeat(5, axis=0), np.arange(40).repeat(5)
    y = rng.normal(size=40).repeat(5)
    alone = find_population("1", SquaredLoss(), X, y)
    together = find_population("1", SquaredLoss(), X, y, groups)
    assert together.noise == alone.noise
    assert together.model_error == pytest.approx(5.0 * alone.model_error, rel=0.05)
