"""Asking for a period: the steps of ``ask`` on a campaign, with more money too, and the orders of periods that are over."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from driftpace.campaign import fold
from driftpace.campaign.closing import close
from driftpace.campaign.folded import Folded, Opened, request_from_plain, request_to_plain
from driftpace.campaign.funding import budgeted, values_with
from driftpace.campaign.records import DECIDED, Decision, Order
from driftpace.campaign.summary import named
from driftpace.campaign.writing import Draft
from driftpace.errors import ProtocolError
from driftpace.records import Money, StepReport
from driftpace.storage.codec import decode
from driftpace.storage.store import Store
from driftpace.tracker.branching import chosen


def ask(
    store: Store, folded: Folded, draft: Draft, *, key: str | None, pool: int | None, who: str
) -> tuple[Folded, Order]:
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


def open_period(folded: Folded, draft: Draft, *, key: str | None, pool: int | None, who: str) -> tuple[Folded, Order]:
    """Ask for the period where nobody did, or name it where it has no name; otherwise nothing happens."""
    opened = folded.opened
    if opened is None or (opened.key is None and key is not None) or pool is not None:
        after, _ = fold.asked(folded, pool=pool, key=key)
        if opened is None or after.opened is None or not _same(opened, after.opened):
            draft.add("asked", _asked_body(after, pool, who), key=key)
            folded = after
    order = folded.order
    assert order is not None
    return folded, order


def _same(before: Opened, after: Opened) -> bool:
    """Whether asking again changed nothing; in their plain form, for a target that is not known yet is no number."""
    return before.key == after.key and request_to_plain(before.request) == request_to_plain(after.request)


def ask_again(folded: Folded, draft: Draft, *, who: str, pool: int | None = None) -> Folded:
    """Decide anew how many rows are missing, with those that came; ``pool`` is given again where all is decided anew."""
    folded, _ = fold.asked(folded, pool=pool, key=None)
    draft.add("asked", _asked_body(folded, pool, who))
    return folded


def _asked_body(folded: Folded, pool: int | None, who: str) -> dict[str, Any]:
    assert folded.opened is not None
    request = folded.opened.request
    return {
        "period": folded.state.period,
        "pool": pool,
        "samples": folded.state.gathered + request.samples,
        "came": folded.state.gathered,
        "missing": request.samples,
        "request": request_to_plain(request),
        "who": who,
    }


def fund(
    folded: Folded, draft: Draft, money: object, *, periods: int, prices: Mapping[str, Any], reason: str, who: str
) -> Folded:
    """Give the campaign another budget, and make the order of an open period anew."""
    values = values_with(folded, money, periods, prices)
    order = chosen(folded.settings, folded.state)[1].order
    body = {"period": folded.state.period, "budget": values, "money": str(money), "periods": periods}
    draft.add("budgeted", {**body, "reason": reason, "who": who})
    folded = budgeted(folded, values)
    if folded.opened is None:
        return folded
    return ask_again(folded, draft, who=who, pool=None if order is None else order.pool)


def past_order(store: Store, folded: Folded, key: str) -> Order | None:
    """Return the order of the closed period that was asked for by that key."""
    found = store.find(folded.definition.name, "asked", key)
    if found is None or found.body["period"] >= folded.state.period:
        return None
    return order_of_period(store, folded, found.body["period"])


def order_of_period(store: Store, folded: Folded, period: int) -> Order | None:
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
        came=report.samples,
        missing=0,
        closed=True,
        request=request_from_plain(closed.body["request"]),
        cost=None if report.cost is None else Money(Decimal(0), report.cost.currency),
        **{name: Decision(**closed.body[name]) for name in DECIDED if name in closed.body},
    )
