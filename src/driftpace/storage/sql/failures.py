"""Translate database errors into one sentence."""

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from driftpace.errors import StorageError

_SQLITE = {
    "SQLITE_FULL": "the disk of the store{where} is full; nothing was written.",
    "SQLITE_READONLY": "the store{where} is read-only; nothing was written.",
    "SQLITE_PERM": "this user has no permission to read or write the store{where}.",
    "SQLITE_CANTOPEN": "the store{where} cannot be opened: it was removed, or its folder is not readable and writable.",
    "SQLITE_NOTADB": "the file{where} is not a store: it is not a SQLite database, or it is damaged.",
    "SQLITE_CORRUPT": "the store{where} is damaged; restore a backup.",
    "SQLITE_IOERR": "the disk of the store{where} failed to read or write; nothing was written.",
    "SQLITE_TOOBIG": "the change is too large for the store{where}; nothing was written.",
    "SQLITE_BUSY": "timed out waiting for other writers of the store{where}; nothing was written.",
    "SQLITE_LOCKED": "timed out waiting for other writers of the store{where}; nothing was written.",
    "SQLITE_PROTOCOL": "timed out waiting for other writers of the store{where}; nothing was written.",
}

_POSTGRES = {
    "25006": "the store{where} is read-only; nothing was written.",
    "28000": "the server of the store{where} rejected the user.",
    "28P01": "the server of the store{where} rejected the password.",
    "3F000": "the user has no permission to read or write the store{where}, or to create its tables.",
    "3D000": "the database of the store{where} does not exist.",
    "42501": "the user has no permission to read or write the store{where}, or to create its tables.",
    "42P01": "the tables of the store{where} were removed.",
    "53100": "the disk of the store{where} is full; nothing was written.",
    "53200": "the server of the store{where} is out of memory; nothing was written.",
    "53300": "the server of the store{where} has no free connection.",
    "54000": "the change is too large for the store{where}; nothing was written.",
    "55P03": "timed out waiting for other writers of the store{where}; nothing was written.",
    "57014": "the store{where} took too long to answer; nothing was written.",
    "XX001": "the store{where} is damaged; restore a backup.",
    "XX002": "the store{where} is damaged; restore a backup.",
}

_GONE = frozenset({"53300", "57P01", "57P02", "57P03", "57P05", "25P03"})
_AGAIN = frozenset({"40001", "40P01"})


def sentence(error: BaseException, url: str, *, doubt: bool = False) -> StorageError:
    """Return the error for a failure; ``doubt``: it is unknown whether the change was committed."""
    if doubt:
        return StorageError(
            "the server of the store{where} was lost during the commit, "
            "so it is unknown whether the change was written; try again.",
            store=url,
        )
    if isinstance(error, NoConnectionFree):
        return StorageError(
            "timed out waiting for a free connection to the store{where}; nothing was written.", store=url
        )
    state = _state(error)
    known = _SQLITE.get("_".join(state.split("_")[:2])) if state.startswith("SQLITE_") else _POSTGRES.get(state)
    if known is not None:
        return StorageError(known, store=url)
    if is_disconnect(error):
        return StorageError(f"the server of the store{{where}} cannot be reached: {_message(error)}.", store=url)
    return StorageError(f"the store{{where}} failed: {_message(error)}.", store=url)


def is_disconnect(error: BaseException) -> bool:
    """Return whether the connection was lost or could not be opened."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state, source = _state(error), _source(error)
    if isinstance(source, sqlite3.Error):
        return False
    return state in _GONE or state.startswith("08") or (not state and type(source).__name__ == "OperationalError")


def is_busy(error: BaseException) -> bool:
    """Return whether a SQLite file is locked."""
    return _state(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"))


def is_conflict(error: BaseException) -> bool:
    """Return whether the server aborted a transaction that conflicts with another, to be retried."""
    return _state(error) in _AGAIN


def _source(error: BaseException) -> Any:
    return error.orig if isinstance(error, DBAPIError) else error


def _state(error: BaseException) -> str:
    source = _source(error)
    if isinstance(source, sqlite3.Error):
        return str(getattr(source, "sqlite_errorname", "") or "")
    return str(getattr(source, "sqlstate", "") or "")


def _message(error: BaseException) -> str:
    """Return the most informative line of a driver error, without a full stop."""
    source = _source(error)
    text = str(source) if not isinstance(source, SQLAlchemyError) else type(source).__name__
    lines = [line.strip(" \t-") for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "failed:" in line or "FATAL:" in line or "error:" in line]
    message = telling[-1] if telling else (lines or [type(source).__name__])[0]
    for mark in ("FATAL:", "failed:", "error:"):
        if mark in message:
            message = message.rpartition(mark)[2].strip()
            break
    return message.rstrip(".")
