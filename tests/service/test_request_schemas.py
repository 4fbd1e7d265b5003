"""What the schemas of requests take and refuse."""

from typing import Any

import pytest

from driftpace.service.request_schemas import AmendRequest, DefinitionRequest, UndoRequest
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving

PATH = "/api/campaigns/churn"


@pytest.fixture
def asked(served: Serving, store: Store) -> Serving:
    begun(store, "churn").ask()
    return served


@pytest.mark.parametrize("limit", ["1_0", "+1", " 1", "\uff11", "\u0663", "1.5", "", "1e1", "true", "9" * 30])
def test_numbers_in_addresses_are_plain_digits(asked: Serving, limit: str) -> None:
    answer = asked.client.get(f"{PATH}/reports", params={"limit": limit})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("query(limit=...) must be an integer; got ")


@pytest.mark.parametrize(("limit", "status"), [("1", 200), ("01", 200), ("2.0", 200), ("-1", 422), ("0", 422)])
def test_numbers_in_addresses_are_within_their_limits(asked: Serving, limit: str, status: int) -> None:
    assert asked.client.get(f"{PATH}/log", params={"limit": limit}).status_code == status


def test_whole_numbers_may_have_a_point(asked: Serving) -> None:
    answer = asked.client.post(
        f"{PATH}/orders/current/override", json={"samples": 25.0, "reason": "why", "period": 1.0}
    )
    assert (answer.status_code, answer.json()["samples"]) == (200, 25)
    for samples in (25.5, True, "25", "\uff12"):
        answer = asked.client.post(f"{PATH}/orders/current/override", json={"samples": samples, "reason": "why"})
        assert answer.json()["error"]["message"].startswith("body(samples=...) must be an integer; got ")


@pytest.mark.parametrize("reason", [" ", "\n", "a\x00", "\x1b[31m", "\u00a0"])
def test_reasons_are_refused_by_their_schema(asked: Serving, reason: str) -> None:
    answer = asked.client.post(f"{PATH}/orders/current/override", json={"samples": 25, "reason": reason})
    assert answer.status_code == 422
    assert "body(reason=...) must be a reason: text without control characters; " in answer.json()["error"]["message"]


def test_prices_of_tiers_begin_at_whole_rows(asked: Serving) -> None:
    good = {"horizon": 4, "tiers": [[1, 2.5], [10.0, "1.50"]], "minimum": 3.0}
    assert asked.client.post(f"{PATH}/plans", json=good).status_code != 422
    for tier in ([0, 1], [1.5, 1], [1], [1, 2, 3], {"1": 2}, "12"):
        answer = asked.client.post(f"{PATH}/plans", json={"horizon": 4, "tiers": [tier]})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


def _options(model: Any, key: str) -> list[str]:
    return [option["required"][0] for option in model.model_json_schema()[key]]


def test_the_description_says_which_names_exclude_each_other() -> None:
    assert _options(DefinitionRequest, "oneOf") == ["epsilon", "tolerance", "metric"]
    assert _options(UndoRequest, "oneOf") == ["entry", "delivery", "period"]
    assert _options(AmendRequest, "anyOf") == ["unknown_categories", "new_classes"]
