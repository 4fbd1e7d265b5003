"""Open and close periods, decide on their orders, change the budget and categories, and find earlier orders."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from driftpace.campaign import transitions
from driftpace.campaign.column_settings import check_unknown_categories
from driftpace.campaign.definition import check_classes
from driftpace.campaign.handle import Draft
from driftpace.campaign.packing import Labels, labels_of, unpack_ids
from driftpace.campaign.period_column import check_period_key
from driftpace.campaign.records import DECISIONS, Decision, Order, Served
from driftpace.campaign.state import (
    CampaignState,
    OpenPeriod,
    decision_to_plain,
    fingerprint,
    request_from_plain,
    request_to_plain,
)
from driftpace.campaign.text import period_name
from driftpace.campaign.transitions import amended, budgeted
from driftpace.errors import NoOpenPeriodError, ParameterError, ProtocolError
from driftpace.formatting import plural
from driftpace.losses import LinearLoss, SoftmaxLoss, VectorLoss, classifies, loss_names
from driftpace.metrics import evaluate as measure_metrics
from driftpace.records import Money, StepReport
from driftpace.storage.base import Store
from driftpace.storage.codec import decode, encode
from driftpace.tables.encoding import CategoryColumn
from driftpace.tracing import span
from driftpace.tracker.revision import orders_of
from driftpace.tracker.state import mean_one, weights_of

_ADD_MONEY = "Campaign.add_money"
_AMEND = "Campaign.amend"
_LONGEST = 30
PRICES = ("fixed", "per_sample", "tiers", "minimum", "currency")
"""Prices that can be changed when money is added."""


def ask(
    store: Store, state: CampaignState, draft: Draft, *, key: str | None, pool: int | None, who: str
) -> tuple[CampaignState, Order]:
    """Return the order of a key; a new key opens the next period, if no rows of the open one are missing or they may be late."""
    order = state.order
    if key is not None or order is None or order.key is None:
        check_period_key(state.definition, key, owner="Campaign.ask")
    if key is not None and (order is None or order.key != key):
        past = past_order(store, state, key)
        if past is not None:
            return state, past
        if order is not None and order.key is not None:
            delay = state.definition.delay
            if order.missing > 0 and delay is None:
                raise ProtocolError(
                    f"{period_name(order.period, order.key)} is still open and {order.missing:,} of its {order.samples:,} rows "
                    f"are missing; deliver them or close it before asking for {key!r}."
                )
            missing = (
                "no rows were" if order.missing == 0 else f"{plural(order.missing, 'row')} may arrive late and were"
            )
            state, _ = close(
                state, draft, who=who, why=f"{missing} missing when {key} was requested", waiting=order.missing
            )
    return _open_period(state, draft, key=key, pool=pool, who=who)


def _open_period(
    state: CampaignState, draft: Draft, *, key: str | None, pool: int | None, who: str
) -> tuple[CampaignState, Order]:
    """Open the period, or name it where it has no key; otherwise nothing changes."""
    opened = state.opened
    if opened is None or (opened.key is None and key is not None) or pool is not None:
        after, _ = transitions.asked(state, pool=pool, key=key)
        if opened is None or after.opened is None or not _same(opened, after.opened):
            draft.add("asked", {**asked_body(after), "pool": pool, "who": who}, key=key)
            state = after
    order = state.order
    assert order is not None
    return state, order


def _same(before: OpenPeriod, after: OpenPeriod) -> bool:
    """Return whether asking again changed nothing; compared as JSON because an unknown target is NaN."""
    return before.key == after.key and request_to_plain(before.request) == request_to_plain(after.request)


def ask_again(state: CampaignState, draft: Draft, *, who: str, pool: int | None = None) -> CampaignState:
    """Compute the missing rows again with those received; pass ``pool`` where the whole order is computed again."""
    state, _ = transitions.asked(state, pool=pool, key=None)
    draft.add("asked", {**asked_body(state), "pool": pool, "who": who})
    return state


def asked_body(state: CampaignState) -> dict[str, Any]:
    """Return what the log says of the order of the open period."""
    assert state.opened is not None
    request = state.opened.request
    return {
        "period": state.state.period,
        "samples": state.state.gathered + request.samples,
        "received": state.state.gathered,
        "missing": request.samples,
        "request": request_to_plain(request),
    }


def close(
    state: CampaignState, draft: Draft, *, who: str, why: str, waiting: int = 0
) -> tuple[CampaignState, StepReport]:
    """Fit the rows of the period, certify the model, and delete the rows if they are not kept; ``waiting`` rows may be late."""
    opened, order = state.opened, state.order
    assert opened is not None
    assert order is not None
    served = evaluate(state)
    period = str(order.period)
    given = {"waiting": waiting} if waiting else {}
    draft.add("closed", {**closed_body(state), **given, "why": why, "who": who}, key=period)
    began = time.perf_counter()
    with span("campaign.close", campaign=state.definition.name, period=order.period, rows=order.received):
        after, report = transitions.closed(state)
    report = replace(report, seconds=time.perf_counter() - began)
    after = replace(after, last=report)
    draft.add("fitted", fitted_body(state, after), key=period)
    draft.add("certified", {"report": encode(report), "served": served_to_plain(served)}, key=period)
    if not state.definition.keep_rows:
        draft.drop((*opened.deliveries, *opened.draws))
    return after, report


def closed_body(state: CampaignState) -> dict[str, Any]:
    """Return what the log says of the order and the rows of a period when it is closed."""
    opened, order = state.opened, state.order
    assert opened is not None
    assert order is not None
    return {
        "period": order.period,
        "key": opened.key,
        "samples": order.samples,
        "received": order.received,
        "request": request_to_plain(opened.request),
        "orders": [encode(placed) for placed in orders_of(state.state)],
        **{name: decision_to_plain(getattr(opened, name)) for name in DECISIONS if getattr(opened, name)},
    }


def fitted_body(before: CampaignState, after: CampaignState) -> dict[str, Any]:
    """Return what the log says of the fit that closed the period of ``before``."""
    held = before.method.held_out(before.state)
    held_out = 0 if held is None else int(np.count_nonzero(held))
    report, coef = after.last, after.state.coef
    assert report is not None
    return {
        "period": report.period,
        "rows": report.samples - held_out,
        **({"held_out": held_out} if held_out else {}),
        "coef": [] if coef is None else coef.tolist(),
        "sha256": fingerprint(after),
    }


def evaluate(state: CampaignState) -> Served | None:
    """Evaluate the current model on the rows of the period before it is trained on them; None where either is missing."""
    method, tracker = state.method.current(state.state)
    if state.last is None or tracker.coef is None or not tracker.batches:
        return None
    X = np.concatenate([batch.X for batch in tracker.batches])
    y = np.concatenate([batch.y for batch in tracker.batches])
    weights = mean_one(weights_of(tracker.batches), np.ones(len(y), dtype=np.bool_))
    objective = method.spec.objective_for(tracker.coef, tracker.features)
    if isinstance(objective, VectorLoss) and y.max() > objective.outputs:
        return None  # a class that the model does not know
    loss, coef = replace(objective, l2=0.0), tracker.row_coef  # type: ignore[type-var]
    with np.errstate(all="ignore"):
        values = loss.row_values(coef, X, y)
        mean = float(values.mean()) if weights is None else float(weights @ values) / len(y)
        spread = values if weights is None else weights * (values - mean)
        error = float(spread.std(ddof=1) / math.sqrt(len(y))) if len(y) > 1 else math.inf
    if not math.isfinite(mean):
        return None
    accuracy = None
    if classifies(method.spec.loss):
        accuracy = float(np.average(0.5 + 0.5 * loss.predict(coef, X) * y, weights=weights))
    elif isinstance(objective, SoftmaxLoss):
        accuracy = float(np.average(loss.predict(coef, X) == y, weights=weights))
    with np.errstate(all="ignore"):
        if isinstance(loss, SoftmaxLoss):
            found = measure_metrics(loss, y, loss.scores(coef, X), weights)
        else:
            found = measure_metrics(loss, y, X @ coef, weights) if isinstance(loss, LinearLoss) else {}
    metrics = {name: value for name, value in found.items() if math.isfinite(value) and name != "accuracy"}
    return Served(rows=len(y), loss=mean, error=error, accuracy=accuracy, metrics=metrics)


def served_to_plain(served: Served | None) -> dict[str, Any] | None:
    """Encode an evaluation as JSON values."""
    if served is None:
        return None
    values = {name: getattr(served, name) for name in Served.__slots__}
    return {**values, "error": encode(served.error)}


def decide(
    state: CampaignState, draft: Draft, kind: str, decision: Mapping[str, Any], period: int | None
) -> tuple[CampaignState, Order]:
    """Approve or override the open order; ``kind`` is that of the log entry."""
    apply = transitions.approved if kind == "approved" else transitions.overridden
    order = open_order(state, "approve" if kind == "approved" else "override", period)
    asked = order.received + order.request.samples
    samples = asked if decision["samples"] is None else decision["samples"]
    body = {"period": order.period, **decision, "samples": samples, "asked": asked}
    state = apply(state, transitions.decision_of(body, draft.at))
    order = open_order(state, kind)
    draft.add(kind, body if order.overridden is None else {**body, "risk_bound": order.overridden.risk_bound})
    return state, order


def open_order(state: CampaignState, method: str, period: int | None = None) -> Order:
    """Return the open order, or raise ProtocolError if there is none or it is not that of ``period``."""
    require_period(state, period, method)
    order = state.order
    if order is None:
        raise NoOpenPeriodError(method, state.state.period)
    return order


def require_period(state: CampaignState, period: int | None, method: str) -> None:
    """Raise ProtocolError unless ``period`` is None or the open one."""
    order = state.order
    if period is None or (order is not None and order.period == period):
        return
    key = None if order is None else order.key
    current = f"{period_name(state.state.period, key)} is {'not open yet' if order is None else 'open'}"
    raise ProtocolError(f"{method}() is meant for period {period}, which is not the open one; {current}.")


def not_open(store: Store, state: CampaignState, key: str | None) -> ProtocolError:
    """Return the error for a period, by its key, that is not the open one."""
    order = state.order
    if key is None:
        return NoOpenPeriodError("tell", state.state.period)
    past = past_order(store, state, key)
    if past is not None:
        return ProtocolError(f"{period_name(past.period, key)} is closed already.")
    current = (
        f"period {state.state.period} is not open yet"
        if order is None
        else f"the open one is {period_name(order.period, order.key)}"
    )
    return ProtocolError(f"there is no period with the key {key!r}; {current}.")


def past_order(store: Store, state: CampaignState, key: str) -> Order | None:
    """Return the order of the closed period with that key, or with that number if it has no key."""
    entry = store.find(state.definition.name, "asked", key)
    if entry is None and key.isascii() and key.isdecimal() and len(key) < 9 and 0 < int(key) < state.state.period:
        past = order_of_period(store, state, int(key))
        return past if past is not None and past.key is None else None
    if entry is None or entry.body["period"] >= state.state.period:
        return None
    return order_of_period(store, state, entry.body["period"])


def order_of_period(store: Store, state: CampaignState, period: int) -> Order | None:
    """Return the order of a closed period."""
    name = state.definition.name
    certified = store.find(name, "certified", str(period))
    closed = store.find(name, "closed", str(period))
    if certified is None or closed is None:
        return None
    report: StepReport = decode(certified.body["report"])
    for entry in store.entries(name, after=certified.seq, kinds=("revised",)):
        if period in entry.body["periods"]:
            report = decode(entry.body["reports"][entry.body["periods"].index(period)])
    return Order(
        campaign=name,
        period=period,
        key=closed.body["key"],
        samples=closed.body["samples"],
        received=report.samples,
        missing=0,
        closed=True,
        request=request_from_plain(closed.body["request"]),
        cost=None if report.cost is None else Money(Decimal(0), report.cost.currency),
        **{name: Decision(**closed.body[name]) for name in DECISIONS if name in closed.body},
    )


def drawn_in(store: Store, state: CampaignState) -> tuple[str, ...]:
    """Return the ids of the rows drawn for labelling in the open period."""
    if state.opened is None:
        return ()
    return drawn_by(store, state, state.opened.draws)


def delivered_in(state: CampaignState) -> Labels:
    """Return who labelled the rows delivered in the open period, by id; rows without an id are not included."""
    if state.opened is None or not state.opened.deliveries:
        return {}
    return labels_of(state.opened.row_ids)


def awaited_in(store: Store, state: CampaignState) -> tuple[str, ...]:
    """Return the ids drawn in the open period and not delivered; rows delivered without an id count as the first drawn."""
    delivered = delivered_in(state)
    waiting = [row_id for row_id in dict.fromkeys(drawn_in(store, state)) if row_id not in delivered]
    return tuple(waiting[state.state.gathered - len(delivered) :])


def drawn_by(store: Store, state: CampaignState, seqs: Sequence[int]) -> tuple[str, ...]:
    """Return the ids of the rows that these log entries drew."""
    rows = store.rows(state.definition.name, seqs)
    return tuple(row_id for seq in seqs for row_id in unpack_ids(rows.get(seq, b"")))


def values_with(
    before: Mapping[str, Any] | None,
    money: object,
    periods: int,
    prices: Mapping[str, Any],
    *,
    period: int,
    known: Sequence[str] = PRICES,
    owner: str = _ADD_MONEY,
) -> dict[str, Any]:
    """Return the settings of a budget with ``money`` and ``periods`` added, at new prices if any are given.

    A campaign without a budget gets one for that many periods, the open one, ``period``, included.
    """
    unknown = next((name for name in prices if name not in known), None)
    if unknown is not None:
        raise ParameterError(f"must be one of {', '.join(known)}.", owner=owner, name=unknown)
    if before is None:
        if periods < 1:
            raise ParameterError(
                f"must be at least 1 for a campaign without a budget; got {periods}.", owner=owner, name="periods"
            )
        before = {"total": 0, "horizon": period - 1}
    given = {name: value for name, value in prices.items() if value is not None}
    over = {"tiers": "per_sample", "per_sample": "tiers"}  # each replaces the other
    kept = {name: value for name, value in before.items() if over.get(name) not in given}
    values = {**kept, **given}
    total = _decimal(before["total"], owner) + _decimal(money, owner)
    if total < 0:
        raise ParameterError(
            f"must not take away more than the total budget, {before['total']}; got {money}.",
            owner=owner,
            name="money",
        )
    values["total"] = format(total, "f")
    values["horizon"] = int(before["horizon"]) + periods
    return values


def _decimal(value: object, owner: str) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or abs(amount.adjusted()) > _LONGEST:
        raise ParameterError(f"must be an amount of money; got {value!r:.80}.", owner=owner, name="money")
    return amount


def fund(
    state: CampaignState,
    draft: Draft,
    money: object,
    *,
    periods: int,
    prices: Mapping[str, Any],
    reason: str,
    who: str,
) -> CampaignState:
    """Change the budget, and compute the order of an open period again."""
    if state.definition.budget is None and state.method.budget is not None:
        raise ProtocolError(
            "add_money() cannot change the budget of an adopted tracker; use Tracker.load(path, budget=...) instead."
        )
    values = values_with(state.definition.budget, money, periods, prices, period=state.state.period)
    order = state.state.order
    given = {name: value for name, value in prices.items() if value is not None}
    body = {"period": state.state.period, "budget": values, "money": str(money), "periods": periods, "prices": given}
    draft.add("budgeted", {**body, "reason": reason, "who": who})
    state = budgeted(state, values)
    if state.opened is None:
        return state
    return ask_again(state, draft, who=who, pool=None if order is None else order.pool)


def amend(
    state: CampaignState,
    draft: Draft,
    unknown_categories: object,
    new_classes: Sequence[str],
    *,
    reason: str,
    who: str,
) -> CampaignState:
    """Map unknown categories and add classes; nothing is written if the mapping is already in effect."""
    learned = () if state.encoding is None else state.encoding.columns
    listed = {column.name: column.levels for column in learned if isinstance(column, CategoryColumn)}
    given = check_unknown_categories(_AMEND, unknown_categories, {**listed, **state.definition.categories})
    if not given and not new_classes:
        raise ParameterError("must name at least one column; got none.", owner=_AMEND, name="unknown_categories")
    if new_classes:
        _check_new_classes(state, new_classes)
    after = amended(state, given, new_classes)
    if after.definition == state.definition:
        return state
    body: dict[str, Any] = {"period": state.state.period, "unknown_categories": given}
    if new_classes:
        body["new_classes"] = list(new_classes)
    draft.add("amended", {**body, "reason": reason, "who": who})
    return after


def _check_new_classes(state: CampaignState, new_classes: Sequence[str]) -> None:
    definition = state.definition
    if definition.classes is None or definition.task != "multiclass":
        raise ParameterError(
            f"must be used with a loss for several classes, such as {loss_names('multiclass')[0]!r}; the campaign has "
            f"{definition.loss!r}.",
            owner=_AMEND,
            name="new_classes",
        )
    if isinstance(new_classes, str) or not all(isinstance(word, str) and word.strip() for word in new_classes):
        raise ParameterError(f"must be a list of texts; got {new_classes!r:.200}.", owner=_AMEND, name="new_classes")
    check_classes(_AMEND, "new_classes", new_classes, known=definition.classes)
