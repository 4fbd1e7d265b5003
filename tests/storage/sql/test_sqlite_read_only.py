"""A store that may only be read is read; what would be written is refused, and nothing is left behind."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from driftpace.errors import StorageError
from driftpace.storage import Store, Token, open_store
from driftpace.storage.sql.store import SqlStore
from tests.reference.changes import change, numbers
from tests.reference.nobody import as_nobody, open_folder
from tests.reference.small_disk import in_a_small_file_system

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

TOKEN = Token(name="nightly", digest="0" * 64, scopes=("read",), created_at="2026-11-15T10:00:00Z")
WRITES: dict[str, Callable[[Store], object]] = {
    "append": lambda store: store.append("churn", 2, change(2)),
    "create": lambda store: store.create("new", change()),
    "remove": lambda store: store.remove("churn"),
    "add_token": lambda store: store.add_token(Token(name="new", digest="1" * 64, scopes=(), created_at="now")),
    "remove_token": lambda store: store.remove_token("nightly"),
}


@pytest.fixture
def path() -> Iterator[Path]:
    """A store with two entries, rows and a token, in a folder of its own."""
    with open_folder() as folder:
        store = open_store(folder / "labels.db")
        store.create("churn", change())
        store.append("churn", 1, change(1, size=30_000))
        store.add_token(TOKEN)
        store.close()
        yield folder / "labels.db"


def shut(path: Path, file: int = 0o444, folder: int = 0o555) -> None:
    """Take the permission to write from the files and the folder."""
    for one in path.parent.iterdir():
        one.chmod(file)
    path.parent.chmod(folder)


def everything(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.parent.iterdir()}


def read(store: Store) -> tuple[object, ...]:
    """Return what every question to a store finds."""
    store.ping()
    return (
        numbers(store, "churn"),
        [head.name for head in store.heads()],
        store.count(),
        len(store.rows("churn", [2])[2]),
        [token.name for token in store.tokens()],
        store.find("churn", "told", "none"),
        len(store.latest("churn", limit=1)),
    )


READ = ([0, 1], ["churn"], 1, 30_000, ["nightly"], None, 1)


def opened(path: Path, work: Callable[[Store], object], *, create: bool = False) -> object:
    store = open_store(path, create=create)
    try:
        return work(store)
    finally:
        store.close()


@pytest.mark.parametrize(("file", "folder"), [(0o644, 0o555), (0o444, 0o777), (0o444, 0o555)])
@pytest.mark.parametrize("create", [True, False])
def test_it_is_read_and_nothing_is_left_behind(path: Path, file: int, folder: int, create: bool) -> None:
    shut(path, file, folder)
    before = everything(path)
    assert as_nobody(lambda: opened(path, read, create=create)) == READ
    assert everything(path) == before


@pytest.mark.parametrize("name", WRITES)
def test_no_write_gets_through(path: Path, name: str) -> None:
    shut(path)
    before = everything(path)
    said = as_nobody(lambda: opened(path, WRITES[name]))
    assert said == f"StorageError: the store at sqlite:///{path.resolve()} is read-only; nothing was written."
    assert everything(path) == before
    path.parent.chmod(0o777)
    path.chmod(0o666)
    assert opened(path, lambda store: store.append("churn", 2, change(2))) == 3


def test_a_refused_write_leaves_a_store_that_can_be_read(path: Path) -> None:
    shut(path)

    def work(store: Store) -> object:
        for write in WRITES.values():
            with pytest.raises(StorageError, match="is read-only; nothing was written"):
                write(store)
        return read(store)

    assert as_nobody(lambda: opened(path, work)) == READ


def _left_by_a_crash(path: Path) -> None:
    """Leave a change in the log beside the file, as a process does that was killed."""
    script = (
        "import os, sys; from driftpace.storage import open_store; from tests.reference.changes import change; "
        "open_store(sys.argv[1]).append('churn', 2, change(2)); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], cwd=Path(__file__).parents[3], timeout=60)
    assert done.returncode == 9
    assert path.with_name("labels.db-wal").stat().st_size > 0


def test_changes_beside_it_are_read_where_sqlite_can(path: Path) -> None:
    _left_by_a_crash(path)
    shut(path)
    assert as_nobody(lambda: opened(path, lambda store: numbers(store, "churn"))) == [0, 1, 2]


def test_changes_beside_it_that_cannot_be_read_are_a_sentence(path: Path) -> None:
    _left_by_a_crash(path)
    path.with_name("labels.db-shm").unlink()
    shut(path)
    before = everything(path)
    said = as_nobody(lambda: opened(path, read))
    assert said == (
        f"StorageError: the store at sqlite:///{path.resolve()} is read-only here and has pending changes in labels.db-wal; "
        "open it once as a user who can write there, or copy both files to a folder of yours."
    )
    assert everything(path) == before
    path.parent.chmod(0o777)
    path.chmod(0o666)
    assert opened(path, lambda store: numbers(store, "churn")) == [0, 1, 2]


def test_an_empty_log_beside_it_does_no_harm(path: Path) -> None:
    path.with_name("labels.db-wal").touch()
    shut(path)
    assert as_nobody(lambda: opened(path, read)) == READ


def test_one_who_writes_and_one_who_may_only_read(path: Path) -> None:
    writer = open_store(path)
    shut(path, 0o644, 0o755)  # the files of the writer come and go, and others may look at them
    try:
        for number in range(2, 5):
            writer.append("churn", number, change(number))
            found = as_nobody(lambda: opened(path, lambda store: numbers(store, "churn")))
            assert found == list(range(number + 1))
            writer.close()
            found = as_nobody(lambda: opened(path, lambda store: numbers(store, "churn")))
            assert found == list(range(number + 1))
    finally:
        writer.close()


@pytest.mark.parametrize("pause", ["between", "at work"])
def test_one_who_looks_for_long_sees_what_others_write(path: Path, monkeypatch: pytest.MonkeyPatch, pause: str) -> None:
    access, bound = os.access, [True]
    monkeypatch.setattr(os, "access", lambda *given: access(*given) and not (bound[0] and given[1] == os.W_OK))
    reader = open_store(path)
    writer = None
    try:
        assert read(reader) == READ
        with pytest.raises(StorageError, match="is read-only; nothing was written"):
            reader.append("churn", 2, change(2))
        for number in range(2, 6):
            bound[0] = False
            writer = writer or open_store(path)
            writer.append("churn", number, change(number))
            if pause == "between":
                writer.close()
            bound[0] = True
            assert numbers(reader, "churn") == list(range(number + 1))
    finally:
        reader.close()
        if writer is not None:
            writer.close()


def test_what_was_read_while_somebody_wrote_is_read_again(path: Path) -> None:
    store = open_store(path)
    assert isinstance(store, SqlStore)
    connections = store._connections
    asked: list[str] = []
    fetch = connections._fetch

    def counted(connection: sqlite3.Connection, text: str, parameters: object) -> object:
        asked.append(text)
        if len(asked) == 2:
            raise sqlite3.DatabaseError("database disk image is malformed")  # half of one page, half of another
        return fetch(connection, text, parameters)

    connections._fetch = counted  # type: ignore[assignment]
    looks = iter([1, 2, 3, 4, 5, 5])  # changed after the first look, and after the second
    connections._still = lambda: next(looks)
    head = store.head("churn")
    assert head is not None
    assert (head.seq, len(asked)) == (2, 3)
    always = iter(range(10**6))
    connections._still = lambda: next(always)
    for look in (lambda: store.head("churn"), store.heads):
        with pytest.raises(StorageError, match="was changed by other processes while it was read; try again"):
            look()
    store.close()


_MOUNTED = """
import subprocess, sys
from driftpace.errors import StorageError
from driftpace.storage import open_store
from tests.reference.changes import change, numbers

path, folder = sys.argv[1], sys.argv[2]
store = open_store(path)
store.create("churn", change())
store.close()
subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
store = open_store(path, create=False)
assert numbers(store, "churn") == [0]
try:
    store.append("churn", 1, change(1))
except StorageError as error:
    print(error)
assert numbers(store, "churn") == [0]
store.close()
subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
store = open_store(path)
assert store.append("churn", 1, change(1)) == 2
store.close()
"""


def test_a_disk_that_may_only_be_read_is_read(tmp_path: Path) -> None:
    said = in_a_small_file_system(tmp_path, _MOUNTED)
    place = (tmp_path / "small").resolve()
    assert said == f"the store at sqlite:///{place}/labels.db is read-only; nothing was written.\n"


_FULL = """
import pathlib, subprocess, sys
from driftpace.errors import StorageError
from driftpace.storage import SqliteReader, open_reader, open_store
from tests.reference.changes import change, numbers

path, folder = sys.argv[1], pathlib.Path(sys.argv[2])
store = open_store(path)
store.create("churn", change())
store.close()
filler = (folder / "filler").open("wb", buffering=0)
try:
    while True:
        filler.write(bytes(4096))
except OSError:
    pass
reader = open_reader(path)
assert isinstance(reader, SqliteReader)
assert reader.head("churn").seq == 1
reader.close()
store = open_store(path, create=False)
assert numbers(store, "churn") == [0]
try:
    store.append("churn", 1, change(1))
except StorageError as error:
    print(error)
assert numbers(store, "churn") == [0]
filler.close()
(folder / "filler").unlink()
assert store.append("churn", 1, change(1)) == 2
store.close()
"""


def test_a_closed_store_on_a_full_disk_is_read(tmp_path: Path) -> None:
    said = in_a_small_file_system(tmp_path, _FULL)
    place = (tmp_path / "small").resolve()
    assert said == f"the disk of the store at sqlite:///{place}/labels.db is full; nothing was written.\n"
