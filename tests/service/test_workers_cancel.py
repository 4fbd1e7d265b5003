"""Plans that nobody waits for any more: those that have not begun never begin, and make room."""

import logging
import threading
from typing import Any

import pytest

from driftpace.service.dashboard import what_if
from driftpace.service.limits import ServiceLimits, plan_within
from driftpace.service.routes import orders
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import PATIENCE, poll, serving
from tests.reference.wire import connect, request

BODY = b'{"horizon": 3}'
ASKED = [
    ("POST", "/api/campaigns/churn/plans", BODY),
    ("GET", "/campaigns/churn/what-if?horizon=3", b""),
    ("GET", "/campaigns/churn?horizon=3", b""),
]


@pytest.mark.parametrize(("method", "path", "body"), ASKED)
def test_queued_plans_of_disconnected_clients_are_cancelled(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str, path: str, body: bytes
) -> None:
    begun(store, "churn").ask()
    go, begins = threading.Event(), []

    def slow(*args: Any, **named: Any) -> Any:
        begins.append(1)
        assert go.wait(PATIENCE)
        return plan_within(*args, **named)

    for module in (orders, what_if):
        monkeypatch.setattr(module, "plan_within", slow)
    limits = ServiceLimits(plans=1, plans_queue=2)
    with caplog.at_level(logging.INFO), serving(store, limits=limits, dashboard=True) as running:
        pool = running.service.plans
        kind = ("Content-Type: application/json", f"Content-Length: {len(body)}") if body else ()
        first = connect(running)
        first.sendall(request(running, method, path, *kind, body=body))
        poll(lambda: len(begins) == 1)
        for _ in range(5):  # each more than there is room for, if those who left stayed
            wires = [connect(running) for _ in range(2)]
            for wire in wires:
                wire.sendall(request(running, method, path, *kind, body=body))
            poll(lambda: pool.active == 3)
            for wire in wires:
                wire.close()
            poll(lambda: pool.active == 1)
        first.close()  # what has begun keeps its place until it is over
        poll(lambda: sum('"status":499' in one.getMessage() for one in caplog.records) == 11)
        assert pool.active == 1
        go.set()
        poll(lambda: pool.active == 0)
        assert len(begins) == 1
        assert running.client.request(method, path, content=body or None, headers=_json(body)).status_code in (200, 409)
        assert len(begins) == 2
    assert [one for one in caplog.records if one.levelno > logging.INFO] == []


def _json(body: bytes) -> dict[str, str]:
    return {"Content-Type": "application/json"} if body else {}
