"""Erase the content of stored rows: of persons by their ids, or of old periods.

The log keeps the salted hash of each erased row, so that everything else can still be verified, and the state as it was computed.
From the first erased row on nothing can be computed again up to the end of its period: that is settled.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from driftpace import validation
from driftpace.campaign.handle import Draft
from driftpace.campaign.kept_states import keeps_state, kept_base, pack_states, settled_in
from driftpace.campaign.packing import erased_in, ids_of_rows, unpack_ids, without
from driftpace.campaign.records import Erasure
from driftpace.campaign.replay import LogInForce, state_after
from driftpace.campaign.state import CampaignState, checkpoint_hash, packed_checkpoint
from driftpace.campaign.text import period_name
from driftpace.campaign.undo import stored_rows
from driftpace.errors import ParameterError, ProtocolError
from driftpace.storage.base import Entry, Store
from driftpace.tracker.head_state import HeadState

OWNER = "Campaign.erase"


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureTarget:
    """What to erase: rows by their ids, or the periods before one or closed more than so many days ago."""

    ids: frozenset[str] | None = None
    before: int | str | None = None
    older_than: int | None = None

    @classmethod
    def checked(cls, ids: Any, before: Any, older_than: Any) -> "ErasureTarget":
        """Return the target, or raise ParameterError."""
        given = [value for value in (ids, before, older_than) if value is not None]
        if len(given) != 1:
            problem = f"must be given alone, or before, or older_than; got {len(given) or 'none'} of them."
            raise ParameterError(problem, owner=OWNER, name="ids")
        if older_than is not None:
            validation.count(OWNER, least=0, older_than=older_than)
        if before is not None and not isinstance(before, int | str):
            raise ParameterError(
                f"must be the number or the key of a period; got {before!r:.80}.", owner=OWNER, name="before"
            )
        if ids is None:
            return cls(before=before, older_than=None if older_than is None else int(older_than))
        if isinstance(ids, str) or not isinstance(ids, Collection) or not ids:
            raise ParameterError(f"must be a list of ids; got {ids!r:.80}.", owner=OWNER, name="ids")
        return cls(ids=frozenset(str(one) for one in ids))


@dataclass(slots=True)
class _Found:
    """Rows to erase: new bytes and hashes by entry, entries whose rows go as a whole, and what they were."""

    put: dict[int, bytes] = field(default_factory=dict)
    leaves: dict[int, dict[str, str]] = field(default_factory=dict)
    dropped: list[int] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    rows: int = 0
    drawn: int = 0

    @property
    def entries(self) -> list[int]:
        """The entries that lose rows."""
        return sorted((*self.put, *self.dropped))

    def add(self, entry: Entry, rows: int) -> None:
        """Count rows of an entry."""
        if entry.kind == "delivered":
            self.rows += rows
        else:
            self.drawn += rows


def erase(
    store: Store, state: CampaignState, draft: Draft, target: ErasureTarget, *, reason: str, who: str
) -> tuple[CampaignState, Erasure]:
    """Erase rows, and keep the states that are needed to go on without them; nothing is written where no rows are found."""
    log = store.entries(state.definition.name, limit=state.seq)
    before = None if target.ids is not None else _first_kept(log, state, target, draft.at)
    found = _find(store, state.definition.name, log, target.ids, before or 1)
    missing = () if target.ids is None else tuple(sorted(target.ids - found.ids))
    if not found.entries:
        return state, Erasure(missing=missing, settled=settled_in(log))
    _check_open(state, found)
    deliveries = {seq: log[seq - 1].body["period"] for seq in found.entries if log[seq - 1].kind == "delivered"}
    counted = {seq for seqs in LogInForce.of(log).deliveries.values() for seq in seqs}.intersection(deliveries)
    settled = max(settled_in(log), *(deliveries[seq] for seq in counted), 0)
    touched = frozenset(deliveries.values())
    base = _base(store, state, log, touched, settled)
    after = _without_training_rows(state, touched)
    dropped = [*found.dropped, *_older_states(store, state, log, touched)]
    checkpoint = packed_checkpoint(after)[0]
    body: dict[str, Any] = {
        "period": state.state.period,
        "rows": found.rows,
        "drawn": found.drawn,
        "ids": len(found.ids),
        "before": before,
        "erased": {str(seq): leaves for seq, leaves in sorted(found.leaves.items())},
        "dropped": dropped,
        "settled": settled,
        **({} if base is None else {"base_hash": checkpoint_hash(base)}),
        "reason": reason,
        "who": who,
    }
    seq = draft.next_seq
    draft.add("erased", body, rows=pack_states(checkpoint, base))
    draft.put_rows |= found.put
    draft.drop(tuple(dropped))
    draft.drop_refusals = True
    return after, Erasure(
        entry=seq,
        rows=found.rows,
        drawn=found.drawn,
        entries=tuple(found.entries),
        periods=tuple(sorted({log[seq - 1].body["period"] for seq in found.entries})),
        settled=settled,
        missing=missing,
    )


def _find(store: Store, name: str, log: Sequence[Entry], ids: Collection[str] | None, before: int) -> _Found:
    """Return the rows with these ids, or all rows of the periods before one."""
    found = _Found()
    if ids is None:
        for entry, data in _stored(store, name, (entry for entry in log if entry.body.get("period", before) < before)):
            found.dropped.append(entry.seq)
            found.add(entry, entry.body["rows"] + entry.body.get("more_labels", 0) - len(erased_in(data)))
        return found
    for entry, data in _stored(store, name, log):
        there = unpack_ids(data) if entry.kind == "selected" else ids_of_rows(data)[0]
        named = set(ids).intersection(there)
        if named:
            found.put[entry.seq], found.leaves[entry.seq] = without(data, named)
            found.ids |= named
            found.add(entry, len(found.leaves[entry.seq]))
    return found


def _stored(store: Store, name: str, log: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Yield the entries that have rows or ids, with these."""
    rows_of = stored_rows(store, name)
    for entry in log:
        data = rows_of(entry.seq) if entry.kind in ("delivered", "selected") else None
        if data is not None:
            yield entry, data


def _first_kept(log: Sequence[Entry], state: CampaignState, target: ErasureTarget, now: str) -> int:
    """Return the first period that keeps its rows."""
    closings, current = LogInForce.of(log).closings, state.state.period
    if target.older_than is not None:
        until = datetime.fromisoformat(now) - timedelta(days=target.older_than)
        old = [period for period, entry in closings.items() if datetime.fromisoformat(entry.at) < until]
        return max(old, default=0) + 1
    keys = {entry.body["key"]: period for period, entry in closings.items() if entry.body["key"] is not None}
    if state.opened is not None and state.opened.key is not None:
        keys[state.opened.key] = current
    found = keys.get(str(target.before))
    if found is None and str(target.before).isdecimal() and 1 <= int(target.before or 0) <= current:
        found = int(target.before or 0)
    if found is None:
        raise ParameterError(
            f"must be the key of a period, or a number from 1 to {current}; got {target.before!r:.80}.",
            owner=OWNER,
            name="before",
        )
    return found


def _check_open(state: CampaignState, found: _Found) -> None:
    """Raise ProtocolError where rows of the open period would be erased, whose fit needs them."""
    opened = state.opened
    if opened is None or not set(opened.deliveries).intersection(found.entries):
        return
    raise ProtocolError(
        f"rows delivered in {period_name(state.state.period, opened.key)}, which is open, cannot be erased: close it first, or "
        "undo their delivery (--refund) and deliver the others again."
    )


def _base(
    store: Store, state: CampaignState, log: Sequence[Entry], touched: Collection[int], settled: int
) -> bytes | None:
    """Return the state to absorb periods from, where it changes: the one after the last period of which rows were erased."""
    rows_of, earlier = stored_rows(store, state.definition.name), settled_in(log)
    if settled > earlier:
        base = state_after(log, rows_of, settled)
    else:
        kept = kept_base(log, rows_of) if isinstance(state.state, HeadState) and touched else None
        if kept is None:
            return None
        base = kept[1]
    return packed_checkpoint(_without_training_rows(base, touched))[0]


def _without_training_rows(state: CampaignState, periods: Collection[int]) -> CampaignState:
    """Return the state without the rows that are kept to train a base model again, those of some periods."""
    held = state.state
    if not isinstance(held, HeadState):
        return state
    rows = tuple(part for part in held.rows if part.period not in periods)
    return replace(state, state=replace(held, rows=rows))


def _older_states(
    store: Store, state: CampaignState, log: Sequence[Entry], touched: Collection[int]
) -> tuple[int, ...]:
    """Return the entries that keep a state with rows for training."""
    if not isinstance(state.state, HeadState) or not touched:
        return ()
    kept = [entry.seq for entry in log if keeps_state(entry)]
    return tuple(store.rows(state.definition.name, kept))
