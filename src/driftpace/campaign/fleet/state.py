"""The state of a fleet campaign and its place in a store.

The checkpoint holds what is small: the definition, what the fleet shares, the table of segments, and the numbers of the log
entries of kind "saved" whose rows are the segments, ``CHUNK`` at a time. A change rewrites only the chunks with segments that
changed. The states at the start of the open period and of the one before are kept the same way, for undo; they share the chunks
that did not change since.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftpace.campaign.definition import Definition
from driftpace.campaign.fleet.records import FleetOrder, FleetPeriod
from driftpace.campaign.fleet.table import SegmentTable
from driftpace.campaign.handle import ReplacedError
from driftpace.errors import StateFileError
from driftpace.fleet import Fleet
from driftpace.fleet.saving import FleetState, from_body, header_to_body, segments_from_body, segments_to_body
from driftpace.fleet.segments import Segment
from driftpace.records import Money
from driftpace.storage.codec import SHAPE_ERRORS, decode, encode
from driftpace.storage.inflate import deflate, inflate

CHECKPOINT_VERSION = 1
"""Layout of the checkpoints of fleet campaigns."""

CHUNK = 128
"""Segments that are saved together."""

ReadRows = Callable[[Sequence[int]], dict[int, bytes]]
"""Returns the rows of log entries by number, without those that are gone."""


class StoredSegments(Mapping[str, Segment]):
    """The segments of a saved fleet, read from the store chunk by chunk when they are needed."""

    def __init__(self, names: Sequence[str], refs: Sequence[int], read: ReadRows) -> None:
        self.names, self.refs = tuple(names), tuple(refs)
        self._read = read
        self._places = {name: place for place, name in enumerate(self.names)}
        self._chunks: dict[int, dict[str, Segment]] = {}

    @classmethod
    def of(cls, segments: Mapping[str, Segment], refs: Sequence[int], read: ReadRows) -> "StoredSegments":
        """Return segments that were just saved in these entries."""
        stored = cls(tuple(segments), refs, read)
        for place in range(len(stored.refs)):
            stored._chunks[place] = {name: segments[name] for name in stored._names(place)}
        return stored

    def known(self, place: int) -> tuple[Segment, ...] | None:
        """Return the segments of a chunk; None where they were not read, or there is no such chunk."""
        chunk = self._chunks.get(place)
        return None if chunk is None else tuple(chunk.values())

    def __getitem__(self, name: str) -> Segment:
        place = self._places[name] // CHUNK
        if place not in self._chunks:
            data = self._read([self.refs[place]]).get(self.refs[place])
            if data is None:
                raise ReplacedError(f"the segments of entry {self.refs[place]} are missing; run driftpace doctor.")
            self._chunks[place] = unpack_segments(data)
        return self._chunks[place][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def _names(self, place: int) -> tuple[str, ...]:
        return self.names[place * CHUNK : (place + 1) * CHUNK]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenFleet:
    """The open period: its key, and the log entries with its rows and draws.

    ``cost`` is the price of the missing rows, and ``money_left`` the money before them; None without a budget.
    """

    key: str | None
    cost: Money | None = None
    money_left: Money | None = None
    deliveries: tuple[int, ...] = ()
    draws: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Snapshot:
    """The state after entry ``seq``, where a period began: in memory, or saved in entries of the log."""

    seq: int
    state: "FleetCampaignState | None" = None
    record: int = 0
    refs: tuple[int, ...] = ()

    def to_values(self) -> dict[str, Any]:
        """Return the entries that it is saved in."""
        return {"seq": self.seq, "record": self.record, "refs": list(self.refs)}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FleetCampaignState:
    """The state after log entry ``seq``; ``rows`` counts those of the closed periods.

    ``start`` is the state at the start of the open period, and ``before`` that at the start of the one closed last.
    An ``archived`` campaign is not changed.
    """

    seq: int
    created_at: str
    definition: Definition
    fleet: FleetState
    table: SegmentTable
    opened: OpenFleet | None = None
    last: FleetPeriod | None = None
    rows: int = 0
    start: Snapshot | None = None
    before: Snapshot | None = None
    archived: bool = False

    @property
    def order(self) -> FleetOrder | None:
        """The open order; None between periods."""
        if self.opened is None:
            return None
        missing, received = sum(row.missing for row in self.table), sum(row.received for row in self.table)
        return FleetOrder(
            campaign=self.definition.name,
            period=self.fleet.period,
            key=self.opened.key,
            samples=received + missing,
            received=received,
            missing=missing,
            cost=self.opened.cost,
            money_left=self.opened.money_left,
            share=self.fleet.share,
            segments=self.table,
        )


def first_fleet(definition: Definition, *, rng: int) -> FleetState:
    """Return the fleet that a definition describes, before its first rows; ``rng`` seeds it unless the definition has a seed."""
    assert definition.segment is not None
    assert definition.target is not None
    fleet = Fleet(
        definition.make_loss(),
        epsilon=definition.epsilon,
        epsilons=definition.epsilons or None,
        segment=definition.segment,
        target=definition.target,
        features=definition.features,
        weight=definition.weight,
        groups=definition.groups,
        missing=definition.missing,
        borrow=definition.borrow,
        rng=rng if definition.seed is None else definition.seed,
        tolerance=definition.tolerance,
        metric=definition.metric,
        at_least=definition.at_least,
        at_most=definition.at_most,
        confidence=definition.confidence,
        certificate_level=definition.certificate_level,
        orders=definition.orders,
        season=definition.season,
        audit=definition.audit,
        delay=definition.delay,
        fit_intercept=definition.fit_intercept,
        cap=definition.cap,
        pool=definition.pool,
        budget=definition.make_fleet_budget(),
    )
    return fleet.snapshot()


def pack_segments(segments: Mapping[str, Segment]) -> tuple[bytes, str]:
    """Return segments as bytes, and the SHA-256 of what they hold."""
    content = _json(segments_to_body(segments))
    return deflate(content), hashlib.sha256(content).hexdigest()


def unpack_segments(data: bytes) -> dict[str, Segment]:
    """Return the segments of bytes that :func:`pack_segments` returned."""
    return segments_from_body(_loaded(data))


def record_of(state: FleetCampaignState) -> dict[str, Any]:
    """Return all of a state but its segments and snapshots as JSON values."""
    opened = state.opened
    return {
        "version": CHECKPOINT_VERSION,
        "fleet": header_to_body(state.fleet),
        "created_at": state.created_at,
        "definition": state.definition.to_values(),
        "table": state.table.columns(),
        "opened": None
        if opened is None
        else {
            "key": opened.key,
            "cost": encode(opened.cost),
            "money_left": encode(opened.money_left),
            "deliveries": list(opened.deliveries),
            "draws": list(opened.draws),
        },
        "last": None if state.last is None else state.last.to_values(),
        "rows": state.rows,
        **({"archived": True} if state.archived else {}),
    }


def to_checkpoint(state: FleetCampaignState) -> bytes:
    """Encode a state whose segments and snapshots are saved."""
    assert isinstance(state.fleet.segments, StoredSegments)
    body = record_of(state) | {
        "refs": list(state.fleet.segments.refs),
        "start": None if state.start is None else state.start.to_values(),
        "before": None if state.before is None else state.before.to_values(),
    }
    return pack(body)


def from_checkpoint(seq: int, data: bytes, read: ReadRows) -> FleetCampaignState:
    """Return the state after entry ``seq``; its segments are read when they are needed."""
    body = _loaded(data)
    try:
        state = _of_record(seq, body, body["refs"], read)
        return replace(state, start=_snapshot(body["start"]), before=_snapshot(body["before"]))
    except SHAPE_ERRORS as error:
        raise StateFileError(f"the checkpoint does not have the shape this version reads: {error}") from error


def restored(snapshot: Snapshot, read: ReadRows) -> FleetCampaignState:
    """Return the state of a snapshot."""
    if snapshot.state is not None:
        return snapshot.state
    data = read([snapshot.record]).get(snapshot.record)
    if data is None:
        raise ReplacedError(f"the state of entry {snapshot.record} is missing; run driftpace doctor.")
    return _of_record(snapshot.seq, _loaded(data), snapshot.refs, read)


def pack(body: Mapping[str, Any]) -> bytes:
    """Return JSON values as bytes."""
    return deflate(_json(body))


def _of_record(seq: int, body: Mapping[str, Any], refs: Sequence[int], read: ReadRows) -> FleetCampaignState:
    if body["version"] != CHECKPOINT_VERSION:
        raise StateFileError(
            f"the checkpoint has version {body['version']!r} and this driftpace reads {CHECKPOINT_VERSION}; upgrade driftpace."
        )
    table = SegmentTable.of_columns(body["table"])
    fleet = from_body({**body["fleet"], "segments": {}}, {})
    opened, last = body["opened"], body["last"]
    return FleetCampaignState(
        seq=seq,
        created_at=body["created_at"],
        definition=Definition.of(body["definition"]),
        fleet=replace(fleet, segments=StoredSegments([row.segment for row in table], refs, read)),
        table=table,
        opened=None
        if opened is None
        else OpenFleet(
            key=opened["key"],
            cost=decode(opened["cost"]),
            money_left=decode(opened["money_left"]),
            deliveries=tuple(opened["deliveries"]),
            draws=tuple(opened["draws"]),
        ),
        last=None if last is None else FleetPeriod.of(last),
        rows=int(body["rows"]),
        archived=body.get("archived", False),
    )


def _snapshot(values: Mapping[str, Any] | None) -> Snapshot | None:
    if values is None:
        return None
    return Snapshot(seq=values["seq"], record=values["record"], refs=tuple(values["refs"]))


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(inflate(data))
    except (zlib.error, ValueError) as error:
        raise StateFileError(f"the saved fleet is damaged: {error}; run driftpace doctor.") from None
