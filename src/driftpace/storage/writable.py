"""What may be written to a store, whatever it is made of: text that every database keeps, and JSON that reads back the same.

A name or a key is at most 400 characters long, so that every database can index it. NUL characters are kept by no database and
half characters (lone surrogates) by no encoding; in a body NUL may stand, for JSON escapes it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from driftpace.errors import ParameterError
from driftpace.storage.store import Change, Entry

LONGEST = 400
LARGEST = 2**62
"""No log is longer; databases refuse numbers much beyond."""


def can_be_kept(text: str) -> bool:
    r"""Whether a store can hold this text at all; what it cannot hold, it cannot find.

    >>> can_be_kept("Zürich"), can_be_kept("a\0b"), can_be_kept("\ud800")
    (True, False, False)
    """
    return "\0" not in text and not _has_half_characters(text)


def require_text(owner: str, **named: object) -> None:
    """Refuse what is no text, empty, too long for an index, or cannot be kept."""
    for name, text in named.items():
        if not isinstance(text, str) or not 1 <= len(text) <= LONGEST:
            shown = f"{len(text)} characters" if isinstance(text, str) else repr(text)
            raise ParameterError(f"must be a text of 1 to {LONGEST} characters; got {shown}.", owner=owner, name=name)
        if not can_be_kept(text):
            raise ParameterError(f"must be without NUL and half characters; got {text!a}.", owner=owner, name=name)


def require_change(owner: str, change: Change, *, least: int = 0) -> None:
    """Refuse a change that some store could not write, or that brings rows for an entry it does not bring."""
    if len(change.entries) < least:
        raise ParameterError(
            f"must bring {least} entry or more; got {len(change.entries)}.",
            owner=owner,
            name="change",
        )
    for entry in change.entries:
        require_text(owner, kind=entry.kind, at=entry.at)
        if entry.key is not None:
            require_text(owner, key=entry.key)
    for place in change.rows:
        if not 0 <= place < len(change.entries):
            raise ParameterError(
                f"must bring rows for its own {len(change.entries)} entries; got rows for place {place}.",
                owner=owner,
                name="change",
            )


def require_after(after: str) -> None:
    """Refuse a name to go on from that no campaign can have."""
    if not can_be_kept(after):
        raise ParameterError(f"must be without NUL and half characters; got {after!a}.", owner="heads", name="after")


def as_json(owner: str, **named: object) -> str:
    """Return the one named value as JSON text, or refuse it.

    >>> as_json("append", body={"reason": "Ostern", "at": 0.1})
    '{"reason":"Ostern","at":0.1}'
    """
    ((name, value),) = named.items()
    try:
        text = json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False, **_COMPACT)
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"must be a plain JSON value; got one that is not: {error}.",
            owner=owner,
            name=name,
        ) from None
    if _has_half_characters(text):
        raise ParameterError("must be without half characters; got a lone surrogate in a text.", owner=owner, name=name)
    return text


def up_to(limit: int | None) -> int | None:
    """Return how many to read at most: none where the limit is below zero, all where it is None."""
    return None if limit is None else within(limit)


def within(number: int) -> int:
    """Return the nearest number that can be one of a log's."""
    return max(0, min(number, LARGEST))


def numbered(entries: Sequence[Entry], after: int) -> list[Entry]:
    """Return the entries with the numbers they get behind number ``after``."""
    return [replace(entry, seq=seq) for seq, entry in enumerate(entries, start=after + 1)]


_COMPACT: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}


def _has_half_characters(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
