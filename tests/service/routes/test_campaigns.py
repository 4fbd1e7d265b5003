"""The loop over REST gives what the loop in Python gives; and what comes out of order is refused in a sentence."""

import gzip
import json
import threading
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import entry_json, ledger_json, order_json, plan_json, status_json
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.reference.periods import as_csv, begun, rows, run_periods
from tests.reference.serving import Serving

CSV = {"Content-Type": "text/csv"}
DEFINITION = {"name": "churn", "target": "y", "epsilon": 0.1, "seed": 0}


def timeless(value: Any) -> Any:
    """Return an answer without what no two runs share."""
    if isinstance(value, dict):
        return {
            name: timeless(one)
            for name, one in value.items()
            if name not in ("seconds", "at", "created_at", "updated_at", "closed_at", "who", "source", "sha256")
        }
    return [timeless(one) for one in value] if isinstance(value, list) else value


def test_the_loop_over_rest_equals_the_loop_in_python(served: Serving, rng: np.random.Generator) -> None:
    client = served.client
    plain = Campaign.create(DEFINITION, storage=MemoryStore())
    begin = client.post("/api/campaigns", json=DEFINITION)
    assert begin.status_code == 201
    assert begin.headers["Location"] == "/api/campaigns/churn"
    assert timeless(begin.json()) == timeless(status_json(plain.status()))
    for period in range(1, 4):
        order = plain.ask(key=f"W{period}")
        answer = client.post("/api/campaigns/churn/orders", json={"key": f"W{period}"})
        assert timeless(answer.json()) == timeless(order_json(order))
        assert timeless(client.get("/api/campaigns/churn/orders/current").json()) == timeless(order_json(order))
        while True:
            X, y = rows(rng, order.missing, period)
            receipt = plain.tell(X, y)
            told = client.post("/api/campaigns/churn/deliveries", json={"X": X.tolist(), "y": y.tolist()})
            assert told.status_code == 200
            assert timeless(told.json()["order"]) == timeless(order_json(receipt.order))
            order = receipt.order
            if receipt.report is not None:
                break
    reports = client.get("/api/campaigns/churn/reports").json()
    assert timeless(reports["reports"]) == timeless([ledger_json(row) for row in plain.ledger()])
    assert client.get("/api/campaigns/churn/reports?after=1&limit=1").json()["next"] == 2
    table = client.get("/api/campaigns/churn/ledger").json()
    columns = plain.ledger().columns()
    assert [column["key"] for column in table["columns"]] == list(columns)
    assert [row["risk_bound"] for row in table["rows"]] == columns["risk_bound"]
    assert client.get("/api/campaigns/churn/ledger?after=1&limit=1").json()["rows"][0]["period"] == 2
    wanted = client.post("/api/campaigns/churn/plans", json={"horizon": 4})
    assert wanted.json() == plan_json(plain.plan(horizon=4))
    log = client.get("/api/campaigns/churn/log").json()
    assert [one["kind"] for one in log["entries"]] == [one.kind for one in plain.log()]
    assert {one["who"] for one in log["entries"] if "who" in one} == {"local"}
    X, _ = rows(rng, 5)
    said = client.post("/api/campaigns/churn/predictions", json={"X": X.tolist()}).json()
    assert said["predictions"] == plain.predict(X).tolist()


def test_lists_and_logs_are_paged(served: Serving, store: Store) -> None:
    for place in range(7):
        begun(store, f"shop-{place}").ask()
    begun(store, "other")
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = served.client.get("/api/campaigns", params={"search": "SHOP", "after": after, "limit": 3}).json()
        assert page["total"] == 7
        found += [one["name"] for one in page["campaigns"]]
        after = page["next"]
    assert found == [f"shop-{place}" for place in range(7)]
    first = served.client.get("/api/campaigns/shop-0/log?limit=1").json()
    second = served.client.get(f"/api/campaigns/shop-0/log?after={first['next']}").json()
    assert first["entries"] + second["entries"] == [entry_json(one) for one in store.entries("shop-0")]
    assert second["next"] is None


def test_asking_and_delivering_are_idempotent(served: Serving, store: Store, rng: np.random.Generator) -> None:
    begun(store, "churn")
    client = served.client
    asked = client.post("/api/campaigns/churn/orders", json={"key": "W1"}).json()
    assert client.post("/api/campaigns/churn/orders", json={"key": "W1"}).json() == asked
    body = as_csv(*rows(rng, 5))
    first = client.post("/api/campaigns/churn/deliveries?final=false", content=body, headers=CSV).json()
    again = client.post("/api/campaigns/churn/deliveries?final=false", content=body, headers=CSV).json()
    assert (first["rows"], again["rows"], first["duplicate"]) == (5, 0, None)
    assert again["duplicate"] is not None
    named = {**CSV, "Idempotency-Key": "monday"}
    other = as_csv(*rows(rng, 4))
    assert client.post("/api/campaigns/churn/deliveries?final=false", content=body, headers=named).json()["rows"] == 5
    assert client.post("/api/campaigns/churn/deliveries?final=false", content=body, headers=named).json()["rows"] == 0
    reused = client.post("/api/campaigns/churn/deliveries?final=false", content=other, headers=named)
    assert reused.status_code == 422
    assert "'monday' named other rows in period 1" in reused.json()["error"]["message"]
    meant = "/api/campaigns/churn/deliveries?final=false&again=true&key=W1"
    assert client.post(meant, content=body, headers=CSV).json()["order"]["received"] == 15


def test_duplicate_rows_are_recognised_in_another_format(
    served: Serving, store: Store, rng: np.random.Generator
) -> None:
    begun(store, "churn")
    client, place = served.client, "/api/campaigns/churn/deliveries?final=false"
    client.post("/api/campaigns/churn/orders", json={})
    body = as_csv(*rows(rng, 5))
    assert client.post(place, content=body, headers=CSV).json()["rows"] == 5
    text = body.decode() if isinstance(body, bytes) else body
    windows = text.replace("\r\n", "\n").replace("\n", "\r\n").encode()
    assert client.post(place, content=windows, headers=CSV).json()["rows"] == 0
    heads, *lines = [line.split(",") for line in text.split()]
    records = [dict(zip(heads, (_cell(one) for one in line), strict=True)) for line in lines]
    assert client.post(place, json=records).json()["duplicate"] is not None


def test_closing_another_period_is_refused(served: Serving, store: Store) -> None:
    begun(store, "churn")
    served.client.post("/api/campaigns/churn/orders", json={})
    late = served.client.post("/api/campaigns/churn/deliveries?final=true&period=7")
    assert late.status_code == 409
    assert served.client.get("/api/campaigns/churn").json()["period"] == 1


def test_refused_deliveries_are_noted(served: Serving, store: Store) -> None:
    campaign = begun(store, "churn")
    client = served.client
    client.post("/api/campaigns/churn/orders", json={})
    files = {"file": ("w46.csv", b"a,b,y\n1,2,soon\n", "text/csv")}
    assert client.post("/api/campaigns/churn/deliveries?dry_run=true", files=files).status_code == 422
    assert client.get("/api/campaigns/churn/refusals").json() == {"refusals": []}
    entries = campaign.status().entries
    message = client.post("/api/campaigns/churn/deliveries", files=files).json()["error"]["message"]
    (noted,) = client.get("/api/campaigns/churn/refusals").json()["refusals"]
    assert (noted["who"], noted["source"]) == ("local", "REST: w46.csv")
    assert noted["sentence"] in message
    assert campaign.status().entries == entries
    assert client.get("/api/campaigns/none/refusals").status_code == 404


def _cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def test_a_share_for_the_audit_and_the_name_of_a_season(served: Serving) -> None:
    settings = {**DEFINITION, "audit": 0.1, "season": "month"}
    assert served.client.post("/api/campaigns", json=settings).status_code == 201
    definition = served.client.get("/api/campaigns/churn/definition").json()
    assert (definition["audit"], definition["season"]) == (0.1, 12)
    for wrong in ({"audit": 0.9}, {"season": "year"}, {"season": "12"}):
        assert served.client.post("/api/campaigns", json={**settings, "name": "other", **wrong}).status_code == 422


def test_decisions_are_recorded_with_their_reason(served: Serving, store: Store, rng: np.random.Generator) -> None:
    begun(store, "churn")
    client, place = served.client, "/api/campaigns/churn"
    asked = client.post(f"{place}/orders", json={}).json()
    decided = client.post(f"{place}/orders/current/override", json={"samples": 7, "reason": "holiday"}).json()
    assert (decided["samples"], decided["overridden"]["reason"], decided["overridden"]["who"]) == (
        7,
        "holiday",
        "local",
    )
    approved = client.post(f"{place}/orders/current/approve", json={"reason": "after all"}).json()
    assert (approved["samples"], approved["overridden"]) == (asked["samples"], None)
    client.post(f"{place}/deliveries?final=false", content=as_csv(*rows(rng, 3)), headers=CSV)
    assert client.post(f"{place}/deliveries/forget", json={"reason": "wrong file"}).json()["received"] == 0
    closed = client.post(f"{place}/deliveries?final=true").json()
    assert closed["report"]["samples"] == 0
    assert client.get(f"{place}/orders/current").status_code == 404


def test_what_was_delivered_can_be_undone(served: Serving, store: Store, rng: np.random.Generator) -> None:
    begun(store, "churn").ask(key="one")
    place, client = "/api/campaigns/churn", served.client
    told = {**CSV, "Idempotency-Key": "monday"}
    seen = client.post(
        f"{place}/deliveries?final=true&dry_run=true", content=as_csv(*rows(rng, 30)), headers=told
    ).json()
    assert (seen["report"]["samples"], seen["preview"]["total"], len(seen["preview"]["rows"])) == (30, 30, 5)
    client.post(f"{place}/deliveries?final=true", content=as_csv(*rows(rng, 30)), headers=told)
    undone = client.post(f"{place}/undo", json={"delivery": "monday", "reason": "wrong week"}).json()
    assert (undone["rows"], undone["revision"]["periods"]) == (30, [1])
    again = client.post(f"{place}/undo", json={"entry": undone["entry"], "reason": "it was right"}).json()
    assert again["revision"]["risk_after"] == undone["revision"]["risk_before"]
    assert client.post(f"{place}/undo", json={"period": 1, "reason": "more"}).json()["reopened"] == 1
    refused = client.post(f"{place}/orders/current/release", json={"reason": "wrong pool"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "out_of_order")
    log = client.get(f"{place}/log").json()["entries"]
    assert [entry["kind"] for entry in log].count("undone") == 3
    assert client.get(f"{place}/reports").json()["reports"] == []


def test_decisions_about_a_closed_period_are_refused(served: Serving, store: Store) -> None:
    campaign = begun(store, "churn")
    address = "/api/campaigns/churn"
    calls: dict[str, Any] = {
        "orders/current/override": {"samples": 3, "reason": "why"},
        "orders/current/approve": {},
        "deliveries/forget": {"reason": "why"},
    }
    for path, body in calls.items():
        refused = served.client.post(f"{address}/{path}", json={**body, "period": 1})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "out_of_order")
    order = campaign.ask(key="one")
    for period, status in ((2, 409), (1, 200)):
        for path, body in calls.items():
            assert served.client.post(f"{address}/{path}", json={**body, "period": period}).status_code == status
        told = served.client.post(f"{address}/deliveries?final=false&period={period}", json={"X": [[1.0]], "y": [1.0]})
        assert told.status_code == status
        if status == 409:
            assert "period 1 (one) is open" in told.json()["error"]["message"]
            assert campaign.status().order == order


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/campaigns/none", None, 404, "unknown_campaign"),
        ("GET", "/api/campaigns/none/log", None, 404, "unknown_campaign"),
        ("GET", "/api/campaigns/none/reports", None, 404, "unknown_campaign"),
        ("GET", "/api/campaigns/none/ledger", None, 404, "unknown_campaign"),
        ("GET", "/api/campaigns/none/export", None, 404, "unknown_campaign"),
        ("GET", "/api/campaigns/none/stream", None, 404, "unknown_campaign"),
        ("GET", "/api/campaigns/..%2f..%2fetc", None, 404, "not_found"),
        ("GET", "/api/campaigns/-a", None, 422, "invalid"),
        ("GET", "/api/campaigns?limit=0", None, 422, "invalid"),
        ("GET", "/api/campaigns?after=%00", None, 422, "parameter"),
        ("GET", "/api/campaigns/churn/orders/current", None, 404, "no_order"),
        ("POST", "/api/campaigns/churn/orders/current/approve", {}, 409, "out_of_order"),
        ("POST", "/api/campaigns/churn/orders/current/override", {"samples": 1, "reason": " "}, 422, "invalid"),
        ("POST", "/api/campaigns/churn/orders/current/override", {"samples": True, "reason": "x"}, 422, "invalid"),
        ("POST", "/api/campaigns/churn/orders/current/override", {"samples": 1}, 422, "invalid"),
        ("POST", "/api/campaigns/churn/orders", {"key": "a\x00"}, 422, "invalid"),
        ("POST", "/api/campaigns/churn/orders", {"kay": "W1"}, 422, "invalid"),
        ("POST", "/api/campaigns/churn/deliveries", {"X": [[1.0]], "y": [1.0]}, 409, "out_of_order"),
        ("POST", "/api/campaigns/churn/plans", {"horizon": 4}, 409, "too_early"),
        ("POST", "/api/campaigns/churn/plans", {"horizon": 521}, 422, "parameter"),
        (
            "POST",
            "/api/campaigns",
            {"name": "b", "target": "y", "epsilon": 1.0, "budget": {"total": 9, "horizon": 521}},
            422,
            "parameter",
        ),
        ("POST", "/api/campaigns/churn/plans", {"budget": 1e13}, 422, "invalid"),
        ("POST", "/api/campaigns/churn/plans", {"tiers": [[1, "x"]], "horizon": 2}, 422, "invalid"),
        ("POST", "/api/campaigns/churn/plans", {"tiers": [[2, "1"]], "horizon": 2}, 422, "parameter"),
        ("POST", "/api/campaigns/churn/predictions", {"X": [[1.0]]}, 409, "out_of_order"),
        ("POST", "/api/campaigns", {**DEFINITION}, 409, "name_taken"),
        ("POST", "/api/campaigns", {**DEFINITION, "name": "b", "epsilon": None}, 422, "parameter"),
        ("POST", "/api/campaigns", {"name": "b", "target": "y", "epsilon": "0.1"}, 422, "invalid"),
        ("POST", "/api/campaigns", {"name": "b", "target": "y", "epsilon": 0.1, "loss": "log"}, 422, "invalid"),
        ("DELETE", "/api/campaigns/churn", None, 405, "method"),
        ("GET", "/api/nowhere", None, 404, "not_found"),
    ],
)
def test_errors_have_a_status_and_a_code(
    served: Serving, store: Store, method: str, path: str, body: Any, status: int, code: str
) -> None:
    begun(store, "churn")
    answer = served.client.request(method, path, json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error["message"].endswith((".", "?"))
    assert store.url.split("///")[-1] not in answer.text
    assert len(store.entries("churn")) == 1


@pytest.mark.parametrize(
    "body", [b"{", b"[" * 50_000, b'{"samples": NaN, "reason": "x"}', b'{"samples": 1e999, "reason": "x"}', b"\xff", b"",
             b'{"samples": 1, "reason": "\\ud800"}', b'{"samples": ' + b"9" * 5000 + b', "reason": "x"}']
)  # fmt: skip
def test_invalid_json_is_refused(served: Serving, store: Store, body: bytes) -> None:
    begun(store, "churn").ask()
    path = "/api/campaigns/churn/orders/current/override"
    answer = served.client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]


def test_exports_can_be_imported(served: Serving, store: Store, rng: np.random.Generator, tmp_path: Any) -> None:
    from driftpace.campaign.export_import import import_campaign

    run_periods(begun(store, "churn"), rng, 2)
    answer = served.client.get("/api/campaigns/churn/export")
    assert answer.headers["Content-Type"] == "application/gzip"
    assert json.loads(gzip.decompress(answer.content).split(b"\n", 1)[0])["name"] == "churn"
    (tmp_path / "churn.gz").write_bytes(answer.content)
    carried = import_campaign(tmp_path / "churn.gz", storage=MemoryStore())
    assert carried.ledger() == Campaign.open("churn", storage=store).ledger()


def test_concurrent_asks_get_one_order(served: Serving, store: Store) -> None:
    begun(store, "churn")
    seen: list[tuple[int, str]] = []

    def ask() -> None:
        answer = served.client.post("/api/campaigns/churn/orders", json={"key": "W1"})
        seen.append((answer.status_code, answer.text))

    threads = [threading.Thread(target=ask) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert len(seen) == 32
    assert len(set(seen)) == 1
    assert seen[0][0] == 200
    assert [one.kind for one in store.entries("churn")] == ["created", "asked"]


def test_concurrent_deliveries_are_counted_once_each(served: Serving, store: Store, rng: np.random.Generator) -> None:
    begun(store, "churn").ask()
    bodies = [as_csv(*rows(rng, 3)) for _ in range(8)]
    codes: list[int] = []

    def deliver(body: bytes) -> None:
        answer = served.client.post("/api/campaigns/churn/deliveries?final=false", content=body, headers=CSV)
        codes.append(answer.status_code)

    threads = [threading.Thread(target=deliver, args=(body,)) for body in bodies * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert codes == [200] * 16
    assert served.client.get("/api/campaigns/churn").json()["order"]["received"] == 24


def test_store_failures_are_503_without_the_location(
    served: Serving, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from driftpace.errors import StorageError

    def gone(*_: Any, **__: Any) -> None:
        raise StorageError("the store{where} is full; nothing was written.", store=store.url)

    begun(store, "churn")
    monkeypatch.setattr(type(store), "append", gone)
    monkeypatch.setattr(type(store), "ping", gone)
    monkeypatch.setattr(type(store), "tokens", gone)
    answer = served.client.post("/api/campaigns/churn/orders", json={})
    assert answer.status_code == 503
    assert answer.json()["error"]["message"] == "the store is full; nothing was written."
    assert served.client.get("/readyz").status_code == 503
    assert served.client.get("/healthz").status_code == 200
    known = served.client.get("/api/campaigns", headers={"Authorization": "Bearer dp_any"})
    assert (known.status_code, known.headers["Retry-After"]) == (503, answer.headers["Retry-After"])
    assert "driftpace_store_errors_total 3.0" in served.client.get("/metrics").text


def test_several_classes(served: Serving, rng: np.random.Generator) -> None:
    client, words = served.client, ["cat", "dog", "owl"]
    X = rng.normal(size=(200, 2))
    kinds = [words[place] for place in np.column_stack([X, -X.sum(axis=1)]).argmax(axis=1)]
    definition = {"name": "animals", "target": "kind", "classes": words, "features": ["x", "z"], "epsilon": 0.5}
    assert client.post("/api/campaigns", json=definition).status_code == 201
    assert client.post("/api/campaigns/animals/orders", json={}).is_success
    lines = ["x,z,kind", *(f"{x},{z},{kind}" for (x, z), kind in zip(X.tolist(), kinds, strict=True))]
    told = client.post("/api/campaigns/animals/deliveries?final=true", content="\n".join(lines), headers=CSV)
    assert told.is_success, told.text
    said = client.post("/api/campaigns/animals/predictions", content="x,z\n2,0\n0,2\n", headers=CSV).json()
    assert said["classes"] == words
    assert said["predictions"] == ["cat", "dog"]
    assert [len(shares) for shares in said["probabilities"]] == [3, 3]
    arrays = client.post("/api/campaigns/animals/predictions", json={"X": [[2.0, 0.0], [0.0, 2.0]]}).json()
    assert arrays["probabilities"] == said["probabilities"]
    amended = client.post("/api/campaigns/animals/amend", json={"new_classes": ["fox"], "reason": "seen"})
    assert amended.status_code == 200, amended.text
    assert client.get("/api/campaigns/animals/definition").json()["classes"] == [*words, "fox"]
