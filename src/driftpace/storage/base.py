"""The store contract: records, the :class:`Store` protocol, and checks of what may be written.

A store knows nothing about labels or models. A campaign is a name and an append-only log of entries, numbered from 1 without
gaps. Beside the log a store keeps three things, changed in the same transaction as the log, so that a crash leaves all of them
or none:

- *rows*: bytes attached to an entry, under its number; they can be dropped when no longer needed;
- a *checkpoint*: the state that the log leads to, so that a campaign resumes without replaying it;
- a *summary*: a few plain values for lists of campaigns.

Concurrency is optimistic: a writer passes the number of the last entry it has read. If another writer appended first, nothing is
written and :class:`~driftpace.errors.ConflictError` is raised; the writer reads again and retries. No lock is held while
anything is computed.

To add a store: implement :class:`Store`, add its URL scheme to ``SCHEMES`` in :mod:`driftpace.storage.registry`, and add it to
the fixture of ``tests/storage/test_contract.py``, which states the whole contract. Another SQL database needs a module beside
:mod:`driftpace.storage.sql.postgres` that returns :class:`~driftpace.storage.sql.connections.Connections`, and the error codes
of its driver in :mod:`driftpace.storage.sql.failures`.

Names and keys have at most 400 characters so that every database can index them. NUL characters cannot be stored in a database
and lone surrogates cannot be encoded; inside a body NUL is allowed because JSON escapes it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from driftpace.errors import ParameterError


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One thing that happened, at a time in UTC (ISO 8601); ``body`` is a plain JSON value, ``key`` what it is found by again.

    ``seq`` is its number in the log; it is 0 until the entry is in one.
    """

    kind: str
    body: Mapping[str, Any]
    at: str
    key: str | None = None
    seq: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What one transaction adds to a campaign: entries, and what follows from them.

    ``rows`` are bytes by the place of their entry in ``entries`` (from 0). ``drop_rows`` are the numbers of entries in the log
    whose rows are not needed any more. ``checkpoint`` and ``summary`` replace the last ones.
    """

    entries: Sequence[Entry]
    checkpoint: bytes
    summary: Mapping[str, Any]
    rows: Mapping[int, bytes] = field(default_factory=dict)
    drop_rows: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Where a campaign stands: the number of its last entry, and its summary."""

    name: str
    seq: int
    summary: Mapping[str, Any]
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """Who may come in from afar: ``digest`` is the SHA-256 of the secret, which itself is never kept."""

    name: str
    digest: str
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str | None = None


class Store(Protocol):
    """The contract; :class:`MemoryStore` is the plainest form of it, :class:`SqlStore` the durable one.

    Every method may be called from several threads. What cannot be done raises :class:`~driftpace.errors.StorageError` in one
    sentence and changes nothing; what cannot be written to any store (a name with a NUL character, a body that is no JSON) is a
    :class:`~driftpace.errors.ParameterError`. Names and keys have 1 to 400 characters. Names are in the order of their characters'
    numbers. What was given is copied, and what is returned is the reader's own.
    """

    @property
    def url(self) -> str:
        """Where the store is, without any password."""
        ...

    def create(self, name: str, change: Change) -> None:
        """Begin a campaign with its first entries; :class:`ConflictError` where the name is taken."""
        ...

    def append(self, name: str, after: int, change: Change) -> int:
        """Add entries behind number ``after`` and return the number of the last; :class:`ConflictError` where the log is longer."""
        ...

    def head(self, name: str) -> Head | None:
        """Return where a campaign stands; None where there is none of that name."""
        ...

    def heads(self, *, after: str = "", limit: int | None = None, search: str = "") -> list[Head]:
        """Return campaigns by name, those whose name comes behind ``after`` and contains ``search`` (in any case of letters)."""
        ...

    def count(self, *, search: str = "") -> int:
        """Return how many campaigns there are whose name contains ``search``."""
        ...

    def entries(
        self, name: str, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None
    ) -> list[Entry]:
        """Return the log from behind number ``after`` on, in order; only some ``kinds`` where they are given."""
        ...

    def latest(self, name: str, *, limit: int, kinds: Sequence[str] | None = None) -> list[Entry]:
        """Return the last ``limit`` entries, in order."""
        ...

    def find(self, name: str, kind: str, key: str) -> Entry | None:
        """Return the last entry of a kind with that key; None where there is none."""
        ...

    def checkpoint(self, name: str) -> tuple[int, bytes] | None:
        """Return the number of the entry a checkpoint follows from, and the checkpoint; None where there is no campaign."""
        ...

    def rows(self, name: str, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the rows kept under those numbers; numbers without any are left out."""
        ...

    def remove(self, name: str) -> None:
        """Remove a campaign with everything that belongs to it; nothing happens where there is none."""
        ...

    def add_token(self, token: Token) -> None:
        """Keep a token; :class:`ConflictError` where one of that name exists."""
        ...

    def tokens(self) -> list[Token]:
        """Return all tokens by name."""
        ...

    def remove_token(self, name: str) -> bool:
        """Remove a token; whether there was one."""
        ...

    def ping(self) -> None:
        """Raise :class:`StorageError` where the store cannot be reached."""
        ...

    def close(self) -> None:
        """Let go of connections; a closed store opens new ones when it is used again."""
        ...


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
