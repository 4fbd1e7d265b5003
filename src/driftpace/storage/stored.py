"""Read the rows of a store's tables as records; a row that no store can have written is refused with its place."""

import json
from collections.abc import Callable
from typing import Any

from driftpace.errors import StorageError
from driftpace.storage.base import Entry, Head, Token, Value


def read_head(row: Any) -> Head:
    """Return the head of a campaign.

    >>> read_head(("churn", 1, "{", "2026-11-15T10:00:00Z", "2026-11-15T10:00:00Z"))
    Traceback (most recent call last):
        ...
    driftpace.errors.StorageError: campaign 'churn' is damaged in the store: its summary is not a JSON object; restore a backup.
    """
    name, seq, summary, created, updated = row
    return Head(
        name=name,
        seq=read_whole(seq, f"campaign {name!r}", "seq"),
        summary=_parsed(summary, json_object, f"campaign {name!r}", "summary"),
        created_at=created,
        updated_at=updated,
    )


def read_entry(row: Any) -> Entry:
    """Return an entry of a log."""
    seq, kind, key, at, body, link = row
    for name, value in (("kind", kind), ("key", "" if key is None else key), ("at", at), ("hash", link)):
        if not isinstance(value, str):
            raise _damaged(f"entry {seq}", name, "a text")
    content = _parsed(body, json_object, f"entry {seq}", "body")
    return Entry(seq=read_whole(seq, "a log", "seq"), kind=kind, key=key, at=at, body=content, hash=link)


def read_token(row: Any) -> Token:
    """Return a token."""
    name, digest, scopes, created, expires = row
    scopes = _parsed(scopes, json_texts, f"token {name!r}", "scopes")
    return Token(name=name, digest=digest, scopes=tuple(scopes), created_at=created, expires_at=expires)


def read_value(row: Any) -> Value:
    """Return a value."""
    kind, key, version, body = row
    what = f"value {key!r}"
    whole = read_whole(version, what, "version")
    return Value(kind=kind, key=key, version=whole, body=_parsed(body, json_object, what, "body"))


def read_whole(value: Any, what: str, column: str) -> int:
    """Return a whole number; ``what`` has it in ``column``."""
    if not isinstance(value, int):
        raise _damaged(what, column, "a whole number")
    return value


def json_object(text: Any) -> dict[str, Any]:
    """Return a JSON object, or raise ValueError("a JSON object")."""
    content = _loaded(text)
    if not isinstance(content, dict):
        raise ValueError("a JSON object")
    return content


def json_texts(text: Any) -> list[str]:
    """Return a JSON list of texts, or raise ValueError("a JSON list of texts")."""
    content = _loaded(text)
    if not isinstance(content, list) or not all(isinstance(one, str) for one in content):
        raise ValueError("a JSON list of texts")
    return content


def _loaded(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _parsed(text: Any, parse: Callable[[Any], Any], what: str, column: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise _damaged(what, column, f"{error}") from None


def _damaged(what: str, column: str, needed: str) -> StorageError:
    verb = "are" if column == "scopes" else "is"
    return StorageError(f"{what} is damaged in the store: its {column} {verb} not {needed}; restore a backup.")
