"""A store that is away is said to be away at once, and found again by itself; nobody waits long to hear whether it is there."""

import threading
import time
from types import SimpleNamespace

import pytest

from driftpace.service.limits import ServiceLimits
from driftpace.storage import open_store
from driftpace.storage.base import Store
from driftpace.storage.sql import connections
from tests.reference.periods import begun
from tests.reference.postgres import Server
from tests.reference.serving import poll, serving


def test_a_database_outage_is_a_quick_503_and_recovers(
    own_postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "RECONNECTING", 3600.0)  # who waited for that would never be done here
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time.sleep(seconds)

    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    store = open_store(own_postgres_server.url())
    begun(store, "churn")
    paths = ("/readyz", "/api/campaigns", "/api/campaigns/churn", "/api/campaigns/churn/log")
    now = [0.0]
    with serving(store) as running:
        running.service.store._connections._breaker._clock = lambda: now[
            0
        ]  # the pause does not end before the test says so
        assert [running.client.get(path).status_code for path in paths] == [200] * 4
        own_postgres_server.stop()
        slept.clear()
        answers = [running.client.get(path) for path in paths]
        answers.append(running.client.post("/api/campaigns/churn/orders", json={}))
        assert [answer.status_code for answer in answers] == [503] * 5
        assert all("cannot be reached" in answer.json()["error"]["message"] for answer in answers)
        assert all(int(answer.headers["Retry-After"]) >= connections.PAUSE for answer in answers)
        assert sum(slept) <= connections.PROMPT  # the first one waits a moment, the others not at all
        assert running.client.get("/healthz").status_code == 200
        own_postgres_server.start()

        def ready() -> bool:
            now[0] += connections.PAUSE
            return running.client.get("/readyz").status_code == 200

        poll(ready)
        assert running.client.post("/api/campaigns/churn/orders", json={}).status_code == 200
    store.close()


def test_an_unresponsive_store_is_not_ready(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    asked: list[int] = []

    def silent(_: object) -> None:
        asked.append(1)
        assert go_on.wait(60.0)

    monkeypatch.setattr(type(store), "ping", silent)
    with serving(store, limits=ServiceLimits(ready_seconds=0.05)) as running:
        try:
            answers = [running.client.get("/readyz") for _ in range(4)]
            assert [answer.status_code for answer in answers] == [503] * 4
            assert answers[0].json()["error"]["message"] == "the store does not answer."
            assert len(asked) == 1  # whoever comes meanwhile waits for the same answer
        finally:
            go_on.set()
        poll(lambda: running.client.get("/readyz").status_code == 200)
