"""Bodies that are too large, too slow or too many, over real sockets."""

import resource
import socket
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from driftpace.service import middleware
from driftpace.service.limits import ServiceLimits
from driftpace.storage.base import Store
from driftpace.tables.limits import TableLimits
from tests.reference.periods import begun
from tests.reference.serving import PATIENCE, Serving, poll, serving
from tests.reference.wire import answer_of, connect, request, trickling

MIB = 2**20
GIB = 2**30
PATH = "/api/campaigns/churn/deliveries"


SMALL = ServiceLimits(
    tables=TableLimits(bytes=4 * MIB), in_flight=6 * MIB, piece_seconds=PATIENCE, body_seconds=PATIENCE
)


@pytest.fixture
def small(store: Store) -> Iterator[Serving]:
    """A service that takes little, however slowly it comes."""
    begun(store, "churn").ask()
    with serving(store, limits=SMALL) as running:
        yield running


@pytest.fixture
def at_leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, who is refused in the middle of sending reads it."""
    monkeypatch.setattr(middleware, "_DRAIN_SECONDS", PATIENCE)


@pytest.fixture
def hasty(store: Store) -> Iterator[Serving]:
    """A service that does not wait: for a head, for a piece of a body, for all of it."""
    begun(store, "churn").ask()
    with serving(store, limits=replace(SMALL, piece_seconds=0.5, body_seconds=1.0, head_seconds=0.5)) as running:
        yield running


def head(running: Serving, *lines: str, path: str = PATH) -> bytes:
    return request(running, "POST", path, "Content-Type: text/csv", *lines)


def push(wire: socket.socket, piece: bytes, total: int) -> int:
    """Send so much, piece by piece, and return how much was sent when the server hung up."""
    sent = 0
    try:
        while sent < total:
            wire.sendall(piece)
            sent += len(piece)
    except OSError:
        pass
    return sent


def told(running: Serving) -> int:
    """Send three megabytes that are no table, and return what is answered: 422 where they were read."""
    try:
        return running.client.post(PATH, content=b"x" * (3 * MIB), headers={"Content-Type": "text/csv"}).status_code
    except httpx.TransportError:  # hung up on before all of it was sent
        return 0


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_large_bodies_are_refused_by_content_length(small: Serving) -> None:
    with connect(small) as wire:
        wire.sendall(head(small, f"Content-Length: {GIB}"))
        answer = answer_of(wire)  # nothing of the body was ever sent
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"at most 4 MiB" in answer


def test_large_bodies_sent_anyway_are_cut_off(small: Serving) -> None:
    before = memory()
    with connect(small) as wire:
        wire.sendall(head(small, f"Content-Length: {GIB}"))
        sent = push(wire, b"x" * MIB, GIB)
    assert sent < 64 * MIB
    assert memory() - before < 64 * MIB


def test_large_chunked_bodies_are_cut_off(small: Serving) -> None:
    before = memory()
    chunk = b"%x\r\n" % MIB + b"x" * MIB + b"\r\n"
    with connect(small) as wire:
        wire.sendall(head(small, "Transfer-Encoding: chunked"))
        sent = push(wire, chunk, GIB)
    assert sent < 64 * MIB
    assert memory() - before < 64 * MIB


@pytest.mark.usefixtures("at_leisure")
def test_bodies_just_over_the_limit_get_the_error(small: Serving) -> None:
    for body in (b"x" * (4 * MIB + 1), (b"x" * MIB for _ in range(5))):
        answer = small.client.post(PATH, content=body, headers={"Content-Type": "text/csv"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.usefixtures("at_leisure")
def test_other_routes_have_lower_limits(small: Serving) -> None:
    answer = small.client.post(
        "/api/campaigns/churn/orders", content=b" " * (MIB + 1), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413


@pytest.mark.parametrize("length", ["-1", "x", "1e9", "9" * 30])
def test_invalid_content_length_is_refused(small: Serving, length: str) -> None:
    with connect(small) as wire:
        wire.sendall(head(small, f"Content-Length: {length}"))
        assert answer_of(wire).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 "))


def test_stalled_bodies_time_out(hasty: Serving) -> None:
    with connect(hasty) as wire:
        wire.sendall(head(hasty, "Content-Length: 1000") + b"a,b")
        answer = answer_of(wire)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_slow_bodies_time_out(hasty: Serving) -> None:
    with connect(hasty) as wire:
        wire.sendall(head(hasty, "Content-Length: 100000"))
        with trickling(wire):
            answer = answer_of(wire)
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_slow_request_heads_time_out(hasty: Serving) -> None:
    with connect(hasty) as silent, connect(hasty) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        assert answer_of(silent) == b""
        assert answer_of(slow) == b""


def test_slow_heads_of_later_requests_time_out(hasty: Serving) -> None:
    with connect(hasty) as wire:
        wire.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{hasty.port}\r\n\r\n".encode())
        assert wire.recv(65_536).startswith(b"HTTP/1.1 200 ")
        wire.sendall(b"GET /he")
        assert b"HTTP/1.1" not in answer_of(wire)


def test_large_request_heads_are_refused(small: Serving) -> None:
    with connect(small) as wire:
        push(wire, b"GET / HTTP/1.1\r\nX: " + b"x" * MIB, MIB)
        assert b" 200 " not in answer_of(wire)


def test_concurrent_bodies_share_a_memory_limit(small: Serving) -> None:
    part = b"x" * (2 * MIB)
    with connect(small) as one, connect(small) as two:
        for wire in (one, two):
            wire.sendall(head(small, f"Content-Length: {3 * MIB}") + part)
        poll(lambda: told(small) == 503)  # both have come, and there is no room for as much again
    poll(lambda: told(small) == 422)  # there is room again


def test_timed_out_bodies_release_their_memory(hasty: Serving) -> None:
    with connect(hasty) as one, connect(hasty) as two:
        for wire in (one, two):
            wire.sendall(head(hasty, f"Content-Length: {3 * MIB}") + b"x" * (2 * MIB))
        assert [answer_of(wire)[9:12] for wire in (one, two)] == [b"408", b"408"]
    poll(lambda: told(hasty) == 422)
