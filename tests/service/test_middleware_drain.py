"""Answers that go out before the body has come, over real sockets: they are read, and then the line is cut."""

import json
import logging
import time
from collections.abc import Iterator

import pytest

from driftpace.service import middleware
from driftpace.service.auth import make_token
from driftpace.service.limits import ServiceLimits
from driftpace.storage.base import Store
from driftpace.tables.limits import TableLimits
from tests.reference.periods import begun
from tests.reference.serving import PATIENCE, Serving, serving
from tests.reference.wire import answer_of, connect, request, trickling

MIB = 2**20


@pytest.fixture
def afar(store: Store) -> Iterator[Serving]:
    limits = ServiceLimits(tables=TableLimits(bytes=4 * MIB), in_flight=6 * MIB)
    with serving(store, host="0.0.0.0", limits=limits) as running:
        yield running


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who goes on sending is listened to for a moment only."""
    monkeypatch.setattr(middleware, "_DRAIN_SECONDS", 0.1)


@pytest.fixture
def at_leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, what is on its way is waited for."""
    monkeypatch.setattr(middleware, "_DRAIN_SECONDS", PATIENCE)
    monkeypatch.setattr(middleware, "_SMALL_BODY_SECONDS", PATIENCE)


def too_often(running: Serving) -> None:
    """Fail to log in until there is a wait."""
    running.service.login_throttle._clock = lambda: 0.0  # and the wait does not end before the test does
    for _ in range(8):
        running.client.post("/login", data={"token": "dp_wrong"})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/api/campaigns", 401), ("POST", "/login", 429), ("GET", "/healthz", 200), ("GET", "/nowhere", 401)],
)
@pytest.mark.parametrize("announced", ["Content-Length: 1500", "Transfer-Encoding: chunked"])
@pytest.mark.usefixtures("brief")
def test_connections_close_after_an_early_response(
    afar: Serving, method: str, path: str, status: int, announced: str
) -> None:
    if status == 429:
        too_often(afar)
    with connect(afar) as wire:
        wire.sendall(request(afar, method, path, announced) + (b"5dc\r\n" if "chunked" in announced else b""))
        with trickling(wire):
            answer = answer_of(wire)  # it would fail here if nobody hung up
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"connection: close" in answer.lower()


@pytest.mark.usefixtures("at_leisure")
def test_complete_requests_keep_the_connection(afar: Serving) -> None:
    for _ in range(2):
        answer = afar.client.post("/api/campaigns", content=b"{}")
        assert answer.status_code == 401
        assert "Connection" not in answer.headers


@pytest.mark.usefixtures("at_leisure")
def test_clients_that_are_still_sending_can_read_the_error(afar: Serving) -> None:
    answer = afar.client.post("/api/campaigns/churn/deliveries", content=(b"x" * MIB for _ in range(3)))
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")


def test_expect_continue_is_refused_at_once(afar: Serving) -> None:
    with connect(afar) as wire:
        wire.sendall(request(afar, "POST", "/api/campaigns", "Content-Length: 100", "Expect: 100-continue"))
        answer = answer_of(wire)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b" 100 " not in answer


def test_bodies_of_get_requests_are_ignored(store: Store) -> None:
    begun(store, "churn")
    limits = ServiceLimits(piece_seconds=0.2, body_seconds=0.2, poll_seconds=0.1, heartbeat_seconds=0.1)
    with serving(store, limits=limits) as running:
        shown = running.client.request("GET", "/api/campaigns/churn", content=b"x" * 1000)
        assert (shown.status_code, shown.json()["name"]) == (200, "churn")
        with connect(running) as wire:
            wire.sendall(request(running, "GET", "/api/campaigns/churn/stream", "Content-Length: 1000"))
            answer = b""
            while answer.count(b"keep-alive") < 3:  # it goes on longer than a body may take
                answer += wire.recv(65_536)
                assert answer.startswith(b"HTTP/1.1 200 ")


def test_unauthenticated_bodies_take_no_shared_memory(afar: Serving, store: Store) -> None:
    begun(store, "churn").ask()
    shown = {"Authorization": f"Bearer {make_token(store, 'a', ['write'])}", "Content-Type": "text/csv"}
    wires = [connect(afar) for _ in range(14)]
    try:
        for number, wire in enumerate(wires):
            how = f"Content-Length: {MIB}" if number % 2 else "Transfer-Encoding: chunked"
            part = b"x" * (MIB - 1)
            try:
                wire.sendall(request(afar, "POST", "/login", how))
                wire.sendall(part if number % 2 else b"%x\r\n" % len(part) + part)
            except OSError:  # hung up on already
                pass
        answer = afar.client.post("/api/campaigns/churn/deliveries", content=b"x" * (3 * MIB), headers=shown)
        assert answer.status_code == 422  # read, and found to be no table
        assert {answer_of(wire)[9:12] for wire in wires} <= {b"413", b""}
    finally:
        for wire in wires:
            wire.close()


@pytest.mark.parametrize("path", ["/healthz", "/api/campaigns", "/login"])
def test_ambiguous_request_lengths_are_refused(served: Serving, path: str) -> None:
    hidden = request(served, "GET", "/healthz")
    with connect(served) as wire:
        wire.sendall(
            request(served, "POST", path, f"Content-Length: {5 + len(hidden)}", "Transfer-Encoding: chunked")
            + b"0\r\n\r\n"
            + hidden
        )
        answer = answer_of(wire)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"got both" in answer
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/campaigns/churn/deliveries", "text/csv"),
        ("/api/campaigns/churn/deliveries", "multipart/form-data; boundary=b"),
        ("/api/campaigns/churn/orders", "application/json"),
        ("/api/campaigns", "application/json"),
    ],
)
def test_disconnects_during_a_body_are_logged_as_499(
    store: Store, caplog: pytest.LogCaptureFixture, path: str, kind: str
) -> None:
    begun(store, "churn").ask()
    with caplog.at_level(logging.INFO), serving(store) as running:
        with connect(running) as wire:
            announced = ("Content-Length: 1000", f"Content-Type: {kind}")
            wire.sendall(request(running, "POST", path, *announced, body=b"--b\r\n"))
        until = time.monotonic() + PATIENCE
        while not (lines := [one for one in caplog.records if one.name == "driftpace.service"]):
            assert time.monotonic() < until
            time.sleep(0.01)
        counted = running.client.get("/metrics").text
    assert [record.levelname for record in caplog.records if record.levelno > logging.INFO] == []
    assert json.loads(lines[0].getMessage())["status"] == 499
    assert 'status="499"' in counted
    assert 'status="500"' not in counted
