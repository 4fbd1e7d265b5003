"""Take back a delivery, a decision, a draw or the closing of a period; the log keeps the entry and its undo.

Orders that were placed are facts: what is undone changes which rows are absorbed and which decisions count. Labels that were paid
for stay paid, unless the delivery itself was recorded in error (``refund``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from driftpace.campaign.handle import Draft
from driftpace.campaign.kept_states import RowsOf, settled_in
from driftpace.campaign.orders import ask_again, served_to_plain
from driftpace.campaign.packing import Labels, erased_in, labels_in, repeated_labels, unpack_rows
from driftpace.campaign.records import Revision, Undone
from driftpace.campaign.replay import LogInForce, Revised, revise
from driftpace.campaign.state import CampaignState, fingerprint
from driftpace.campaign.text import period_name
from driftpace.campaign.transitions import undone_by
from driftpace.errors import ParameterError, ProtocolError
from driftpace.records import Money
from driftpace.storage.base import Entry, Store
from driftpace.storage.codec import encode
from driftpace.tracker.revision import charged

OWNER = "Campaign.undo"

_FACTS = {
    "created": "the campaign was created by it; use driftpace remove",
    "asked": "an order that was placed is a fact; undo what was delivered or decided for it",
    "learned": "every coefficient is about its components; create a new campaign with another pool",
    "imported": "it records where the campaign is from",
    "upgraded": "it records the version of the store",
    "revised": "it is the result of another entry; undo that one",
    "erased": "what was erased is gone",
    "archived": "use driftpace archive --undo",
    "unarchived": "use driftpace archive",
}
"""Why entries of a kind cannot be undone."""

_CLOSING = ("closed", "fitted", "certified")


@dataclass(frozen=True, kw_only=True, slots=True)
class UndoTarget:
    """What to undo: a log entry, a delivery by its name or source, the closing of a period by number or key, or all draws."""

    entry: int | None = None
    delivery: str | None = None
    period: int | str | None = None
    draws: bool = False
    refund: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """The entries to take back, what they are, and the first period whose rows or money change."""

    entries: tuple[Entry, ...]
    kind: str
    from_period: int | None
    rows: int = 0


def undo(
    store: Store, state: CampaignState, draft: Draft, target: UndoTarget, *, reason: str, who: str
) -> tuple[CampaignState, Undone]:
    """Take back what ``target`` names, absorb the periods since again, and compute the open order again."""
    name = state.definition.name
    log = store.entries(name, limit=state.seq)
    plan = _plan(state, log, target)
    rows_of = stored_rows(store, name)
    _check_rows(state, log, plan, rows_of)
    body: dict[str, Any] = {
        "period": state.state.period,
        "entries": [entry.seq for entry in plan.entries],
        "what": plan.kind,
        "of_period": plan.entries[0].body.get("period", state.state.period),
        "from_period": plan.from_period,
        "rows": plan.rows,
        "reason": reason,
        "who": who,
    }
    entry = Entry(kind="undone", body=body, at=draft.at, seq=draft.next_seq)
    revised = revise(state, [*log, entry], rows_of)
    written_off = None
    if plan.kind == "delivered" and not target.refund:
        amount = _paid(state) - _paid(revised.state)
        if amount > 0:
            written_off = Money(amount, "" if state.method.budget is None else state.method.budget.money.currency)
            body |= {"written_off": format(amount, "f"), "currency": written_off.currency}
            revised = replace(revised, state=replace(revised.state, state=charged(revised.state.state, amount)))
    draft.add("undone", body)
    after, revision = record_revision(state, revised, draft, who=who)
    opened = None if after.opened is None else after.state.period
    return after, Undone(
        entry=entry.seq,
        entries=tuple(body["entries"]),
        kind=plan.kind,
        period=body["of_period"],
        rows=plan.rows,
        reopened=opened if plan.kind == "closed" else None,
        written_off=written_off,
        revision=revision,
        order=after.order,
        trained=_trained_since(log, plan),
    )


def _trained_since(log: Sequence[Entry], plan: _Plan) -> int | None:
    """Return the last training of the base that used rows of a delivery; one is not done again when they are taken back."""
    if plan.kind != "delivered":
        return None
    first, gone = plan.entries[0].seq, undone_by(log)
    trained = [entry.seq for entry in log[first:] if entry.kind == "retrained" and not entry.body["given"]]
    return next((seq for seq in reversed(trained) if seq not in gone), None)


def record_revision(
    before: CampaignState, revised: Revised, draft: Draft, *, who: str
) -> tuple[CampaignState, Revision | None]:
    """Add the new reports of closed periods to the log, and compute the open order again if the tracker changed."""
    after = revised.state
    revision = None
    if revised.reports:
        revision = revision_of(before, revised)
        draft.add("revised", revised_body(before, revised))
    order = before.state.order
    changed = after.opened is not None and (after.state.order is None or after.state.order.after == -1)
    if changed:
        dropped = after.state.order is None and order is not None
        after = ask_again(after, draft, who=who, pool=order.pool if dropped and order else None)
    return after, revision


def revision_of(before: CampaignState, revised: Revised) -> Revision:
    """Return which periods were absorbed again, and the expected excess loss before and after."""
    last = revised.state.last
    return Revision(
        periods=tuple(report.period for report in revised.reports),
        risk_before=None if before.last is None else before.last.risk_bound,
        risk_after=None if last is None else last.risk_bound,
    )


def revised_body(before: CampaignState, revised: Revised) -> dict[str, Any]:
    """Return what the log says of periods that were absorbed again."""
    after, revision = revised.state, revision_of(before, revised)
    coef = after.state.coef
    return {
        "period": after.state.period,
        "periods": list(revision.periods),
        "risk_before": encode(revision.risk_before),
        "risk_after": encode(revision.risk_after),
        "reports": [encode(report) for report in revised.reports],
        "served": [served_to_plain(served) for served in revised.served],
        "coef": [] if coef is None else coef.tolist(),
        "sha256": fingerprint(after),
    }


def stored_rows(store: Store, name: str) -> RowsOf:
    """Return a function that reads the rows of an entry."""
    return lambda seq: store.rows(name, [seq]).get(seq)


def _paid(state: CampaignState) -> Decimal:
    spending = state.method.spending(state.state)
    return Decimal(0) if spending is None else spending.spent_after(state.state.gathered).amount


def _plan(state: CampaignState, log: Sequence[Entry], target: UndoTarget) -> _Plan:
    """Return what is taken back, or raise an error that says why it cannot be."""
    gone = undone_by(log)
    if target.draws:
        return _draws(state, log)
    given = [value for value in (target.entry, target.delivery, target.period) if value is not None]
    if len(given) != 1:
        problem = f"must be the one of entry, delivery and period that is undone; got {len(given) or 'none'} of them."
        raise ParameterError(problem, owner=OWNER, name="entry")
    if target.delivery is not None:
        return _deliveries(log, gone, target.delivery)
    if target.period is not None:
        return _closing(state, log, gone, _closed_period(log, gone, target.period))
    number = target.entry
    if number is None or not 1 <= number <= len(log):
        raise ParameterError(
            f"must be the number of a log entry, 1 to {len(log)}; got {number!r}.", owner=OWNER, name="entry"
        )
    entry = log[number - 1]
    if number in gone:
        problem = f"must not be undone already; entry {gone[number]} took entry {number} back, undo that one instead."
        raise ParameterError(problem, owner=OWNER, name="entry")
    return _of_entry(state, log, gone, entry)


def _of_entry(state: CampaignState, log: Sequence[Entry], gone: dict[int, int], entry: Entry) -> _Plan:
    """Return how one entry is taken back, by its kind."""
    kind, body = entry.kind, entry.body
    if kind in _FACTS:
        raise ParameterError(
            f"must be a delivery, a decision, a draw or a closed period; entry {entry.seq} is {kind!r}: {_FACTS[kind]}.",
            owner=OWNER,
            name="entry",
        )
    if kind in _CLOSING:
        closing = next(one for one in reversed(log[: entry.seq]) if one.kind == "closed")
        return _closing(state, log, gone, closing)
    if kind in ("approved", "overridden") and (state.opened is None or body["period"] != state.state.period):
        raise ProtocolError(
            f"the decision about the order of period {body['period']} had its effect when the period was closed; undo its "
            "closing first."
        )
    if kind == "amended" and body.get("new_classes"):
        raise ParameterError(
            f"must not be an amendment that added classes, which labels may have by now; got entry {entry.seq}.",
            owner=OWNER,
            name="entry",
        )
    if kind == "undone":
        return _redo(state, log, gone, entry)
    first = body["period"] if kind in ("delivered", "forgotten", "budgeted", "retrained") else None
    return _Plan(entries=(entry,), kind=kind, from_period=first, rows=body.get("rows", 0))


def _names(entry: Entry) -> tuple[str | None, ...]:
    """Return what a delivery may be called: its key, its source, and the file of a source such as "REST: w46.csv"."""
    source = entry.body.get("source") or None
    return entry.key, source, None if source is None else source.removeprefix("REST: ")


def _deliveries(log: Sequence[Entry], gone: dict[int, int], name: str) -> _Plan:
    """Return how the last delivery of a name, source or uploaded file is taken back: all entries that it wrote."""
    force = LogInForce.of(log)
    counted = {seq for seqs in force.deliveries.values() for seq in seqs}
    named = [entry for entry in log if entry.kind == "delivered" and name in _names(entry)]
    found = [entry for entry in named if entry.seq in counted]
    if not found:
        why = "it is undone already" if any(entry.seq in gone for entry in named) else "there is none"
        raise ParameterError(
            f"must be the name or the source of a delivery that counts; got {name!r:.80}: {why}.",
            owner=OWNER,
            name="delivery",
        )
    last = found[-1]
    entries = tuple(entry for entry in found if (entry.key, entry.at) == (last.key, last.at))
    return _Plan(
        entries=entries,
        kind="delivered",
        from_period=min(entry.body["period"] for entry in entries),
        rows=sum(entry.body["rows"] for entry in entries),
    )


def _draws(state: CampaignState, log: Sequence[Entry]) -> _Plan:
    """Return how the draws of the open period are released."""
    draws = () if state.opened is None else state.opened.draws
    if not draws:
        raise ProtocolError("release() requires rows that were drawn for the open period; there are none.")
    entries = tuple(log[seq - 1] for seq in draws)
    return _Plan(entries=entries, kind="selected", from_period=None, rows=sum(entry.body["rows"] for entry in entries))


def _closed_period(log: Sequence[Entry], gone: dict[int, int], period: int | str) -> Entry:
    closings = [entry for entry in log if entry.kind == "closed" and entry.seq not in gone]
    found = [entry for entry in closings if period in (entry.body["period"], entry.body["key"])]
    if not found:
        raise ParameterError(
            f"must be the number or the key of a closed period; got {period!r:.80}.", owner=OWNER, name="period"
        )
    return found[-1]


def _closing(state: CampaignState, log: Sequence[Entry], gone: dict[int, int], closing: Entry) -> _Plan:
    """Return how the closing of the last closed period is taken back; an order of the next period without rows goes with it."""
    period, key = closing.body["period"], closing.body["key"]
    last, opened = state.state.period - 1, state.opened
    if period != last:
        raise ProtocolError(
            f"{period_name(period, key)} is not the one closed last; undo the closing of period {last} first."
        )
    if opened is not None and (opened.deliveries or opened.draws):
        what = "rows were delivered" if opened.deliveries else "rows were drawn"
        raise ProtocolError(
            f"{period_name(period, key)} cannot be opened again: {what} for {period_name(last + 1, opened.key)}; undo that first."
        )
    trained = [entry for entry in log[closing.seq :] if entry.kind == "retrained" and entry.seq not in gone]
    if trained:
        raise ProtocolError(
            f"{period_name(period, key)} cannot be opened again: the base was trained since; undo entry {trained[-1].seq} first."
        )
    since = [
        entry
        for entry in log[closing.seq - 1 :]
        if entry.seq not in gone
        and (
            entry.kind in _CLOSING
            or (entry.kind in ("asked", "approved", "overridden") and entry.body["period"] > last)
        )
    ]
    return _Plan(entries=tuple(since), kind="closed", from_period=period, rows=closing.body["received"])


def _redo(state: CampaignState, log: Sequence[Entry], gone: dict[int, int], entry: Entry) -> _Plan:
    """Return how an undo is taken back: what it undid counts again."""
    body = entry.body
    if body["what"] == "closed":
        period = body["from_period"]
        again = [one for one in log[entry.seq :] if one.kind == "closed" and one.seq not in gone]
        if again or state.state.period != period:
            raise ProtocolError(f"period {period} was closed again since; undo that closing instead.")
    if body["what"] in ("approved", "overridden") and body["of_period"] != state.state.period:
        raise ProtocolError(f"period {body['of_period']} is closed; its decisions cannot change.")
    return _Plan(entries=(entry,), kind="undone", from_period=body["from_period"], rows=body["rows"])


def _check_rows(state: CampaignState, log: Sequence[Entry], plan: _Plan, rows_of: RowsOf) -> None:
    """Raise ProtocolError where the rows that are needed were not kept, or rows would count twice."""
    first, period = plan.from_period, state.state.period
    if first is None:
        return
    in_open_period = state.opened is not None and first == period
    if not state.definition.keep_rows and not in_open_period:
        raise ProtocolError(
            f"period {first} cannot be absorbed again: keep_rows is off, so the rows of closed periods were deleted; only what "
            "happened in the open period can be undone."
        )
    settled = settled_in(log)
    if first <= settled:
        raise ProtocolError(
            f"period {first} cannot be absorbed again: rows of period {settled} were erased, so nothing up to its end can change."
        )
    gone = {entry.seq for entry in plan.entries}
    undone = Entry(kind="undone", body={"entries": sorted(gone)}, at="", seq=len(log) + 1)
    before, after = LogInForce.of(log), LogInForce.of([*log, undone])
    for one, seqs in after.deliveries.items():
        back = [seq for seq in seqs if seq not in before.deliveries.get(one, ())]
        if any(rows_of(seq) is None for seq in back):
            raise ProtocolError(
                f"the rows of entry {back[0]} were deleted, by an erasure or because keep_rows is off; deliver them again."
            )
        erased = next((seq for seq in back if erased_in(rows_of(seq) or b"")), None)
        if erased is not None:
            raise ProtocolError(f"rows of entry {erased} were erased; deliver the others again.")
        other = next((seq for seq in back if not _fits(state, rows_of(seq) or b"")), None)
        if other is not None:
            raise ProtocolError(
                f"the rows of entry {other} have other columns than those delivered since: the first rows show how columns are "
                "encoded; deliver them again."
            )
        twice = _counted_twice([rows_of(seq) or b"" for seq in seqs] if back else [])
        if twice is not None:
            raise ProtocolError(
                f"rows such as {twice!r:.80} were delivered again in period {one} since, and would count twice; undo that "
                "delivery first."
            )


def _fits(state: CampaignState, delivery: bytes) -> bool:
    """Whether the rows of a delivery have the columns of those that count."""
    event, known = unpack_rows(delivery).event, state.state
    same = event.columns is None or known.columns is None or event.columns == known.columns
    return same and (known.features is None or event.X.shape[1] == known.features)


def _counted_twice(deliveries: Sequence[bytes]) -> str | None:
    """Return the id of a row that two deliveries have with a label of the same annotator; None where there is none."""
    labels: Labels = {}
    for data in deliveries:
        packed = unpack_rows(data)
        again = repeated_labels(packed, labels)
        if any(again):
            assert packed.ids is not None
            return packed.ids[again.index(True)]
        for row_id, names in labels_in([data]).items():
            labels.setdefault(row_id, set()).update(names)
    return None
