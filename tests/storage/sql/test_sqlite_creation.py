"""A store that somebody else makes while it is being looked at."""

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from driftpace.storage import open_store
from driftpace.storage.sql import sqlite
from tests.reference.changes import change


class _Looking:
    """A connection during whose first look somebody else makes the store."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    def execute(self, asked: str) -> Any:
        found = self._connection.execute(asked)
        if asked != "PRAGMA application_id":
            return found
        rows = found.fetchall()
        open_store(self._path).close()
        return _Fetched(rows)

    def close(self) -> None:
        self._connection.close()


class _Fetched:
    """Rows that were fetched before."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def fetchone(self) -> Any:
        return self._rows[0]


def test_a_store_that_is_made_meanwhile_is_not_called_somebody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "labels.db"
    sqlite._make_file(path, 5.0)
    real, looks = sqlite._connected, iter((True,))

    def connected(place: Path, mode: str, wait: float) -> Any:
        connection = real(place, mode, wait)
        return _Looking(connection, path) if next(looks, False) else connection

    monkeypatch.setattr(sqlite, "_connected", connected)
    store = open_store(path)
    assert store.count() == 0
    store.close()


def test_a_store_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    before = os.umask(0o022)
    try:
        store = open_store(path)
        store.create("churn", change())
        files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert files == dict.fromkeys(("labels.db", "labels.db-wal", "labels.db-shm"), 0o600)
