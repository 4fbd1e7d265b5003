"""What a database says when it cannot, in one sentence for people."""

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from driftpace.errors import StorageError

_SQLITE = {
    "SQLITE_FULL": "there is no room left on the disk of the store at {url}; nothing was written.",
    "SQLITE_READONLY": "the store at {url} is read-only; nothing was written.",
    "SQLITE_PERM": "the store at {url} may not be read or written by this user.",
    "SQLITE_CANTOPEN": "the store at {url} cannot be opened: it is gone, or its folder may not be read and written.",
    "SQLITE_NOTADB": "the file at {url} is not a store: it is not a SQLite database, or it is damaged.",
    "SQLITE_CORRUPT": "the store at {url} is damaged; put back a copy of it.",
    "SQLITE_IOERR": "the disk of the store at {url} failed to read or write; nothing was written.",
    "SQLITE_TOOBIG": "what was to be written is too big for the store at {url}; nothing was written.",
    "SQLITE_BUSY": "others are writing to the store at {url} for so long that waiting was given up; nothing was written.",
    "SQLITE_LOCKED": "others are writing to the store at {url} for so long that waiting was given up; nothing was written.",
    "SQLITE_PROTOCOL": "others are writing to the store at {url} for so long that waiting was given up; nothing was written.",
}

_POSTGRES = {
    "25006": "the store at {url} is read-only; nothing was written.",
    "28000": "the server of the store at {url} does not let this user in.",
    "28P01": "the server of the store at {url} does not take the password.",
    "3F000": "the user may not read or write the store at {url}, or not make its tables.",
    "3D000": "there is no such database: {url}.",
    "42501": "the user may not read or write the store at {url}, or not make its tables.",
    "42P01": "there is no store at {url} any more: its tables are gone.",
    "53100": "there is no room left on the disk of the store at {url}; nothing was written.",
    "53200": "the server of the store at {url} is out of memory; nothing was written.",
    "53300": "the server of the store at {url} has no connection free.",
    "54000": "what was to be written is too big for the store at {url}; nothing was written.",
    "55P03": "others are writing to the store at {url} for so long that waiting was given up; nothing was written.",
    "57014": "the store at {url} took too long to answer; nothing was written.",
    "XX001": "the store at {url} is damaged; put back a copy of it.",
    "XX002": "the store at {url} is damaged; put back a copy of it.",
}

_GONE = frozenset({"53300", "57P01", "57P02", "57P03", "57P05", "25P03"})
_AGAIN = frozenset({"40001", "40P01"})


def sentence(error: BaseException, url: str, *, doubt: bool = False) -> StorageError:
    """Return what to tell people about a failure; ``doubt``: it is not known whether the change was written."""
    if doubt:
        return StorageError(
            f"the server of the store at {url} went away just when the change was being written, "
            "so it is not known whether it was; try again."
        )
    if isinstance(error, NoConnectionFree):
        return StorageError(f"all connections to the store at {url} have been busy for too long; nothing was written.")
    state = _state(error)
    known = _SQLITE.get("_".join(state.split("_")[:2])) if state.startswith("SQLITE_") else _POSTGRES.get(state)
    if known is not None:
        return StorageError(known.format(url=url))
    if gone(error):
        return StorageError(f"the server of the store at {url} cannot be reached: {_words(error)}.")
    return StorageError(f"the store at {url} failed: {_words(error)}.")


def gone(error: BaseException) -> bool:
    """Whether the connection was lost, or could not be made."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state, source = _state(error), _source(error)
    if isinstance(source, sqlite3.Error):
        return False
    return state in _GONE or state.startswith("08") or (not state and type(source).__name__ == "OperationalError")


def busy(error: BaseException) -> bool:
    """Whether a SQLite file is in use by others just now."""
    return _state(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"))


def collided(error: BaseException) -> bool:
    """Whether the server gave up one of two transactions that were in each other's way, to be done again."""
    return _state(error) in _AGAIN


def _source(error: BaseException) -> Any:
    return error.orig if isinstance(error, DBAPIError) else error


def _state(error: BaseException) -> str:
    source = _source(error)
    if isinstance(source, sqlite3.Error):
        return str(getattr(source, "sqlite_errorname", "") or "")
    return str(getattr(source, "sqlstate", "") or "")


def _words(error: BaseException) -> str:
    """Return the most telling line of what a driver says, without a full stop."""
    source = _source(error)
    text = str(source) if not isinstance(source, SQLAlchemyError) else type(source).__name__
    lines = [line.strip(" \t-") for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "failed:" in line or "FATAL:" in line or "error:" in line]
    said = telling[-1] if telling else (lines or [type(source).__name__])[0]
    for mark in ("FATAL:", "failed:", "error:"):
        if mark in said:
            said = said.rpartition(mark)[2].strip()
            break
    return said.rstrip(".")
