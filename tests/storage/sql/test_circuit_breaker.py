"""A server that is gone is tried for a moment, then not at all for a while, then by one at a time until it answers."""

import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, event

from driftpace.errors import ConflictError, StorageError
from driftpace.storage import open_store
from driftpace.storage.sql import SqlStore, connections
from driftpace.storage.sql.connections import CircuitBreaker
from tests.reference.breaking_line import breaking_line
from tests.reference.changes import change, numbers
from tests.reference.postgres import PATIENCE, Server

GONE = StorageError("the server of the store cannot be reached.")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def tries() -> Iterator[list[dict[str, str]]]:
    """What the driver is given for every attempt to connect to a server."""
    seen: list[dict[str, str]] = []

    def note(_: object, __: object, ___: object, named: dict[str, str]) -> None:
        seen.append(named)  # others may change it still

    event.listen(Engine, "do_connect", note)
    yield seen
    event.remove(Engine, "do_connect", note)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between tries."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        time.sleep(seconds)

    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    return pauses


def test_one_at_a_time_tries_again() -> None:
    clock = Clock()
    breaker = CircuitBreaker(patience=0.5, pause=1.0, clock=clock)
    with breaker.guard():
        breaker.trip(GONE)
    clock.now = 1.0
    with breaker.guard():
        with pytest.raises(StorageError, match="cannot be reached"), breaker.guard():
            pass
        breaker.trip(GONE)
    clock.now = 1.9
    with pytest.raises(StorageError), breaker.guard():
        pass
    clock.now = 2.0
    with suppress(ConflictError), breaker.guard() as patience:
        assert patience < 0.5
        raise ConflictError("somebody was faster.")  # so the server answered
    with breaker.guard() as patience, breaker.guard():
        assert patience == 0.5


def test_who_began_before_the_server_went_says_nothing_about_it_now() -> None:
    breaker = CircuitBreaker(patience=0.5, pause=1.0, clock=Clock())
    with breaker.guard(), breaker.guard():
        breaker.trip(GONE)
    with pytest.raises(StorageError, match="cannot be reached"), breaker.guard():
        pass


def test_a_server_that_is_gone_is_waited_for_once_and_found_again(
    own_postgres_server: Server, tries: list[dict[str, str]], slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = own_postgres_server
    patient = open_store(server.url())
    assert isinstance(patient, SqlStore)
    patient.create("churn", change())
    store, clock = patient.promptly(), Clock()
    breaker = store._connections._breaker
    assert breaker is not None
    breaker._clock = clock  # a pause lasts until the test says so
    assert numbers(store, "churn") == [0]
    server.stop()
    tries.clear()
    with pytest.raises(StorageError, match="cannot be reached"):
        store.ping()
    assert sum(slept) <= connections.PROMPT
    assert {one["connect_timeout"] for one in tries} == {"2"}
    for _ in range(20):
        with pytest.raises(StorageError, match="cannot be reached"):
            store.append("churn", 1, change(1))
    assert sum(slept) <= connections.PROMPT
    slept.clear()
    with monkeypatch.context() as patched:
        patched.setattr(connections, "RECONNECTING", 1.2)
        with pytest.raises(StorageError, match="cannot be reached"):
            patient.ping()  # the command line waits as ever
    assert sum(slept) > connections.PROMPT
    assert tries[-1]["connect_timeout"] == "10"
    server.start()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        clock.now += connections.PAUSE
        with suppress(StorageError):
            store.append("churn", 1, change(1))
            break
    assert numbers(store, "churn") == [0, 1]
    store.close()


def test_while_a_server_is_known_to_be_gone_nobody_knocks(
    own_postgres_server: Server, tries: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PAUSE", 3600.0)
    opened = open_store(own_postgres_server.url())
    assert isinstance(opened, SqlStore)
    store = opened.promptly()
    own_postgres_server.stop()
    with pytest.raises(StorageError, match="cannot be reached"):
        store.ping()
    tries.clear()
    for _ in range(50):
        with pytest.raises(StorageError, match="cannot be reached"):
            store.head("churn")
    assert tries == []
    store.close()


def test_what_was_being_written_is_looked_for_all_the_same(
    postgres_server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PROMPT", 0.0)
    with breaking_line(postgres_server.port) as line:
        opened = open_store(postgres_url.replace(str(postgres_server.port), str(line.port)))
        assert isinstance(opened, SqlStore)
        store = opened.promptly()
        store.create("churn", change())
        line.arm(heard=True, cuts=3)
        assert store.append("churn", 1, change(1)) == 2
        assert line.cut >= 1
        assert numbers(store, "churn") == [0, 1]
        store.close()
