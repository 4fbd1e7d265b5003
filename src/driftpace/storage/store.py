"""What a store of campaigns does, whatever it is made of: an append-only log for each, and what follows from it, to be quick.

A store knows nothing of labels or models. A campaign is a name and a log of entries, numbered from 1 without a gap. Beside the log
it keeps three things, all changed in the same transaction as the log, so a crash leaves all of them or none:

- *rows*: the bytes that an entry brought, under its number; they may be dropped when they are not needed any more;
- a *checkpoint*: the state that the log leads to, so that going on does not fold from the beginning;
- a *summary*: a few plain facts for a list of campaigns.

Whoever appends says which number they have read up to. If somebody was faster, nothing is written and :class:`ConflictError` is
raised: they read again and decide anew. So no lock is held while anything is computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


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
