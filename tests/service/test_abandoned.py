"""Requests whose client left: what is queued for them never starts, and nothing else waits for them."""

import threading
from typing import Any

import pytest

from driftpace.campaign.reader import CampaignReader
from driftpace.service.auth import make_token
from driftpace.service.dashboard import routes
from driftpace.service.dashboard.campaign_page import load_page
from driftpace.service.limits import ServiceLimits
from driftpace.service.uploads import tell
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import PATIENCE, poll, serving
from tests.reference.wire import connect, request

ABANDONED = 100


def test_abandoned_pages_are_never_rendered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(store, "churn").ask()
    go, rendered = threading.Event(), []

    def slow(*args: Any, **named: Any) -> Any:
        rendered.append(1)
        assert go.wait(PATIENCE)
        return load_page(*args, **named)

    monkeypatch.setattr(routes, "load_page", slow)
    with serving(store, limits=ServiceLimits(pages=2, pages_queue=ABANDONED), dashboard=True) as running:
        pool = running.service.pages
        wires = [connect(running) for _ in range(ABANDONED)]
        for wire in wires:
            wire.sendall(request(running, "GET", "/campaigns/churn"))
        poll(lambda: pool.active == ABANDONED and len(rendered) == 2)
        for wire in wires:
            wire.close()
        poll(lambda: pool.active == 2)  # those that have started
        assert running.client.get("/api/campaigns/churn").status_code == 200  # while the pages are still busy
        go.set()
        poll(lambda: pool.active == 0)
        assert len(rendered) == 2
        assert running.client.get("/campaigns/churn").status_code == 200


def test_abandoned_reads_never_start(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(store, "churn").ask()
    go, read, status = threading.Event(), [], CampaignReader.status

    def slow(campaign: CampaignReader) -> Any:
        read.append(1)
        assert go.wait(PATIENCE)
        return status(campaign)

    monkeypatch.setattr(CampaignReader, "status", slow)
    with serving(store, limits=ServiceLimits(reads=1, reads_queue=10)) as running:
        pool = running.service.reads
        first, *others = [connect(running) for _ in range(8)]
        first.sendall(request(running, "GET", "/api/campaigns/churn"))
        poll(lambda: len(read) == 1)
        for wire in others:
            wire.sendall(request(running, "GET", "/api/campaigns/churn"))
        poll(lambda: pool.active == 8)
        for wire in others:
            wire.close()
        poll(lambda: pool.active == 1)
        go.set()
        assert first.recv(65_536).startswith(b"HTTP/1.1 200 ")
        first.close()
        assert len(read) == 1


def test_deliveries_of_clients_that_left_count(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = begun(store, "churn")
    campaign.ask()
    go, inside = threading.Event(), threading.Event()

    def slow(*args: Any, **named: Any) -> Any:
        inside.set()
        assert go.wait(PATIENCE)
        return tell(*args, **named)

    monkeypatch.setattr("driftpace.service.routes.deliveries.tell", slow)
    body = b"a,b,y\n1,2,3\n4,5,7\n"
    with serving(store, limits=ServiceLimits(fits=1)) as running:
        path = "/api/campaigns/churn/deliveries?final=false"
        lines = ("Content-Type: text/csv", f"Content-Length: {len(body)}")
        wires = [connect(running) for _ in range(2)]
        wires[0].sendall(request(running, "POST", path, *lines, body=body))
        assert inside.wait(PATIENCE)
        wires[1].sendall(request(running, "POST", path + "&again=true", *lines, body=body))
        poll(lambda: running.service.fits.active == 2)
        for wire in wires:
            wire.close()
        go.set()
        poll(lambda: running.service.fits.active == 0)
    order = campaign.status().order
    assert order is not None
    assert order.received == 4


def test_token_checks_do_not_wait_for_reads(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(store, "churn").ask()
    secret = make_token(store, "ada")
    go, status, entered = threading.Event(), CampaignReader.status, threading.Event()

    def slow(campaign: CampaignReader) -> Any:
        entered.set()
        assert go.wait(PATIENCE)
        return status(campaign)

    monkeypatch.setattr(CampaignReader, "status", slow)
    with serving(store, limits=ServiceLimits(reads=1, reads_queue=1), host="0.0.0.0") as running:
        headers = {"Authorization": f"Bearer {secret}"}
        with connect(running) as wire:
            wire.sendall(request(running, "GET", "/api/campaigns/churn", f"Authorization: Bearer {secret}"))
            assert entered.wait(PATIENCE)
            assert running.client.get("/api/session", headers=headers).json()["name"] == "ada"
            assert running.client.get("/readyz").status_code == 200
            go.set()
            assert wire.recv(65_536).startswith(b"HTTP/1.1 200 ")
