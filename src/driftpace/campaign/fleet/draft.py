"""Entries to be appended to the log of a fleet campaign, with the chunks of segments that changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from driftpace.campaign.fleet.state import (
    CHUNK,
    FleetCampaignState,
    ReadRows,
    Snapshot,
    StoredSegments,
    from_checkpoint,
    pack,
    pack_segments,
    record_of,
    to_checkpoint,
)
from driftpace.campaign.fleet.status import summary
from driftpace.campaign.handle import StateHandle, unknown_campaign, with_state_hash
from driftpace.fleet.segments import Segment
from driftpace.storage.base import Change, Entry
from driftpace.storage.inflate import content_hash

SAVED = "saved"
"""The kind of entries whose rows are segments, or all else of a state."""


@dataclass(slots=True, kw_only=True)
class FleetDraft:
    """Entries to be appended after the state ``before``; ``at`` is the time of all of them.

    ``chunks`` are the segments that are saved, by their place and the number of their entry.
    """

    before: FleetCampaignState | None
    at: str
    read: ReadRows
    entries: list[Entry] = field(default_factory=list)
    rows: dict[int, bytes] = field(default_factory=dict)
    drop_rows: list[int] = field(default_factory=list)
    chunks: list[tuple[int, tuple[Segment, ...], int]] = field(default_factory=list)

    @property
    def next_seq(self) -> int:
        """The number of the next entry."""
        return (0 if self.before is None else self.before.seq) + len(self.entries) + 1

    def add(self, kind: str, body: dict[str, Any], *, key: str | None = None, rows: bytes | None = None) -> int:
        """Add an entry and return its number."""
        seq = self.next_seq
        if rows is not None and kind != SAVED:
            body = {**body, "rows_hash": content_hash(rows)}
        if rows is not None:
            self.rows[len(self.entries)] = rows
        self.entries.append(Entry(kind=kind, body=body, at=self.at, key=key))
        return seq

    def finish(self, state: FleetCampaignState) -> tuple[FleetCampaignState, Change]:
        """Return the next state with its number, and the change that leads to it: chunks that changed are saved."""
        earlier = set(saved_entries(self.before))
        self.chunks = [] if self.before is None else list(_chunks_of(self.before))
        segments = self._saved(state.fleet.segments)
        state = replace(state, fleet=replace(state.fleet, segments=segments))
        state = replace(state, start=self._kept(state.start), before=self._kept(state.before))
        state = replace(state, seq=self.next_seq - 1)
        gone = sorted(earlier - set(saved_entries(state)))
        checkpoint = to_checkpoint(state)
        return state, Change(
            entries=with_state_hash(self.entries, content_hash(checkpoint)),
            checkpoint=checkpoint,
            summary=summary(state),
            rows=dict(self.rows),
            drop_rows=(*self.drop_rows, *gone),
        )

    def _saved(self, segments: Mapping[str, Segment]) -> StoredSegments:
        """Return the segments with the entries they are saved in."""
        if isinstance(segments, StoredSegments):
            return segments
        names = tuple(segments)
        refs = []
        for place in range(-(-len(names) // CHUNK)):
            chunk = {name: segments[name] for name in names[place * CHUNK : (place + 1) * CHUNK]}
            refs.append(self._find(place, tuple(chunk.values())) or self._save(place, chunk))
        return StoredSegments.of(segments, refs, self.read)

    def _find(self, place: int, chunk: tuple[Segment, ...]) -> int | None:
        """Return the entry that these very segments are saved in."""
        for at, known, seq in self.chunks:
            if at == place and len(known) == len(chunk) and all(map(_same, known, chunk)):
                return seq
        return None

    def _save(self, place: int, chunk: Mapping[str, Segment]) -> int:
        data, digest = pack_segments(chunk)
        body = {"chunk": place + 1, "segments": len(chunk), "sha256": digest}
        seq = self.add(SAVED, body, rows=data)
        self.chunks.append((place, tuple(chunk.values()), seq))
        return seq

    def _kept(self, snapshot: Snapshot | None) -> Snapshot | None:
        """Return a snapshot that is saved; its state is read again when it is needed."""
        if snapshot is None or snapshot.record:
            return snapshot
        state = snapshot.state
        assert state is not None
        refs = self._saved(state.fleet.segments).refs
        record = self.add(SAVED, {"record": snapshot.seq}, rows=pack(record_of(state)))
        return Snapshot(seq=snapshot.seq, record=record, refs=refs)


class FleetHandle(StateHandle[FleetCampaignState, FleetDraft]):
    """A fleet campaign of a store with its state cached."""

    def read_rows(self, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the rows of log entries by number."""
        return self._store.rows(self._name, seqs)

    def _draft(self, before: FleetCampaignState) -> FleetDraft:
        return FleetDraft(before=before, at=self.clock(), read=self.read_rows)

    def _read(self) -> FleetCampaignState:
        record = self._store.checkpoint(self._name)
        if record is None:
            raise unknown_campaign(self._name, self._store)
        return from_checkpoint(*record, self.read_rows)


def _same(one: Segment, other: Segment) -> bool:
    return one is other


def _chunks_of(state: FleetCampaignState) -> Iterator[tuple[int, tuple[Segment, ...], int]]:
    """Return the chunks that are saved and in memory."""
    stored = state.fleet.segments
    assert isinstance(stored, StoredSegments)
    for place, ref in enumerate(stored.refs):
        known = stored.known(place)
        if known is not None:
            yield place, known, ref


def saved_entries(state: FleetCampaignState | None) -> Iterator[int]:
    """Return the entries that a state and its snapshots are saved in."""
    if state is None:
        return
    if isinstance(state.fleet.segments, StoredSegments):
        yield from state.fleet.segments.refs
    for snapshot in (state.start, state.before):
        if snapshot is not None and snapshot.record:
            yield snapshot.record
            yield from snapshot.refs
