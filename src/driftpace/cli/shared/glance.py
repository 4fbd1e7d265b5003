"""A quick look into a SQLite store, by the standard library alone: loading all that a store can do takes longer than reading it.

It only reads, and only the tables of the one version it knows; whatever else a place holds is left to the store itself, which
says so in a sentence where it must.
"""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from driftpace.storage.base import Entry, Head
from driftpace.storage.sqlite_file import FileStamp, at_rest

VERSION = 1
APPLICATION_ID = 0x64726674
_HEAD = "SELECT name, seq, summary, created_at, updated_at FROM driftpace_campaigns"
_ENTRY = (
    "SELECT e.seq, e.kind, e.key, e.at, e.body FROM driftpace_entries e "
    "JOIN driftpace_campaigns c ON c.id = e.campaign_id WHERE c.name = ?"
)


class Glance:
    """The part of a store's contract that reads; :meth:`at` returns None where the place is not for it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, rest: FileStamp | None) -> None:
        self._connection = connection
        self._path, self._rest = path, rest
        self.url = f"sqlite:///{path}"

    @classmethod
    def at(cls, place: str) -> Self | None:
        """Return a look at the store in that place; None where it is no SQLite file of the version known here."""
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
            connection.execute("PRAGMA query_only = ON")  # and not mode=ro, which would leave files of its own behind
            (ours,) = connection.execute("PRAGMA application_id").fetchone()
            found = (
                connection.execute("SELECT version FROM driftpace_meta").fetchone() if ours == APPLICATION_ID else ()
            )
            if found == (VERSION,):
                return cls(connection, path, rest)
        except (sqlite3.Error, ValueError):
            pass
        if connection is not None:
            connection.close()
        return None

    def head(self, name: str) -> Head | None:
        """Return where a campaign stands; None where there is none of that name."""
        found = self._all(f"{_HEAD} WHERE name = ?", name)
        return _head(found[0]) if found else None

    def heads(self, *, search: str = "", limit: int | None = None) -> list[Head]:
        """Return campaigns by name, those whose name contains ``search`` (in any case of letters)."""
        found = self._all(
            f"{_HEAD} WHERE instr(lowered, ?) ORDER BY name LIMIT ?", search.lower(), -1 if limit is None else limit
        )
        return [_head(row) for row in found]

    def latest(self, name: str, *, limit: int) -> list[Entry]:
        """Return the last ``limit`` entries, in order."""
        return [_entry(row) for row in reversed(self._all(f"{_ENTRY} ORDER BY e.seq DESC LIMIT ?", name, limit))]

    def entries(self, name: str) -> list[Entry]:
        """Return the whole log, in order."""
        return [_entry(row) for row in self._all(f"{_ENTRY} ORDER BY e.seq", name)]

    def standing(self, name: str) -> tuple[Head, bytes] | None:
        """Return where a campaign stands, and its checkpoint, both of one moment; None where there is none of that name."""
        found = self._all(
            "SELECT c.name, c.seq, c.summary, c.created_at, c.updated_at, k.data FROM driftpace_campaigns c "
            "JOIN driftpace_checkpoints k ON k.campaign_id = c.id AND k.seq = c.seq WHERE c.name = ?",
            name,
        )
        return (_head(found[0][:5]), bytes(found[0][5])) if found else None

    def sound(self) -> str:
        """Return what SQLite itself finds wrong with its file; "ok" where nothing is."""
        return "; ".join(str(row[0]) for row in self._all("PRAGMA integrity_check(3)"))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _all(self, asked: str, *values: Any) -> list[Any]:
        from driftpace.errors import StorageError

        try:
            found = self._connection.execute(asked, values).fetchall()
        except UnicodeEncodeError:  # half a character, which no name has
            return []
        except sqlite3.Error as error:
            self._refuse_change()
            raise StorageError(f"the store at {self.url} cannot be read: {error}.") from None
        self._refuse_change()
        return found

    def _refuse_change(self) -> None:
        """Refuse what was read of a file without locks while somebody wrote to it."""
        from driftpace.errors import StorageError

        if self._rest is not None and at_rest(self._path) != self._rest:
            raise StorageError(f"the store at {self.url} was changed while it was read; try again.")


def _head(row: Any) -> Head:
    name, seq, summary, created, updated = row
    return Head(name=name, seq=seq, summary=json.loads(summary), created_at=created, updated_at=updated)


def _entry(row: Any) -> Entry:
    seq, kind, key, at, body = row
    return Entry(seq=seq, kind=kind, key=key, at=at, body=json.loads(body))
