"""Back up a store while it is in use, and restore it.

A backup is a SQLite store in one file, of the moment at which it began: it can be opened, checked and sealed like any other. It
is restored as a SQLite file or into an empty PostgreSQL database.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from driftpace.errors import ParameterError, StorageError, StorageNotFoundError
from driftpace.storage.atomic_file import atomic_place
from driftpace.storage.registry import is_postgres, sqlite_path

WAIT = 60.0
"""Seconds to wait for other writers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """What a backup holds.

    Attributes
    ----------
    path : Path
        Its file.
    version : int
        The version of its tables.
    campaigns, entries : int
        How many campaigns and log entries.
    """

    path: Path
    version: int
    campaigns: int
    entries: int


def back_up(storage: str | os.PathLike[str], path: str | os.PathLike[str]) -> Backup:
    """Write a store as it is now to one file, while others go on working with it.

    Parameters
    ----------
    storage : str or path-like
        The store, of this version or an older one.
    path : str or path-like
        A new file.

    Returns
    -------
    Backup

    Raises
    ------
    ParameterError
        If the file exists.
    StorageError
        If the store is damaged, or the copy does not have what it has.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from driftpace.storage import open_store
    >>> with TemporaryDirectory() as folder:
    ...     open_store(f"{folder}/labels.db").close()
    ...     backup = back_up(f"{folder}/labels.db", f"{folder}/monday.backup")
    >>> backup.campaigns
    0
    """
    target = Path(path).absolute()
    if target.exists():
        raise ParameterError(f"must be a new file; {os.fspath(path)!r} exists.", owner="back_up", name="path")
    with atomic_place(target, owner="back_up", private=True) as place:
        if is_postgres(storage):
            _copy_tables_out(os.fspath(storage), place)
        else:
            source = _existing(sqlite_path(storage))
            with _reading(source) as connection:
                _copy_pages(connection, place)
        _settle(place)
        found = read_backup(place)
    return Backup(path=target, version=found.version, campaigns=found.campaigns, entries=found.entries)


def restore(path: str | os.PathLike[str], storage: str | os.PathLike[str]) -> Backup:
    """Restore a backup as a new store.

    Parameters
    ----------
    path : str or path-like
        What :func:`back_up` wrote.
    storage : str or path-like
        A SQLite file that does not exist, or a PostgreSQL database without campaigns.

    Returns
    -------
    Backup

    Raises
    ------
    ParameterError
        If there is a store already.
    StorageError
        If the backup is damaged.
    """
    backup = read_backup(Path(path))
    if is_postgres(storage):
        from driftpace.storage.transfer import copy_in

        copy_in(backup.path, os.fspath(storage), wait=WAIT)
        return backup
    target = sqlite_path(storage)
    require_no_store(target)
    with atomic_place(target, owner="restore", private=True) as place:
        with _reading(backup.path) as connection:
            _copy_pages(connection, place)
        _settle(place)
    return backup


def require_no_store(target: Path) -> None:
    """Raise ParameterError where a file is, or the changes of one that was removed."""
    for ending in ("", "-wal", "-journal"):
        if Path(f"{target}{ending}").exists():
            raise ParameterError(
                f"must be a place without a store; {str(target)!r}{ending and f' has a file {target.name}{ending}'}"
                f"{'' if ending else ' exists'}; move it away first.",
                owner="restore",
                name="storage",
            )


def read_backup(path: Path) -> Backup:
    """Return what a backup holds, or raise StorageError where it is damaged or is none."""
    where = _existing(path)
    with _reading(where) as connection:
        (ours,) = connection.execute("PRAGMA application_id").fetchone()
        if ours != 0x64726674:
            raise StorageError("the file{where} is not a backup of a store.", store=str(path))
        damage = "; ".join(str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)"))
        if damage != "ok":
            raise StorageError(f"the backup{{where}} is damaged: {damage[:200]}.", store=str(path))
        (version,) = connection.execute("SELECT version FROM driftpace_meta").fetchone()
        (campaigns,) = connection.execute("SELECT count(*) FROM driftpace_campaigns").fetchone()
        (entries,) = connection.execute("SELECT count(*) FROM driftpace_entries").fetchone()
    return Backup(path=where, version=version, campaigns=campaigns, entries=entries)


def _existing(path: Path) -> Path:
    where = Path(os.path.realpath(path.expanduser()))
    if not where.is_file():
        raise StorageNotFoundError("there is no store{where}.", store=str(path))
    return where


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a SQLite file that is only read; its errors become sentences."""
    from driftpace.storage.sql.failures import sentence

    url = f"sqlite:///{path}"
    try:
        with closing(_connected(path, "rw")) as connection:
            connection.execute("PRAGMA query_only = ON")
            yield connection
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname not in {"SQLITE_READONLY", "SQLITE_CANTOPEN"}:
            raise sentence(error, url) from error
        try:
            with closing(_connected(path, "ro&immutable=1")) as connection:
                yield connection
        except sqlite3.Error as failure:
            raise sentence(failure, url) from failure
    except sqlite3.Error as error:
        raise sentence(error, url) from error


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode={mode}", uri=True, timeout=WAIT, isolation_level=None)


def _copy_pages(source: sqlite3.Connection, place: Path) -> None:
    """Copy a SQLite file page by page, as of one moment."""
    with closing(sqlite3.connect(place)) as copy:
        source.backup(copy)


def _copy_tables_out(address: str, place: Path) -> None:
    from driftpace.storage.transfer import copy_out

    copy_out(address, place, wait=WAIT)


def _settle(place: Path) -> None:
    """Move everything into the one file, which is then renamed."""
    with closing(sqlite3.connect(place)) as copy:
        copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for ending in ("-wal", "-shm"):
        Path(f"{place}{ending}").unlink(missing_ok=True)
