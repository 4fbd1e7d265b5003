"""A plan as plain values: nothing is lost, amounts stay exact, and the result is JSON."""

import json
import math
from dataclasses import replace

import pytest

from driftpace.planning import TradeOff
from driftpace.records import Money, Plan

PLAN = Plan(
    first_period=7,
    samples=(10, 0, 3),
    costs=(Money.of("15.50", "EUR"), Money.of(0, "EUR"), Money.of("0.10", "EUR")),
    risks=(0.1, 0.25, 0.05),
    gaps=(0.0, 0.15, 0.0),
    epsilon=0.1,
    budget=Money.of("1000000000000000", "EUR"),
    goal="mean gap",
    value=0.05,
    lower=0.04,
    method="exact",
    reason="an example",
    price=0.001,
)


def test_every_field_is_there() -> None:
    body = PLAN.to_dict()
    for name in ("first_period", "horizon", "epsilon", "goal", "value", "lower", "method", "reason", "price", "holds"):
        assert body[name] == getattr(PLAN, name), name
    assert (body["kind"], body["schema"], body["currency"]) == ("driftpace.plan", 1, "EUR")
    assert (body["samples"], body["largest_risk"]) == (13, 0.25)
    assert body["proven_gap"] == pytest.approx(0.2)
    assert [each["period"] for each in body["periods"]] == [7, 8, 9]
    assert tuple(each["samples"] for each in body["periods"]) == PLAN.samples
    assert tuple(each["risk_bound"] for each in body["periods"]) == PLAN.risks
    assert tuple(each["gap"] for each in body["periods"]) == PLAN.gaps


def test_amounts_are_exact_decimals() -> None:
    body = PLAN.to_dict()
    assert body["budget"] == "1000000000000000"
    assert body["spent"] == "15.6"
    assert body["left"] == "999999999999984.4"  # which no float of 64 bits is
    assert [each["cost"] for each in body["periods"]] == ["15.5", "0", "0.1"]
    assert [each["left"] for each in body["periods"]] == ["999999999999984.5", "999999999999984.5", "999999999999984.4"]


def test_money_that_was_overdrawn_is_negative() -> None:
    assert replace(PLAN, budget=Money.of(5, "EUR")).to_dict()["left"] == "-10.6"


def test_what_is_not_finite_is_null_and_the_whole_is_json() -> None:
    body = replace(PLAN, risks=(math.inf, 0.2, 0.1), value=math.inf, price=None).to_dict()
    text = json.dumps(body, allow_nan=False)
    assert json.loads(text) == body
    assert body["periods"][0]["risk_bound"] is None
    assert body["value"] is None
    assert body["price"] is None


def test_a_point_of_the_curve() -> None:
    point = TradeOff(budget=Money.of("70.40", "EUR"), epsilon=0.2, lower=0.19)
    assert point.to_dict() == {"budget": "70.4", "epsilon": 0.2, "lower": 0.19}
