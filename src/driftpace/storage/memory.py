"""A store that lives as long as the process: for trying things, and as the plainest form of the contract."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import RLock

from driftpace.errors import ConflictError, UnknownCampaignError
from driftpace.storage.base import (
    Change,
    Entry,
    Head,
    Token,
    as_json,
    numbered,
    require_after,
    require_change,
    require_text,
    up_to,
)


@dataclass(slots=True)
class _Kept:
    created_at: str
    log: list[tuple[Entry, str]] = field(default_factory=list)
    rows: dict[int, bytes] = field(default_factory=dict)
    checkpoint: bytes = b""
    summary: str = "{}"


class MemoryStore:
    """Campaigns in memory.

    >>> store = MemoryStore()
    >>> entry = Entry(kind="created", body={}, at="2026-11-15T10:00:00Z")
    >>> store.create("churn", Change(entries=[entry], checkpoint=b"", summary={}))
    >>> store.append("churn", 1, Change(entries=[replace(entry, kind="asked")], checkpoint=b"", summary={}))
    2
    >>> [entry.kind for entry in store.entries("churn")]
    ['created', 'asked']
    """

    url = "memory://"

    def __init__(self) -> None:
        self._campaigns: dict[str, _Kept] = {}
        self._tokens: dict[str, Token] = {}
        self._lock = RLock()

    def create(self, name: str, change: Change) -> None:
        """Begin a campaign."""
        require_text("create", name=name)
        require_change("create", change, least=1)
        written = _Written("create", change)
        with self._lock:
            if name in self._campaigns:
                raise ConflictError(f"a campaign named {name!r} exists already.")
            kept = _Kept(created_at=change.entries[0].at)
            written.into(kept)
            self._campaigns[name] = kept

    def append(self, name: str, after: int, change: Change) -> int:
        """Add entries behind number ``after``."""
        require_change("append", change)
        written = _Written("append", change)
        with self._lock:
            kept = self._campaigns.get(name)
            if kept is None:
                raise UnknownCampaignError(f"there is no campaign named {name!r}.")
            if len(kept.log) != after:
                raise ConflictError(f"campaign {name!r} is at entry {len(kept.log)} and no longer at {after}.")
            written.into(kept)
            return len(kept.log)

    def head(self, name: str) -> Head | None:
        """Return where a campaign stands."""
        with self._lock:
            kept = self._campaigns.get(name)
            return None if kept is None else _head(name, kept)

    def heads(self, *, after: str = "", limit: int | None = None, search: str = "") -> list[Head]:
        """Return campaigns by name."""
        require_after(after)
        with self._lock:
            found = [name for name in sorted(self._campaigns) if name > after and search.lower() in name.lower()]
            return [_head(name, self._campaigns[name]) for name in found[: up_to(limit)]]

    def count(self, *, search: str = "") -> int:
        """Return how many campaigns there are."""
        with self._lock:
            return sum(search.lower() in name.lower() for name in self._campaigns)

    def entries(
        self, name: str, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None
    ) -> list[Entry]:
        """Return the log from behind number ``after`` on."""
        with self._lock:
            kept = self._campaigns.get(name)
            log = [] if kept is None else kept.log[max(after, 0) :]
            chosen = [(entry, body) for entry, body in log if kinds is None or entry.kind in kinds]
            return [replace(entry, body=json.loads(body)) for entry, body in chosen[: up_to(limit)]]

    def latest(self, name: str, *, limit: int, kinds: Sequence[str] | None = None) -> list[Entry]:
        """Return the last ``limit`` entries, in order."""
        return self.entries(name, kinds=kinds)[-limit:] if limit > 0 else []

    def find(self, name: str, kind: str, key: str) -> Entry | None:
        """Return the last entry of a kind with that key."""
        found = [entry for entry in self.entries(name, kinds=(kind,)) if entry.key == key]
        return found[-1] if found else None

    def checkpoint(self, name: str) -> tuple[int, bytes] | None:
        """Return the checkpoint and the number of its entry."""
        with self._lock:
            kept = self._campaigns.get(name)
            return None if kept is None else (len(kept.log), kept.checkpoint)

    def rows(self, name: str, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the rows kept under those numbers."""
        with self._lock:
            kept = self._campaigns.get(name)
            return {} if kept is None else {seq: kept.rows[seq] for seq in seqs if seq in kept.rows}

    def remove(self, name: str) -> None:
        """Remove a campaign."""
        with self._lock:
            self._campaigns.pop(name, None)

    def add_token(self, token: Token) -> None:
        """Keep a token."""
        require_text("add_token", name=token.name, digest=token.digest)
        with self._lock:
            if token.name in self._tokens:
                raise ConflictError(f"a token named {token.name!r} exists already.")
            self._tokens[token.name] = token

    def tokens(self) -> list[Token]:
        """Return all tokens by name."""
        with self._lock:
            return [self._tokens[name] for name in sorted(self._tokens)]

    def remove_token(self, name: str) -> bool:
        """Remove a token."""
        with self._lock:
            return self._tokens.pop(name, None) is not None

    def ping(self) -> None:
        """Do nothing: memory is always there."""

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class _Written:
    """One change as it is written: whatever can be refused in it is refused before anything else is looked at."""

    def __init__(self, owner: str, change: Change) -> None:
        self.change = change
        self.bodies = [as_json(owner, body=entry.body) for entry in change.entries]
        self.summary = as_json(owner, summary=change.summary)

    def into(self, kept: _Kept) -> None:
        before, change = len(kept.log), self.change
        entries = [replace(entry, body={}) for entry in numbered(change.entries, before)]
        kept.log += zip(entries, self.bodies, strict=True)
        kept.rows |= {before + 1 + place: bytes(data) for place, data in change.rows.items()}
        for seq in change.drop_rows:
            kept.rows.pop(seq, None)
        kept.checkpoint, kept.summary = bytes(change.checkpoint), self.summary


def _head(name: str, kept: _Kept) -> Head:
    return Head(
        name=name,
        seq=len(kept.log),
        summary=json.loads(kept.summary),
        created_at=kept.created_at,
        updated_at=kept.log[-1][0].at,
    )
