"""Ask, tell and undo: what is decided about the state of a fleet campaign, with the entries that say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftpace.campaign.fleet import changes
from driftpace.campaign.fleet.changes import CHANGES, Engine
from driftpace.campaign.fleet.draft import FleetDraft
from driftpace.campaign.fleet.records import FleetOrder, FleetPeriod, FleetReceipt
from driftpace.campaign.fleet.rows import FleetRows, pack_rows, unpack_rows
from driftpace.campaign.fleet.state import FleetCampaignState
from driftpace.campaign.text import period_name
from driftpace.campaign.transitions import undone_by
from driftpace.errors import DataError, NoOpenPeriodError, ParameterError, ProtocolError
from driftpace.storage.base import Entry, Store
from driftpace.tracing import span

Pool = int | Mapping[str, int] | None
UNDOABLE = ("delivered", "selected", "budgeted", "closed", "undone")
"""Kinds of entries that can be undone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetTarget:
    """The period that a delivery is meant for, its name, whether to close the period, and segments whose rows are accepted."""

    key: str | None
    name: str | None
    final: bool | None
    again: bool
    source: str
    who: str
    accept: tuple[str, ...] = ()


def ask(
    store: Store, state: FleetCampaignState, draft: FleetDraft, *, key: str | None, pool: Pool, who: str, engine: Engine
) -> tuple[FleetCampaignState, FleetOrder]:
    """Return the order of a key; a new key opens the next period, unless rows of the open one are missing."""
    order = state.order
    if key is not None and (order is None or order.key != key):
        past = past_order(store, state, key)
        if past is not None:
            return state, past
        if order is not None and order.key is not None:
            if order.missing and state.definition.delay is None:
                raise ProtocolError(
                    f"{period_name(order.period, order.key)} is still open and {order.missing:,} of its {order.samples:,} rows "
                    f"are missing; deliver them or close it before asking for {key!r}."
                )
            state, _ = close(state, draft, who=who, engine=engine)
    opened = state.opened
    if opened is None or (opened.key is None and key is not None) or pool is not None or _unsized(state):
        state = _ask(state, draft, key=key, pool=pool, who=who, engine=engine)
    order = state.order
    assert order is not None
    return state, order


def add(
    state: FleetCampaignState, draft: FleetDraft, names: Sequence[str], *, who: str, engine: Engine
) -> tuple[FleetCampaignState, int]:
    """Add segments before their first rows, and return how many are new; an open order is computed with them."""
    known = {row.segment for row in state.table}
    fresh = sorted({name for name in names if name not in known})
    if fresh:
        state = changes.added(state, fresh, engine)
        draft.add("added", {"segments": len(fresh), "who": who}, rows=changes.packed({"segments": fresh}))
        if state.opened is not None:
            state = _ask(state, draft, key=None, pool=None, who=who, engine=engine)
    return state, len(fresh)


def tell(
    store: Store,
    state: FleetCampaignState,
    draft: FleetDraft,
    rows: FleetRows | None,
    target: FleetTarget,
    engine: Engine,
) -> tuple[FleetCampaignState, FleetReceipt]:
    """Add a delivery, once: to the open period, which is closed when it is complete, or to a closed one by its key."""
    name = target.name or (None if rows is None or not len(rows) else rows.digest)
    if name is not None and not target.again:
        earlier = delivered_before(store, state, name)
        if earlier is not None and target.accept and rows is not None:
            name, rows = _accepted(state, rows, name, target)
            earlier = delivered_before(store, state, name) if len(rows) else earlier
        if earlier is not None:
            return _repeated(store, state, draft, earlier, target, engine)
    late = None
    if target.key is not None and (state.opened is None or state.opened.key != target.key):
        late = _late(store, state, target.key)
    order = state.order
    if order is None and late is None:
        raise NoOpenPeriodError("tell", state.fleet.period)
    if rows is None or not len(rows):
        left_out = 0 if rows is None else rows.unlabelled
        if late is not None or (rows is not None and not target.final):
            return state, _nothing(rows, order or _past(store, state, late), unlabelled=left_out)
        made = None
        if rows is None or target.final:
            if target.final is False:
                raise DataError("must be given with final=False; got None.", owner="FleetCampaign.tell", name="table")
            state, made = close(state, draft, who=target.who, engine=engine)
        assert order is not None
        return state, _nothing(rows, _done(order, made), closed=made, unlabelled=left_out)
    return _tell(store, state, draft, rows, target, engine, name=str(name), late=late)


def _nothing(rows: FleetRows | None, order: FleetOrder, **counts: Any) -> FleetReceipt:
    """Return the receipt of a delivery of which no row was added."""
    left_out: dict[str, Any] = (
        {} if rows is None else {"without": rows.without, "doubled": rows.doubled, "repeated": rows.repeated}
    )
    return FleetReceipt(rows=0, order=order, **counts, **left_out)


def _accepted(state: FleetCampaignState, rows: FleetRows, name: str, target: FleetTarget) -> tuple[str, FleetRows]:
    """Return the rows of a delivery that was counted before whose segments are accepted now and are still set aside."""
    aside = [one for one in target.accept if one in state.table.set_aside]
    return f"{name}, accepted {', '.join(sorted(target.accept))}", rows.of(aside, str(state.definition.segment))


def _tell(
    store: Store,
    state: FleetCampaignState,
    draft: FleetDraft,
    rows: FleetRows,
    target: FleetTarget,
    engine: Engine,
    *,
    name: str,
    late: int | None,
) -> tuple[FleetCampaignState, FleetReceipt]:
    segment = str(state.definition.segment)
    if late is None:
        assert state.opened is not None
        rows = rows.without_known(marks_of(store, state, state.opened.deliveries), segment)
    seq = draft.next_seq
    told = None
    if len(rows):
        shown = rows.encoding if state.fleet.encoding is None else None
        state, told = changes.delivered(state, rows, shown, seq=seq, late=late, accept=target.accept, engine=engine)
        rows = replace(rows, set_aside=tuple(told.rejected))
        body: dict[str, Any] = {
            "period": late or state.fleet.period,
            "rows": told.rows,
            "delivered": len(rows),
            "repeated": rows.repeated,
            "unlabelled": rows.unlabelled,
            "segments": len({str(one) for one in rows.columns[segment].values}),
            "set_aside": len(told.rejected),
            "source": target.source,
            "who": target.who,
        }
        body |= {} if late is None else {"late": state.fleet.period - late}
        body |= {} if shown is None else {"encoding": shown.to_values()}
        body |= {"accept": list(target.accept)} if target.accept else {}
        body |= {"without": dict(rows.without)} if rows.without else {}
        body |= {"doubled": sum(rows.doubled.values())} if rows.doubled else {}
        draft.add("delivered", body, key=name, rows=pack_rows(rows))
    made = None
    if late is None and target.final:
        order = state.order
        assert order is not None
        state, made = close(state, draft, who=target.who, engine=engine)
    else:
        if told is not None and state.opened is not None:
            state = _ask(state, draft, key=None, pool=None, who=target.who, engine=engine)
        order = state.order
        if order is not None and late is None and target.final is None and not order.missing and told is not None:
            state, made = close(state, draft, who=target.who, engine=engine)
    return state, FleetReceipt(
        rows=0 if told is None else told.rows,
        order=_past(store, state, late) if order is None or late is not None else _done(order, made),
        closed=made,
        repeated=rows.repeated,
        unlabelled=rows.unlabelled,
        without=rows.without,
        doubled=rows.doubled,
        rejected={} if told is None else told.rejected,
        added=() if told is None else told.added,
        late=late,
    )


def close(
    state: FleetCampaignState, draft: FleetDraft, *, who: str, engine: Engine
) -> tuple[FleetCampaignState, FleetPeriod]:
    """Close the open period; its rows are deleted if they are not kept."""
    opened, seq = state.opened, draft.next_seq
    assert opened is not None
    with span("campaign.close", campaign=state.definition.name, period=state.fleet.period):
        state, made = changes.closed(state, seq=seq, at=draft.at, engine=engine)
    draft.add("closed", {**made.to_values(), "who": who}, key=str(made.period))
    if not state.definition.keep_rows:
        first = 0 if draft.before is None else draft.before.seq
        for gone in opened.deliveries:
            if gone > first:
                draft.rows.pop(gone - first - 1, None)
            else:
                draft.drop_rows.append(gone)
    return state, made


def fund(
    state: FleetCampaignState,
    draft: FleetDraft,
    money: object,
    *,
    periods: int,
    prices: Mapping[str, Any],
    reason: str,
    who: str,
    engine: Engine,
) -> FleetCampaignState:
    """Change the budget, and compute the orders of an open period again."""
    given = {name: value for name, value in prices.items() if value is not None}
    state = changes.budgeted(state, money, periods, given, engine)
    body = {
        "period": state.fleet.period,
        "budget": state.definition.to_values()["budget"],
        "money": str(money),
        "periods": periods,
        "prices": given,
    }
    draft.add("budgeted", {**body, "reason": reason, "who": who})
    return state if state.opened is None else _ask(state, draft, key=None, pool=None, who=who, engine=engine)


def undo(
    store: Store,
    state: FleetCampaignState,
    draft: FleetDraft,
    target: Entry,
    *,
    reason: str,
    who: str,
    engine: Engine,
) -> FleetCampaignState:
    """Take back a delivery, a draw, the closing of a period, or an undo."""
    oldest = state.before or state.start
    assert oldest is not None
    log = store.entries(state.definition.name, after=oldest.seq, kinds=CHANGES)
    _check_undo(state, log, target)
    body = {
        "entries": [target.seq],
        "what": target.kind,
        "of_period": target.body.get("period") or target.body["of_period"],
        "rows": int(target.body.get("rows", 0)) if target.kind in ("delivered", "selected") else 0,
        "reason": reason,
        "who": who,
    }
    undone = Entry(kind="undone", body=body, at=draft.at, seq=draft.next_seq)
    made = changes.rebuilt(state, [*log, undone], draft.read, engine)
    draft.add("undone", body)
    return made


def _check_undo(state: FleetCampaignState, log: Sequence[Entry], target: Entry) -> None:
    """Refuse to undo what does not count, what later entries depend on, and other kinds of entries."""
    if target.kind not in UNDOABLE:
        raise ProtocolError(
            "undo() takes back deliveries, draws, changes of the budget, closings and undos; "
            f"entry {target.seq} is {target.kind!r}."
        )
    if target.seq in undone_by(log):
        raise ProtocolError(f"entry {target.seq} is undone already.")
    later = [entry for entry in log if entry.seq > target.seq and entry.seq not in undone_by(log)]
    has_rows = state.opened is not None and bool(state.opened.deliveries)
    if target.kind == "closed" and (has_rows or target.body["period"] != state.fleet.period - 1):
        raise ProtocolError("undo() opens the period closed last, while the next one has no rows.")
    if target.kind == "undone" and any(
        entry.kind in ("delivered", "closed", "undone", "selected", "budgeted") for entry in later
    ):
        raise ProtocolError(
            f"undo() takes an undo back before anything else has happened; entry {later[-1].seq} came later."
        )


def past_order(store: Store, state: FleetCampaignState, key: str) -> FleetOrder | None:
    """Return the order of the closed period with that key."""
    entry = store.find(state.definition.name, "asked", key)
    if entry is None or entry.body["period"] >= state.fleet.period:
        return None
    return _past(store, state, entry.body["period"])


def delivered_before(store: Store, state: FleetCampaignState, name: str) -> Entry | None:
    """Return the delivery of that name that counts."""
    campaign = state.definition.name
    if store.find(campaign, "delivered", name) is None:
        return None
    log = store.entries(campaign, kinds=("delivered", "undone"))
    gone = undone_by(log)
    found = [entry for entry in log if entry.kind == "delivered" and entry.key == name and entry.seq not in gone]
    return found[-1] if found else None


def marks_of(store: Store, state: FleetCampaignState, deliveries: Sequence[int]) -> set[tuple[str, str]]:
    """Return the segments and ids of the rows of deliveries that were added and count."""
    marks: set[tuple[str, str]] = set()
    for data in store.rows(state.definition.name, deliveries).values():
        marks |= unpack_rows(data).marks(str(state.definition.segment))
    withdrawn = {row.segment for row in state.table if row.problem is not None and not row.received}
    return {mark for mark in marks if mark[0] not in withdrawn}


def _ask(
    state: FleetCampaignState, draft: FleetDraft, *, key: str | None, pool: Pool, who: str, engine: Engine
) -> FleetCampaignState:
    state, orders = changes.asked(state, key=key, pool=pool, engine=engine)
    order = state.order
    assert order is not None
    body = {
        "period": order.period,
        "pool": "each" if isinstance(pool, Mapping) else pool,
        "segments": len(state.table),
        "incomplete": len(state.table.missing),
        "samples": order.samples,
        "received": order.received,
        "missing": order.missing,
        "who": who,
    }
    draft.add("asked", body, key=key, rows=changes.orders_body(orders, pool))
    return state


def _unsized(state: FleetCampaignState) -> bool:
    """Return whether segments were added since the last order."""
    return any(row.outcome is None for row in state.table)


def _late(store: Store, state: FleetCampaignState, key: str) -> int:
    """Return the closed period of a key, which may take late rows."""
    past = past_order(store, state, key)
    if past is None:
        opened = state.opened
        now = (
            "no period is open" if opened is None else f"the open one is {period_name(state.fleet.period, opened.key)}"
        )
        raise ProtocolError(f"there is no period with the key {key!r}; {now}.")
    if state.definition.delay is None:
        raise ProtocolError(
            f"{period_name(past.period, key)} is closed already; late rows need a delay in the definition."
        )
    return past.period


def _past(store: Store, state: FleetCampaignState, period: int | None) -> FleetOrder:
    """Return the order of a closed period."""
    entry = store.find(state.definition.name, "closed", str(period))
    if entry is None:
        raise ParameterError(f"must be a closed period; got {period}.", owner="FleetCampaign", name="period")
    body = entry.body
    return FleetOrder(
        campaign=state.definition.name,
        period=body["period"],
        key=body["key"],
        samples=body["samples"],
        received=body["received"],
        missing=0,
        closed=True,
    )


def _done(order: FleetOrder, made: FleetPeriod | None) -> FleetOrder:
    return (
        order if made is None else replace(order, closed=True, missing=0, samples=made.samples, received=made.received)
    )


def _repeated(
    store: Store,
    state: FleetCampaignState,
    draft: FleetDraft,
    earlier: Entry,
    target: FleetTarget,
    engine: Engine,
) -> tuple[FleetCampaignState, FleetReceipt]:
    """Return the receipt of a delivery that was counted before; ``final`` still closes its period."""
    order, made = state.order, None
    period = earlier.body["period"]
    if order is None or order.period != period:
        return state, FleetReceipt(rows=0, order=_past(store, state, period), duplicate=earlier.seq)
    if target.final:
        state, made = close(state, draft, who=target.who, engine=engine)
    return state, FleetReceipt(rows=0, order=_done(order, made), closed=made, duplicate=earlier.seq)
