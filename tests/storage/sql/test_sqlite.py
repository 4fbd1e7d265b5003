"""What can go wrong with a file: a sentence, and nothing corrupted."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftpace.errors import StorageError
from driftpace.storage import Store, open_store
from driftpace.storage.sql.schema import VERSION
from tests.reference.changes import change, numbers
from tests.reference.nobody import as_nobody, open_folder
from tests.reference.small_disk import in_a_small_file_system

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = open_store(path)
    store.create("churn", change())
    yield store
    store.close()


def whole(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


def test_the_file_is_written_through_and_carries_our_mark(store: Store, path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"drft"),)
    connection.close()


def test_dropped_rows_are_gone_from_the_file(path: Path) -> None:
    store = open_store(path)
    store.create("churn", change())
    store.append("churn", 1, change(size=20_000))
    store.close()
    assert b"rrrrrrrr" in path.read_bytes()
    store.remove("churn")
    store.close()
    assert b"rrrrrrrr" not in path.read_bytes()


def test_a_full_file_is_a_sentence_and_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def small(*given: object, **named: object) -> sqlite3.Connection:
        connection = connect(*given, **named)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 60")
        return connection  # type: ignore[no-any-return]

    monkeypatch.setattr(sqlite3, "connect", small)
    store = open_store(path)
    store.create("churn", change())
    with pytest.raises(StorageError, match=r"the disk of the store at .* is full; nothing was written"):
        store.append("churn", 1, change(1, size=1_000_000))
    assert numbers(store, "churn") == [0]
    assert store.append("churn", 1, change(2)) == 2
    store.close()
    assert whole(path)


_FULL = """
import sys
from driftpace.errors import StorageError
from driftpace.storage import open_store
from tests.reference.changes import change, numbers

store = open_store(sys.argv[1])
store.create("churn", change())
written = 0
try:
    for number in range(1, 100):
        store.append("churn", number, change(number, size=50_000))
        written = number
except StorageError as error:
    print(error)
assert numbers(store, "churn") == list(range(written + 1)), (numbers(store, "churn"), written)
store.close()
again = open_store(sys.argv[1])
assert numbers(again, "churn") == list(range(written + 1))
again.close()
"""


def test_a_full_disk_is_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    said = in_a_small_file_system(tmp_path, _FULL)
    assert "the disk of the store at" in said
    assert "is full" in said
    assert said.count("\n") == 1


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


def test_a_read_only_file_is_a_sentence(folder: Path) -> None:
    path = folder / "labels.db"
    store = open_store(path)
    store.create("churn", change())
    store.close()
    path.chmod(0o444)

    def write() -> None:
        store = open_store(path)
        assert numbers(store, "churn") == [0]
        store.append("churn", 1, change(1))

    assert as_nobody(write).startswith("StorageError: the store at sqlite:///")
    assert "is read-only; nothing was written." in as_nobody(write)
    assert numbers(store, "churn") == [0]
    store.close()


def test_a_folder_that_may_not_be_written_is_a_sentence(folder: Path) -> None:
    folder.chmod(0o555)
    said = as_nobody(lambda: open_store(folder / "labels.db"))
    assert said.startswith("StorageError: the store at ")
    assert "cannot be opened: it was removed, or its folder is not readable and writable." in said
    assert list(folder.iterdir()) == []


def test_a_folder_that_may_not_be_entered_is_a_sentence(folder: Path) -> None:
    open_store(folder / "labels.db").close()
    folder.chmod(0o000)
    said = as_nobody(lambda: open_store(folder / "labels.db"))
    assert said.startswith("StorageError: the store at ")


@pytest.mark.parametrize("left", [50, 100, 5_000, 40_000])
def test_a_truncated_file_is_a_sentence(path: Path, left: int) -> None:
    store = open_store(path)
    store.create("churn", change())
    for number in range(1, 30):
        store.append("churn", number, change(number, size=3_000))
    store.close()
    with path.open("r+b") as file:
        file.truncate(left)
    before = path.read_bytes()

    def read() -> None:
        store = open_store(path)
        try:
            store.rows("churn", range(len(numbers(store, "churn")) + 1))
        finally:
            store.close()

    with pytest.raises(StorageError, match=r"is damaged; restore a backup\.|not a SQLite database, or it is damaged\."):
        read()
    assert path.read_bytes() == before


def test_garbage_is_refused_and_not_touched(path: Path) -> None:
    for garbage in (b"name,label\nada,1\n" * 500, b"SQLite format 3\0" + b"\xff" * 5_000, b"\0" * 4096):
        path.write_bytes(garbage)
        with pytest.raises(StorageError, match=r"not a SQLite database, or it is damaged|is damaged"):
            open_store(path)
        assert path.read_bytes() == garbage


def test_the_database_of_something_else_is_refused_and_not_touched(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE campaigns (name)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(StorageError, match="is a SQLite database of another application, not a store"):
            open_store(path, create=create)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_an_empty_file_becomes_a_store_only_where_one_may_be_made(path: Path) -> None:
    path.touch()
    with pytest.raises(StorageError, match=r"there is no store at .*; `driftpace init` creates one\."):
        open_store(path, create=False)
    assert path.stat().st_size == 0
    open_store(path).close()
    open_store(path, create=False).close()


def test_a_file_that_was_taken_away_is_a_sentence_and_no_new_one_appears(store: Store, path: Path) -> None:
    for found in list(path.parent.iterdir()):
        found.unlink()
    for act in (lambda: store.append("churn", 1, change(1)), store.ping, store.heads):
        with pytest.raises(StorageError, match="cannot be opened: it was removed"):
            act()
    assert list(path.parent.iterdir()) == []


def test_a_file_that_was_put_back_is_used(store: Store, path: Path) -> None:
    store.close()
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    store.append("churn", 1, change(1))
    store.close()
    store.ping()
    copy.replace(path)
    assert numbers(store, "churn") == [0]


def test_others_are_waited_for_and_at_last_given_up(store: Store, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    hasty = open_store(path, wait=0.2)
    assert numbers(hasty, "churn") == [0]
    with pytest.raises(
        StorageError, match=r"timed out waiting for other writers of the store at .*; nothing was written"
    ):
        hasty.append("churn", 1, change(1))
    other.execute("COMMIT")
    assert hasty.append("churn", 1, change(1)) == 2
    hasty.close()
    other.close()


def test_a_newer_driftpace_may_bring_up_a_store_that_is_open_here(store: Store, path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute(f"UPDATE driftpace_meta SET version = {VERSION + 1}")
    other.commit()
    other.close()
    for act in (lambda: store.append("churn", 1, change(1)), lambda: store.create("new", change()), store.ping):
        with pytest.raises(StorageError, match=rf"has version {VERSION + 1} of its tables .* upgrade driftpace"):
            act()
    assert store.count() == 1


def test_a_new_file_has_the_permissions_of_the_user(path: Path) -> None:
    mask = os.umask(0o077)
    try:
        open_store(path).close()
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
