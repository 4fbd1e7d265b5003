"""What words count as that a campaign does not list, over REST."""

import httpx
import pytest

from driftpace.service.auth import make_token
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, serving

PLACE = "/api/campaigns/rents/amend"
SAID = {"unknown_categories": {"city": "Milan"}, "reason": "a new shop"}
CITIES = {"features": ["size", "city"], "categories": {"city": ["Rome", "Milan"]}}
ROWS = b"size,city,y\n" + b"".join(
    f"{one},{('Rome', 'Milan', 'Bari')[one % 3]},{one % 7}\n".encode() for one in range(30)
)


def test_unseen_categories_count_as_an_amendment_says(served: Serving, store: Store) -> None:
    campaign = begun(store, "rents", **CITIES)
    campaign.ask()
    deliveries = {"url": "/api/campaigns/rents/deliveries", "content": ROWS, "headers": {"Content-Type": "text/csv"}}
    answer = served.client.post(PLACE, json=SAID)
    assert answer.status_code == 200
    assert answer.json() == served.client.get("/api/campaigns/rents").json()
    assert served.client.post(PLACE, json=SAID).json() == answer.json()
    assert [entry.kind for entry in campaign.log()] == ["created", "asked", "amended"]
    assert campaign.log()[2].body["who"] == "local"
    assert served.client.get("/api/campaigns/rents/definition").json()["unknown_categories"] == {"city": "Milan"}
    counted = [{"column": "city", "category": "Milan", "rows": 10, "distinct": 1, "examples": ["Bari"]}]
    told = served.client.post(**deliveries, params={"final": "true"})  # type: ignore[arg-type]
    assert told.json()["unknown_categories"] == counted
    said = served.client.post(
        "/api/campaigns/rents/predictions", content=ROWS, headers={"Content-Type": "text/csv"}
    ).json()
    assert said["unknown_categories"] == counted
    logged = served.client.get("/api/campaigns/rents/log").json()["entries"]
    assert [entry["unknown_categories"] for entry in logged if entry["kind"] == "delivered"] == [counted]


def test_definitions_can_map_unseen_categories(served: Serving) -> None:
    values = {"name": "rents", "target": "y", "epsilon": 0.1, **CITIES, "unknown_categories": {"city": "Rome"}}
    assert served.client.post("/api/campaigns", json=values).status_code == 201
    assert served.client.get("/api/campaigns/rents/definition").json()["unknown_categories"] == {"city": "Rome"}
    wrong = served.client.post("/api/campaigns", json={**values, "name": "b", "unknown_categories": {"city": "Bari"}})
    assert wrong.status_code == 422
    assert "must be one of ['Rome', 'Milan'] for 'city'; got 'Bari'" in wrong.json()["error"]["message"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"unknown_categories": {"town": "Milan"}}, "must be columns in categories; got 'town': there is city"),
        ({"unknown_categories": {"city": "Bari"}}, "must be one of ['Rome', 'Milan'] for 'city'; got 'Bari'"),
        ({"unknown_categories": {}}, "unknown_categories"),
        ({"unknown_categories": "city=Milan"}, "unknown_categories"),
        ({"reason": ""}, "reason"),
        ({"reason": " "}, "reason"),
        ({"more": 1}, "more"),
    ],
)
def test_invalid_requests_are_refused_and_change_nothing(
    served: Serving, store: Store, more: dict[str, object], sentence: str
) -> None:
    campaign = begun(store, "rents", **CITIES)
    before = campaign.log()
    answer = served.client.post(PLACE, json={**SAID, **more})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]["message"]
    assert campaign.log() == before


def test_read_tokens_cannot_amend(store: Store) -> None:
    begun(store, "rents", **CITIES)
    reads = make_token(store, "reads", ["read"])
    with serving(store, host="0.0.0.0") as afar:
        headers = {"Authorization": f"Bearer {reads}"}
        with httpx.Client(base_url=afar.url, headers=headers, trust_env=False) as client:
            assert client.post(PLACE, json=SAID).status_code == 403
            assert client.get("/api/campaigns/rents").json()["entries"] == 1
