"""Rows for periods that are closed: find them in a delivery, and absorb them into their period."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftpace.campaign.contradictions import find_contradictions, joined_contradictions
from driftpace.campaign.handle import Draft
from driftpace.campaign.kept_states import settled_period
from driftpace.campaign.orders import drawn_by, drawn_in
from driftpace.campaign.packing import Labels, PackedRows, labels_in, pack_rows, repeated_labels, unpack_rows
from driftpace.campaign.records import Contradictions, LateRows, Revision
from driftpace.campaign.replay import LogInForce, revise
from driftpace.campaign.state import CampaignState
from driftpace.campaign.status import unsettled_periods
from driftpace.campaign.undo import record_revision, stored_rows
from driftpace.errors import DataError, ProtocolError
from driftpace.storage.base import Entry, Store

OWNER = "Campaign.tell"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplitRows:
    """The rows of a delivery: those ``now`` for the open period, and those for closed periods.

    ``repeated`` rows were delivered before in their closed period, ``other_period_rows`` belong to another period and do not
    count: it is not the one that is meant, or the rows of closed periods are not kept. ``other_periods`` counts them by period,
    ``rows`` the late rows that had no label before, ``contradictions`` how repeated ones differ from those that were counted.
    """

    now: PackedRows | None
    late: Mapping[int, PackedRows]
    repeated: int = 0
    other_period_rows: int = 0
    other_periods: Mapping[int, int] = field(default_factory=dict)
    rows: Mapping[int, int] = field(default_factory=dict)
    contradictions: Contradictions | None = None


def new_rows(packed: PackedRows, labels: Mapping[str, object]) -> int:
    """Return how many rows of a delivery had no label before; without annotators all of them."""
    if packed.event.annotators is None:
        return len(packed.event.y)
    return len(set(packed.ids or ()).difference(labels))


def select(packed: PackedRows, places: Sequence[int]) -> PackedRows:
    """Return the rows in those places."""
    rows = packed.event
    ids = None if packed.ids is None else tuple(packed.ids[place] for place in places)
    some = replace(
        rows,
        X=np.ascontiguousarray(rows.X[list(places)]),
        y=rows.y[list(places)],
        groups=None if rows.groups is None else rows.groups[list(places)],
        weights=None if rows.weights is None else rows.weights[list(places)],
        ids=None if rows.ids is None else ids,
        annotators=None if rows.annotators is None else tuple(rows.annotators[place] for place in places),
    )
    return PackedRows(event=some, ids=ids)


def split_rows(
    store: Store,
    state: CampaignState,
    packed: PackedRows,
    *,
    periods: Sequence[int] | None,
    closed: int | None,
    recognised: Collection[str] | None = None,
) -> SplitRows:
    """Return the rows of a delivery by period.

    ``closed`` is the closed period that the delivery is meant for, ``periods`` those for which the rows were drawn, by their own
    account, or those of the column of the definition. Otherwise a row belongs to the closed period for which its id was drawn, if
    it was not drawn for the open one too. Where ids were made of the content of rows, only the ``recognised`` ones tell which row
    it is.
    """
    if state.definition.period is not None and periods is not None:
        return _split_by_column(store, state, packed, periods, closed, recognised)
    current = state.state.period
    count = len(packed.event.y)
    if closed is not None:
        where = [closed] * count
    else:
        drawn = {} if packed.ids is None else _drawn_earlier(store, state, packed.ids)
        where = [drawn.get(row_id, current) for row_id in packed.ids or ()] or [current] * count
        if periods is not None:
            where = [mark if mark < current else place for mark, place in zip(periods, where, strict=True)]
    sure = closed is not None or periods is not None or (state.opened is not None and bool(state.opened.draws))
    return _split_where(store, state, packed, where, closed=closed, sure=sure)


def _split_by_column(
    store: Store,
    state: CampaignState,
    packed: PackedRows,
    periods: Sequence[int],
    closed: int | None,
    recognised: Collection[str] | None,
) -> SplitRows:
    """Return the rows by the period of their column; rows without ids count once, so only those of the period that is meant."""
    current = state.state.period
    meant = current if closed is None else closed
    ids = packed.ids or (None,) * len(periods)
    sure = [one is not None if recognised is None else one in recognised for one in ids]
    taken = [mark == meant or (mark < current and known) for mark, known in zip(periods, sure, strict=True)]
    others = Counter(mark for mark, take in zip(periods, taken, strict=True) if not take)
    places = [place for place, take in enumerate(taken) if take]
    if not places:
        return SplitRows(now=None, late={}, other_period_rows=sum(others.values()), other_periods=others)
    rows = packed if len(places) == len(taken) else select(packed, places)
    split = _split_where(store, state, rows, [periods[place] for place in places], closed=closed, sure=True)
    return replace(
        split,
        other_period_rows=split.other_period_rows + sum(others.values()),
        other_periods=others + Counter(split.other_periods),
    )


def _split_where(
    store: Store, state: CampaignState, packed: PackedRows, where: Sequence[int], *, closed: int | None, sure: bool
) -> SplitRows:
    """Return the rows by the period that each belongs to; where that is not ``sure``, an id that was used up is another row."""
    current = state.state.period
    if all(period == current for period in where):
        return SplitRows(now=packed, late={})
    force = LogInForce.of(store.entries(state.definition.name, limit=state.seq))
    counted = {period: _delivered_labels(store, state, force, period) for period in set(where) if period < current}
    before = {period: repeated_labels(packed, labels) for period, labels in counted.items()}
    places: dict[int, list[int]] = {}
    repeated: dict[int, list[int]] = {}
    for place, period in enumerate(where):
        known = period < current and packed.ids is not None and before[period][place]
        if known and not sure:  # an id that was used up: the row is another one, of the open period
            period, known = current, False
        if known:
            repeated.setdefault(period, []).append(place)
        else:
            places.setdefault(period, []).append(place)
    late = {period: select(packed, places[period]) for period in sorted(places) if period < current}
    ignored = 0
    if late and not state.definition.keep_rows:
        if closed is not None:
            raise ProtocolError(
                f"period {closed} is closed, and cannot be absorbed again with late rows: keep_rows is off, so its rows were "
                "deleted."
            )
        ignored, late = sum(len(part.event.y) for part in late.values()), {}
    settled = settled_period(store, state.definition.name) if late else 0
    if closed is not None and closed <= settled and late:
        raise ProtocolError(
            f"period {closed} is closed, and cannot be absorbed again with late rows: rows of period {settled} were erased."
        )
    ignored += sum(len(part.event.y) for period, part in late.items() if period <= settled)
    late = {period: part for period, part in late.items() if period > settled}
    return SplitRows(
        now=select(packed, places[current]) if current in places else None,
        late=late,
        repeated=sum(map(len, repeated.values())),
        contradictions=joined_contradictions(
            contradictions_of(store, state, select(packed, places), force.deliveries.get(period, ()))
            for period, places in repeated.items()
        ),
        other_period_rows=ignored,
        rows={period: new_rows(part, counted[period]) for period, part in late.items()},
    )


def known_periods(store: Store, state: CampaignState) -> dict[str, int]:
    """Return the number of each period by its key, the open one included."""
    closings = LogInForce.of(store.entries(state.definition.name, kinds=("closed", "undone"), limit=state.seq)).closings
    known = {str(entry.body["key"]): period for period, entry in closings.items() if entry.body["key"] is not None}
    order = state.order
    if order is not None and order.key is not None:
        known[order.key] = order.period
    return known


def _drawn_earlier(store: Store, state: CampaignState, ids: Iterable[str]) -> dict[str, int]:
    """Return the closed period for which each id was drawn last; ids drawn for the open period belong to it."""
    candidates = set(ids).difference(drawn_in(store, state))
    found: dict[str, int] = {}
    if not candidates:
        return found
    draws = LogInForce.of(store.entries(state.definition.name, kinds=("selected", "undone"))).draws
    for period in sorted((period for period in draws if period < state.state.period), reverse=True):
        drawn = candidates.intersection(drawn_by(store, state, draws[period]))
        found.update(dict.fromkeys(drawn, period))
        candidates -= drawn
        if not candidates:
            break
    return found


def contradictions_of(
    store: Store, state: CampaignState, again: PackedRows, deliveries: Sequence[int]
) -> Contradictions | None:
    """Return how rows that were delivered before, by these entries of the log, differ from those that were counted."""
    if not deliveries:
        return None
    name = state.definition.name
    log = store.entries(name, after=min(deliveries) - 1, limit=max(deliveries), kinds=("delivered",))
    entries = [entry for entry in log if entry.seq in set(deliveries)]
    return find_contradictions(state.definition, again, entries, store.rows(name, deliveries))


def _delivered_labels(store: Store, state: CampaignState, force: LogInForce, period: int) -> Labels:
    return labels_in(store.rows(state.definition.name, force.deliveries.get(period, ())).values())


def outstanding_rows(store: Store, state: CampaignState, *, first: int = 1) -> dict[int, int]:
    """Return how many rows ordered for each closed period from ``first`` on may still arrive; rows without ids count as drawn.

    These are the rows drawn and not delivered; where none were drawn, those missing when the next period was requested.
    """
    current = state.state.period
    if not state.definition.keep_rows:
        return {}
    first = max(first, settled_period(store, state.definition.name) + 1)
    kinds = ("selected", "delivered", "forgotten", "closed", "undone")
    force = LogInForce.of(entries_from(store, state, first, kinds))
    unsettled = unsettled_periods(force.entries)
    late_rows = _rows_after_closing(force)
    waiting: dict[int, int] = {}
    for period in sorted(period for period in force.closings if first <= period < current):
        rows = 0
        if period not in force.draws:
            rows = int(force.closings[period].body.get("waiting", 0)) - late_rows[period]
        elif period in unsettled:
            rows = _drawn_and_missing(store, state, force, period)
        if rows > 0:
            waiting[period] = rows
    return waiting


def entries_from(store: Store, state: CampaignState, period: int, kinds: Sequence[str]) -> list[Entry]:
    """Return the entries of some kinds that a period and those after it can have."""
    name = state.definition.name
    after = 0 if period <= 1 else _closing_before(store, name, period)
    return store.entries(name, after=after, limit=state.seq, kinds=kinds)


def _closing_before(store: Store, name: str, period: int) -> int:
    """Return the number of the entry that closed the last period before ``period``, 0 if there is none."""
    limit = 64
    while True:
        closings = store.latest(name, limit=limit, kinds=("closed", "undone"))
        earlier = [entry.seq for number, entry in LogInForce.of(closings).closings.items() if number < period]
        if earlier or len(closings) < limit:
            return max(earlier, default=0)
        limit *= 4


def _rows_after_closing(force: LogInForce) -> Counter[int]:
    """Return how many rows of each period arrived after it was closed."""
    rows: Counter[int] = Counter()
    for entry in force.entries:
        if entry.kind == "delivered":
            closing = force.closings.get(entry.body["period"])
            if closing is not None and entry.seq > closing.seq:
                rows[entry.body["period"]] += int(entry.body["rows"])
    return rows


def outstanding_ids(store: Store, state: CampaignState) -> frozenset[str]:
    """Return the ids of the rows drawn for closed periods that are without a label."""
    if not state.definition.keep_rows:
        return frozenset()
    log = store.entries(state.definition.name, limit=state.seq, kinds=("selected", "delivered", "forgotten", "undone"))
    force = LogInForce.of(log)
    drawn: set[str] = set()
    settled = settled_period(store, state.definition.name)
    for period, seqs in force.draws.items():
        if settled < period < state.state.period:
            drawn.update(drawn_by(store, state, seqs))
            for data in store.rows(state.definition.name, force.deliveries.get(period, ())).values():
                drawn.difference_update(unpack_rows(data).ids or ())
    return frozenset(drawn)


def _drawn_and_missing(store: Store, state: CampaignState, force: LogInForce, period: int) -> int:
    drawn = set(drawn_by(store, state, force.draws[period]))
    unknown = 0
    for data in store.rows(state.definition.name, force.deliveries.get(period, ())).values():
        rows = unpack_rows(data)
        if rows.ids is None:
            unknown += len(rows.event.y)
        else:
            drawn.difference_update(rows.ids)
    return len(drawn) - unknown


def absorb_late_rows(
    store: Store,
    state: CampaignState,
    draft: Draft,
    late: Mapping[int, PackedRows],
    bodies: Mapping[int, dict[str, Any]],
    key: str,
) -> tuple[CampaignState, tuple[LateRows, ...], Revision]:
    """Add rows to closed periods and absorb these and the periods since again; ``bodies`` are of their log entries."""
    name, before = state.definition.name, draft.next_seq
    log = store.entries(name, limit=state.seq)
    data = {}
    for period in sorted(late, reverse=True):  # the earliest is last: everything is absorbed from there
        kept = pack_rows(late[period])
        data[draft.next_seq] = kept.data
        entry = {
            **bodies[period],
            "period": period,
            "late": state.state.period - period,
        }
        draft.add("delivered", entry, key=key, rows=kept)
    added = [replace(entry, seq=before + place) for place, entry in enumerate(draft.entries[before - state.seq - 1 :])]
    stored = stored_rows(store, name)
    try:
        revised = revise(state, [*log, *added], lambda seq: data[seq] if seq in data else stored(seq))
    except DataError as error:
        raise error.renamed(owner=OWNER, name=error.name or "X") from None
    keys = _period_keys(log)
    rows = tuple(
        LateRows(
            period=period,
            key=keys.get(period),
            rows=bodies[period]["rows"],
            more_labels=bodies[period].get("more_labels", 0),
        )
        for period in sorted(late)
    )
    after, revision = record_revision(state, revised, draft, who=str(bodies[min(late)]["who"]))
    assert revision is not None
    return after, rows, revision


def _period_keys(log: Iterable[Entry]) -> dict[int, str | None]:
    return {entry.body["period"]: entry.body["key"] for entry in log if entry.kind == "closed"}
