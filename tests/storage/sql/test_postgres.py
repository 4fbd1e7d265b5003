"""What can go wrong with a server: a sentence without the password, nothing lost or written twice, and it works again by itself."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from driftpace.errors import ConflictError, ParameterError, StorageError
from driftpace.storage import Store, Token, open_store
from driftpace.storage.sql import connections
from tests.reference.breaking_line import Line, breaking_line
from tests.reference.changes import change, numbers
from tests.reference.postgres import PASSWORD, PATIENCE, Server


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    store = open_store(postgres_url)
    store.create("churn", change())
    yield store
    store.close()


@pytest.fixture
def line(postgres_server: Server) -> Iterator[Line]:
    with breaking_line(postgres_server.port) as line:
        yield line


@pytest.fixture
def over_the_line(line: Line, postgres_server: Server, postgres_url: str) -> Iterator[Store]:
    store = open_store(postgres_url.replace(str(postgres_server.port), str(line.port)))
    store.create("churn", change())
    yield store
    store.close()


def refused(act: Callable[[], object]) -> str:
    with pytest.raises((StorageError, ParameterError)) as caught:
        act()
    said = str(caught.value)
    assert PASSWORD not in said
    assert "\n" not in said
    assert said.endswith(".")
    return said


def test_the_address_is_shown_without_password_and_options(postgres_server: Server, postgres_url: str) -> None:
    store = open_store(postgres_url + "?sslmode=disable&application_name=mine")
    assert store.url == postgres_url.replace(f":{PASSWORD}", "")
    store.close()


@pytest.mark.parametrize("scheme", ["postgres://", "postgresql+psycopg://"])
def test_other_spellings_are_the_same_store(store: Store, postgres_url: str, scheme: str) -> None:
    same = open_store(postgres_url.replace("postgresql://", scheme))
    assert (numbers(same, "churn"), same.url) == ([0], store.url)
    same.close()


def test_a_socket_is_an_address_too(postgres_server: Server, postgres_url: str, store: Store) -> None:
    near = open_store(postgres_server.socket_url(postgres_url.rpartition("/")[2]))
    assert numbers(near, "churn") == [0]
    assert "host=" in near.url
    assert PASSWORD not in near.url
    near.close()


def test_a_wrong_password_is_a_sentence(postgres_url: str) -> None:
    said = refused(lambda: open_store(postgres_url.replace(PASSWORD, "wrong-and-secret")))
    assert "password authentication failed" in said
    assert "wrong-and-secret" not in said


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]  # held, so that nobody else listens there meanwhile
        said = refused(lambda: open_store(f"postgresql://ada:{PASSWORD}@127.0.0.1:{port}/labels"))
    assert "cannot be reached: Connection refused" in said
    assert "no.such.host.invalid" in refused(
        lambda: open_store(f"postgresql://ada:{PASSWORD}@no.such.host.invalid/labels")
    )


def test_a_database_that_is_not_there_is_a_sentence(postgres_server: Server) -> None:
    assert 'database "nowhere" does not exist' in refused(lambda: open_store(postgres_server.url("nowhere")))


def test_a_store_is_not_made_where_it_must_be_there(postgres_url: str) -> None:
    assert "there is no store at postgresql://" in refused(lambda: open_store(postgres_url, create=False))
    open_store(postgres_url).close()
    open_store(postgres_url, create=False).close()


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ada:{PASSWORD}@host:port/labels",
        f"postgresql://ada:{PASSWORD}@host",
        f"postgresql://ada:{PASSWORD}@[::1/labels",
        f"postgresql+psycopg2://ada:{PASSWORD}@host/labels",
        f"mysql://ada:{PASSWORD}@host/labels",
    ],
)
def test_a_bad_address_is_a_sentence(address: str) -> None:
    assert refused(lambda: open_store(address)).startswith("open_store(storage=...) must ")


def test_an_unknown_option_is_a_sentence(postgres_url: str) -> None:
    assert "colour" in refused(lambda: open_store(f"{postgres_url}?colour=blue"))


def test_another_encoding_is_refused(postgres_server: Server) -> None:
    postgres_server.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'")
    assert "must have the encoding UTF8; it has LATIN1" in refused(lambda: open_store(postgres_server.url("latin")))
    postgres_server.execute("DROP DATABASE latin WITH (FORCE)")


def test_a_user_without_rights_gets_a_sentence(postgres_server: Server, postgres_url: str, store: Store) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    try:
        guest = postgres_url.replace("ada:", "guest:")
        assert "the user has no permission to read or write the store" in refused(lambda: open_store(guest))
        postgres_server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest", name)
        reading = open_store(guest)
        assert numbers(reading, "churn") == [0]
        assert "the user has no permission to read or write" in refused(lambda: reading.append("churn", 1, change(1)))
        reading.close()
    finally:
        postgres_server.execute("DROP OWNED BY guest", name)
        postgres_server.execute("DROP ROLE guest")


def test_a_read_only_database_is_a_sentence(postgres_server: Server, postgres_url: str, store: Store) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store.close()
    assert "is read-only; nothing was written" in refused(lambda: store.append("churn", 1, change(1)))
    assert numbers(store, "churn") == [0]


def test_tables_that_are_gone_are_a_sentence(postgres_server: Server, postgres_url: str, store: Store) -> None:
    name = postgres_url.rpartition("/")[2]
    postgres_server.execute(
        "DROP OWNED BY ada" if name == "" else "DROP SCHEMA public CASCADE; CREATE SCHEMA public", name
    )
    assert "the tables of the store at" in refused(store.heads)


def test_broken_connections_are_replaced_without_a_word(postgres_server: Server, store: Store) -> None:
    for number in range(1, 6):
        postgres_server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'driftpace'"
        )
        assert store.append("churn", number, change(number)) == number + 1
    assert numbers(store, "churn") == list(range(6))


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("cuts", [1, 3])
def test_a_change_is_written_once_when_the_line_breaks_at_its_commit(
    line: Line, over_the_line: Store, heard: bool, cuts: int
) -> None:
    line.arm(heard=heard, cuts=cuts)
    over_the_line.create("new", change(7))
    assert over_the_line.append("churn", 1, change(1)) == 2
    line.arm(heard=heard, cuts=cuts)
    assert over_the_line.append("churn", 2, change(2)) == 3
    assert line.cut >= 2
    assert (numbers(over_the_line, "churn"), numbers(over_the_line, "new")) == ([0, 1, 2], [7])


@pytest.mark.parametrize("heard", [True, False])
def test_whoever_came_between_is_told_apart(line: Line, over_the_line: Store, postgres_url: str, heard: bool) -> None:
    direct = open_store(postgres_url)
    line.then = lambda: direct.append("churn", 2 if heard else 1, change(9))
    line.arm(heard=heard)
    if heard:  # ours was written, and somebody went on behind it
        assert over_the_line.append("churn", 1, change(1)) == 2
        assert numbers(direct, "churn") == [0, 1, 9]
    else:
        with pytest.raises(ConflictError, match="is at entry 2, no longer at 1"):
            over_the_line.append("churn", 1, change(1))
        assert numbers(direct, "churn") == [0, 9]
    direct.close()


@pytest.mark.parametrize("heard", [True, False])
def test_tokens_are_kept_and_removed_once_when_the_line_breaks(line: Line, over_the_line: Store, heard: bool) -> None:
    token = Token(name="ci", digest="ab" * 32, scopes=("read",), created_at="now")
    line.arm(heard=heard)
    over_the_line.add_token(token)
    line.arm(heard=heard)
    assert over_the_line.remove_token("ci")
    line.arm(heard=heard)
    over_the_line.add_token(replace(token, name="other"))
    with pytest.raises(ConflictError):
        over_the_line.add_token(replace(token, name="other"))
    assert (line.cut, [found.name for found in over_the_line.tokens()]) == (3, ["other"])


def test_what_is_not_known_is_not_called_failed(
    line: Line, over_the_line: Store, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "RECONNECTING", 0.3)
    line.arm(heard=True)
    line.then = lambda: setattr(line, "open", False)
    said = refused(lambda: over_the_line.append("churn", 1, change(1)))
    assert "it is unknown whether the change was written; try again" in said
    direct = open_store(postgres_url)
    assert numbers(direct, "churn") == [0, 1]
    direct.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_goes_away_and_comes_back(
    own_postgres_server: Server, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = own_postgres_server
    store = open_store(server.url())
    store.create("churn", change())
    server.stop(how)
    with monkeypatch.context() as patched:
        patched.setattr(connections, "RECONNECTING", 0.2)
        assert "cannot be reached" in refused(lambda: store.append("churn", 1, change(1)))
    monkeypatch.setattr(connections, "RECONNECTING", PATIENCE)
    waiting = threading.Thread(target=store.append, args=("churn", 1, change(1)))
    waiting.start()
    server.start()
    waiting.join(timeout=60)
    assert numbers(store, "churn") == [0, 1]
    store.close()


def test_a_server_that_stops_in_the_middle_of_many_changes(
    own_postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "RECONNECTING", PATIENCE)
    server = own_postgres_server
    store = open_store(server.url())
    store.create("churn", change())
    acknowledged: list[int] = []
    enough, finished = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not finished.is_set():
            number += 1
            store.append("churn", number, change(number))
            acknowledged.append(number)
            if number % 20 == 0:
                enough.set()

    writing = threading.Thread(target=write)
    writing.start()
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGINT):
        assert enough.wait(timeout=60)
        server.stop(how)
        server.start()
        enough.clear()
    finished.set()
    writing.join(timeout=60)
    assert numbers(store, "churn") == [0, *acknowledged]
    store.close()
