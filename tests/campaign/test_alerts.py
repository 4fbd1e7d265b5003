"""Alerts, from the heads of real campaigns and from summaries."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from driftpace.campaign.alerts import AlertRules, find_alerts
from driftpace.errors import ParameterError
from driftpace.records import Assumption, Verdict
from driftpace.storage import MemoryStore
from driftpace.storage.base import Head
from tests.reference.periods import begun, run_periods

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def head(*, days: float = 0.0, **summary: Any) -> Head:
    at = (NOW - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Head(name="churn", seq=1, summary={"period": 3, **summary}, created_at=at, updated_at=at)


def kinds(one: Head, **rules: Any) -> list[str]:
    return [alert.kind for alert in find_alerts([one], AlertRules(**rules), now=NOW)]


def test_an_order_is_overdue_after_some_days_without_a_delivery() -> None:
    assert kinds(head(missing=4, days=7.1)) == ["overdue"]
    assert kinds(head(missing=4, days=6.9)) == kinds(head(missing=0, days=99.0)) == []
    assert kinds(head(missing=4, days=2.0), overdue_days=1.5) == ["overdue"]


@pytest.mark.parametrize(
    ("left", "found"), [("9 EUR", ["money"]), ("10 EUR", []), ("0 EUR", ["money"]), ("1,000.5 EUR", [])]
)
def test_money_is_nearly_spent_below_a_share(left: str, found: list[str]) -> None:
    assert kinds(head(money_left=left, spent="80 EUR", committed="10 EUR")) == found


def test_campaigns_without_a_budget_have_no_alert_of_money() -> None:
    assert kinds(head(money_left=None, spent=None, committed=None)) == []


def test_a_target_that_is_not_supported_is_an_alert() -> None:
    (alert,) = find_alerts([head(failed=True, todo="Label 3 rows.", failure="tails: they are heavy.")], now=NOW)
    assert (alert.kind, alert.key) == ("unsupported", "churn/3/unsupported")
    assert alert.sentence == "The target of period 3 is not supported: tails: they are heavy."
    (alert,) = find_alerts([head(failed=True, todo="", segments={"failed": 2})], now=NOW)
    assert alert.sentence == "The target of period 3 is not supported: a check failed in 2 segments."


def test_an_alert_says_which_check_failed() -> None:
    order = begun(MemoryStore(), "fails").ask()
    checks = (
        Assumption(name="tails", verdict=Verdict.WARN, sentence="they are rather heavy."),
        Assumption(name="target", verdict=Verdict.FAIL, sentence="it is constant."),
    )
    assert order.failure is None
    failed = replace(order, request=replace(order.request, assumptions=checks))
    assert (failed.code, failed.failure) == (30, "target: it is constant.")
    assert replace(failed, closed=True).failure is None


def test_real_campaigns_have_the_alerts_of_their_state() -> None:
    store = MemoryStore()
    begun(store, "waits").ask()
    spending = begun(store, "spends", budget={"total": 400, "horizon": 4, "per_sample": 1})
    run_periods(spending, np.random.default_rng(0), 4)
    begun(store, "fresh")
    later = datetime.now(UTC) + timedelta(days=30)
    found = {alert.campaign: alert for alert in find_alerts(store.heads(), now=later)}
    status = spending.status()
    assert found["waits"].kind == "overdue"
    assert "misses" in found["waits"].sentence
    assert status.money_left is not None
    nearly = float(status.money_left.amount) < 40
    assert ("spends" in found and found["spends"].kind == "money") is nearly
    assert "fresh" not in found


@pytest.mark.parametrize(("name", "value"), [("overdue_days", 0.0), ("money_share", 1.5)])
def test_rules_are_refused_in_a_sentence(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=name):
        AlertRules(**{name: value})
