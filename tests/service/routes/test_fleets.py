"""Fleets over REST: created, asked, filled by one file, paged, undone; tokens of one campaign reach only their own."""

from pathlib import Path
from typing import Any

import pytest

from driftpace import FleetCampaign
from driftpace.campaign.export_import import import_campaign
from driftpace.service import make_token
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.campaign.fleet.shops import DEFINITION, SHOPS, Market, bits, create, work
from tests.reference.serving import Serving

URL = "/api/campaigns/shops/fleet"


def as_csv(table: dict[str, Any]) -> str:
    lines = zip(*(list(values) for values in table.values()), strict=True)
    return "\n".join([",".join(table), *(",".join(map(str, line)) for line in lines)])


def deliver(served: Serving, table: dict[str, Any], **query: Any) -> Any:
    return served.client.post(
        f"{URL}/deliveries", content=as_csv(table), headers={"content-type": "text/csv"}, params=query
    )


def test_a_period_from_creation_to_undo(served: Serving) -> None:
    made = served.client.post("/api/campaigns", json={**DEFINITION, "segments": list(SHOPS)})
    assert (made.status_code, made.headers["location"]) == (201, "/api/campaigns/shops")
    assert made.json()["totals"]["segments"] == 3
    order = served.client.post(f"{URL}/orders", json={"key": "W1"}).json()
    assert (order["missing"], order["code"], order["totals"]["incomplete"]) == (30, 0, 3)
    assert served.client.post(f"{URL}/orders", json={"key": "W1"}).json() == order
    market = Market()
    missing = {row["segment"]: row["missing"] for row in served.client.get(f"{URL}/segments").json()["segments"]}
    rows = market.rows(missing)
    receipt = deliver(served, rows, final="false").json()
    assert (receipt["rows"], receipt["duplicate"], receipt["order"]["received"]) == (30, None, 30)
    assert deliver(served, rows, final="false").json()["duplicate"] is not None
    closed = served.client.post(f"{URL}/deliveries", params={"final": "true"}).json()
    assert closed["closed"]["key"] == "W1"
    assert served.client.get(f"{URL}/ledger").json()["periods"] == [closed["closed"]]
    undone = served.client.post(f"{URL}/undo", json={"period": 1, "reason": "more labels"}).json()
    assert (undone["kind"], undone["status"]["order"]["received"]) == ("closed", 30)
    kinds = [entry["kind"] for entry in served.client.get("/api/campaigns/shops/log").json()["entries"]]
    assert kinds[:2] == ["created", "added"]
    assert "saved" not in kinds
    assert served.client.get("/api/campaigns/shops/definition").json()["segment"] == "shop"
    listed = served.client.get("/api/campaigns").json()["campaigns"]
    assert [(one["name"], one["segments"]["segments"]) for one in listed] == [("shops", 3)]


def test_what_is_borrowed_and_targets_of_segments_are_settings(served: Serving) -> None:
    given = {**DEFINITION, "segments": list(SHOPS), "borrow": ["drift"], "epsilons": {"Rome": 0.3}}
    made = served.client.post("/api/campaigns", json=given)
    assert (made.status_code, made.json()["borrow"]) == (201, ["drift"])
    served.client.post(f"{URL}/orders", json={})
    rows = served.client.get(f"{URL}/segments", params={"sort": "segment"}).json()["segments"]
    assert [row["segment"] for row in rows] == sorted(SHOPS)
    kept = served.client.get("/api/campaigns/shops/definition").json()
    assert (kept["borrow"], kept["epsilons"]) == (["drift"], {"Rome": 0.3})
    refused = served.client.post("/api/campaigns", json={**given, "name": "b", "borrow": ["levels"]})
    assert refused.status_code == 422


def test_one_budget_is_shared_shown_and_added_to(served: Serving) -> None:
    budget = {"total": 40, "horizon": 3, "per_sample": "0.5", "currency": "EUR", "weights": {"Rome": 2.0}}
    given = {**DEFINITION, "segments": list(SHOPS), "budget": {**budget, "costs": {"Oslo": {"per_sample": 1}}}}
    assert served.client.post("/api/campaigns", json=given).json()["money_left"] == {"amount": "40", "currency": "EUR"}
    order = served.client.post(f"{URL}/orders", json={}).json()
    assert (order["cost"], order["share"]["enough"]) == ({"amount": "20.0", "currency": "EUR"}, True)
    deliver(served, Market().rows(dict.fromkeys(SHOPS, 10)), final="true")
    period = served.client.get(f"{URL}/ledger").json()["periods"][0]
    assert (period["cost"]["amount"], period["money_left"]["amount"]) == ("20.0", "20.0")
    added = served.client.post(f"{URL}/budget", json={"money": 5, "periods": 1, "reason": "more", "order_price": 1})
    assert (added.status_code, added.json()["money_left"]["amount"]) == (200, "25.0")
    rows = served.client.get(f"{URL}/segments", params={"sort": "spent", "descending": "true"}).json()["segments"]
    assert (rows[0]["segment"], rows[0]["spent"]) == ("Oslo", 10.0)
    for body in ({"money": 5, "reason": "x", "tiers": [[1, 2]]}, {"money": 5}, {"money": "much", "reason": "x"}):
        assert served.client.post(f"{URL}/budget", json=body).status_code == 422
    refused = served.client.post("/api/campaigns", json={**given, "name": "b", "segment": None, "segments": None})
    assert "must be a setting of a budget" in refused.json()["error"]["message"]


def test_rows_are_drawn_from_a_pool_and_predicted(store: Store, served: Serving) -> None:
    campaign, market = create(store, id="id"), Market()
    pool = {
        name: values for name, values in market.rows(dict.fromkeys((*SHOPS, "Bari"), 20)).items() if name != "sales"
    }
    table: dict[str, Any] = {"content": as_csv(pool), "headers": {"content-type": "text/csv"}}
    assert served.client.post(f"{URL}/sample", **table).status_code == 409
    served.client.post(f"{URL}/orders", json={"key": "W1"})
    drawn = served.client.post(f"{URL}/sample", **table).json()
    assert {name: len(ids) for name, ids in drawn["ids"].items()} == dict.fromkeys((*SHOPS, "Bari"), 10)
    assert (drawn["new"], drawn["short"], drawn["pool_rows"], len(drawn["rows"])) == (40, {}, 80, 40)
    assert set(drawn["rows"][0]) == {"id", "shop", "price"}
    again = served.client.post(f"{URL}/sample", **table).json()
    assert (again["new"], again["ids"]) == (0, drawn["ids"])
    assert served.client.post(f"{URL}/predictions", **table).status_code == 409
    deliver(served, market.rows(dict.fromkeys((*SHOPS, "Bari"), 10)), final="true")
    made = served.client.post(f"{URL}/predictions", **table).json()
    assert made["predictions"] == FleetCampaign.open("shops", storage=store).predict_table(pool).values
    for what in ("sample", "predictions"):
        assert served.client.post(f"{URL}/{what}").status_code == 422
        arrays = served.client.post(f"{URL}/{what}", json={"X": [[1.0]], "y": [1.0]})
        assert "must be a table with the column of segments" in arrays.json()["error"]["message"]
    assert campaign.name == "shops"


def test_a_fleet_is_exported(store: Store, served: Serving, tmp_path: Path) -> None:
    campaign = create(store)
    work(campaign, Market(), "W1")
    (tmp_path / "file").write_bytes(served.client.get("/api/campaigns/shops/export").content)
    copy = import_campaign(tmp_path / "file", storage=MemoryStore())
    assert isinstance(copy, FleetCampaign)
    assert bits(copy) == bits(campaign)


def test_rows_in_another_unit_are_set_aside_and_can_be_accepted(store: Store, served: Serving) -> None:
    campaign, market = create(store), Market()
    work(campaign, market, "W1")
    campaign.ask(key="W2")
    rows = market.rows(dict.fromkeys(SHOPS, 8))
    rows = {**rows, "sales": [sale * (1000.0 if place < 8 else 1.0) for place, sale in enumerate(rows["sales"])]}
    receipt = deliver(served, rows, final="false").json()
    assert (receipt["rows"], list(receipt["rejected"]), receipt["without"], receipt["doubled"]) == (
        16,
        [SHOPS[0]],
        {},
        {},
    )
    receipt = deliver(served, rows, final="false", accept=list(SHOPS[:2])).json()
    assert (receipt["rows"], receipt["rejected"], receipt["duplicate"]) == (8, {}, None)


def test_segments_come_in_pages_sorted_and_filtered(store: Store, served: Serving) -> None:
    names = tuple(f"shop {place:02d}" for place in range(25))
    campaign, market = create(store, segments=names), Market()
    campaign.ask()
    campaign.tell(market.rows(dict.fromkeys(names[:5], 10)), final=False)
    query: dict[str, Any] = {"sort": "received", "descending": "true", "limit": 10}
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = served.client.get(f"{URL}/segments", params={**query, "offset": offset}).json()
        assert page["total"] == 25
        seen += [row["segment"] for row in page["segments"]]
        offset = page["next"]
    assert sorted(seen) == sorted(names)
    assert set(seen[:5]) == set(names[:5])
    found = served.client.get(f"{URL}/segments", params={"search": "SHOP 1", "show": "missing"}).json()
    assert [row["segment"] for row in found["segments"]] == [f"shop 1{place}" for place in range(10)]
    assert served.client.get(f"{URL}/segments", params={"sort": "colour"}).status_code == 422
    assert served.client.get(f"{URL}/segments", params={"offset": 99}).json() == {
        "segments": [],
        "total": 25,
        "next": None,
    }


def test_one_segment_has_its_model_and_its_periods(store: Store, served: Serving) -> None:
    campaign, market = create(store, segments=("Oslo", "a/b")), Market()
    work(campaign, market, "W1")
    campaign.ask(key="W2")
    detail = served.client.get(f"{URL}/segments/a%2Fb").json()
    assert [period["samples"] for period in detail["periods"]] == [campaign.segments["a/b"].rows]
    assert detail["coefficients"]["price"] == pytest.approx(campaign.segment("a/b").coef[0])
    assert "target" in detail["reason"]
    assert len(detail["trail"]) == 1
    missing = served.client.get(f"{URL}/segments/Bari")
    assert (missing.status_code, missing.json()["error"]["parameter"]) == (422, "segment")


@pytest.mark.parametrize("path", ["", "/orders/current", "/reports", "/ledger", "/report"])
def test_routes_of_one_model_refuse_a_fleet(store: Store, served: Serving, path: str) -> None:
    create(store)
    answer = served.client.get(f"/api/campaigns/shops{path}")
    assert answer.status_code == 422
    assert "must be a campaign of one model; 'shops' follows segments" in answer.json()["error"]["message"]


def test_what_cannot_be_is_refused_in_one_sentence(store: Store, served: Serving) -> None:
    refused = served.client.post("/api/campaigns", json={**DEFINITION, "splines": True})
    assert (refused.status_code, refused.json()["error"]["parameter"]) == (422, "splines")
    refused = served.client.post("/api/campaigns", json={"name": "a", "target": "y", "epsilon": 1.0, "segments": ["x"]})
    assert refused.json()["error"]["parameter"] == "segments"
    create(store)
    assert served.client.get("/api/campaigns/nosuch/fleet").status_code == 404
    assert deliver(served, {"shop": ["Oslo"], "price": [1], "sales": [2]}).status_code == 409
    arrays = served.client.post(f"{URL}/deliveries", json={"X": [[1.0]], "y": [1.0]})
    assert "must be a table with the column of segments" in arrays.json()["error"]["message"]
    assert served.client.post(f"{URL}/deliveries").status_code == 422


def test_a_refused_file_is_noted(store: Store, served: Serving) -> None:
    create(store)
    served.client.post(f"{URL}/orders", json={})
    assert deliver(served, {"price": [1], "sales": [2]}).status_code == 422
    refusals = served.client.get("/api/campaigns/shops/refusals").json()["refusals"]
    assert "must have the column 'shop'" in refusals[0]["sentence"]


def test_metrics_count_segments_and_name_none(store: Store, served: Serving) -> None:
    campaign, market = create(store), Market()
    order = campaign.ask()
    rows = market.rows(order.segments.missing)
    campaign.tell({**rows, "sales": ["much"] * 10 + list(rows["sales"][10:])}, final=True)
    campaign.ask()
    text = served.client.get("/metrics").text
    assert 'driftpace_fleet_segments{fleet="shops",which="all"} 3.0' in text
    assert 'driftpace_fleet_segments{fleet="shops",which="set_aside"} 1.0' in text
    missing = FleetCampaign.open("shops", storage=store).segments.totals().missing
    assert f'driftpace_fleet_rows_missing{{fleet="shops"}} {float(missing)}' in text
    assert "Oslo" not in text


def test_tokens_of_another_campaign_do_not_reach_a_fleet(store: Store, served: Serving) -> None:
    create(store)
    desk = make_token(store, name="desk", scopes=("read", "label"), campaigns=("other",))
    own = make_token(store, name="own", scopes=("read", "label"), campaigns=("shops",))
    for token, expected in ((desk, 403), (own, 200)):
        headers = {"authorization": f"Bearer {token}"}
        assert served.client.get(URL, headers=headers).status_code == expected
    headers = {"authorization": f"Bearer {own}"}
    assert served.client.post(f"{URL}/orders", json={}, headers=headers).status_code == 403
