"""Campaigns in one SQLite file: write-ahead log, durable commits, waiting for locks.

Dropped rows are overwritten with zeros in the file; copies in the write-ahead log (``-wal``) remain until it is overwritten or the
last process closes the store. A file that is not writable can be read (:mod:`driftpace.storage.sqlite_file`); writes are refused.
"""

import os
import sqlite3
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import QueuePool

from driftpace.errors import StorageError, StorageNotFoundError
from driftpace.storage.atomic_file import PRIVATE
from driftpace.storage.sql.connections import KEPT, Connections
from driftpace.storage.sql.failures import is_busy, sentence
from driftpace.storage.sql.schema import APPLICATION_ID, META, bring_up, refuse_newer, refuse_older, refuse_too_old
from driftpace.storage.sqlite_file import (
    FileStamp,
    at_rest,
    changes_beside,
    is_full,
    may_be_written,
    network_kind_here,
)

_READS = "driftpace_reads"
_RESTING = "ro&immutable=1"


def open_sqlite(path: Path, *, create: bool, wait: float, older: bool = False) -> Connections:
    """Open the store in a file, and create it; any other file is refused, and one of an older version unless ``older``."""
    path = Path(os.path.realpath(path))
    url = f"sqlite:///{path}"
    try:
        _refuse_place(path)
        version = _version_in(path, url, wait)
        if version is None and not create:
            raise StorageNotFoundError("there is no store{where}; `driftpace init` creates one.", store=str(path))
        if version is None:
            _make_file(path, wait)
    except sqlite3.Error as error:
        raise sentence(error, url) from error
    except OSError as error:
        raise StorageError(f"the store{{where}} cannot be opened: {error.strerror}.", store=url) from error
    if version is not None:
        refuse_newer(version, url)
        refuse_too_old(version, url)
    if version is not None and not older:
        refuse_older(version, url)
    connections = _connections(path, url, wait)
    if version is None:
        connections.write(lambda connection, _: _bring_up(connection, url))
    return connections


def _refuse_place(path: Path) -> None:
    kind = network_kind_here(path)
    if kind is not None:
        raise StorageError(
            f"a SQLite store must not be on a network file system, which would corrupt it ({path} is on {kind}); "
            "use a local disk, or PostgreSQL (postgresql://...) for several machines."
        )
    if path.is_dir():
        raise StorageError("the store{where} must be a file; it is a folder.", store=str(path))
    if not path.parent.is_dir():
        raise StorageError(
            f"the store{{where}} cannot be created: the folder {path.parent} does not exist.", store=str(path)
        )


def _version_in(path: Path, url: str, wait: float) -> int | None:
    """Return the version of the tables in a file; None if it is missing or empty; raise StorageError for another file.

    The file is opened by SQLite only: opening and closing it directly would drop the locks of this process.
    """
    if not path.exists():
        return None
    try:
        return _asked(path, _RESTING if at_rest(path) else "ro", wait)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname not in {"SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY", "SQLITE_CANTOPEN"}:
            raise
        if error.sqlite_errorname == "SQLITE_CANTOPEN" and changes_beside(path) and not may_be_written(path):
            raise StorageError(
                f"the store{{where}} is read-only here and has pending changes in {path.name}-wal; "
                "open it once as a user who can write there, or copy both files to a folder of yours.",
                store=url,
            ) from None
        return _asked(path, "rw", wait)  # a crash left changes to roll back, which a reader cannot do


def _asked(path: Path, mode: str, wait: float) -> int | None:
    connection = _connected(path, mode, wait)
    try:
        connection.execute("BEGIN")  # one snapshot: another process may be creating the tables
        (ours,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if ours == APPLICATION_ID:
            row = connection.execute(f"SELECT version FROM {META.name}").fetchone()
            if row is None or not isinstance(row[0], int):
                raise StorageError("the store{where} is damaged; restore a backup.", store=str(path))
            return int(row[0])
        if ours != 0 or tables != 0:
            raise StorageError(
                "the file{where} is a SQLite database of another application, not a store.", store=str(path)
            )
        return None
    finally:
        connection.close()


def _make_file(path: Path, wait: float) -> None:
    """Create the file with a write-ahead log; several processes can do so at once."""
    deadline = time.monotonic() + wait
    with suppress(
        OSError
    ):  # what is wrong with a place is said below; the files beside it get the permissions of this one
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))
    while True:
        connection = _connected(path, "rwc", wait)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # SQLite does not wait here
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        finally:
            connection.close()
        time.sleep(0.01)


def _bring_up(connection: Connection, url: str) -> None:
    bring_up(connection, url)
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")


class _Line(sqlite3.Connection):
    """A connection; ``rest`` is the stamp of a file that is read without locks."""

    rest: FileStamp | None = None


def _connected(path: Path, mode: str, wait: float) -> _Line:
    connection: _Line = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=wait,
        isolation_level=None,
        check_same_thread=False,
        factory=_Line,
    )
    return connection


def _connections(path: Path, url: str, wait: float) -> Connections:
    def connected() -> sqlite3.Connection:
        rest = at_rest(path)
        connection = _connected(path, "rw" if rest is None else _RESTING, wait)
        connection.rest = rest
        for pragma in ("foreign_keys = ON", "synchronous = FULL", "secure_delete = ON", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")
        return connection

    engine = create_engine(
        "sqlite+pysqlite://",
        creator=connected,
        poolclass=QueuePool,
        pool_size=KEPT,
        max_overflow=112,
        pool_timeout=wait,
        hide_parameters=True,
    )
    _listen(engine, path, url)
    reader = engine.execution_options(**{_READS: True})
    still = None if may_be_written(path) and not is_full(path) else partial(at_rest, path)
    return Connections(engine, reader, url, fetch=_fetch, wait=wait, in_turn=True, still=still, light=_light)


def _fetch(connection: sqlite3.Connection, text: str, parameters: Any) -> list[Any]:
    return connection.execute(text, parameters).fetchall()


def _light(connection: sqlite3.Connection, text: str, parameters: Any) -> list[Any]:
    """Execute a statement that is not synced; what is committed afterwards is synced with it."""
    connection.execute("PRAGMA synchronous = NORMAL")
    try:
        return connection.execute(text, parameters).fetchall()
    finally:
        connection.execute("PRAGMA synchronous = FULL")


def _listen(engine: Engine, path: Path, url: str) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_READS):
            return
        if connection.connection.driver_connection.rest is not None and may_be_written(path):  # type: ignore[union-attr]
            raise StorageError("the disk of the store{where} is full; nothing was written.", store=url)
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    @event.listens_for(engine, "commit")
    def commit(connection: Connection) -> None:
        if connection.get_execution_options().get(_READS):
            return
        # SQLite would write to a file that has no name any more
        if connection.connection.info["file"] != _file_at(path):
            raise StorageError(
                "the store{where} was removed or replaced by another file; nothing was written.", store=url
            )

    @event.listens_for(engine, "connect")
    def connect(connection: _Line, record: Any) -> None:
        record.info["file"] = _file_at(path)
        record.info["rest"] = connection.rest

    @event.listens_for(engine, "checkout")
    def checkout(_: Any, record: Any, __: Any) -> None:
        rest = record.info["rest"]
        if record.info["file"] != _file_at(path) or (rest is not None and rest != at_rest(path)):
            raise DisconnectionError("the file was replaced")


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
