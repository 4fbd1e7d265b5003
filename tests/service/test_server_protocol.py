"""What is no request is refused in the shape of everything that is refused."""

import json
import logging

import pytest
from starlette.requests import Request
from starlette.responses import Response

from driftpace.service.limits import ServiceLimits
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, poll, serving
from tests.reference.wire import answer_of, connect, request

MANY = b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000


def is_refused(answer: bytes, status: int) -> str:
    """Return the sentence of a refusal, which has the headers of every answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    assert lines[b"content-type"] == b"application/json"
    assert lines[b"connection"] == b"close"
    assert lines[b"cache-control"] == b"no-store"
    assert lines[b"x-content-type-options"] == b"nosniff"
    assert b"default-src 'none'" in lines[b"content-security-policy"]
    assert len(lines[b"x-request-id"]) == 16
    error = json.loads(body)["error"]
    return str(error["message"])


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"nonsense\r\n\r\n", 400, "must be HTTP/1.1"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "must be HTTP/1.1"),  # it names no host
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "must be HTTP/1.1"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "must be HTTP/1.1"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "must be chunked"),
        (MANY, 431, "too long"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "must be HTTP/1.1"),  # HTTPS, spoken to HTTP
    ],
)
def test_malformed_http_gets_a_json_error(
    served: Serving, caplog: pytest.LogCaptureFixture, sent: bytes, status: int, said: str
) -> None:
    with caplog.at_level(logging.INFO, logger="driftpace.service"), connect(served) as wire:
        wire.sendall(sent)
        answer = answer_of(wire)
    assert said in is_refused(answer, status)
    line = json.loads(next(one.getMessage() for one in caplog.records if one.name == "driftpace.service"))
    assert line["status"] == status
    assert line["id"].encode() in answer


def test_malformed_bodies_leave_no_traceback(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    begun(store, "churn").ask()
    path, kind = "/api/campaigns/churn/deliveries", "Content-Type: text/csv"
    with caplog.at_level(logging.INFO), serving(store) as running, connect(running) as wire:
        wire.sendall(request(running, "POST", path, kind, "Transfer-Encoding: chunked") + b"3\r\na,b\r\n")
        wire.sendall(b"zz\r\n")
        assert "must be HTTP/1.1" in is_refused(answer_of(wire), 400)
    assert [one for one in caplog.records if one.levelno > logging.WARNING or one.exc_info] == []


def test_excess_connections_get_a_json_error(store: Store) -> None:
    with (
        serving(store, limits=ServiceLimits(connections=2)) as running,
        connect(running) as one,
        connect(running) as two,
    ):
        for wire in (one, two):  # both are there
            wire.sendall(request(running, "GET", "/healthz"))
            assert wire.recv(65_536).startswith(b"HTTP/1.1 200 ")
        with connect(running) as three:
            three.sendall(request(running, "GET", "/healthz"))
            answer = answer_of(three)
        assert "limit of connections" in is_refused(answer, 503)
        assert b"retry-after: 2" in answer


def large_response(running: Serving) -> int:
    """Add an address whose response is larger than the buffers of the system, and return its size."""
    size = 64 * 2**20

    async def respond(_: Request) -> Response:
        return Response(b"x" * size)

    running.server.config.loaded_app.router.add_route("/api/campaigns/large", respond)
    routes = running.server.config.loaded_app.router.routes
    routes.insert(0, routes.pop())
    return size


def test_clients_that_do_not_read_are_dropped(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.INFO, logger="driftpace.service"),
        serving(store, limits=ServiceLimits(write_seconds=0.2)) as running,
        connect(running) as wire,
    ):
        large_response(running)
        wire.sendall(request(running, "GET", "/api/campaigns/large"))
        poll(lambda: any('"slow_reader"' in one.getMessage() for one in caplog.records))
        poll(lambda: not running.server.server_state.connections)
    lines = [json.loads(one.getMessage()) for one in caplog.records if one.name == "driftpace.service"]
    (dropped,) = (line for line in lines if line["event"] == "slow_reader")
    assert dropped["peer"] == "127.0.0.1"
    assert dropped["unread"] > 0


def test_clients_that_read_get_all_of_a_large_response(store: Store) -> None:
    with serving(store, limits=ServiceLimits(write_seconds=60.0)) as running:
        size = large_response(running)
        assert len(running.client.get("/api/campaigns/large").content) == size
        assert running.client.get("/healthz").status_code == 200
