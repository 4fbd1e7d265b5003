"""Pure transitions of the campaign state, one for each kind of log entry.

A campaign applies them when something happens and :func:`replay` applies the same ones to the log, so both give the same bits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from driftpace.campaign.codec import unpack
from driftpace.campaign.definition import Definition
from driftpace.campaign.records import Decision
from driftpace.campaign.state import CampaignState, OpenPeriod
from driftpace.errors import StateFileError
from driftpace.records import Request, StepReport
from driftpace.storage.base import Entry
from driftpace.storage.codec import decode
from driftpace.tracker.builder import with_budget
from driftpace.tracker.codec import snapshot_from_body
from driftpace.tracker.method import Method, TellEvent


def created(entry: Entry) -> CampaignState:
    """Return the beginning."""
    body = entry.body
    method, state = snapshot_from_body(body["tracker"], {})
    last = decode(body["history"][-1]) if body["history"] else None
    rows = sum(decode(one).samples for one in body["history"])
    definition = Definition.of(body["definition"])
    return CampaignState(
        seq=1, created_at=entry.at, definition=definition, method=method, state=state, last=last, rows=rows
    )


def asked(folded: CampaignState, *, pool: int | None, key: str | None) -> tuple[CampaignState, Request]:
    """Size the period, or decide anew with the rows that came; a key names the period where it has no name yet."""
    state, request = folded.method.ask(folded.state, pool)
    seen = state.gathered
    if folded.opened is None:
        opened = OpenPeriod(key=key, request=request, seen=seen)
    else:
        mine = _with_forecast(folded.method, state, folded.opened.overridden)
        opened = replace(folded.opened, key=folded.opened.key or key, request=request, seen=seen, overridden=mine)
    return replace(folded, state=state, opened=opened), request


def _with_forecast(method: Method, state: Any, decision: Decision | None) -> Decision | None:
    """Return an override with the risk predicted for its number of rows."""
    if decision is None:
        return None
    return replace(decision, risk_bound=method.forecast(state, decision.samples))


def delivered(folded: CampaignState, event: TellEvent, *, seq: int) -> CampaignState:
    """Lay rows of the period aside."""
    state = folded.method.gather(folded.state, event)
    assert folded.opened is not None
    return replace(folded, state=state, opened=replace(folded.opened, deliveries=(*folded.opened.deliveries, seq)))


def forgotten(folded: CampaignState) -> CampaignState:
    """Take back the rows told in the open period."""
    state = folded.method.forget(folded.state)
    assert folded.opened is not None
    return replace(folded, state=state, opened=replace(folded.opened, deliveries=()))


def selected(folded: CampaignState, *, seq: int) -> CampaignState:
    """Remember that rows were drawn for the period."""
    assert folded.opened is not None
    return replace(folded, opened=replace(folded.opened, draws=(*folded.opened.draws, seq)))


def approved(folded: CampaignState, decision: Decision) -> CampaignState:
    """Remember that a person agreed with the order; what another decided before is over."""
    assert folded.opened is not None
    return replace(folded, opened=replace(folded.opened, approved=decision, overridden=None))


def overridden(folded: CampaignState, decision: Decision) -> CampaignState:
    """Let a person's number stand in the place of the order, with the risk that is foretold for it."""
    assert folded.opened is not None
    mine = _with_forecast(folded.method, folded.state, decision)
    return replace(folded, opened=replace(folded.opened, overridden=mine, approved=None))


def imported(folded: CampaignState, name: str) -> CampaignState:
    """Remember the name that an open period was asked for under, before the campaign was carried here."""
    if folded.opened is None:
        return folded
    return replace(folded, opened=replace(folded.opened, names=(*folded.opened.names, name)))


def budgeted(folded: CampaignState, values: Mapping[str, Any]) -> CampaignState:
    """Give the campaign another budget; the order of an open period is to be made anew."""
    definition = Definition.of({**folded.definition.to_values(), "budget": dict(values)})
    budget = definition.make_budget()
    assert budget is not None
    method, state = with_budget("Campaign.add_money", folded.method, folded.state, budget)
    return replace(folded, definition=definition, method=method, state=state)


def amended(folded: CampaignState, unknown_categories: Mapping[str, str]) -> CampaignState:
    """Let any other word of a column count as one that is listed, from now on; what was told stays as it was."""
    definition = folded.definition
    return replace(
        folded,
        definition=replace(definition, unknown_categories={**definition.unknown_categories, **unknown_categories}),
    )


def closed(folded: CampaignState) -> tuple[CampaignState, StepReport]:
    """Fit the rows of the period and report."""
    with np.errstate(over="ignore", invalid="ignore"):
        state, report = folded.method.close(folded.state)
    key = None if folded.opened is None else folded.opened.key
    return replace(
        folded, state=state, opened=None, last=report, last_key=key, rows=folded.rows + report.samples
    ), report


def after(folded: CampaignState, entry: Entry, rows: bytes | None) -> CampaignState:
    """Return where the campaign stands after one more entry of its log; ``rows`` are those that it brought."""
    body = entry.body
    match entry.kind:
        case "asked":
            folded, _ = asked(folded, pool=body["pool"], key=entry.key)
        case "delivered":
            if rows is None:
                raise StateFileError(f"entry {entry.seq} brought rows that were not kept: keep_rows is off.")
            folded = delivered(folded, unpack(rows).told, seq=entry.seq)
        case "forgotten":
            folded = forgotten(folded)
        case "selected":
            folded = selected(folded, seq=entry.seq)
        case "approved":
            folded = approved(folded, decision_of(body, entry.at))
        case "overridden":
            folded = overridden(folded, decision_of(body, entry.at))
        case "budgeted":
            folded = budgeted(folded, body["budget"])
        case "amended":
            folded = amended(folded, body["unknown_categories"])
        case "closed":
            folded, _ = closed(folded)
        case "fitted":
            pass
        case "imported":
            folded = imported(folded, body["name"])
        case "certified":
            if folded.last is not None:
                folded = replace(folded, last=replace(folded.last, seconds=decode(body["report"]).seconds))
        case _:
            raise StateFileError(f"entry {entry.seq} is {entry.kind!r}, which this version does not know.")
    return replace(folded, seq=entry.seq)


def decision_of(body: Mapping[str, Any], at: str) -> Decision:
    """Return the decision that an entry holds."""
    return Decision(samples=body["samples"], reason=body["reason"], who=body["who"], at=at, asked=body["asked"])


def replay(log: Iterable[tuple[Entry, bytes | None]]) -> Iterable[tuple[Entry, CampaignState]]:
    """Yield each entry of a log with where it leads to, from the first one on."""
    folded = None
    for entry, rows in log:
        if folded is None:
            if entry.kind != "created":
                raise StateFileError(f"the log begins with {entry.kind!r} and not with 'created'.")
            folded = created(entry)
        else:
            folded = after(folded, entry, rows)
        yield entry, folded
