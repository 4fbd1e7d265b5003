"""Features that a tracker cannot tell apart are named as the table names them."""

from typing import Any

import numpy as np
import pytest

from driftpace.backtest import backtest
from driftpace.backtest.naming import in_names
from driftpace.errors import DataError
from driftpace.losses import SquaredLoss
from driftpace.records import Verdict


def test_a_value_too_rare_to_be_bought_is_said_and_lived_with() -> None:
    rng = np.random.default_rng(0)
    x, rare = rng.normal(size=1200), np.zeros(1200)
    rare[::300] = 1.0  # one row in each period
    table = {"week": np.repeat(np.arange(4), 300), "x": x, "rare": rare, "y": x + rng.normal(size=1200)}
    settings: dict[str, Any] = {
        "period": "week",
        "target": "y",
        "epsilon": 0.1,
        "runs": 2,
        "workers": 1,
        "baselines": False,
    }
    result = backtest(table, **settings)
    verdicts = {one.name: one.verdict for one, _ in result.assumptions}
    assert verdicts["curvature"] is Verdict.FAIL
    assert np.isfinite(result.strategies[0].excess_risk).all()
    assert result.strategies[0].excess_risk.mean() < 0.2
    assert backtest(table, loss=SquaredLoss(l2=0.001), **settings).features == ("x", "rare")


def test_two_columns_and_the_intercept_are_named_and_other_sentences_are_left_alone() -> None:
    alike = "Tracker.tell(X=...) must have linearly independent columns when l2=0; over the 40 rows seen, {} cannot be told apart"
    with (
        pytest.raises(DataError, match=r"in 40 rows 'age' and the intercept did not: leave one of them out"),
        in_names(["age"]),
    ):
        raise DataError(alike.format("column 0 and the intercept"))
    with pytest.raises(DataError, match=r"^something else, column 0$"), in_names(["age"]):
        raise DataError("something else, column 0")
