"""What is asked over and over is built once, and costs one way to the database."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Dialect, bindparam, select
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from driftpace.storage import Store, Token, open_store
from driftpace.storage.sql import sqlite
from driftpace.storage.sql.schema import CAMPAIGNS
from driftpace.storage.sql.statements import CompiledSelect
from tests.reference.changes import change
from tests.reference.postgres import Server

READS: dict[str, Callable[[Store], Any]] = {
    "head": lambda store: store.head("churn"),
    "checkpoint": lambda store: store.checkpoint("churn"),
    "find": lambda store: store.find("churn", "noted", "any"),
    "tokens": lambda store: store.tokens(),
    "ping": lambda store: store.ping(),
}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = tmp_path / "labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    store = open_store(place)
    store.create("churn", change())
    store.add_token(Token(name="ci", digest="ab" * 32, scopes=("read",), created_at="now"))
    yield store
    store.close()


@pytest.mark.parametrize("what", READS)
def test_a_read_goes_straight_to_the_driver(store: Store, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = READS[what](store)

    def detour(*_: Any, **__: Any) -> None:
        raise AssertionError("a statement was built again")

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "execute", detour)
        patched.setattr(Connection, "scalar", detour)
        assert READS[what](store) == before


@pytest.mark.parametrize("what", READS)
def test_a_read_is_one_statement_for_a_server(postgres_server: Server, postgres_url: str, what: str) -> None:
    postgres_server.execute("ALTER DATABASE labels SET log_statement = 'all'")
    store = open_store(postgres_url)
    store.create("churn", change())
    READS[what](store)
    log = postgres_server.folder / "log"
    before = len(log.read_text().splitlines())
    READS[what](store)
    said = [line for line in log.read_text().splitlines()[before:] if "LOG:" in line]
    assert len(said) == 1
    assert "SELECT driftpace_" in said[0]
    store.close()


def test_a_change_is_five_statements_and_the_ends_of_one_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    connected = sqlite._connected

    def traced(*args: Any) -> sqlite3.Connection:
        connection = connected(*args)
        connection.set_trace_callback(said.append)
        return connection

    monkeypatch.setattr(sqlite, "_connected", traced)
    store = open_store(tmp_path / "labels.db")
    store.create("churn", change())
    said.clear()
    store.append("churn", 1, change(1))
    words = [" ".join(one.split()[:2]) for one in said]
    assert (words[0], words[-1]) == ("BEGIN IMMEDIATE", "COMMIT")
    assert len(words) <= 7
    store.close()


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [(SQLiteDialect_pysqlite(), [3, "churn", 3]), (PGDialect_psycopg(), {"least": 3, "name": "churn"})],  # type: ignore[no-untyped-call]
)
def test_parameters_are_in_the_order_or_under_the_names_that_a_driver_takes(dialect: Dialect, expected: Any) -> None:
    least: Any = bindparam("least")
    asked = select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.seq > least, CAMPAIGNS.c.name == bindparam("name"))
    question = CompiledSelect(asked.where(CAMPAIGNS.c.id > least))
    text, parameters = question.compiled_for(dialect, {"name": "churn", "least": 3})
    assert parameters == expected
    assert question.compiled_for(dialect, {"name": "churn", "least": 3})[0] is text
