"""Read a SQLite store by the standard library alone, which starts faster than loading SQLAlchemy.

Only tables of the current version are read; anything else is left to :func:`~driftpace.storage.open_store`.
"""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from driftpace.storage.base import Entry, Head, Refusal
from driftpace.storage.sqlite_file import FileStamp, at_rest
from driftpace.storage.stored import read_entry, read_head

VERSION = 2
APPLICATION_ID = 0x64726674
_HEAD = "SELECT name, seq, summary, created_at, updated_at FROM driftpace_campaigns"
_ENTRY = (
    "SELECT e.seq, e.kind, e.key, e.at, e.body, e.hash FROM driftpace_entries e "
    "JOIN driftpace_campaigns c ON c.id = e.campaign_id WHERE c.name = ?"
)


class SqliteReader:
    """The reading part of the store contract, for SQLite files."""

    def __init__(self, connection: sqlite3.Connection, path: Path, rest: FileStamp | None) -> None:
        self._connection = connection
        self._path, self._rest = path, rest
        self.url = f"sqlite:///{path}"

    @classmethod
    def at(cls, place: str) -> Self | None:
        """Return a reader of the store at a place; None where it is not a SQLite file of this version."""
        scheme, mark, named = place.partition("://")
        if mark and (scheme != "sqlite" or not named.startswith("/") or "?" in named):
            return None
        path = Path(os.path.realpath(Path(named[1:] if mark else place).expanduser()))
        if not path.is_file():
            return None
        connection = None
        rest = at_rest(path)
        mode = "rw" if rest is None else "ro&immutable=1"
        try:
            connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode={mode}", uri=True, timeout=10.0)
            connection.execute("PRAGMA query_only = ON")  # mode=ro would leave files behind
            (ours,) = connection.execute("PRAGMA application_id").fetchone()
            version = (
                connection.execute("SELECT version FROM driftpace_meta").fetchone() if ours == APPLICATION_ID else ()
            )
            if version == (VERSION,):
                return cls(connection, path, rest)
        except (sqlite3.Error, ValueError):
            pass
        if connection is not None:
            connection.close()
        return None

    def head(self, name: str) -> Head | None:
        """Return the head of a campaign; None where there is none of that name."""
        rows = self._all(f"{_HEAD} WHERE name = ?", name)
        return read_head(rows[0]) if rows else None

    def heads(self, *, search: str = "", limit: int | None = None, archived: bool | None = None) -> list[Head]:
        """Return campaigns by name, those whose name contains ``search`` (ignoring case), archived ones or others."""
        marked = "" if archived is None else f"AND instr(summary, ?) {'>' if archived else '='} 0 "
        rows = self._all(
            f"{_HEAD} WHERE instr(lowered, ?) {marked}ORDER BY name LIMIT ?",
            search.lower(),
            *(() if archived is None else ('"archived":true',)),
            -1 if limit is None else limit,
        )
        return [read_head(row) for row in rows]

    def latest(self, name: str, *, limit: int) -> list[Entry]:
        """Return the last ``limit`` entries, in order."""
        return [read_entry(row) for row in reversed(self._all(f"{_ENTRY} ORDER BY e.seq DESC LIMIT ?", name, limit))]

    def entries(self, name: str, *, kinds: Sequence[str] = ()) -> list[Entry]:
        """Return the log, in order; only entries of those kinds, if any are given."""
        some = f"AND e.kind IN ({', '.join('?' * len(kinds))}) " if kinds else ""
        return [read_entry(row) for row in self._all(f"{_ENTRY} {some}ORDER BY e.seq", name, *kinds)]

    def refusals(self, name: str) -> list[Refusal]:
        """Return the refused deliveries that are kept, the oldest first."""
        rows = self._all(
            "SELECT r.at, r.who, r.source, r.sentence FROM driftpace_refusals r "
            "JOIN driftpace_campaigns c ON c.id = r.campaign_id WHERE c.name = ? ORDER BY r.id",
            name,
        )
        return [Refusal(at=at, who=who, source=source, sentence=sentence) for at, who, source, sentence in rows]

    def head_and_checkpoint(self, name: str) -> tuple[Head, bytes] | None:
        """Return the head of a campaign and its checkpoint, of the same moment; None where there is none of that name."""
        rows = self._all(
            "SELECT c.name, c.seq, c.summary, c.created_at, c.updated_at, k.data FROM driftpace_campaigns c "
            "JOIN driftpace_checkpoints k ON k.campaign_id = c.id AND k.seq = c.seq WHERE c.name = ?",
            name,
        )
        return (read_head(rows[0][:5]), bytes(rows[0][5])) if rows else None

    def integrity(self) -> str:
        """Return the result of SQLite's integrity check; "ok" where nothing is wrong."""
        return "; ".join(str(row[0]) for row in self._all("PRAGMA integrity_check(3)"))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _all(self, query: str, *values: Any) -> list[Any]:
        from driftpace.errors import StorageError

        try:
            rows = self._connection.execute(query, values).fetchall()
        except UnicodeEncodeError:  # a lone surrogate, which no name has
            return []
        except sqlite3.Error as error:
            self._refuse_change()
            raise StorageError(f"the store{{where}} cannot be read: {error}.", store=self.url) from None
        self._refuse_change()
        return rows

    def _refuse_change(self) -> None:
        """Refuse what was read without locks from a file that was written to meanwhile."""
        from driftpace.errors import StorageError

        if self._rest is not None and at_rest(self._path) != self._rest:
            raise StorageError("the store{where} was changed while it was read; try again.", store=self.url)


def open_reader(place: str) -> Any:
    """Open the store at a place to read campaigns, logs and checkpoints: as a :class:`SqliteReader` where possible.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from driftpace.storage import open_store
    >>> with TemporaryDirectory() as folder:
    ...     open_store(f"{folder}/labels.db").close()
    ...     reader = open_reader(f"{folder}/labels.db")
    ...     campaigns = reader.heads()
    ...     reader.close()
    >>> campaigns
    []
    """
    reader = SqliteReader.at(place)
    if reader is not None:
        return reader
    from driftpace.storage.registry import open_store

    return open_store(place, create=False)
