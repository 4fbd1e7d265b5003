"""Erase rows and archive campaigns over REST: answers, refusals, lists, and the pages of an archived campaign."""

from collections.abc import Iterator

import httpx
import numpy as np
import pytest

from driftpace.campaign import Campaign, FleetCampaign
from driftpace.campaign.alerts import find_alerts
from driftpace.service.metrics import all_heads
from driftpace.storage import Store
from tests.reference.serving import Serving, serving

HERE = "/api/campaigns/prices"


@pytest.fixture
def served(store: Store) -> Iterator[Serving]:
    with serving(store, dashboard=True) as running:
        yield running


@pytest.fixture
def prices(store: Store) -> Campaign:
    campaign = Campaign.create({"name": "prices", "epsilon": 0.1, "seed": 0}, storage=store)
    for period in (1, 2):
        campaign.ask(key=f"P{period}")
        X = np.random.default_rng(period).normal(size=(12, 2))
        campaign.tell(X, X[:, 0], ids=[f"{period}-{place}" for place in range(12)], final=True)
    campaign.ask(key="P3")
    return campaign


def page_of(served: Serving, path: str) -> str:
    """Return a page as a visitor without a session sees it."""
    return httpx.get(f"http://127.0.0.1:{served.port}{path}").text


def test_rows_are_erased_by_their_ids(served: Serving, prices: Campaign) -> None:
    body = {"ids": ["1-3", "stranger"], "reason": "request of a person"}
    would = served.client.post(f"{HERE}/erase", json={**body, "dry_run": True}).json()
    assert prices.log(kinds=["erased"]) == ()
    done = served.client.post(f"{HERE}/erase", json=body).json()
    assert (done["rows"], done["periods"], done["settled"], done["missing"]) == (1, [1], 1, ["stranger"])
    assert would == done
    (entry,) = served.client.get(f"{HERE}/log?after={done['entry'] - 1}").json()["entries"]
    assert (entry["kind"], entry["rows"], entry["reason"]) == ("erased", 1, "request of a person")
    assert "erased" not in entry
    assert served.client.post(f"{HERE}/erase", json=body).json()["entry"] is None
    assert served.client.post(f"{HERE}/erase", json={"before": "P2", "reason": "r"}).json()["rows"] == 11
    assert served.client.post(f"{HERE}/erase", json={"older_than": 30, "reason": "r"}).json()["entry"] is None


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"reason": "r"}, 422, "must be given alone, or before, or older_than; got none of them"),
        ({"ids": ["1-1"], "before": 2, "reason": "r"}, 422, "got 2 of them"),
        ({"before": "P9", "reason": "r"}, 422, "must be the key of a period, or a number from 1 to 3; got 'P9'"),
        ({"ids": ["1-1"]}, 422, "reason"),
        ({"ids": [], "reason": "r"}, 422, "ids"),
        ({"ids": ["3-0"], "reason": "r"}, 409, "which is open, cannot be erased"),
    ],
)
def test_bad_erasures_are_refused(
    served: Serving, prices: Campaign, body: dict[str, object], status: int, message: str
) -> None:
    prices.tell(np.eye(2), [1.0, 0.0], ids=["3-0", "3-1"], final=False)
    entries = len(prices.log())
    refused = served.client.post(f"{HERE}/erase", json=body)
    assert (refused.status_code, len(prices.log())) == (status, entries)
    assert message in refused.json()["error"]["message"]


def test_an_archived_campaign_is_read_and_not_changed(served: Serving, store: Store, prices: Campaign) -> None:
    status = served.client.post(f"{HERE}/archive", json={"reason": "replaced"}).json()
    assert (status["archived"], status["todo"]) == (True, "Archived: it can be read, and opened again.")
    assert served.client.get("/api/campaigns").json() == {"campaigns": [], "total": 0, "next": None}
    (listed,) = served.client.get("/api/campaigns?archived=true").json()["campaigns"]
    assert (listed["name"], listed["archived"]) == ("prices", True)
    refused = served.client.post(f"{HERE}/orders/current/override", json={"samples": 3, "reason": "r"})
    assert refused.status_code == 409
    assert refused.json()["error"]["message"] == (
        "campaign 'prices' is archived and can only be read; driftpace archive prices --undo opens it."
    )
    for place in ("", "/reports", "/log", "/orders/current", "/ledger", "/definition"):
        assert served.client.get(f"{HERE}{place}").status_code == 200
    page = page_of(served, "/campaigns/prices")
    assert "Archived: it can be read, and opened again." in page
    assert "driftpace archive prices --undo" in page
    for button in ("open-upload", "open-override", "open-undo", "read-only; uploading"):
        assert button not in page
    assert 'href="/campaigns/prices"' not in page_of(served, "/")
    assert 'href="/campaigns/prices"' in page_of(served, "/?show=archived")
    assert "?show=archived" in page_of(served, "/")
    assert all_heads(store) == []
    assert find_alerts(store.heads()) == []
    opened = served.client.post(f"{HERE}/unarchive", json={}).json()
    assert (opened["archived"], opened["stage"]) == (False, "labels")
    assert "open-override" in page_of(served, "/campaigns/prices")
    assert served.client.post(f"{HERE}/orders/current/override", json={"samples": 3, "reason": "r"}).status_code == 200


def test_a_fleet_is_archived_and_its_rows_are_not_erased(served: Serving, store: Store) -> None:
    definition = {"name": "shops", "segment": "shop", "target": "y", "features": ["x"], "epsilon": 0.1, "seed": 0}
    FleetCampaign.create(definition, storage=store, segments=["a"])
    assert served.client.post("/api/campaigns/shops/archive", json={"reason": "over"}).json()["archived"] is True
    assert served.client.get("/api/campaigns/shops/fleet").json()["archived"] is True
    refused = served.client.post("/api/campaigns/shops/fleet/orders", json={})
    assert (refused.status_code, "is archived" in refused.json()["error"]["message"]) == (409, True)
    assert "Archived: it can be read" in page_of(served, "/campaigns/shops")
    refused = served.client.post("/api/campaigns/shops/erase", json={"ids": ["1"], "reason": "r"})
    assert 400 <= refused.status_code < 500
    assert served.client.post("/api/campaigns/shops/unarchive", json={}).json()["archived"] is False
