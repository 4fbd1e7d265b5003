"""Label Studio calls when a row was labelled: believed with the secret, counted once."""

from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.service.auth import make_token
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving

PATH = "/api/hooks/label-studio/churn"


@pytest.fixture
def secret(store: Store) -> str:
    begun(store, "churn", classes=["no", "yes"], features=["a", "b"]).ask()
    return make_token(store, "labels", ["hook"])


def call(task: int, answer: str, **more: Any) -> dict[str, Any]:
    """Return what Label Studio sends, as far as it matters here."""
    result = [{"from_name": "y", "to_name": "row", "type": "choices", "value": {"choices": [answer]}}]
    return {
        "action": "ANNOTATION_CREATED",
        "project": {"id": 3},
        "task": {"id": task, "data": {"a": 0.5 * task, "b": -1.0, "driftpace_id": f"row-{task}"}},
        "annotation": {"id": task, "task": task, "result": result, "was_cancelled": False},
        **more,
    }


@pytest.fixture
def headers(secret: str) -> dict[str, str]:
    return {"X-Driftpace-Secret": secret}


def test_webhook_rows_are_counted_once(served: Serving, store: Store, headers: dict[str, str]) -> None:
    before = served.client.get("/api/campaigns/churn").json()["order"]["missing"]
    first = served.client.post(PATH, json=call(1, "yes"), headers=headers)
    assert first.status_code == 200
    assert first.json() == {
        "action": "ANNOTATION_CREATED",
        "rows": 1,
        "missing": first.json()["missing"],
        "closed": False,
    }
    assert served.client.post(PATH, json=call(2, "no"), headers=headers).json()["rows"] == 1
    again = served.client.post(PATH, json=call(2, "yes", action="ANNOTATION_UPDATED"), headers=headers)
    assert again.json()["rows"] == 0
    status = served.client.get("/api/campaigns/churn").json()
    assert status["order"]["received"] == 2
    assert before > 0
    told = [entry.body for entry in store.entries("churn", kinds=("delivered",))]
    assert [(one["who"], one["source"]) for one in told] == [("labels", "Label Studio")] * 2


def test_rows_drawn_for_another_period_are_skipped(served: Serving, store: Store, headers: dict[str, str]) -> None:
    Campaign.open("churn", storage=store).record_draw(["row-1"])
    assert served.client.post(PATH, json=call(2, "yes"), headers=headers).json()["rows"] == 0
    assert served.client.post(PATH, json=call(1, "yes"), headers=headers).json()["rows"] == 1


@pytest.mark.parametrize(
    "payload",
    [
        call(1, "yes", action="PROJECT_UPDATED"),
        call(1, "yes", action="ANNOTATIONS_DELETED"),
        call(1, "yes", annotation={"id": 1, "task": 1, "result": [], "was_cancelled": True}),
    ],
)
def test_webhooks_without_rows_change_nothing(
    served: Serving, store: Store, headers: dict[str, str], payload: dict[str, Any]
) -> None:
    answer = served.client.post(PATH, json=payload, headers=headers)
    assert (answer.status_code, answer.json()["rows"]) == (200, 0)
    assert store.entries("churn", kinds=("delivered",)) == []


@pytest.mark.parametrize(
    "shown", [{}, {"X-Driftpace-Secret": "dp_wrong"}, {"X-Driftpace-Secret": ""}, {"Authorization": "Bearer x"}]
)
def test_webhooks_without_the_secret_are_refused(
    served: Serving, store: Store, secret: str, shown: dict[str, str]
) -> None:
    assert served.client.post(PATH, json=call(1, "yes"), headers=shown).status_code == 401
    assert store.entries("churn", kinds=("delivered",)) == []


def test_hook_tokens_allow_nothing_else(served: Serving, secret: str) -> None:
    shown = {"Authorization": f"Bearer {secret}"}
    assert served.client.post(PATH, json=call(1, "yes"), headers=shown).status_code == 200
    assert served.client.get("/api/campaigns", headers=shown).status_code == 403
    assert served.client.post("/api/campaigns/churn/orders", json={}, headers=shown).status_code == 403


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"action": 1}', b'{"action": "ANNOTATION_CREATED"}', b"[" * 50_000, b"\xff"]
)
def test_invalid_webhooks_are_refused_with_a_message(served: Serving, headers: dict[str, str], body: bytes) -> None:
    answer = served.client.post(PATH, content=body, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]


def test_webhooks_without_an_open_order_are_refused(served: Serving, store: Store, headers: dict[str, str]) -> None:
    begun(store, "closed", classes=["no", "yes"])
    answer = served.client.post("/api/hooks/label-studio/closed", json=call(1, "yes"), headers=headers)
    assert answer.status_code == 409


def test_a_second_annotator_labels_the_same_row(served: Serving, store: Store, headers: dict[str, str]) -> None:
    begun(store, "several", classes=["no", "yes"], features=["a", "b"], annotator="who").ask()
    path = "/api/hooks/label-studio/several"
    for who, answer in ((1, "yes"), (2, "no"), (2, "no")):
        body = call(1, answer)
        body["annotation"]["completed_by"] = who
        assert served.client.post(path, json=body, headers=headers).status_code == 200
    entries = store.entries("several", kinds=("delivered",))
    assert [(entry.body["rows"], entry.body.get("more_labels")) for entry in entries] == [(1, None), (0, 1)]
    assert served.client.get("/api/campaigns/several").json()["order"]["received"] == 1
