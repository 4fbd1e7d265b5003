"""Open and close the periods of a campaign, and find the orders of open and closed periods."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from driftpace.campaign import transitions
from driftpace.campaign.codec import unpack, unpack_ids
from driftpace.campaign.handle import Draft
from driftpace.campaign.records import DECISIONS, Decision, Order, Served
from driftpace.campaign.state import (
    CampaignState,
    OpenPeriod,
    decision_to_plain,
    fingerprint,
    request_from_plain,
    request_to_plain,
)
from driftpace.campaign.summary import named
from driftpace.errors import ProtocolError
from driftpace.losses import classifies
from driftpace.records import Money, StepReport
from driftpace.storage.base import Store
from driftpace.storage.codec import decode, encode


def open_order(folded: CampaignState, verb: str, period: int | None = None) -> Order:
    """Return the open order, or refuse: nobody asked, or it is not of the ``period`` that is meant."""
    require_period(folded, period, verb)
    order = folded.order
    if order is None:
        raise ProtocolError(f"{verb}() came before ask() in period {folded.state.period}; ask first.")
    return order


def require_period(folded: CampaignState, period: int | None, verb: str) -> None:
    """Refuse what is meant for another period than the open one."""
    order = folded.order
    if period is None or (order is not None and order.period == period):
        return
    key = None if order is None else order.key
    now = f"{named(folded.state.period, key)} is {'not asked for yet' if order is None else 'open'}"
    raise ProtocolError(f"{verb}() came for period {period}, which is not the open one; {now}.")


def not_open(store: Store, folded: CampaignState, key: str | None) -> ProtocolError:
    """Return the refusal of rows for a period that is not the open one, by its key."""
    order = folded.order
    if key is None:
        return ProtocolError(f"tell() came before ask() in period {folded.state.period}; ask first.")
    past = past_order(store, folded, key)
    if past is not None:
        return ProtocolError(f"{named(past.period, key)} is closed; rows cannot be added to it any more.")
    now = (
        f"period {folded.state.period} is not asked for yet"
        if order is None
        else f"the open one is {named(order.period, order.key)}"
    )
    return ProtocolError(f"no period was asked for as {key!r}; {now}.")


def drawn_in(store: Store, folded: CampaignState) -> tuple[str, ...]:
    """Return the ids of the rows that were drawn for labelling in the open period."""
    if folded.opened is None:
        return ()
    return _drawn_by(store, folded, folded.opened.draws)


def told_in(store: Store, folded: CampaignState) -> set[str]:
    """Return the ids of the rows that were told in the open period; rows without one are not among them."""
    if folded.opened is None or not folded.opened.deliveries:
        return set()
    kept = store.rows(folded.definition.name, folded.opened.deliveries)
    return {one for data in kept.values() for one in unpack(data).ids or ()}


def awaited_in(store: Store, folded: CampaignState) -> tuple[str, ...]:
    """Return the ids that were drawn in the open period and not told; rows told without one are taken to be the first drawn."""
    told = told_in(store, folded)
    waiting = [one for one in dict.fromkeys(drawn_in(store, folded)) if one not in told]
    return tuple(waiting[folded.state.gathered - len(told) :])


def drawn_before(store: Store, folded: CampaignState, ids: set[str]) -> set[str]:
    """Return those of the ids that were drawn for earlier periods only; none where no rows were drawn for the open one.

    An id may stand for a customer, who is drawn again later: what was drawn for the open period is of it.
    """
    if folded.opened is None or not folded.opened.draws:
        return set()
    others = ids.difference(drawn_in(store, folded))
    if not others:
        return set()
    name = folded.definition.name
    earlier = [one.seq for one in store.entries(name, kinds=("selected",)) if one.body["period"] < folded.state.period]
    found: set[str] = set()
    for seq in reversed(earlier):  # what comes late is mostly of the last one
        found |= others.intersection(_drawn_by(store, folded, (seq,)))
        if len(found) == len(others):
            break
    return found


def _drawn_by(store: Store, folded: CampaignState, seqs: Sequence[int]) -> tuple[str, ...]:
    kept = store.rows(folded.definition.name, seqs)
    return tuple(one for seq in seqs for one in unpack_ids(kept.get(seq, b"")))


def ask(
    store: Store, folded: CampaignState, draft: Draft, *, key: str | None, pool: int | None, who: str
) -> tuple[CampaignState, Order]:
    """Return the order that a key names; a new key opens the next period where the one before misses nothing any more."""
    order = folded.order
    if key is not None and (order is None or order.key != key):
        past = past_order(store, folded, key)
        if past is not None:
            return folded, past
        if order is not None and order.key is not None:
            if order.missing > 0:
                raise ProtocolError(
                    f"{named(order.period, order.key)} is still open and misses {order.missing:,} of "
                    f"{order.samples:,} rows; tell them or close it before asking for {key!r}."
                )
            folded, _ = close(folded, draft, who=who, why=f"nothing was missing when {key} was asked for")
    return open_period(folded, draft, key=key, pool=pool, who=who)


def open_period(
    folded: CampaignState, draft: Draft, *, key: str | None, pool: int | None, who: str
) -> tuple[CampaignState, Order]:
    """Ask for the period where nobody did, or name it where it has no name; otherwise nothing happens."""
    opened = folded.opened
    if opened is None or (opened.key is None and key is not None) or pool is not None:
        after, _ = transitions.asked(folded, pool=pool, key=key)
        if opened is None or after.opened is None or not _same(opened, after.opened):
            draft.add("asked", _asked_body(after, pool, who), key=key)
            folded = after
    order = folded.order
    assert order is not None
    return folded, order


def _same(before: OpenPeriod, after: OpenPeriod) -> bool:
    """Whether asking again changed nothing; in their plain form, for a target that is not known yet is no number."""
    return before.key == after.key and request_to_plain(before.request) == request_to_plain(after.request)


def ask_again(folded: CampaignState, draft: Draft, *, who: str, pool: int | None = None) -> CampaignState:
    """Decide anew how many rows are missing, with those that came; ``pool`` is given again where all is decided anew."""
    folded, _ = transitions.asked(folded, pool=pool, key=None)
    draft.add("asked", _asked_body(folded, pool, who))
    return folded


def _asked_body(folded: CampaignState, pool: int | None, who: str) -> dict[str, Any]:
    assert folded.opened is not None
    request = folded.opened.request
    return {
        "period": folded.state.period,
        "pool": pool,
        "samples": folded.state.gathered + request.samples,
        "received": folded.state.gathered,
        "missing": request.samples,
        "request": request_to_plain(request),
        "who": who,
    }


def past_order(store: Store, folded: CampaignState, key: str) -> Order | None:
    """Return the order of the closed period that was asked for by that key."""
    found = store.find(folded.definition.name, "asked", key)
    if found is None or found.body["period"] >= folded.state.period:
        return None
    return order_of_period(store, folded, found.body["period"])


def order_of_period(store: Store, folded: CampaignState, period: int) -> Order | None:
    """Return the order of a closed period."""
    name = folded.definition.name
    done = store.find(name, "certified", str(period))
    closed = store.find(name, "closed", str(period))
    if done is None or closed is None:
        return None
    report: StepReport = decode(done.body["report"])
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


def close(folded: CampaignState, draft: Draft, *, who: str, why: str) -> tuple[CampaignState, StepReport]:
    """Fit the rows of the period, certify the model, and let the rows go where they are not kept."""
    opened, order = folded.opened, folded.order
    assert opened is not None
    assert order is not None
    served = served_by(folded)
    period = str(order.period)
    draft.add(
        "closed",
        {
            "period": order.period,
            "key": opened.key,
            "samples": order.samples,
            "received": order.received,
            "request": request_to_plain(opened.request),
            **{name: decision_to_plain(getattr(opened, name)) for name in DECISIONS if getattr(opened, name)},
            "why": why,
            "who": who,
        },
        key=period,
    )
    began = time.perf_counter()
    after, report = transitions.closed(folded)
    report = replace(report, seconds=time.perf_counter() - began)
    after = replace(after, last=report)
    coef = after.state.coef
    draft.add(
        "fitted",
        {
            "period": report.period,
            "rows": report.samples,
            "coef": [] if coef is None else coef.tolist(),
            "sha256": fingerprint(after),
        },
        key=period,
    )
    draft.add("certified", {"report": encode(report), "served": _served_to_plain(served)}, key=period)
    if not folded.definition.keep_rows:
        draft.drop((*opened.deliveries, *opened.draws))
    return after, report


def served_by(folded: CampaignState) -> Served | None:
    """Try the model that was in use on the rows of the period, before it learns from them; None where either is missing."""
    method, state = folded.method.current(folded.state)
    if folded.last is None or state.coef is None or not state.batches:
        return None
    X = np.concatenate([batch.X for batch in state.batches])
    y = np.concatenate([batch.y for batch in state.batches])
    loss = replace(method.spec.objective, l2=0.0)  # type: ignore[type-var]
    with np.errstate(all="ignore"):
        values = loss.row_values(state.coef, X, y)
        mean = float(values.mean())
        error = float(values.std(ddof=1) / math.sqrt(len(y))) if len(y) > 1 else math.inf
    if not math.isfinite(mean):
        return None
    accuracy = float((loss.predict(state.coef, X) == y).mean()) if classifies(method.spec.loss) else None
    return Served(rows=len(y), loss=mean, error=error, accuracy=accuracy)


def _served_to_plain(served: Served | None) -> dict[str, Any] | None:
    if served is None:
        return None
    held = {name: getattr(served, name) for name in Served.__slots__}
    return {**held, "error": encode(served.error)}
