"""What is written is read back, and what was not written is refused."""

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from driftpace.backtest import BacktestResult, from_json, replay, to_json
from driftpace.errors import DataError
from tests.backtest.panels import classes_panel, drifting_panel
from tests.backtest.plain_tracker import plain_tracker


@pytest.fixture(scope="module", params=["numbers", "classes"])
def result(request: pytest.FixtureRequest) -> BacktestResult:
    panel = drifting_panel(periods=4) if request.param == "numbers" else classes_panel(periods=4)
    return replay(panel, epsilon=0.05, runs=2, workers=1, tracker=plain_tracker, currency="kr")


def test_everything_comes_back(result: BacktestResult) -> None:
    again = from_json(to_json(result))
    assert to_json(again) == to_json(result)
    for field in fields(result):
        if field.name not in ("strategies", "ledger", "checks", "movement"):  # the two last: test_breach.py
            assert getattr(again, field.name) == getattr(result, field.name)
    for before, after in zip(result.strategies, again.strategies, strict=True):
        assert (before.name, before.title, before.note) == (after.name, after.title, after.note)
        np.testing.assert_array_equal(before.samples, after.samples)
        np.testing.assert_array_equal(before.excess_risk, after.excess_risk)
        np.testing.assert_array_equal(before.test_loss, after.test_loss)
        assert (before.auc is None) == (after.auc is None)
    np.testing.assert_array_equal(again.ledger.drift, result.ledger.drift)


def test_keys_come_in_a_fixed_order_and_numbers_are_finite_or_null(result: BacktestResult) -> None:
    endless = replace(result, ledger=replace(result.ledger, risk_bound=np.full((2, 4), math.inf)))
    body = json.loads(to_json(endless), parse_constant=pytest.fail)
    assert list(body)[:3] == ["schema", "kind", "table"]
    assert list(body)[2:] == [field.name for field in fields(BacktestResult)]
    assert body["ledger"]["risk_bound"] == [[None] * 4] * 2
    assert np.isnan(from_json(to_json(endless)).ledger.risk_bound).all()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind": "other"}'])
def test_other_text_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(DataError, match="must be the output of to_json"):
        from_json(text)


def test_a_later_schema_and_a_missing_part_are_refused(result: BacktestResult) -> None:
    body = json.loads(to_json(result))
    with pytest.raises(DataError, match="must have schema 1; got 2"):
        from_json(json.dumps(body | {"schema": 2}))
    del body["ledger"]
    with pytest.raises(DataError, match="'ledger'"):
        from_json(json.dumps(body))
