"""A quick look reads what the store reads, of the tables that it knows, and leaves everything else to the store."""

from pathlib import Path

import pytest

from driftpace.errors import StorageError
from driftpace.storage.sql import schema
from driftpace.storage.sqlite_reader import APPLICATION_ID, VERSION, SqliteReader
from tests.cli.loop import INIT, Run, in_store


@pytest.fixture
def glance(two: Path) -> SqliteReader:
    found = SqliteReader.at("driftpace.db")
    assert found is not None
    return found


def test_it_knows_the_tables_of_this_version() -> None:
    assert (APPLICATION_ID, VERSION) == (schema.APPLICATION_ID, schema.VERSION)


def test_it_reads_what_the_store_reads(glance: SqliteReader) -> None:
    try:
        for name in ("churn", "Prices", "none"):
            assert glance.head(name) == in_store(lambda store, name=name: store.head(name))
            assert glance.entries(name) == list(in_store(lambda store, name=name: store.entries(name)))
            assert glance.latest(name, limit=2) == list(in_store(lambda store, name=name: store.latest(name, limit=2)))
        for search in ("", "R", "x", "%"):
            found = glance.heads(search=search, limit=5)
            assert found == list(in_store(lambda store, search=search: store.heads(search=search, limit=5)))
        standing = glance.head_and_checkpoint("churn")
        assert standing is not None
        assert (standing[0].seq, standing[1]) == in_store(lambda store: store.checkpoint("churn"))
        assert (glance.head_and_checkpoint("none"), glance.integrity()) == (None, "ok")
        assert glance.head("half a \udcff") is None
    finally:
        glance.close()


@pytest.mark.parametrize("place", ["driftpace.db", "sqlite:///driftpace.db", "./driftpace.db"])
def test_a_place_may_be_written_in_several_ways(two: Path, place: str) -> None:
    found = SqliteReader.at(place)
    assert found is not None
    found.close()
    assert found.url == f"sqlite:///{two.resolve()}/driftpace.db"


def test_it_cannot_write(glance: SqliteReader) -> None:
    try:
        with pytest.raises(StorageError, match="cannot be read"):
            glance._all("DELETE FROM driftpace_campaigns")
        assert len(glance.heads()) == 2
    finally:
        glance.close()


def test_a_glance_is_not_for_what_it_does_not_know(folder: Path, run: Run) -> None:
    import sqlite3

    assert run(*INIT)[0] == 0
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
    code, _, err = run("status", "churn")
    assert code == 2
    assert "upgrade driftpace" in err
