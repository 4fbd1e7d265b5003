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
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from driftpace.errors import ParameterError


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of a log.

    Parameters
    ----------
    kind : str
        What happened, such as ``"asked"``.
    body : mapping
        JSON values.
    at : str
        Time in UTC, ISO 8601.
    key : str, optional
        What :meth:`Store.find` finds the entry by.
    seq : int
        Number in the log; 0 until it is written.
    hash : str
        Its link of the hash chain (:mod:`driftpace.storage.chain`); empty until it is written.
    """

    kind: str
    body: Mapping[str, Any]
    at: str
    key: str | None = None
    seq: int = 0
    hash: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One transaction on a campaign.

    Parameters
    ----------
    entries : sequence of Entry
        Appended to the log.
    checkpoint, summary
        Replace the previous ones.
    rows : mapping of int to bytes
        Rows by the position of their entry in ``entries``, from 0.
    drop_rows : sequence of int
        Numbers of log entries whose rows are deleted.
    put_rows : mapping of int to bytes
        Rows that replace those of earlier entries, by the number of the entry.
    drop_refusals : bool
        Whether the refused deliveries that are noted beside the log are deleted.
    """

    entries: Sequence[Entry]
    checkpoint: bytes
    summary: Mapping[str, Any]
    rows: Mapping[int, bytes] = field(default_factory=dict)
    drop_rows: Sequence[int] = ()
    put_rows: Mapping[int, bytes] = field(default_factory=dict)
    drop_refusals: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The last entry number and the summary of a campaign."""

    name: str
    seq: int
    summary: Mapping[str, Any]
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """An access token of the service; ``digest`` is the SHA-256 of the secret, which is not stored."""

    name: str
    digest: str
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """A small JSON value beside the campaigns, such as a session of the service.

    Parameters
    ----------
    kind, key : str
        What it is found by.
    body : mapping
        JSON values.
    version : int
        How often it was written; 0 until it is.
    """

    kind: str
    key: str
    body: Mapping[str, Any]
    version: int = 0


VALUE_KINDS = frozenset({"alert", "secret", "session"})
"""The kinds of values that driftpace keeps."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Damage:
    """Something in a store that driftpace cannot have written: its table, and a sentence that names the row."""

    table: str
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A delivery that was refused: when, by whom it was sent, its file, and why; nothing of its rows is kept."""

    at: str
    who: str
    source: str
    sentence: str


class Store(Protocol):
    """The contract of a store; :class:`MemoryStore` is the simplest implementation, :class:`SqlStore` the durable one.

    Every method can be called from several threads. A failed call raises :class:`~driftpace.errors.StorageError` and changes
    nothing; its ``store`` is the URL, which the service does not reveal. Values that no store can hold (a name with a NUL
    character, a body that is not JSON) raise :class:`~driftpace.errors.ParameterError`. Names and keys have 1 to 400 characters;
    names are ordered by code point. Arguments are copied, and returned values belong to the caller.
    """

    @property
    def url(self) -> str:
        """Address of the store, without password."""
        ...

    def create(self, name: str, change: Change) -> None:
        """Create a campaign with its first entries; raise :class:`ConflictError` if the name is taken."""
        ...

    def append(self, name: str, after: int, change: Change) -> int:
        """Append entries after number ``after`` and return the last number; raise :class:`ConflictError` if the log is longer."""
        ...

    def crowded(self, name: str) -> bool:
        """Return whether somebody waits for a turn to change a campaign, or has it."""
        ...

    def turn(self, name: str) -> AbstractContextManager[None]:
        """Wait in order of arrival among those who change a campaign; it prevents conflicts, and is no lock."""
        ...

    def head(self, name: str) -> Head | None:
        """Return the head of a campaign; None if there is none."""
        ...

    def heads(
        self, *, after: str = "", limit: int | None = None, search: str = "", archived: bool | None = None
    ) -> list[Head]:
        """Return heads ordered by name, after the name ``after``, whose name contains ``search`` (case-insensitive).

        ``archived`` chooses those whose summary has, or does not have, ``"archived": true``.
        """
        ...

    def count(self, *, search: str = "", archived: bool | None = None) -> int:
        """Return the number of campaigns that :meth:`heads` would return."""
        ...

    def entries(
        self, name: str, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None
    ) -> list[Entry]:
        """Return the entries after number ``after`` in order, of all or some ``kinds``."""
        ...

    def latest(self, name: str, *, limit: int, kinds: Sequence[str] | None = None) -> list[Entry]:
        """Return the last ``limit`` entries, in order."""
        ...

    def find(self, name: str, kind: str, key: str) -> Entry | None:
        """Return the last entry of a kind with that key, or None."""
        ...

    def checkpoint(self, name: str) -> tuple[int, bytes] | None:
        """Return the number of the last entry and the checkpoint; None if there is no campaign."""
        ...

    def rows(self, name: str, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the rows of these entries by number; entries without rows are left out."""
        ...

    def add_refusal(self, name: str, refusal: Refusal) -> None:
        """Note a refused delivery beside the log, of which the last ``MAX_REFUSALS`` are kept; nothing without a campaign."""
        ...

    def refusals(self, name: str) -> list[Refusal]:
        """Return the refused deliveries that are kept, the oldest first."""
        ...

    def remove(self, name: str) -> None:
        """Delete a campaign with its log, rows and checkpoint; do nothing if there is none."""
        ...

    def add_token(self, token: Token) -> None:
        """Store a token; raise :class:`ConflictError` if the name is taken."""
        ...

    def tokens(self) -> list[Token]:
        """Return all tokens, ordered by name."""
        ...

    def remove_token(self, name: str) -> bool:
        """Delete a token; return whether there was one."""
        ...

    def put_value(self, value: Value) -> int:
        """Write a value and return its next version; raise :class:`ConflictError` if the store has another than the argument."""
        ...

    def value(self, kind: str, key: str) -> Value | None:
        """Return a value, or None."""
        ...

    def values(self, kind: str) -> list[Value]:
        """Return the values of a kind, ordered by key."""
        ...

    def remove_value(self, kind: str, key: str) -> bool:
        """Delete a value; return whether there was one."""
        ...

    def purge(self) -> bool:
        """Remove what deleted rows left behind in files, such as a write-ahead log; return whether nothing is left there."""
        ...

    def ping(self) -> None:
        """Raise :class:`StorageError` if the store cannot be reached."""
        ...

    def check(self) -> None:
        """Raise :class:`StorageError` if something that every store has is missing; reads more than :meth:`ping`."""
        ...

    def names(self) -> list[str]:
        """Return the names of all campaigns that can be read, in order."""
        ...

    def damage(self) -> list[Damage]:
        """Return what driftpace cannot have written, as far as its form tells; reads everything but rows and checkpoints."""
        ...

    def close(self) -> None:
        """Close the connections; a closed store opens new ones when it is used again."""
        ...


MAX_REFUSALS = 50
"""Refused deliveries that a store keeps of each campaign."""
LONGEST = 400
LARGEST = 2**62
"""Longer than any log; databases reject much larger numbers."""


def short_refusal(refusal: Refusal) -> Refusal:
    """Return a refusal with texts that every store can hold, of bounded length."""
    fields = {name: getattr(refusal, name) for name in ("at", "who", "source", "sentence")}
    longest = {"sentence": 500}
    clean = {
        name: text.replace("\0", "").encode("utf-8", "replace").decode()[: longest.get(name, 200)]
        for name, text in fields.items()
    }
    return Refusal(**clean)


def can_be_kept(text: str) -> bool:
    r"""Return whether a store can hold this text; a text that it cannot hold is never found.

    >>> can_be_kept("Zürich"), can_be_kept("a\0b"), can_be_kept("\ud800")
    (True, False, False)
    """
    return "\0" not in text and not _has_surrogates(text)


def require_text(owner: str, **named: object) -> None:
    """Raise ParameterError for a value that is not text, empty, too long for an index, or cannot be stored."""
    for name, text in named.items():
        if not isinstance(text, str) or not 1 <= len(text) <= LONGEST:
            description = f"{len(text)} characters" if isinstance(text, str) else repr(text)
            raise ParameterError(
                f"must be a text of 1 to {LONGEST} characters; got {description}.", owner=owner, name=name
            )
        if not can_be_kept(text):
            raise ParameterError(
                f"must not have NUL characters or lone surrogates; got {text!a}.", owner=owner, name=name
            )


def require_change(owner: str, change: Change, *, least: int = 0) -> None:
    """Raise ParameterError for a change that a store could not write, or with rows for an entry that it does not have."""
    if len(change.entries) < least:
        raise ParameterError(
            f"must have at least {least} entry; got {len(change.entries)}.",
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
                f"must have rows only for its {len(change.entries)} entries; got rows for position {place}.",
                owner=owner,
                name="change",
            )


def require_after(after: str) -> None:
    """Raise ParameterError for a name to continue after that no campaign can have."""
    if not can_be_kept(after):
        raise ParameterError(
            f"must not have NUL characters or lone surrogates; got {after!a}.", owner="heads", name="after"
        )


def as_json(owner: str, **named: object) -> str:
    """Return the named value as JSON text, or raise ParameterError.

    >>> as_json("append", body={"reason": "Ostern", "at": 0.1})
    '{"reason":"Ostern","at":0.1}'
    """
    ((name, value),) = named.items()
    try:
        text = json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False, **_COMPACT)
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"must be a JSON value; {error}.",
            owner=owner,
            name=name,
        ) from None
    if _has_surrogates(text):
        raise ParameterError("must not have lone surrogates; got one.", owner=owner, name=name)
    return text


def up_to(limit: int | None) -> int | None:
    """Return a limit that databases accept: 0 for a negative one, None for all."""
    return None if limit is None else within(limit)


def within(number: int) -> int:
    """Return the nearest possible entry number."""
    return max(0, min(number, LARGEST))


def numbered(entries: Sequence[Entry], after: int) -> list[Entry]:
    """Return the entries with their numbers after number ``after``."""
    return [replace(entry, seq=seq) for seq, entry in enumerate(entries, start=after + 1)]


_COMPACT: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}


def _has_surrogates(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
