"""The SQLite reader reads what the store reads, from tables that it knows, and leaves everything else to the store."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftpace.errors import StorageError
from driftpace.storage import open_store
from driftpace.storage.base import Store
from driftpace.storage.sql import schema
from driftpace.storage.sqlite_reader import APPLICATION_ID, VERSION, SqliteReader
from tests.reference.campaigns import begun, run_period


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store in the working directory, with a campaign in its second period and a new one."""
    monkeypatch.chdir(tmp_path)
    store = open_store("driftpace.db")
    campaign = begun(store, name="churn")
    run_period(campaign, 1)
    campaign.ask(key="W2")
    begun(store, name="Prices")
    yield store
    store.close()


@pytest.fixture
def reader(store: Store) -> Iterator[SqliteReader]:
    reader = SqliteReader.at("driftpace.db")
    assert reader is not None
    yield reader
    reader.close()


def test_it_knows_the_tables_of_this_version() -> None:
    assert (APPLICATION_ID, VERSION) == (schema.APPLICATION_ID, schema.VERSION)


def test_it_reads_what_the_store_reads(store: Store, reader: SqliteReader) -> None:
    for name in ("churn", "Prices", "none"):
        assert reader.head(name) == store.head(name)
        assert reader.entries(name) == list(store.entries(name))
        assert reader.latest(name, limit=2) == list(store.latest(name, limit=2))
    for search in ("", "R", "x", "%"):
        assert reader.heads(search=search, limit=5) == list(store.heads(search=search, limit=5))
    record = reader.head_and_checkpoint("churn")
    assert record is not None
    assert (record[0].seq, record[1]) == store.checkpoint("churn")
    assert (reader.head_and_checkpoint("none"), reader.integrity()) == (None, "ok")
    assert reader.head("half a \udcff") is None


@pytest.mark.parametrize("place", ["driftpace.db", "sqlite:///driftpace.db", "./driftpace.db"])
def test_a_place_can_be_written_in_several_ways(store: Store, place: str) -> None:
    reader = SqliteReader.at(place)
    assert reader is not None
    reader.close()
    assert reader.url == f"sqlite:///{Path.cwd().resolve()}/driftpace.db"


def test_it_cannot_write(reader: SqliteReader) -> None:
    with pytest.raises(StorageError, match="cannot be read"):
        reader._all("DELETE FROM driftpace_campaigns")
    assert len(reader.heads()) == 2


def test_it_does_not_open_files_it_does_not_know(store: Store) -> None:
    store.close()
    Path("pool.csv").write_text("id,age\n1,20\n")
    assert SqliteReader.at("pool.csv") is None
    assert SqliteReader.at("none.db") is None
    assert SqliteReader.at("postgresql://nobody@127.0.0.1:1/none") is None
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE things (a)")
    other.close()
    assert SqliteReader.at("other.db") is None
    newer = sqlite3.connect("driftpace.db")
    newer.execute("UPDATE driftpace_meta SET version = 99")
    newer.commit()
    newer.close()
    assert SqliteReader.at("driftpace.db") is None
