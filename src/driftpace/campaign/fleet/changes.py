"""What each entry of the log of a fleet campaign does to its state; the same functions run when it happens and in a replay."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftpace.campaign.definition import Definition
from driftpace.campaign.fleet.records import FleetPeriod
from driftpace.campaign.fleet.rows import FleetRows, unpack_rows
from driftpace.campaign.fleet.state import FleetCampaignState, OpenFleet, ReadRows, Snapshot, restored
from driftpace.campaign.fleet.table import SegmentTable, table_of
from driftpace.campaign.orders import values_with
from driftpace.campaign.transitions import undone_by
from driftpace.errors import ProtocolError, StateFileError
from driftpace.fleet import Delivery, Fleet, FleetOrders
from driftpace.fleet.saving import FleetState, from_body
from driftpace.records import Money
from driftpace.storage.base import Entry
from driftpace.storage.inflate import deflate, inflate
from driftpace.tables import Encoding

CHANGES = ("added", "asked", "delivered", "selected", "budgeted", "closed", "undone", "archived", "unarchived")
"""Kinds of entries that change a fleet campaign."""

PRICES = ("fixed", "per_sample", "minimum", "order_price", "currency")
"""Prices of a budget of segments that can be changed when money is added."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """What works on the segments; see :class:`~driftpace.Fleet`."""

    executor: Any = None
    progress: Callable[[int, int], None] | None = None

    def fleet(self, state: FleetState) -> Fleet:
        """Return a fleet that goes on from a snapshot."""
        return Fleet.from_snapshot(state, executor=self.executor, progress=self.progress)


def created(entry: Entry) -> FleetCampaignState:
    """Return the first state of a campaign."""
    state = FleetCampaignState(
        seq=entry.seq,
        created_at=entry.at,
        definition=Definition.of(entry.body["definition"]),
        fleet=from_body({**entry.body["fleet"], "segments": {}}, {}),
        table=SegmentTable(),
    )
    return replace(state, start=Snapshot(seq=entry.seq, state=state))


def added(state: FleetCampaignState, names: Sequence[str], engine: Engine) -> FleetCampaignState:
    """Add segments; those that are there are left as they are."""
    fleet = engine.fleet(state.fleet)
    fleet.add(names)
    snapshot = fleet.snapshot()
    known = {row.segment for row in state.table}
    fresh = table_of({name: snapshot.segments[name] for name in names if name not in known}, SegmentTable(), None, {})
    return replace(state, fleet=snapshot, table=SegmentTable((*state.table.rows, *fresh.rows)))


def asked(
    state: FleetCampaignState, *, key: str | None, pool: int | Mapping[str, int] | None, engine: Engine
) -> tuple[FleetCampaignState, FleetOrders]:
    """Size the open period, or what it still misses."""
    fleet = engine.fleet(state.fleet)
    orders = fleet.ask(pool=pool)
    snapshot = fleet.snapshot()
    opened = state.opened or OpenFleet(key=key)
    if opened.key is None:
        opened = replace(opened, key=key)
    table = table_of(snapshot.segments, state.table, orders, fleet.set_aside)
    opened = replace(opened, cost=orders.cost, money_left=orders.money_left)
    return replace(state, fleet=snapshot, table=table, opened=opened), orders


def delivered(
    state: FleetCampaignState,
    rows: FleetRows,
    encoding: Encoding | None,
    *,
    seq: int,
    late: int | None,
    accept: Sequence[str] = (),
    engine: Engine,
) -> tuple[FleetCampaignState, Delivery]:
    """Add rows to the open period, or to a closed one; ``encoding`` is what the first rows have shown."""
    before = state.fleet if encoding is None or state.fleet.encoding else replace(state.fleet, encoding=encoding)
    fleet = engine.fleet(before)
    told = fleet.tell(rows.table(), period=late, final=False, accept=accept)
    snapshot = fleet.snapshot()
    if late is not None:
        table = table_of(snapshot.segments, state.table, None, fleet.set_aside)
        return replace(state, fleet=snapshot, table=table, rows=state.rows + told.rows), told
    opened = state.opened
    assert opened is not None
    return replace(state, fleet=snapshot, opened=replace(opened, deliveries=(*opened.deliveries, seq))), told


def closed(state: FleetCampaignState, *, seq: int, at: str, engine: Engine) -> tuple[FleetCampaignState, FleetPeriod]:
    """Close the open period."""
    order, opened = state.order, state.opened
    assert order is not None
    assert opened is not None
    fleet = engine.fleet(state.fleet)
    period = fleet.period
    fleet.tell()
    snapshot = fleet.snapshot()
    reports = [segment.reports[-1] for segment in snapshot.segments.values()]
    received = sum(report.samples for report in reports)
    made = FleetPeriod(
        period=period,
        key=opened.key,
        at=at,
        segments=len(reports),
        samples=max(order.samples, received),
        received=received,
        outcomes=dict(sorted(Counter(report.outcome.value for report in reports).items())),
        not_met=sum(not report.outcome.promised for report in reports),
        without_rows=sum(report.samples == 0 for report in reports),
        set_aside=sum(period in segment.problems for segment in snapshot.segments.values()),
        cost=None if fleet.budget is None else Money(snapshot.spent - state.fleet.spent, fleet.budget.currency),
        money_left=fleet.money_left,
    )
    after = replace(
        state,
        fleet=snapshot,
        table=table_of(snapshot.segments, state.table, None, fleet.set_aside),
        opened=None,
        last=made,
        rows=state.rows + received,
        start=None,
        before=None,
    )
    kept = state.start if state.definition.keep_rows else None
    return replace(after, start=Snapshot(seq=seq, state=after), before=kept), made


def budgeted(
    state: FleetCampaignState, money: object, periods: int, prices: Mapping[str, Any], engine: Engine
) -> FleetCampaignState:
    """Add to the budget; the orders of an open period have to be computed again."""
    values = values_with(
        state.definition.budget,
        money,
        periods,
        prices,
        period=state.fleet.period,
        known=PRICES,
        owner="FleetCampaign.add_money",
    )
    definition = Definition.of({**state.definition.to_values(), "budget": values}, saved=True)
    budget = definition.make_fleet_budget()
    assert budget is not None
    fleet = engine.fleet(state.fleet)
    fleet.set_budget(budget)
    return replace(state, definition=definition, fleet=fleet.snapshot())


def selected(state: FleetCampaignState, seq: int) -> FleetCampaignState:
    """Note rows that were drawn for labelling."""
    opened = state.opened
    assert opened is not None
    return replace(state, opened=replace(opened, draws=(*opened.draws, seq)))


def after(state: FleetCampaignState, entry: Entry, rows_of: ReadRows, engine: Engine) -> FleetCampaignState:
    """Return the state after one more entry that does not change the past."""
    body = entry.body
    if entry.kind == "added":
        state = added(state, _kept(rows_of, entry.seq)["segments"], engine)
    elif entry.kind == "asked":
        pool = _kept(rows_of, entry.seq)["pool"] if body["pool"] == "each" else body["pool"]
        state, _ = asked(state, key=entry.key, pool=pool, engine=engine)
    elif entry.kind == "delivered":
        rows = unpack_rows(_data(rows_of, entry.seq))
        shown = None if "encoding" not in body else Encoding.of(body["encoding"])
        late = body["period"] if body.get("late") else None
        accept = body.get("accept", ())
        state, _ = delivered(state, rows, shown, seq=entry.seq, late=late, accept=accept, engine=engine)
    elif entry.kind == "closed":
        state, _ = closed(state, seq=entry.seq, at=entry.at, engine=engine)
    elif entry.kind == "budgeted":
        state = budgeted(state, body["money"], body["periods"], body["prices"], engine)
    elif entry.kind == "selected":
        state = selected(state, entry.seq)
    elif entry.kind in ("archived", "unarchived"):
        state = replace(state, archived=entry.kind == "archived")
    else:
        raise StateFileError(f"entry {entry.seq} is {entry.kind!r}, which this version cannot read.")
    return replace(state, seq=entry.seq)


def replay(log: Iterable[Entry], rows_of: ReadRows, engine: Engine) -> Iterator[tuple[Entry, FleetCampaignState]]:
    """Yield each entry of a log that changes the campaign with the state it leads to."""
    state: FleetCampaignState | None = None
    past: list[Entry] = []
    for entry in log:
        if state is None:
            state = created(entry)
        elif entry.kind == "undone":
            past.append(entry)
            state = replace(rebuilt(state, past, rows_of, engine), seq=entry.seq)
        elif entry.kind in CHANGES:
            past.append(entry)
            state = after(state, entry, rows_of, engine)
        yield entry, state


def rebuilt(state: FleetCampaignState, log: Sequence[Entry], rows_of: ReadRows, engine: Engine) -> FleetCampaignState:
    """Return the state that a log leads to whose last entry undoes another, from the start of a period on."""
    first = _changed(log)
    snapshot = next((one for one in (state.start, state.before) if one is not None and one.seq < first), None)
    if snapshot is None:
        raise ProtocolError("undo() reaches back to the start of the period closed last; what was before stays.")
    made = restored(snapshot, rows_of)
    named = replace(made.definition, name=state.definition.name)  # an import may have given it another one
    made = replace(made, definition=named, start=snapshot, before=state.before if snapshot is state.start else None)
    for entry in in_force(log):
        if entry.seq > snapshot.seq:
            made = after(made, entry, rows_of, engine)
    return made


def in_force(log: Sequence[Entry]) -> list[Entry]:
    """Return the entries that count: without those undone, and the orders of a period that is open again before."""
    gone = undone_by(log)
    reopened = [(entry.seq, gone[entry.seq]) for entry in log if entry.kind == "closed" and entry.seq in gone]
    return [
        entry
        for entry in log
        if entry.kind != "undone"
        and entry.seq not in gone
        and not (entry.kind in ("asked", "selected") and any(first < entry.seq < last for first, last in reopened))
    ]


def orders_body(orders: FleetOrders, pool: int | Mapping[str, int] | None) -> bytes:
    """Return orders, with the pool they are for, as the rows of their entry."""
    columns = orders.columns()
    columns["risk"] = [risk if risk < float("inf") else None for risk in columns["risk"]]
    columns["epsilon"] = [one if one == one and one < float("inf") else None for one in columns["epsilon"]]
    return packed({"pool": dict(pool) if isinstance(pool, Mapping) else pool, "orders": columns})


def packed(value: Mapping[str, Any]) -> bytes:
    """Return JSON values as the rows of an entry."""
    return deflate(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())


def unpacked(data: bytes) -> Any:
    """Return the JSON values in the rows of an entry."""
    return json.loads(inflate(data))


def _changed(log: Sequence[Entry]) -> int:
    """Return the first entry that counts or no longer counts by the last one, which undoes another."""
    by_seq = {entry.seq: entry for entry in log}
    target = by_seq.get(log[-1].body["entries"][0])
    while target is not None and target.kind == "undone":
        target = by_seq.get(target.body["entries"][0])
    return 0 if target is None else target.seq


def _data(rows_of: ReadRows, seq: int) -> bytes:
    data = rows_of([seq]).get(seq)
    if data is None:
        raise StateFileError(f"entry {seq} had rows that were not kept: keep_rows is off.")
    return data


def _kept(rows_of: ReadRows, seq: int) -> Any:
    return unpacked(_data(rows_of, seq))
