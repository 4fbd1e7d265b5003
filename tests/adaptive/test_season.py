import math

import numpy as np
import pytest

from driftpace.adaptive import AdaptiveConfig, DesignRows, advance, first_state, judge
from driftpace.adaptive.audit import ErrorRecord
from driftpace.adaptive.bank import first_bank, predict, prediction_of
from driftpace.adaptive.season import first_season, with_season
from driftpace.adaptive.state import AdaptiveState
from driftpace.losses import SquaredLoss
from driftpace.typing import FloatArray

COLUMNS, CYCLE = 4, 6


def swing(period: int) -> FloatArray:
    """Return the best model of a period: a cycle of six periods whose swing costs far more than the target."""
    return np.array([0.0, 1.0, -0.5, 0.0]) + 1.5 * math.sin(2.0 * math.pi * period / CYCLE) * np.array([0.0, 0, 0, 1])


def rows_of(period: int, count: int, rng: np.random.Generator) -> DesignRows:
    X = np.column_stack([np.ones(count), rng.standard_normal((count, COLUMNS - 1))])
    return DesignRows(
        loss=SquaredLoss(), X=X, y=X @ swing(period) + rng.standard_normal(count), penalty=np.zeros(COLUMNS)
    )


def followed(season: int | None, periods: int, rng: np.random.Generator) -> AdaptiveState:
    config = AdaptiveConfig(epsilon=0.05, season=season)
    state = first_state(np.zeros(COLUMNS), True)
    for period in range(periods):
        rows = rows_of(period, 80, rng)
        state = advance(config, state, rows, judge(config, state, rows))
    return state


def error(state: AdaptiveState, season: int | None, period: int) -> float:
    """Return the excess risk of the prediction, before any row of the period."""
    none = DesignRows(loss=SquaredLoss(), X=np.zeros((0, COLUMNS)), y=np.zeros(0), penalty=np.zeros(COLUMNS))
    judged = judge(AdaptiveConfig(epsilon=0.05, season=season), state, none)
    gap = judged.model - swing(period)
    return 0.5 * float(gap @ gap)


def test_a_known_season_predicts_the_next_period(seed: int) -> None:
    """With the cycle the prediction of every period is off by less than with drift models alone; a wrong cycle is no such help.

    The swing moves by 0.28 on average, twenty standard errors of a fit: no chance is involved that 80 rows a period leave.
    """
    rng = np.random.default_rng(seed)
    errors = {}
    for season in (CYCLE, None, 5):
        state = followed(season, 24, np.random.default_rng(seed))
        errors[season] = error(state, season, 24)
        state = advance(
            AdaptiveConfig(epsilon=0.05, season=season),
            state,
            rows_of(24, 80, rng),
            judge(AdaptiveConfig(epsilon=0.05, season=season), state, rows_of(24, 80, rng)),
        )
        errors[season] += error(state, season, 25)
    assert errors[CYCLE] < 0.3 * errors[None]
    assert errors[5] > 3.0 * errors[CYCLE]


def test_odds_follow_the_evidence(seed: int) -> None:
    right = followed(CYCLE, 24, np.random.default_rng(seed)).season
    wrong = followed(5, 24, np.random.default_rng(seed)).season
    assert right is not None
    assert wrong is not None
    assert right.odds[1] > 2.0
    assert wrong.odds[1] < -2.0


def test_the_first_cycle_has_no_season(seed: int) -> None:
    plain = followed(None, CYCLE, np.random.default_rng(seed))
    seasonal = followed(CYCLE, CYCLE, np.random.default_rng(seed))
    np.testing.assert_array_equal(plain.model, seasonal.model)
    for one, other in zip(plain.banks, seasonal.banks, strict=True):
        np.testing.assert_array_equal(one.shares, other.shares)


@pytest.mark.parametrize("odds", [-3.0, 0.0, 3.0])
def test_components_of_the_season_have_its_share(odds: float) -> None:
    view = prediction_of(predict(first_bank(np.zeros(3), 0.1, 0.01)), 0.5)
    both = with_season(view, np.ones(3), ErrorRecord(), odds)
    assert both.shares[: both.seasonal].sum() == pytest.approx(1.0 / (1.0 + math.exp(-odds)))
    assert both.shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(both.shares[both.seasonal :] / both.shares[both.seasonal :].sum(), view.shares)


def test_a_place_of_the_cycle_is_remembered_after_its_first_period() -> None:
    season = first_season(3, 2, 1)
    assert season.remembered(0) is None
    assert season.length == 3
