"""The open order, what was drawn and told for it, and the one sentence where there is none, or another one than was meant."""

from collections.abc import Sequence

from driftpace.campaign.asking import past_order
from driftpace.campaign.folded import Folded
from driftpace.campaign.records import Order
from driftpace.campaign.rowbytes import unpack, unpack_ids
from driftpace.campaign.summary import named
from driftpace.errors import ProtocolError
from driftpace.storage.store import Store


def open_order(folded: Folded, verb: str, period: int | None = None) -> Order:
    """Return the open order, or refuse: nobody asked, or it is not of the ``period`` that is meant."""
    require_period(folded, period, verb)
    order = folded.order
    if order is None:
        raise ProtocolError(f"{verb}() came before ask() in period {folded.state.period}; ask first.")
    return order


def require_period(folded: Folded, period: int | None, verb: str) -> None:
    """Refuse what is meant for another period than the open one."""
    order = folded.order
    if period is None or (order is not None and order.period == period):
        return
    key = None if order is None else order.key
    now = f"{named(folded.state.period, key)} is {'not asked for yet' if order is None else 'open'}"
    raise ProtocolError(f"{verb}() came for period {period}, which is not the open one; {now}.")


def not_open(store: Store, folded: Folded, key: str | None) -> ProtocolError:
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


def drawn_in(store: Store, folded: Folded) -> tuple[str, ...]:
    """Return the ids of the rows that were drawn for labelling in the open period."""
    if folded.opened is None:
        return ()
    return _drawn_by(store, folded, folded.opened.draws)


def told_in(store: Store, folded: Folded) -> set[str]:
    """Return the ids of the rows that were told in the open period; rows without one are not among them."""
    if folded.opened is None or not folded.opened.deliveries:
        return set()
    kept = store.rows(folded.definition.name, folded.opened.deliveries)
    return {one for data in kept.values() for one in unpack(data).ids or ()}


def awaited_in(store: Store, folded: Folded) -> tuple[str, ...]:
    """Return the ids that were drawn in the open period and not told; rows told without one are taken to be the first drawn."""
    told = told_in(store, folded)
    waiting = [one for one in dict.fromkeys(drawn_in(store, folded)) if one not in told]
    return tuple(waiting[folded.state.gathered - len(told) :])


def drawn_before(store: Store, folded: Folded, ids: set[str]) -> set[str]:
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


def _drawn_by(store: Store, folded: Folded, seqs: Sequence[int]) -> tuple[str, ...]:
    kept = store.rows(folded.definition.name, seqs)
    return tuple(one for seq in seqs for one in unpack_ids(kept.get(seq, b"")))
