"""A store in memory, for tests and experiments: the simplest implementation of the contract."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from threading import RLock

from driftpace.errors import ConflictError, UnknownCampaignError
from driftpace.storage.base import (
    MAX_REFUSALS,
    Change,
    Damage,
    Entry,
    Head,
    Refusal,
    Token,
    Value,
    as_json,
    numbered,
    require_after,
    require_change,
    require_text,
    short_refusal,
    up_to,
)
from driftpace.storage.chain import START, chain


@dataclass(slots=True)
class _Record:
    created_at: str
    log: list[tuple[Entry, str]] = field(default_factory=list)
    rows: dict[int, bytes] = field(default_factory=dict)
    checkpoint: bytes = b""
    summary: str = "{}"
    refusals: list[Refusal] = field(default_factory=list)


class MemoryStore:
    """Keep campaigns in memory, as long as the process runs.

    Examples
    --------
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
        self._campaigns: dict[str, _Record] = {}
        self._tokens: dict[str, Token] = {}
        self._values: dict[tuple[str, str], tuple[int, str]] = {}
        self._lock = RLock()

    def create(self, name: str, change: Change) -> None:
        """Create a campaign."""
        require_text("create", name=name)
        require_change("create", change, least=1)
        valid = _ValidChange("create", change)
        with self._lock:
            if name in self._campaigns:
                raise ConflictError(f"a campaign named {name!r} already exists.")
            record = _Record(created_at=change.entries[0].at)
            valid.apply_to(record)
            self._campaigns[name] = record

    def append(self, name: str, after: int, change: Change) -> int:
        """Append entries after number ``after``."""
        require_change("append", change)
        valid = _ValidChange("append", change)
        with self._lock:
            record = self._campaigns.get(name)
            if record is None:
                raise UnknownCampaignError(f"there is no campaign named {name!r}.")
            if len(record.log) != after:
                raise ConflictError(f"campaign {name!r} is at entry {len(record.log)}, no longer at {after}.")
            valid.apply_to(record)
            return len(record.log)

    def crowded(self, name: str) -> bool:  # noqa: ARG002
        """Return False: nobody waits."""
        return False

    def turn(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Do not wait: threads of one process conflict rarely."""
        return nullcontext()

    def head(self, name: str) -> Head | None:
        """Return the head of a campaign."""
        with self._lock:
            record = self._campaigns.get(name)
            return None if record is None else _head(name, record)

    def heads(
        self, *, after: str = "", limit: int | None = None, search: str = "", archived: bool | None = None
    ) -> list[Head]:
        """Return heads ordered by name."""
        require_after(after)
        with self._lock:
            names = [name for name in sorted(self._campaigns) if name > after and search.lower() in name.lower()]
            found = [_head(name, self._campaigns[name]) for name in names]
        chosen = [head for head in found if archived in (None, head.summary.get("archived", False))]
        return chosen[: up_to(limit)]

    def count(self, *, search: str = "", archived: bool | None = None) -> int:
        """Return the number of campaigns."""
        return len(self.heads(search=search, archived=archived))

    def entries(
        self, name: str, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None
    ) -> list[Entry]:
        """Return the entries after number ``after``."""
        with self._lock:
            record = self._campaigns.get(name)
            log = [] if record is None else record.log[max(after, 0) :]
            chosen = [(entry, body) for entry, body in log if kinds is None or entry.kind in kinds]
            return [replace(entry, body=json.loads(body)) for entry, body in chosen[: up_to(limit)]]

    def latest(self, name: str, *, limit: int, kinds: Sequence[str] | None = None) -> list[Entry]:
        """Return the last ``limit`` entries, in order."""
        return self.entries(name, kinds=kinds)[-limit:] if limit > 0 else []

    def find(self, name: str, kind: str, key: str) -> Entry | None:
        """Return the last entry of a kind with that key."""
        with self._lock:
            record = self._campaigns.get(name)
            log = [] if record is None else record.log
            found = next(
                ((entry, body) for entry, body in reversed(log) if (entry.kind, entry.key) == (kind, key)), None
            )
            return None if found is None else replace(found[0], body=json.loads(found[1]))

    def checkpoint(self, name: str) -> tuple[int, bytes] | None:
        """Return the number of the last entry and the checkpoint."""
        with self._lock:
            record = self._campaigns.get(name)
            return None if record is None else (len(record.log), record.checkpoint)

    def rows(self, name: str, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the rows of these entries."""
        with self._lock:
            record = self._campaigns.get(name)
            return {} if record is None else {seq: record.rows[seq] for seq in seqs if seq in record.rows}

    def add_refusal(self, name: str, refusal: Refusal) -> None:
        """Note a refused delivery."""
        with self._lock:
            record = self._campaigns.get(name)
            if record is not None:
                record.refusals = [*record.refusals, short_refusal(refusal)][-MAX_REFUSALS:]

    def refusals(self, name: str) -> list[Refusal]:
        """Return the refused deliveries that are kept."""
        with self._lock:
            record = self._campaigns.get(name)
            return [] if record is None else list(record.refusals)

    def remove(self, name: str) -> None:
        """Delete a campaign."""
        with self._lock:
            self._campaigns.pop(name, None)

    def add_token(self, token: Token) -> None:
        """Store a token."""
        require_text("add_token", name=token.name, digest=token.digest)
        with self._lock:
            if token.name in self._tokens:
                raise ConflictError(f"a token named {token.name!r} already exists.")
            self._tokens[token.name] = token

    def tokens(self) -> list[Token]:
        """Return all tokens, ordered by name."""
        with self._lock:
            return [self._tokens[name] for name in sorted(self._tokens)]

    def remove_token(self, name: str) -> bool:
        """Delete a token."""
        with self._lock:
            return self._tokens.pop(name, None) is not None

    def put_value(self, value: Value) -> int:
        """Write a value and return its version; raise :class:`ConflictError` if the store has another version than its."""
        require_text("put_value", kind=value.kind, key=value.key)
        body = as_json("put_value", body=value.body)
        with self._lock:
            version, _ = self._values.get((value.kind, value.key), (0, ""))
            if version != value.version:
                raise ConflictError(f"the value {value.key!r} was written by another process.")
            self._values[value.kind, value.key] = (version + 1, body)
        return version + 1

    def value(self, kind: str, key: str) -> Value | None:
        """Return a value, or None."""
        with self._lock:
            kept = self._values.get((kind, key))
        return None if kept is None else Value(kind=kind, key=key, version=kept[0], body=json.loads(kept[1]))

    def values(self, kind: str) -> list[Value]:
        """Return the values of a kind, ordered by key."""
        with self._lock:
            kept = sorted((key, *value) for (of, key), value in self._values.items() if of == kind)
        return [Value(kind=kind, key=key, version=version, body=json.loads(body)) for key, version, body in kept]

    def remove_value(self, kind: str, key: str) -> bool:
        """Delete a value; return whether there was one."""
        with self._lock:
            return self._values.pop((kind, key), None) is not None

    def purge(self) -> bool:
        """Do nothing: memory has no files."""
        return True

    def ping(self) -> None:
        """Do nothing: memory is always available."""

    def check(self) -> None:
        """Do nothing: memory is always whole."""

    def names(self) -> list[str]:
        """Return the names of all campaigns, in order."""
        with self._lock:
            return sorted(self._campaigns)

    def damage(self) -> list[Damage]:
        """Return nothing: only this process writes here."""
        return []

    def close(self) -> None:
        """Do nothing: there are no connections."""


class _ValidChange:
    """A change, validated before the store is read."""

    def __init__(self, owner: str, change: Change) -> None:
        self.change = change
        self.bodies = [as_json(owner, body=entry.body) for entry in change.entries]
        self.summary = as_json(owner, summary=change.summary)

    def apply_to(self, record: _Record) -> None:
        before, change = len(record.log), self.change
        read = zip(numbered(change.entries, before), self.bodies, strict=True)
        entries = [replace(entry, body=json.loads(body)) for entry, body in read]
        hashes = chain(entries, previous=record.log[-1][0].hash if record.log else START)
        kept = [replace(entry, body={}, hash=link) for entry, link in zip(entries, hashes, strict=True)]
        record.log += zip(kept, self.bodies, strict=True)
        record.rows |= {before + 1 + place: bytes(data) for place, data in change.rows.items()}
        record.rows |= {seq: bytes(data) for seq, data in change.put_rows.items() if seq in record.rows}
        for seq in change.drop_rows:
            record.rows.pop(seq, None)
        if change.drop_refusals:
            record.refusals = []
        record.checkpoint, record.summary = bytes(change.checkpoint), self.summary


def _head(name: str, record: _Record) -> Head:
    return Head(
        name=name,
        seq=len(record.log),
        summary=json.loads(record.summary),
        created_at=record.created_at,
        updated_at=record.log[-1][0].at,
    )
