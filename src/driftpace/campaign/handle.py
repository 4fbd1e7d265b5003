"""Read a campaign from its store, check texts for its log, and append changes with optimistic concurrency."""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar

from driftpace import validation
from driftpace.campaign import transitions
from driftpace.campaign.definition import Definition
from driftpace.campaign.packing import KeptRows, PackedRows, unpack_rows
from driftpace.campaign.state import CampaignState, from_checkpoint, packed_checkpoint
from driftpace.campaign.status import summary
from driftpace.errors import (
    ConflictError,
    DataError,
    ParameterError,
    ProtocolError,
    StorageError,
    UnknownCampaignError,
)
from driftpace.storage.base import Change, Entry, Head, Store
from driftpace.storage.codec import METHOD, encode
from driftpace.tracker import Tracker
from driftpace.tracker.codec import snapshot_to_body


@dataclass(slots=True)
class Draft:
    """Entries to be appended to the log after the state ``before``; ``at`` is the time of all of them."""

    before: CampaignState
    at: str
    entries: list[Entry] = field(default_factory=list)
    rows: dict[int, bytes] = field(default_factory=dict)
    drop_rows: list[int] = field(default_factory=list)
    put_rows: dict[int, bytes] = field(default_factory=dict)
    drop_refusals: bool = False

    @property
    def next_seq(self) -> int:
        """The number of the next entry."""
        return self.before.seq + len(self.entries) + 1

    def add(
        self, kind: str, body: dict[str, Any], *, key: str | None = None, rows: KeptRows | bytes | None = None
    ) -> None:
        """Add an entry; the log keeps the hash of its rows."""
        if isinstance(rows, KeptRows):
            body = {**body, "rows_hash": rows.hash}
            rows = rows.data
        if rows is not None:
            self.rows[len(self.entries)] = rows
        self.entries.append(Entry(kind=kind, body=body, at=self.at, key=key))

    def drop(self, seqs: tuple[int, ...]) -> None:
        """Drop rows: those of this draft are not written, earlier ones are deleted."""
        for seq in seqs:
            place = seq - self.before.seq - 1
            if place >= 0:
                self.rows.pop(place, None)
            else:
                self.drop_rows.append(seq)

    def finish(self, state: CampaignState) -> tuple[CampaignState, Change]:
        """Return the next state with its number, and the change that leads to it."""
        state = replace(state, seq=self.before.seq + len(self.entries))
        checkpoint, digest = packed_checkpoint(state)
        return state, Change(
            entries=with_state_hash(self.entries, digest),
            checkpoint=checkpoint,
            summary=summary(state),
            rows=dict(self.rows),
            drop_rows=tuple(self.drop_rows),
            put_rows=dict(self.put_rows),
            drop_refusals=self.drop_refusals,
        )


def with_state_hash(entries: Sequence[Entry], digest: str) -> tuple[Entry, ...]:
    """Return the entries of a change, the last one with the hash of the checkpoint that they lead to."""
    return (*entries[:-1], replace(entries[-1], body={**entries[-1].body, "state_hash": digest}))


class StoredState(Protocol):
    """A state that a store keeps."""

    @property
    def seq(self) -> int:
        """The entry that it is the state after."""
        ...

    @property
    def created_at(self) -> str:
        """When the campaign was created."""
        ...

    @property
    def archived(self) -> bool:
        """Whether changes are refused."""
        ...


State = TypeVar("State", bound=StoredState)


class Written(Protocol[State]):
    """Entries to be appended to a log, and what they lead to."""

    entries: list[Entry]

    def finish(self, state: State) -> tuple[State, Change]:
        """Return the next state with its number, and the change that leads to it."""
        ...


Drafted = TypeVar("Drafted", bound=Written[Any])
Answer = TypeVar("Answer")


class ReplacedError(StorageError):
    """A part of a state that another writer has replaced since it was read; it is read again."""


PATIENCE = 120.0
"""Seconds for which a change is retried while other writers change the same campaign."""


class StateHandle(Generic[State, Drafted]):
    """A state of a store, cached, for any number of threads: one changes it at a time, all can read it."""

    def __init__(self, name: str, store: Store, *, clock: Callable[[], str] | None = None) -> None:
        self.clock = utc_now if clock is None else clock
        self._name = name
        self._store = store
        self._changing = threading.RLock()
        self._reading = threading.Lock()
        self._known: State | None = None

    def _draft(self, before: State) -> Drafted:
        """Return a draft of entries after a state."""
        raise NotImplementedError

    def _read(self) -> State:
        """Return the state in the store."""
        raise NotImplementedError

    def _prepared(self, before: State, draft: Drafted) -> State:  # noqa: ARG002
        """Return the state to be changed, or raise an error where it must not be."""
        return before

    def change(
        self,
        decide: Callable[[State, Drafted], tuple[State, Answer]],
        *,
        dry_run: bool,
        archived: bool = False,
    ) -> Answer:
        """Read, decide and append, again if another writer appended first. A dry run appends nothing.

        ``decide`` takes the current state, adds entries to the draft, and returns the next state and the answer. ``archived``
        says whether an archived campaign can be changed so.
        """
        validation.switch("Campaign", dry_run=dry_run)
        until = time.monotonic() + PATIENCE
        pause = 0.002
        with self._changing, ExitStack() as turn:
            waiting = not dry_run and self._store.crowded(self._name)  # nobody goes ahead of those who wait
            if waiting:
                turn.enter_context(self._store.turn(self._name))
            while True:
                before = self.load()
                draft = self._draft(before)
                closed = before.archived and not archived
                try:
                    after, answer = decide(self._prepared(before, draft), draft)
                except ReplacedError:
                    self._forget_replaced(before)
                    continue
                except (DataError, ParameterError, ProtocolError):
                    if closed:
                        raise archived_error(self._name) from None
                    raise
                if draft.entries and closed:
                    raise archived_error(self._name)
                if not draft.entries or dry_run:
                    return answer
                after, change = draft.finish(after)
                try:
                    self._store.append(self._name, before.seq, change)
                except ConflictError:
                    self._known = None
                    if time.monotonic() > until:
                        raise StorageError(
                            f"campaign {self._name!r} was changed by other writers all the time; nothing was written, try again."
                        ) from None
                    if waiting:
                        time.sleep(pause * random.random())
                        pause = min(2.0 * pause, 0.25)
                    else:
                        waiting = True
                        turn.enter_context(self._store.turn(self._name))
                    continue
                except BaseException:
                    self._known = None
                    raise
                self._known = after
                return answer

    def read(self, function: Callable[[State], Answer]) -> Answer:
        """Return what a function reads from the current state, of which a part may be replaced meanwhile."""
        while True:
            state = self.load()
            try:
                return function(state)
            except ReplacedError:
                self._forget_replaced(state)

    def _forget_replaced(self, state: State) -> None:
        """Forget a state that another writer has replaced; where none has, the error in hand says that the store is damaged."""
        head = self._store.head(self._name)
        if head is not None and head.seq == state.seq and head.created_at == state.created_at:
            raise
        self._known = None

    def load(self, head: Head | None = None) -> State:
        """Return the current state, from memory if it is still current; readers do not wait for a change in progress.

        ``head`` is that of the store, if the caller has just read it.
        """
        while True:
            known = self._known
            if known is not None:
                head = head or self._store.head(self._name)
                if head is not None and head.seq == known.seq and head.created_at == known.created_at:
                    return known
                head = None
            with self._reading:
                if self._known is known:  # otherwise another thread has read it meanwhile
                    state = self._known = self._read()
                    return state


class CampaignHandle(StateHandle[CampaignState, Draft]):
    """A campaign of a store with its state cached.

    A campaign whose orders an older method computed goes on where ``alike`` says that this version answers alike; the log notes it.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        *,
        clock: Callable[[], str] | None = None,
        alike: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(name, store, clock=clock)
        self._alike = alike
        self._packed: tuple[str, dict[int, PackedRows]] = "", {}

    def _draft(self, before: CampaignState) -> Draft:
        return Draft(before=before, at=self.clock())

    def _prepared(self, before: CampaignState, draft: Draft) -> CampaignState:
        if before.method_number == METHOD:
            return before
        if not self._alike():
            raise ProtocolError(
                f"campaign {self._name!r} has orders of method {before.method_number} and this driftpace has method {METHOD}, "
                f"which answers differently; driftpace upgrade --campaign {self._name} shows the difference and changes over."
            )
        draft.add("upgraded", {"from": before.method_number, "method": METHOD, "alike": True, "rows": {}, "who": ""})
        return replace(before, method_number=METHOD)

    def _read(self) -> CampaignState:
        """Return the state in the store; read again if a period was closed, and its rows dropped, between two queries."""
        last = None
        while True:
            record = self._store.checkpoint(self._name)
            if record is None:
                raise unknown_campaign(self._name, self._store)
            state = transitions.with_stored_parts(from_checkpoint(*record), self._stored)
            seqs = () if state.opened is None else state.opened.deliveries
            rows = self._rows_of(state.created_at, seqs)
            if len(rows) == len(seqs):
                return with_packed_rows(state, rows)
            if record[0] == last:
                gone = next(seq for seq in seqs if seq not in rows)
                raise StorageError(
                    f"the rows of entry {gone} of campaign {self._name!r} are missing; run driftpace doctor."
                )
            last = record[0]

    def _rows_of(self, created_at: str, seqs: Sequence[int]) -> dict[int, PackedRows]:
        """Return the rows of entries; those of the open period that were read before are not read again."""
        known = self._packed[1] if self._packed[0] == created_at else {}
        rows = {seq: known[seq] for seq in seqs if seq in known}
        missing = [seq for seq in seqs if seq not in rows]
        if missing:
            rows |= {seq: unpack_rows(data) for seq, data in self._store.rows(self._name, missing).items()}
        self._packed = created_at, rows
        return rows

    def _stored(self, sha256: str) -> bytes | None:
        """Return the bytes of a model or of components of the campaign."""
        found = (self._store.find(self._name, kind, sha256) for kind in ("retrained", "created", "learned"))
        entry = next((one for one in found if one is not None), None)
        return None if entry is None else self._store.rows(self._name, [entry.seq]).get(entry.seq)


def with_rows(state: CampaignState, rows: dict[int, bytes]) -> CampaignState:
    """Return the state with the rows of its open period, which checkpoints leave out."""
    if state.opened is None:
        return state
    return with_packed_rows(state, {seq: unpack_rows(rows[seq]) for seq in state.opened.deliveries})


def with_packed_rows(state: CampaignState, rows: Mapping[int, PackedRows]) -> CampaignState:
    """Return the state with the rows of its open period by their entry."""
    if state.opened is None:
        return state
    empty = replace(state, opened=transitions.without_deliveries(state.opened))
    return transitions.redelivered(empty, {seq: rows[seq] for seq in state.opened.deliveries})


def archived_error(name: str) -> ProtocolError:
    """Return the error for a change of an archived campaign."""
    return ProtocolError(
        f"campaign {name!r} is archived and can only be read; driftpace archive {name} --undo opens it."
    )


def unknown_campaign(name: str, store: Store) -> UnknownCampaignError:
    """Return the error for a name that no campaign has."""
    return UnknownCampaignError(f"there is no campaign named {name!r}{{where}}.", store=store.url)


def utc_now() -> str:
    """Return the current time as the log records it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def first_change(
    definition: Definition,
    tracker: Tracker,
    *,
    at: str,
    who: str,
    model: tuple[dict[str, Any], bytes] | None = None,
) -> Change:
    """Return the change that creates a campaign: its definition, the tracker it starts from, and its model, if it has one."""
    method, state = tracker.snapshot()
    if state.order is not None:
        raise ParameterError(
            f"must be a tracker between two periods; got one with period {state.period} open.",
            owner="Campaign.create",
            name="what",
        )
    entry = Entry(
        kind="created",
        at=at,
        key=None if model is None else model[0]["sha256"],
        body={
            "definition": definition.to_values(),
            "tracker": snapshot_to_body(method, state),
            "history": [encode(report) for report in tracker.history],
            "who": who,
            **({} if model is None else {"model": model[0]}),
        },
    )
    try:
        campaign = transitions.created(entry)
    except ParameterError:  # a part that cannot be encoded
        raise ParameterError(
            f"must be made of driftpace's own parts, which a store can save; got {tracker!r} with a custom part.",
            owner="Campaign.create",
            name="what",
        ) from None
    checkpoint, digest = packed_checkpoint(campaign)
    return Change(
        entries=with_state_hash([entry], digest),
        checkpoint=checkpoint,
        summary=summary(campaign),
        rows={} if model is None else {0: model[1]},
    )


def check_key(owner: str, name: str, value: str | None) -> str | None:
    """Return a key of a period or delivery, or raise ParameterError."""
    if value is None:
        return None
    text = check_text(owner, name, value, longest=200)
    if "\n" in text or "\t" in text:
        raise ParameterError(f"must be one line without tabs; got {text!r:.80}.", owner=owner, name=name)
    if not text:
        raise ParameterError("must be a name such as 2026-W46; got an empty text.", owner=owner, name=name)
    return text


def check_text(owner: str, name: str, value: object, *, longest: int = 2000) -> str:
    """Return a text for the log, stripped, or raise ParameterError."""
    if not isinstance(value, str):
        raise ParameterError(f"must be a text; got {value!r:.80}.", owner=owner, name=name)
    text = value.strip()
    if len(text) > longest or any(ord(sign) < 32 and sign not in "\n\t" for sign in text):
        raise ParameterError(
            f"must be at most {longest} characters without control characters; got {len(text)}.",
            owner=owner,
            name=name,
        )
    return text


def check_reason(owner: str, reason: object) -> str:
    """Return the reason of a decision, or raise ParameterError where it is empty."""
    text = check_text(owner, "reason", reason)
    if not text:
        raise ParameterError("must give a reason for the log; got an empty text.", owner=owner, name="reason")
    return text
