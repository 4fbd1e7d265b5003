"""Pure transitions of the campaign state, one for each kind of log entry, and the rows of deliveries as bytes.

A campaign applies the transitions when something happens and a replay applies the same ones to the log, so both give the same
bits. Rows are exact to the bit too: a line of JSON that describes the arrays, then the arrays, compressed.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.records import Decision
from driftpace.campaign.state import CampaignState, OpenPeriod
from driftpace.errors import StateFileError
from driftpace.models.stored import StoredModel
from driftpace.records import LabelSums, Request, Retraining, StepReport
from driftpace.storage.base import Entry
from driftpace.storage.codec import decode
from driftpace.tables.encoding import Encoding
from driftpace.tracker.builder import with_budget
from driftpace.tracker.codec import snapshot_from_body
from driftpace.tracker.head_method import HeadMethod
from driftpace.tracker.head_state import HeadState
from driftpace.tracker.method import Method, TellEvent

_ARRAYS = ("X", "y", "groups", "weights", "earlier_weights")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PackedRows:
    """Validated rows with their ids, if they have any."""

    event: TellEvent
    ids: tuple[str, ...] | None = None


def pack_rows(packed: PackedRows) -> bytes:
    """Encode a delivery as bytes.

    >>> rows = PackedRows(event=TellEvent(X=np.ones((2, 1)), y=np.zeros(2)), ids=("a", "b"))
    >>> unpack_rows(pack_rows(rows)).ids, unpack_rows(pack_rows(rows)).event.X.tolist()
    (('a', 'b'), [[1.0], [1.0]])
    """
    return zlib.compress(rows_content(packed), 1)


def rows_content(packed: PackedRows) -> bytes:
    """Return the bytes of a delivery before compression, whose result depends on the machine."""
    rows = packed.event
    names = [name for name in _ARRAYS if getattr(rows, name) is not None]
    head = {
        "rows": int(rows.X.shape[0]),
        "features": int(rows.X.shape[1]),
        "columns": rows.columns,
        "ids": packed.ids,
        "arrays": names,
        **({} if rows.annotators is None else {"annotators": rows.annotators}),
    }
    if rows.earlier_weights is not None:
        head["earlier"] = len(rows.earlier_weights)
    arrays = [getattr(rows, name).astype("<i8" if name == "groups" else "<f8") for name in names]
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return json.dumps(head).encode() + b"\n" + body


def unpack_rows(data: bytes) -> PackedRows:
    """Decode a delivery."""
    try:
        line, _, body = zlib.decompress(data).partition(b"\n")
        head: dict[str, Any] = json.loads(line)
        rows, features = head["rows"], head["features"]
        arrays, at = {}, 0
        for name in head["arrays"]:
            size = head["earlier"] if name == "earlier_weights" else rows * (features if name == "X" else 1)
            kind = np.dtype("<i8" if name == "groups" else "<f8")
            array = np.frombuffer(body, dtype=kind, count=size, offset=at).astype(kind.newbyteorder("="))
            arrays[name] = array.reshape(rows, features) if name == "X" else array
            at += 8 * size
        columns = None if head["columns"] is None else tuple(head["columns"])
        ids = None if head["ids"] is None else tuple(head["ids"])
        annotators = tuple(head["annotators"]) if "annotators" in head else None
        event = TellEvent(
            X=arrays["X"],
            y=arrays["y"],
            columns=columns,
            groups=arrays.get("groups"),
            weights=arrays.get("weights"),
            earlier_weights=arrays.get("earlier_weights"),
            ids=None if annotators is None else ids,
            annotators=annotators,
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise StateFileError(f"the rows of a delivery are damaged: {error}.") from None
    return PackedRows(event=event, ids=ids)


Labels = dict[str, set[str | None]]
"""Who labelled each row, by id; None where that is not known."""


def labels_in(deliveries: Iterable[bytes]) -> Labels:
    """Return who labelled the rows of deliveries; rows without an id are not included."""
    found: Labels = {}
    for data in deliveries:
        packed = unpack_rows(data)
        for row_id, name in zip(packed.ids or (), packed.event.annotators or repeat(None), strict=False):
            found.setdefault(row_id, set()).add(name)
    return found


def repeated_labels(packed: PackedRows, labels: Labels) -> list[bool]:
    """Return which rows of a delivery were delivered before: a label by another annotator is not the same one."""
    names = packed.event.annotators or repeat(None)
    return [
        bool(labels.get(row_id)) and (name is None or name in labels[row_id] or None in labels[row_id])
        for row_id, name in zip(packed.ids or (), names, strict=False)
    ]


def pack_ids(ids: Sequence[str], weights: Sequence[float] | None = None) -> bytes:
    """Encode a list of ids as bytes, with the weights of the rows where they have any."""
    plain: Any = list(ids) if weights is None else {"ids": list(ids), "weights": [float(one) for one in weights]}
    return zlib.compress(json.dumps(plain).encode(), 1)


def unpack_ids(data: bytes) -> tuple[str, ...]:
    """Decode a list of ids; no bytes are an empty list.

    >>> unpack_ids(pack_ids(["a", "b"])), unpack_ids(b"")
    (('a', 'b'), ())
    """
    plain = _unpacked(data)
    return tuple(plain["ids"] if isinstance(plain, dict) else plain)


def unpack_weights(data: bytes) -> dict[str, float]:
    """Decode the weights of drawn rows by id; none where they count alike.

    >>> unpack_weights(pack_ids(["a", "b"], [0.5, 2.0])), unpack_weights(pack_ids(["a"]))
    ({'a': 0.5, 'b': 2.0}, {})
    """
    plain = _unpacked(data)
    return dict(zip(plain["ids"], plain["weights"], strict=True)) if isinstance(plain, dict) else {}


def _unpacked(data: bytes) -> Any:
    """Return what was packed: a list of ids, or ids and weights."""
    try:
        plain = json.loads(zlib.decompress(data)) if data else []
    except (zlib.error, ValueError, TypeError) as error:
        raise StateFileError(f"the list of drawn rows is damaged: {error}.") from None
    whole = isinstance(plain, list) or (isinstance(plain, dict) and {"ids", "weights"} <= plain.keys())
    if not whole:
        raise StateFileError("the list of drawn rows is damaged: it has no ids.")
    return plain


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


def delivered(campaign: CampaignState, event: TellEvent, *, seq: int) -> CampaignState:
    """Add rows to the open period."""
    state = campaign.method.gather(campaign.state, event)
    assert campaign.opened is not None
    return replace(
        campaign, state=state, opened=replace(campaign.opened, deliveries=(*campaign.opened.deliveries, seq))
    )


def forgotten(campaign: CampaignState) -> CampaignState:
    """Discard the rows delivered in the open period."""
    state = campaign.method.forget(campaign.state)
    assert campaign.opened is not None
    return without_unseen_encoding(replace(campaign, state=state, opened=replace(campaign.opened, deliveries=())))


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
    return replace(campaign, encoding=None) if campaign.state.columns is None else campaign


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
    definition = Definition.of({**campaign.definition.to_values(), "budget": dict(values)})
    budget = definition.make_budget()
    assert budget is not None
    method, state = with_budget("Campaign.add_money", campaign.method, campaign.state, budget)
    return replace(campaign, definition=definition, method=method, state=state)


def with_base(campaign: CampaignState, fetch: Callable[[str], bytes | None]) -> CampaignState:
    """Return the state with its base model, which ``fetch`` returns by its hash; a campaign without one as it is."""
    held = campaign.state
    if not isinstance(held, HeadState):
        return campaign
    base = StoredModel(held.form, held.sha256, partial(fetch, held.sha256))
    return replace(campaign, state=replace(held, base=base))


def retrained(campaign: CampaignState, base: StoredModel) -> CampaignState:
    """Replace the base model; the head begins anew, and the order of an open period has to be computed again."""
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
