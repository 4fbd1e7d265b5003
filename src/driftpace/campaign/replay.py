"""Rebuild the state of a campaign from its log, entry by entry, and revise it where the log changes the past.

An entry "undone" takes earlier entries back, and a late delivery adds rows to a closed period. The state is then the one that the
log in force leads to: every closed period is absorbed again from the first that changed, with the rows that count and the orders
that were placed. The same function runs when it happens and in a replay, so both give the same bits.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

from driftpace.campaign import transitions
from driftpace.campaign.components import unpack_components
from driftpace.campaign.definition import Definition
from driftpace.campaign.kept_states import RowsOf, kept_base
from driftpace.campaign.orders import evaluate, values_with
from driftpace.campaign.packing import PackedRows, unpack_rows
from driftpace.campaign.records import Served
from driftpace.campaign.state import CampaignState, OpenPeriod, request_from_plain
from driftpace.campaign.transitions import decision_of, undone_by
from driftpace.errors import StateFileError
from driftpace.models.stored import StoredModel
from driftpace.records import StepReport
from driftpace.storage.base import Entry
from driftpace.storage.codec import decode
from driftpace.tables.encoding import Encoding
from driftpace.tracker.head_state import HeadState
from driftpace.tracker.revision import Orders, charged, orders_of, to_decide_again, with_orders

KEPT_STATES = 16
"""States at the start of a period that are kept for the next revision."""


class MissingRowsError(StateFileError):
    """Rows that a computation needs were not kept, or erased."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Revised:
    """The state after a revision, and the reports of the periods that were absorbed again, with their evaluations."""

    state: CampaignState
    reports: tuple[StepReport, ...] = ()
    served: tuple[Served | None, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Step:
    """An entry of a log with the states before and after it; ``revised`` where it changed the past."""

    entry: Entry
    before: CampaignState | None
    after: CampaignState
    revised: Revised | None = None


def replay(log: Iterable[Entry], rows_of: RowsOf) -> Iterator[tuple[Entry, CampaignState]]:
    """Yield each entry of a log with the state it leads to."""
    for step in steps(log, rows_of):
        yield step.entry, step.after


def steps(log: Iterable[Entry], rows_of: RowsOf, *, start: CampaignState | None = None) -> Iterator[Step]:
    """Yield each entry of a log with the states before and after it, those after the state ``start`` where it is given."""
    entries = list(log)
    campaign, first = start, 0 if start is None else start.seq
    past = entries[:first]
    cache = StateCache()
    for entry in entries[first:]:
        past.append(entry)
        before = campaign
        revised: Revised | None = None
        if campaign is None:
            if entry.kind != "created":
                raise StateFileError(f"the log begins with {entry.kind!r} and not with 'created'.")
            campaign = with_first_base(transitions.created(entry), entry, rows_of)
            _check_model(campaign)
        elif revises(entry):
            revised = revise(campaign, past, rows_of, cache)
            campaign = revised.state
        else:
            campaign = after(campaign, entry, rows_of)
            if entry.kind == "retrained":
                _check_model(campaign)
        yield Step(entry=entry, before=before, after=campaign, revised=revised)


def after(campaign: CampaignState, entry: Entry, rows_of: RowsOf) -> CampaignState:
    """Return the state after one more entry that does not change the past."""
    if entry.kind == "delivered":
        campaign = transitions.delivered(campaign, _kept(rows_of, entry.seq), seq=entry.seq)
        campaign = transitions.dated(transitions.encoded(campaign, entry.body), entry.body)
    elif entry.kind in _STORED:
        campaign = _with_stored(campaign, entry, rows_of)
    elif entry.kind in _TRANSITIONS:
        campaign = _TRANSITIONS[entry.kind](campaign, entry, entry.body)
    else:
        raise StateFileError(f"entry {entry.seq} is {entry.kind!r}, which this version cannot read.")
    return replace(campaign, seq=entry.seq)


def model_of(entry: Entry, rows_of: RowsOf) -> StoredModel:
    """Return the model that an entry stored."""
    facts = entry.body["model"]
    return StoredModel(facts["format"], facts["sha256"], partial(rows_of, entry.seq))


_STORED = ("learned", "retrained")
"""Kinds of entries beside which components or a model are stored."""


def _with_stored(campaign: CampaignState, entry: Entry, rows_of: RowsOf) -> CampaignState:
    """Return the state with the components or the model that an entry stored."""
    if entry.kind == "retrained":
        return transitions.retrained(campaign, model_of(entry, rows_of))
    spectrum = unpack_components(entry.body["components"]["sha256"], rows_of(entry.seq))
    return transitions.learned(campaign, entry.body, spectrum)


def with_first_base(campaign: CampaignState, entry: Entry, rows_of: RowsOf) -> CampaignState:
    """Return the first state of a campaign with the model that it was created with, where there is one."""
    return transitions.with_stored_parts(campaign, lambda _: rows_of(entry.seq))


def _check_model(campaign: CampaignState) -> None:
    """Raise StateFileError where the base model is missing or damaged in the store."""
    if isinstance(campaign.state, HeadState) and campaign.state.base is not None:
        campaign.state.base.data()


def _kept(rows_of: RowsOf, seq: int) -> PackedRows:
    rows = rows_of(seq)
    if rows is None:
        raise MissingRowsError(f"entry {seq} delivered rows that were not kept: keep_rows is off, or they were erased.")
    packed = unpack_rows(rows)
    if packed.erased:
        raise MissingRowsError(f"entry {seq} delivered rows of which {packed.erased:,} were erased.")
    return packed


def _certified(campaign: CampaignState, body: Mapping[str, Any]) -> CampaignState:
    """Take the time to close the period from the log, which a replay cannot know."""
    if campaign.last is None:
        return campaign
    return replace(campaign, last=replace(campaign.last, seconds=decode(body["report"]).seconds))


_TRANSITIONS: Mapping[str, Callable[[CampaignState, Entry, Mapping[str, Any]], CampaignState]] = {
    "asked": lambda campaign, entry, body: transitions.asked(campaign, pool=body["pool"], key=entry.key)[0],
    "forgotten": lambda campaign, _, __: transitions.forgotten(campaign),
    "selected": lambda campaign, entry, body: transitions.selected(campaign, body, seq=entry.seq),
    "approved": lambda campaign, entry, body: transitions.approved(campaign, decision_of(body, entry.at)),
    "overridden": lambda campaign, entry, body: transitions.overridden(campaign, decision_of(body, entry.at)),
    "budgeted": lambda campaign, _, body: transitions.budgeted(campaign, body["budget"]),
    "amended": lambda campaign, _, body: transitions.amended(
        campaign, body["unknown_categories"], body.get("new_classes", ())
    ),
    "closed": lambda campaign, _, __: transitions.closed(campaign)[0],
    "fitted": lambda campaign, _, __: campaign,
    "certified": lambda campaign, _, body: _certified(campaign, body),
    "imported": lambda campaign, _, body: transitions.imported(campaign, body["name"]),
    "revised": lambda campaign, _, __: campaign,
    "upgraded": lambda campaign, _, __: campaign,
    "erased": lambda campaign, _, __: campaign,
    "archived": lambda campaign, _, __: replace(campaign, archived=True),
    "unarchived": lambda campaign, _, __: replace(campaign, archived=False),
}
"""The state after each kind of entry, but "delivered", which needs its rows, and those that change the past."""


def revises(entry: Entry) -> bool:
    """Return whether an entry changes the past: an undo, or rows for a closed period."""
    return entry.kind == "undone" or (entry.kind == "delivered" and bool(entry.body.get("late")))


@dataclass(frozen=True, kw_only=True, slots=True)
class LogInForce:
    """The entries that count: ``deliveries`` and ``draws`` by period, the last closing and its ``seconds`` by period.

    ``late`` is how many periods late a delivery was, for those that were.
    """

    entries: tuple[Entry, ...]
    deliveries: Mapping[int, tuple[int, ...]]
    draws: Mapping[int, tuple[int, ...]]
    late: Mapping[int, int]
    closings: Mapping[int, Entry]
    seconds: Mapping[int, float]
    names: Mapping[int, tuple[str, ...]]
    written_off: Decimal

    @classmethod
    def of(cls, log: Sequence[Entry]) -> "LogInForce":
        """Return the entries of a log that are in force."""
        gone = undone_by(log)
        entries = tuple(entry for entry in log if entry.seq not in gone)
        deliveries: dict[int, tuple[int, ...]] = {}
        draws: dict[int, tuple[int, ...]] = {}
        names: dict[int, tuple[str, ...]] = {}
        closings: dict[int, Entry] = {}
        seconds: dict[int, float] = {}
        written_off = Decimal(0)
        opened: int | None = None
        for entry in entries:
            body = entry.body
            period = body.get("period", 0)
            match entry.kind:
                case "asked":
                    opened = period
                case "delivered":
                    deliveries[period] = (*deliveries.get(period, ()), entry.seq)
                case "selected":
                    draws[period] = (*draws.get(period, ()), entry.seq)
                case "forgotten":
                    deliveries[period] = tuple(seq for seq in deliveries.get(period, ()) if seq > entry.seq)
                case "closed":
                    closings[period], opened = entry, None
                case "certified":
                    report: StepReport = decode(body["report"])
                    seconds[report.period] = report.seconds
                case "imported" if opened is not None:
                    names[opened] = (*names.get(opened, ()), body["name"])
                case "undone":
                    written_off += Decimal(body.get("written_off") or 0)
        return cls(
            entries=entries,
            deliveries=deliveries,
            draws=draws,
            late={entry.seq: entry.body["late"] for entry in entries if entry.body.get("late")},
            closings=closings,
            seconds=seconds,
            names=names,
            written_off=written_off,
        )


@dataclass(slots=True)
class StateCache:
    """The last states between two periods, by the entries that led to them, so that the next revision starts at one of them."""

    states: "OrderedDict[tuple[Any, ...], CampaignState]" = field(default_factory=OrderedDict)

    def add(self, path: tuple[Any, ...], state: CampaignState) -> None:
        """Keep a state, and drop the oldest."""
        self.states[path] = state
        self.states.move_to_end(path)
        if len(self.states) > KEPT_STATES:
            self.states.popitem(last=False)


def revise(before: CampaignState, log: Sequence[Entry], rows_of: RowsOf, cache: StateCache | None = None) -> Revised:
    """Return the state after a log whose last entry changes the past; ``before`` is the state before that entry.

    ``from_period`` of the entry is the first period whose rows or money change; None where none do.
    """
    entry, force = log[-1], LogInForce.of(log)
    first = entry.body["from_period"] if entry.kind == "undone" else entry.body["period"]
    reports: tuple[tuple[StepReport, Served | None], ...] = ()
    if first is None:
        state = replace(before, definition=_definition(log[0], before, force))
    elif (
        before.opened is not None
        and first == before.state.period
        and first not in force.closings
        and not _changes_method(log, force)
    ):
        state = _open_again(before, force, rows_of)
        earlier = LogInForce.of(log[:-1]).written_off
        state = replace(state, state=charged(state.state, force.written_off - earlier))
    else:
        state, reports = _absorb_all(log, force, rows_of, StateCache() if cache is None else cache, first)
        state = _reopened(state, before, log, force, rows_of)
        state = replace(state, state=charged(state.state, force.written_off))
    return Revised(
        state=transitions.without_unseen_encoding(
            replace(
                _decided(state, force),
                seq=entry.seq,
                encoding=_encoding(before, log, force),
                definition=_dated(state.definition, log[0], force),
            )
        ),
        reports=tuple(report for report, _ in reports),
        served=tuple(served for _, served in reports),
    )


def _changes_method(log: Sequence[Entry], force: LogInForce) -> bool:
    """Return whether the last entry of a log takes back a training of the base or a change of the budget, or an undo of one."""
    gone = {entry.seq for entry in LogInForce.of(log[:-1]).entries} ^ {entry.seq for entry in force.entries}
    return any(entry.kind in ("budgeted", "retrained") and entry.seq in gone for entry in log)


def _definition(created: Entry, before: CampaignState, force: LogInForce) -> Any:
    """Return the definition with the categories that are mapped by the amendments in force."""
    first = transitions.created(created).definition
    given = replace(before.definition, unknown_categories=first.unknown_categories, classes=first.classes)
    state = replace(before, definition=given)
    for entry in force.entries:
        if entry.kind == "amended":
            state = transitions.amended(state, entry.body["unknown_categories"], entry.body.get("new_classes", ()))
    return state.definition


def _dated(definition: Definition, created: Entry, force: LogInForce) -> Definition:
    """Return the definition with whether the day comes first, as it says or the first rows in force have shown."""
    given = transitions.created(created).definition.dayfirst
    shown = (entry.body["dayfirst"] for entry in force.entries if "dayfirst" in entry.body)
    return replace(definition, dayfirst=next(shown, None) if given is None else given)


def _encoding(before: CampaignState, log: Sequence[Entry], force: LogInForce) -> Encoding | None:
    """Return how columns are encoded: as before, or as the rows that count again were, which an entry before them has shown."""
    last = max((seq for seqs in force.deliveries.values() for seq in seqs), default=0)
    shown = [entry.body["encoding"] for entry in log if entry.seq <= last and "encoding" in entry.body]
    return Encoding.of(shown[-1]) if before.encoding is None and shown else before.encoding


def _open_again(before: CampaignState, force: LogInForce, rows_of: RowsOf) -> CampaignState:
    """Return the open period with the deliveries that are in force; closed periods do not change."""
    assert before.opened is not None
    orders = to_decide_again(orders_of(before.state))
    empty = with_orders(before.method.forget(before.state), orders)
    state = replace(before, state=empty, opened=transitions.without_deliveries(before.opened))
    return _gathered(state, force, before.state.period, rows_of)


def _gathered(state: CampaignState, force: LogInForce, period: int, rows_of: RowsOf) -> CampaignState:
    """Return the open period with its deliveries that are in force."""
    for seq in force.deliveries.get(period, ()):
        packed = _kept(rows_of, seq)
        packed = replace(packed, event=replace(packed.event, late=force.late.get(seq, 0)))
        state = transitions.delivered(state, packed, seq=seq)
    return state


def state_after(log: Sequence[Entry], rows_of: RowsOf, period: int) -> CampaignState:
    """Return the state after a closed period, as the log in force leads to it."""
    return _absorb_all(log, LogInForce.of(log), rows_of, StateCache(), period, last=period)[0]


def reports_since(
    log: Sequence[Entry], rows_of: RowsOf, period: int
) -> tuple[CampaignState, tuple[tuple[StepReport, Served | None], ...]]:
    """Return the state after all closed periods, and the reports after ``period``, as the log in force leads to them."""
    return _absorb_all(log, LogInForce.of(log), rows_of, StateCache(), period + 1)


def _absorb_all(
    log: Sequence[Entry],
    force: LogInForce,
    rows_of: RowsOf,
    cache: StateCache,
    first: int,
    *,
    last: int | None = None,
) -> tuple[CampaignState, tuple[tuple[StepReport, Served | None], ...]]:
    """Absorb the closed periods again, up to ``last``; return the state after them, and the reports from ``first`` on."""
    steps: list[tuple[Entry, tuple[Any, ...]]] = []
    path: tuple[Any, ...] = ()
    for entry in force.entries:
        if entry.kind == "closed" and force.closings[entry.body["period"]] is entry:
            path = (*path, entry.seq, force.deliveries.get(entry.body["period"], ()))
        elif entry.kind in ("budgeted", "amended", *_STORED):
            path = (*path, entry.seq)
        else:
            continue
        steps.append((entry, path))
        if entry.kind == "closed" and entry.body["period"] == last:
            break
    state, start = _start(log, force, [entry for entry, _ in steps], rows_of, first)
    for place in range(len(steps), start, -1):
        entry, path = steps[place - 1]
        if path in cache.states and not (entry.kind == "closed" and entry.body["period"] >= first):
            state, start = cache.states[path], place
            break
    reports: list[tuple[StepReport, Served | None]] = []
    for entry, path in steps[start:]:
        body = entry.body
        if entry.kind == "amended":
            state = transitions.amended(state, body["unknown_categories"], body.get("new_classes", ()))
        elif entry.kind == "budgeted":
            values = values_with(
                state.definition.budget, body["money"], body["periods"], body["prices"], period=state.state.period
            )
            state = transitions.budgeted(state, values)
        elif entry.kind in _STORED:
            state = _with_stored(state, entry, rows_of)
        else:
            state, served = _absorbed(state, entry, force, rows_of)
            cache.add(path, state)
            if body["period"] >= first and state.last is not None:
                reports.append((state.last, served))
    return state, tuple(reports)


def _start(
    log: Sequence[Entry], force: LogInForce, closings: Sequence[Entry], rows_of: RowsOf, first: int
) -> tuple[CampaignState, int]:
    """Return the state to absorb periods from, and how many of the steps led to it: none, or those before rows were erased."""
    kept = kept_base(log, rows_of)
    if kept is None:
        return with_first_base(transitions.created(log[0]), log[0], rows_of), 0
    period, state = kept
    if first <= period:
        raise MissingRowsError(f"period {first} cannot be absorbed again: rows of periods up to {period} were erased.")
    place = next(at for at, one in enumerate(closings) if one.kind == "closed" and one.body["period"] == period)
    earlier = tuple(entry for entry in force.entries if entry.seq < closings[place].seq)
    return replace(state, definition=_definition(log[0], state, replace(force, entries=earlier))), place + 1


def _absorbed(
    state: CampaignState, closing: Entry, force: LogInForce, rows_of: RowsOf
) -> tuple[CampaignState, Served | None]:
    """Return the state after a closed period, with the rows in force and the orders that were placed."""
    body = closing.body
    period = body["period"]
    state = _with_period(state, body["key"], body["request"], _placed(closing))
    state = _gathered(state, force, period, rows_of)
    served = evaluate(state)
    state, report = transitions.closed(state)
    return replace(state, last=replace(report, seconds=force.seconds.get(period, 0.0))), served


def _placed(closing: Entry) -> Orders:
    return tuple(decode(order) for order in closing.body["orders"])


def _with_period(state: CampaignState, key: str | None, request: Any, orders: Orders) -> CampaignState:
    opened = OpenPeriod(key=key, request=request_from_plain(request), received=0)
    return replace(state, state=with_orders(state.state, orders), opened=opened)


def _reopened(
    state: CampaignState, before: CampaignState, log: Sequence[Entry], force: LogInForce, rows_of: RowsOf
) -> CampaignState:
    """Return the state with its open period, if there is one: its order is kept, and its missing rows are computed again."""
    period = state.state.period
    asks = [entry for entry in force.entries if entry.kind == "asked" and entry.body["period"] == period]
    if not asks:
        return state
    key = next((entry.key for entry in asks if entry.key is not None), None)
    closings = [entry for entry in log if entry.kind == "closed" and entry.body["period"] == period]
    if before.opened is not None and before.state.period == period:
        orders = orders_of(before.state)
    elif closings:
        orders = _placed(closings[-1])
    else:
        return transitions.asked(state, pool=asks[0].body["pool"], key=key)[0]
    state = _with_period(state, key, asks[-1].body["request"], to_decide_again(orders))
    state = _gathered(state, force, period, rows_of)
    if state.definition.budget != before.definition.budget or _base(state) != _base(before):
        state = replace(state, state=state.state.without_order())
    return state


def _base(state: CampaignState) -> str | None:
    return state.state.sha256 if isinstance(state.state, HeadState) else None


def _decided(state: CampaignState, force: LogInForce) -> CampaignState:
    """Return the state with the draws and decisions of the open period that are in force."""
    if state.opened is None:
        return state
    period = state.state.period
    draws, names = force.draws.get(period, ()), force.names.get(period, ())
    opened = replace(state.opened, draws=draws, names=names, approved=None, overridden=None)
    state = replace(state, opened=replace(opened, received=state.state.gathered))
    for entry in force.entries:
        if entry.kind in ("approved", "overridden") and entry.body["period"] == period:
            apply = transitions.approved if entry.kind == "approved" else transitions.overridden
            state = apply(state, decision_of(entry.body, entry.at))
    return state
