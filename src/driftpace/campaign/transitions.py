"""Pure transitions of the campaign state, one for each kind of log entry.

A campaign applies the transitions when something happens and a replay applies the same ones to the log, so both give the same
bits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from driftpace.campaign.components import read_components, with_components
from driftpace.campaign.definition import Definition
from driftpace.campaign.packing import PackedRows
from driftpace.campaign.records import Decision
from driftpace.campaign.state import CampaignState, OpenPeriod
from driftpace.errors import StateFileError
from driftpace.models.stored import StoredModel
from driftpace.records import LabelSums, Request, Retraining, StepReport
from driftpace.storage.base import Entry
from driftpace.storage.codec import decode
from driftpace.tables.encoding import Encoding
from driftpace.tracker.builder import is_wide, with_budget, with_wide_spectrum
from driftpace.tracker.codec import snapshot_from_body
from driftpace.tracker.head_method import HeadMethod
from driftpace.tracker.head_state import HeadState
from driftpace.tracker.method import Method, TellEvent
from driftpace.wide import Spectrum


def created(entry: Entry) -> CampaignState:
    """Return the state after the first entry."""
    body = entry.body
    method, state = snapshot_from_body(body["tracker"], {})
    history = [decode(report) for report in body["history"]]
    rows = sum(report.samples for report in history)
    labels = LabelSums.over(report.label_sums for report in history)
    definition = Definition.of(body["definition"])
    return CampaignState(
        seq=1,
        created_at=entry.at,
        definition=definition,
        method=method,
        state=state,
        last=history[-1] if history else None,
        rows=rows,
        label_sums=labels,
    )


def asked(campaign: CampaignState, *, pool: int | None, key: str | None) -> tuple[CampaignState, Request]:
    """Compute the order, or compute it again with the rows received; a key names a period that has none."""
    state, request = campaign.method.ask(campaign.state, pool)
    received = state.gathered
    if campaign.opened is None:
        opened = OpenPeriod(key=key, request=request, received=received)
    else:
        override = _with_risk(campaign.method, state, campaign.opened.overridden)
        opened = replace(
            campaign.opened, key=campaign.opened.key or key, request=request, received=received, overridden=override
        )
    return replace(campaign, state=state, opened=opened), request


def _with_risk(method: Method, state: Any, decision: Decision | None) -> Decision | None:
    """Return an override with the expected excess loss of its number of rows, as predicted now."""
    if decision is None:
        return None
    return replace(decision, risk_bound=method.forecast(state, decision.samples))


def delivered(campaign: CampaignState, packed: PackedRows, *, seq: int) -> CampaignState:
    """Add rows to the open period."""
    return _with_deliveries(campaign, {seq: packed}, [packed.event])


def redelivered(campaign: CampaignState, packed: Mapping[int, PackedRows]) -> CampaignState:
    """Add the rows of all deliveries of the open period, by their entries: the same as one after the other, but quicker."""
    events = [rows.event for rows in packed.values()]
    alone = isinstance(campaign.method, HeadMethod) or is_wide(
        campaign.method
    )  # rows together may differ in the last digit
    return _with_deliveries(campaign, packed, events if alone else _joined(events))


def _with_deliveries(
    campaign: CampaignState, packed: Mapping[int, PackedRows], events: Sequence[TellEvent]
) -> CampaignState:
    state = campaign.state
    for event in events:
        state = campaign.method.gather(state, event)
    opened = campaign.opened
    assert opened is not None
    row_ids = ((rows.ids or (), rows.event.annotators) for rows in packed.values())
    opened = replace(opened, deliveries=(*opened.deliveries, *packed), row_ids=(*opened.row_ids, *row_ids))
    return replace(campaign, state=state, opened=opened)


def _joined(events: Sequence[TellEvent]) -> list[TellEvent]:
    """Return the same rows in fewer events: neighbours that are alike become one."""
    return [
        events[0] if len(events) == 1 else _concatenated(events)
        for _, run in groupby(enumerate(events), _likeness)
        for events in [[event for _, event in run]]
    ]


def _likeness(place: tuple[int, TellEvent]) -> tuple[object, ...]:
    """Return what neighbours must share to become one event; nothing where weights of others, or of labels, hang on it."""
    number, event = place
    if event.earlier_weights is not None or event.annotators is not None:
        return (number,)
    return event.columns, event.groups is None, event.weights is None, event.late


def _concatenated(events: Sequence[TellEvent]) -> TellEvent:
    arrays: dict[str, Any] = {}
    for name in ("X", "y", "groups", "weights"):
        parts = [getattr(event, name) for event in events]
        arrays[name] = None if parts[0] is None else np.concatenate(parts)
    return replace(events[0], **arrays)


def without_deliveries(opened: OpenPeriod) -> OpenPeriod:
    """Return the open period before its first delivery."""
    return replace(opened, deliveries=(), row_ids=())


def forgotten(campaign: CampaignState) -> CampaignState:
    """Discard the rows delivered in the open period."""
    state = campaign.method.forget(campaign.state)
    assert campaign.opened is not None
    return without_unseen_encoding(replace(campaign, state=state, opened=without_deliveries(campaign.opened)))


def encoded(campaign: CampaignState, body: Mapping[str, Any]) -> CampaignState:
    """Keep the encoding that the rows of an entry have shown, if they were the first."""
    return replace(campaign, encoding=Encoding.of(body["encoding"])) if "encoding" in body else campaign


def dated(campaign: CampaignState, body: Mapping[str, Any]) -> CampaignState:
    """Keep whether the day comes first in dates, if the rows of an entry have shown it first."""
    if campaign.definition.dayfirst is not None or "dayfirst" not in body:
        return campaign
    return replace(campaign, definition=replace(campaign.definition, dayfirst=body["dayfirst"]))


def without_unseen_encoding(campaign: CampaignState) -> CampaignState:
    """Return the state without an encoding where no rows are left that have shown it."""
    unseen = campaign.state.columns is None and campaign.components is None
    return replace(campaign, encoding=None) if unseen else campaign


def selected(campaign: CampaignState, body: Mapping[str, Any], *, seq: int) -> CampaignState:
    """Record that rows were drawn for the open period."""
    assert campaign.opened is not None
    return dated(replace(campaign, opened=replace(campaign.opened, draws=(*campaign.opened.draws, seq))), body)


def approved(campaign: CampaignState, decision: Decision) -> CampaignState:
    """Record an approval; it replaces an override."""
    assert campaign.opened is not None
    return replace(campaign, opened=replace(campaign.opened, approved=decision, overridden=None))


def overridden(campaign: CampaignState, decision: Decision) -> CampaignState:
    """Record an override with its expected excess loss; it replaces an approval."""
    assert campaign.opened is not None
    override = _with_risk(campaign.method, campaign.state, decision)
    return replace(campaign, opened=replace(campaign.opened, overridden=override, approved=None))


def imported(campaign: CampaignState, name: str) -> CampaignState:
    """Record the name under which the open period was opened, before the campaign was imported."""
    if campaign.opened is None:
        return campaign
    return replace(campaign, opened=replace(campaign.opened, names=(*campaign.opened.names, name)))


def budgeted(campaign: CampaignState, values: Mapping[str, Any]) -> CampaignState:
    """Replace the budget; the order of an open period has to be computed again."""
    definition = Definition.of({**campaign.definition.to_values(), "budget": dict(values)}, saved=True)
    budget = definition.make_budget()
    assert budget is not None
    method, state = with_budget("Campaign.add_money", campaign.method, campaign.state, budget)
    return replace(campaign, definition=definition, method=method, state=state)


def learned(campaign: CampaignState, body: Mapping[str, Any], spectrum: Spectrum) -> CampaignState:
    """Follow the components that a pool has shown, before the first order."""
    method, state = with_wide_spectrum(campaign.method, campaign.state, spectrum)
    campaign = replace(campaign, method=method, state=state, components=body["components"]["sha256"])
    return encoded(campaign, body)


def with_stored_parts(campaign: CampaignState, fetch: Callable[[str], bytes | None]) -> CampaignState:
    """Return the state with what checkpoints leave out, its base model or its components, which ``fetch`` returns by their hash."""
    held = campaign.state
    if campaign.components is not None:
        spectrum = read_components(campaign.components, partial(fetch, campaign.components))
        return replace(campaign, state=with_components(held, spectrum))
    if not isinstance(held, HeadState):
        return campaign
    base = StoredModel(held.form, held.sha256, partial(fetch, held.sha256))
    return replace(campaign, state=replace(held, base=base))


def retrained(campaign: CampaignState, base: StoredModel) -> CampaignState:
    """Replace the base model; the order of an open period has to be computed again."""
    method = campaign.method
    if not isinstance(method, HeadMethod):
        raise StateFileError("the log trains a base model again, but the campaign has none.")
    last = campaign.last
    if last is not None and last.retrain is not None:
        fresh = Retraining(
            due=False,
            gain=None,
            error=None,
            lower=None,
            threshold=last.retrain.threshold,
            rows=0,
            periods=0,
            since=0,
        )
        last = replace(last, retrain=fresh)
    return replace(campaign, state=method.rebased(campaign.state, base), last=last)


def amended(
    campaign: CampaignState, unknown_categories: Mapping[str, str | Sequence[str]], new_classes: Sequence[str] = ()
) -> CampaignState:
    """Map unknown categories and add classes from now on; earlier deliveries do not change."""
    definition = campaign.definition
    given = {name: words if isinstance(words, str) else tuple(words) for name, words in unknown_categories.items()}
    return replace(
        campaign,
        definition=replace(
            definition,
            unknown_categories={**definition.unknown_categories, **given},
            classes=None if definition.classes is None else (*definition.classes, *new_classes),
        ),
    )


def closed(campaign: CampaignState) -> tuple[CampaignState, StepReport]:
    """Fit the rows of the period and return the report."""
    with np.errstate(over="ignore", invalid="ignore"):
        state, report = campaign.method.close(campaign.state)
    key = None if campaign.opened is None else campaign.opened.key
    return replace(
        campaign,
        state=state,
        opened=None,
        last=report,
        last_key=key,
        rows=campaign.rows + report.samples,
        label_sums=LabelSums.over((campaign.label_sums, report.label_sums)),
    ), report


def decision_of(body: Mapping[str, Any], at: str) -> Decision:
    """Return the decision of a log entry."""
    return Decision(samples=body["samples"], reason=body["reason"], who=body["who"], at=at, asked=body["asked"])


def undone_by(log: Iterable[Entry]) -> dict[int, int]:
    """Return for each entry that is taken back the number of the entry that does so; an undo can be undone too."""
    gone: dict[int, int] = {}
    for entry in sorted((entry for entry in log if entry.kind == "undone"), key=lambda entry: -entry.seq):
        if entry.seq not in gone:
            gone.update(dict.fromkeys(entry.body["entries"], entry.seq))
    return gone
