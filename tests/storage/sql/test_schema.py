import multiprocessing
import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, MetaData, create_engine, text

from driftpace.errors import StorageError
from driftpace.storage import open_store
from driftpace.storage.sql import schema
from driftpace.storage.sql.schema import APPLICATION_ID, METADATA, VERSION, bring_up, version_of
from driftpace.storage.transfer import upgrade_tables

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

NEWER = 99


def older_tables(connection: Connection) -> None:
    """A made-up version 0: the tables of today without one column and one table."""
    METADATA.create_all(connection)
    connection.execute(text("ALTER TABLE driftpace_campaigns DROP COLUMN lowered"))
    connection.execute(text("DROP TABLE driftpace_tokens"))
    connection.execute(text("INSERT INTO driftpace_meta (id, version) VALUES (1, 0)"))
    row = "1, 'Churn', 1, 'then', 'then', '{}'"
    connection.execute(
        text(f"INSERT INTO driftpace_campaigns (id, name, seq, created_at, updated_at, summary) VALUES ({row})")
    )


def step_from_0(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE driftpace_campaigns ADD COLUMN lowered TEXT NOT NULL DEFAULT ''"))
    connection.execute(text("UPDATE driftpace_campaigns SET lowered = lower(name)"))
    METADATA.tables["driftpace_tokens"].create(connection)


def made_older(url: str) -> None:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        older_tables(connection)
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def all_steps(first: Callable[[Connection], None]) -> dict[int, Callable[[Connection], None]]:
    return {0: first, **dict.fromkeys(range(1, VERSION), lambda _: None)}


def test_an_older_store_is_brought_up_with_what_is_in_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made_older(url)
    monkeypatch.setattr(schema, "UPGRADES", all_steps(step_from_0))
    with pytest.raises(
        StorageError, match=r"has version 0 .* uses version 2; driftpace upgrade migrates it, with a backup"
    ):
        open_store(url)
    upgrade_tables(url, wait=60.0)
    store = open_store(url)
    assert [head.name for head in store.heads(search="CHURN")] == ["Churn"]
    assert store.tokens() == []
    store.ping()
    store.close()


def test_a_step_that_fails_leaves_the_older_store(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(connection: Connection) -> None:
        step_from_0(connection)
        connection.execute(text("SELECT * FROM no_such_table"))

    made_older(url)
    monkeypatch.setattr(schema, "UPGRADES", all_steps(failing))
    with pytest.raises(StorageError):
        upgrade_tables(url, wait=60.0)
    monkeypatch.setattr(schema, "UPGRADES", all_steps(step_from_0))
    upgrade_tables(url, wait=60.0)
    store = open_store(url)
    assert store.count() == 1
    store.close()


def test_an_older_store_without_a_step_is_refused(url: str) -> None:
    made_older(url)
    with pytest.raises(
        StorageError, match=f"has version 0 of its tables, which this driftpace cannot upgrade to {VERSION}"
    ):
        open_store(url)


def test_steps_are_run_in_order_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    steps = {0: lambda _: ran.append(0), 1: lambda _: ran.append(1), 2: lambda _: ran.append(2)}
    monkeypatch.setattr(schema, "UPGRADES", steps)
    monkeypatch.setattr(schema, "VERSION", 3)
    engine = create_engine(f"sqlite:///{tmp_path}/labels.db")
    with engine.begin() as connection:
        older_tables(connection)
        bring_up(connection, "here", upgrade=True)
        bring_up(connection, "here", upgrade=True)
        assert (ran, version_of(connection)) == ([0, 1, 2], 3)
    engine.dispose()


def test_a_newer_sqlite_store_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    open_store(path).close()
    edited = sqlite3.connect(path)
    edited.execute(f"UPDATE driftpace_meta SET version = {NEWER}")
    edited.commit()
    edited.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=f"has version {NEWER} .* reads versions up to {VERSION}; upgrade driftpace"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_newer_postgres_store_is_refused_and_not_touched(postgres_url: str) -> None:
    open_store(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE driftpace_meta SET version = 99")
    with pytest.raises(StorageError, match=f"has version {NEWER} .* reads versions up to {VERSION}; upgrade driftpace"):
        open_store(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT version FROM driftpace_meta").fetchall() == [(NEWER,)]


def _open(url: str, start: object, done: "multiprocessing.Queue[str]", old: bool) -> None:
    try:
        start.wait()  # type: ignore[attr-defined]
        if old:
            upgrade_tables(url, wait=60.0)
        store = open_store(url)
        found = f"{store.count(search='churn')} {store.tokens()}"
        store.close()
    except BaseException as error:
        found = repr(error)
    done.put(found)


@pytest.mark.parametrize("old", [False, True])
def test_sixteen_processes_open_a_new_or_upgrade_an_old_store_at_once(
    url: str, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if old:
        made_older(url)
        monkeypatch.setattr(schema, "UPGRADES", all_steps(step_from_0))
    fork = multiprocessing.get_context("fork")
    start, done = fork.Barrier(16), fork.Queue()
    processes = [fork.Process(target=_open, args=(url, start, done, old)) for _ in range(16)]
    for process in processes:
        process.start()
    answers = [done.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    done.close()
    assert answers == ["1 []" if old else "0 []"] * 16


def test_the_tables_in_a_database_are_those_described(url: str) -> None:
    open_store(url).close()
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    found = MetaData()
    found.reflect(engine)
    engine.dispose()
    assert {table: sorted(found.tables[table].c.keys()) for table in found.tables} == {
        table: sorted(METADATA.tables[table].c.keys()) for table in METADATA.tables
    }
