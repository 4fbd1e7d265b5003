"""The hash chain of a log: each entry carries the hash of its content and of the entry before it.

Editing, removing, inserting or reordering entries breaks the chain at the first entry that was touched. Who can rewrite every
entry can compute the chain anew; a hash that was noted elsewhere tells that.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from driftpace.storage.base import Entry

START = "0" * 64
"""What the first entry carries in place of the hash of the entry before it."""


def content_hash(entry: Entry) -> str:
    """Return the hash of the canonical form of an entry, whose body was read from JSON: sorted keys and no spaces."""
    values = [entry.seq, entry.kind, entry.key, entry.at, dict(entry.body)]
    return hashlib.sha256(_canonical(values)).hexdigest()


def linked(previous: str, content: str) -> str:
    """Return the hash of an entry from that of the entry before it and that of its own content."""
    return hashlib.sha256(f"{previous}{content}".encode()).hexdigest()


def chain(entries: Iterable[Entry], *, previous: str = START) -> list[str]:
    """Return the hash of each entry.

    >>> first = Entry(kind="created", body={"target": 0.1}, at="2026-11-15T10:00:00Z", seq=1)
    >>> chain([first])[0][:8], len(chain([first, first]))
    ('76bc2b64', 2)
    """
    hashes = []
    for entry in entries:
        previous = linked(previous, content_hash(entry))
        hashes.append(previous)
    return hashes


def first_break(entries: Iterable[Entry], *, previous: str = START) -> Entry | None:
    """Return the first entry whose hash does not fit its content and the entry before it; None where all do."""
    for entry in entries:
        try:
            previous = linked(previous, content_hash(entry))
        except (TypeError, ValueError):  # infinite numbers and lone surrogates have no canonical form
            return entry
        if entry.hash != previous:
            return entry
    return None


def _canonical(values: Any) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
