"""HEAD is answered as GET is, without a body, at every address that takes GET."""

import http.client
import logging
from collections.abc import Iterator

import numpy as np
import pytest

from driftpace.service.auth import make_token
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, poll, serving

ITS_OWN = {"date", "x-request-id", "set-cookie"}
"""Headers that differ from one answer to the next."""


@pytest.fixture
def whole(store: Store, rng: np.random.Generator) -> Iterator[Serving]:
    campaign = begun(store, "churn")
    campaign.ask(key="2026-W46")
    campaign.tell(rng.normal(size=(40, 3)), rng.normal(size=40) > 0.0, final=True)
    campaign.ask(key="2026-W47")
    with serving(store, dashboard=True) as running:
        yield running


def addresses(running: Serving) -> list[str]:
    described = running.client.get("/api/openapi.json").json()["paths"]
    return sorted(path.replace("{name}", "churn") for path, methods in described.items() if "get" in methods)


def raw(running: Serving, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
    line = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    try:
        line.request(method, path)
        answer = line.getresponse()
        said = b"" if path.endswith("/stream") else answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, said
    finally:
        line.close()


def test_every_get_route_answers_head(whole: Serving) -> None:
    paths = [*addresses(whole), "/", "/login", "/campaigns/churn", "/api/openapi.json", "/api/campaigns/nobody", "/no"]
    assert "/api/campaigns/churn/stream" in paths
    assert "/healthz" in paths
    for path in paths:
        status, headers, _ = raw(whole, "GET", path)
        told, bare, body = raw(whole, "HEAD", path)
        assert (path, told, body) == (path, status, b"")
        assert {name: value for name, value in bare.items() if name not in ITS_OWN and name != "content-length"} == {
            name: value for name, value in headers.items() if name not in ITS_OWN and name != "content-length"
        }
        if path != "/metrics":  # which counts the two
            assert bare.get("content-length") == headers.get("content-length")


def test_the_connection_is_reusable_after_head(whole: Serving) -> None:
    for path in ("/api/campaigns/churn", "/api/campaigns/churn/stream", "/api/campaigns/churn/export", "/nothing"):
        whole.client.head(path)
        assert whole.client.get("/api/campaigns/churn").json()["name"] == "churn"


def test_head_ends_a_stream(whole: Serving) -> None:
    for _ in range(3):
        assert whole.client.head("/api/campaigns/churn/stream").headers["Content-Type"].startswith("text/event-stream")
    poll(lambda: whole.service.events.streams == 0)


def test_routes_without_get_refuse_head(whole: Serving) -> None:
    for path in ("/api/campaigns/churn/orders", "/api/campaigns/churn/deliveries"):
        assert whole.client.get(path).status_code == whole.client.head(path).status_code == 405


def test_head_is_counted_and_logged_as_head(whole: Serving, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "driftpace.service"):
        whole.client.head("/api/campaigns/churn")
        told = whole.client.get("/metrics").text
    assert 'driftpace_http_requests_total{method="HEAD",route="/api/campaigns/{name}",status="200"} 1.0' in told
    assert any('"method":"HEAD","route":"/api/campaigns/{name}"' in record.message for record in caplog.records)


def test_head_needs_the_same_scope_as_get(store: Store) -> None:
    begun(store, "churn")
    hook, reads = make_token(store, "hook", ["hook"]), make_token(store, "reads", ["read"])
    with serving(store, always=True, dashboard=True) as running:
        told = {
            said: running.client.head(
                "/api/campaigns/churn", headers={} if said is None else {"Authorization": f"Bearer {said}"}
            ).status_code
            for said in (None, "dp_no", hook, reads)
        }
        page = running.client.head("/", headers={"Accept": "text/html"})
    assert list(told.values()) == [401, 401, 403, 200]
    assert (page.status_code, page.headers["Location"]) == (303, "/login")
