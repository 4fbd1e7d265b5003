"""Taking rows: the steps of ``tell`` on a campaign. Each takes where it stands and a draft of the log, adds to it, and goes on."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftpace.campaign import transitions
from driftpace.campaign.codec import PackedRows, content, pack
from driftpace.campaign.handle import Draft
from driftpace.campaign.orders import ask_again, close, drawn_before, not_open, order_of_period, require_period, told_in
from driftpace.campaign.records import MappedCategories, Order, Receipt
from driftpace.campaign.schema import Unlisted, map_categories
from driftpace.campaign.serialization import mapped_categories_json
from driftpace.campaign.state import CampaignState
from driftpace.errors import DataError, ParameterError
from driftpace.storage.base import Entry, Store
from driftpace.tracker.candidates_method import CandidatesMethod
from driftpace.tracker.inputs import read_groups, read_rows, read_targets
from driftpace.tracker.method import TellEvent

_OWNER = "Campaign.tell"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Delivery:
    """Rows as somebody brought them, with what is known about them; none where X is None.

    ``name`` is what the delivery is known by, where somebody named it, and ``digest`` what came under that name. ``unlisted`` are
    words that count as another one, by column.
    """

    X: Any
    y: Any
    groups: Any
    ids: Sequence[Any] | None
    name: str | None
    digest: str | None
    source: str
    left_out: Mapping[str, int]
    who: str
    unlisted: Unlisted = field(default_factory=dict)


def tell(
    store: Store,
    folded: CampaignState,
    draft: Draft,
    brought: Delivery,
    *,
    final: bool | None,
    key: str | None,
    period: int | None,
    again: bool,
) -> tuple[CampaignState, Receipt]:
    """Take what was brought for the open period, once, and close the period where that is wanted or nothing is missing."""
    left_out: dict[str, Any] = {**brought.left_out}
    packed = _read(folded, brought)
    known_by = None if packed is None else brought.name or digest_of(packed)
    before = None if again or known_by is None else _told_before(store, folded, known_by, brought.digest)
    seq, past = (None, None) if before is None else before
    if past is not None and (past.closed or not final):
        return folded, Receipt(rows=0, order=past, duplicate=seq, **left_out)
    order = folded.order
    require_period(folded, period, "tell")
    if order is None or (key is not None and order.key != key):
        raise not_open(store, folded, key)
    rows, repeated = 0, 0
    mapped: tuple[MappedCategories, ...] = ()
    if past is None and packed is not None:
        if not again:
            packed, late = _without_others(store, folded, packed)
            left_out["other_period_rows"] += late
        folded, rows, repeated, mapped = _gather(store, folded, draft, brought, packed, known_by, left_out)
    if rows:
        folded = ask_again(folded, draft, who=brought.who)
    now = folded.order
    assert now is not None
    report = None
    nothing = any(left_out.values()) and not rows + repeated
    if final or (final is None and (packed is None or (now.missing == 0 and not nothing))):
        folded, report = close(folded, draft, who=brought.who, why="")
        now = replace(now, closed=True, missing=0)
    return folded, Receipt(
        rows=rows, order=now, report=report, repeated=repeated, duplicate=seq, unknown_categories=mapped, **left_out
    )


def _gather(
    store: Store,
    folded: CampaignState,
    draft: Draft,
    brought: Delivery,
    packed: PackedRows,
    known_by: str | None,
    left_out: Mapping[str, int],
) -> tuple[CampaignState, int, int, tuple[MappedCategories, ...]]:
    """Lay aside the rows that were not told before in this period; how many those are and were left out, and words of others."""
    fresh = _fresh(store, folded, packed.ids)
    repeated = 0 if fresh is None else len(packed.told.y) - len(fresh)
    if fresh is not None and repeated:
        packed = _only(packed, fresh)
    told = packed.told
    rows = len(told.y)
    if rows == 0:
        return folded, 0, repeated, ()
    seq = draft.next_seq
    try:
        after = transitions.delivered(folded, told, seq=seq)
    except DataError as error:
        raise error.renamed(owner=_OWNER, name=error.name or "X") from None
    told_ids = None if packed.ids is None else set(packed.ids)
    mapped = map_categories(folded.definition, brought.unlisted, ids=brought.ids, told=told_ids)
    draft.add(
        "delivered",
        {
            "period": folded.state.period,
            "rows": rows,
            "repeated": repeated,
            **left_out,
            "source": brought.source,
            "who": brought.who,
            **({} if brought.digest is None else {"digest": brought.digest}),
            **({"unknown_categories": [mapped_categories_json(one) for one in mapped]} if mapped else {}),
        },
        key=known_by,
        rows=pack(packed),
    )
    return after, rows, repeated, mapped


def _read(folded: CampaignState, brought: Delivery) -> PackedRows | None:
    """Return the rows, checked against those that came before; None where nothing was brought."""
    if brought.X is None and brought.y is None:
        if brought.groups is not None or brought.ids is not None:
            raise DataError("must come together with groups and ids; got None.", owner=_OWNER, name="X")
        return None
    if (brought.X is None) != (brought.y is None):
        missing = "X" if brought.X is None else "y"
        raise DataError("must come together with the other; got None.", owner=_OWNER, name=missing)
    rows = read_rows(brought.X, owner=_OWNER, features=folded.state.features, columns=folded.state.columns)
    y = read_targets(brought.y, owner=_OWNER, rows=len(rows.X))
    groups = None
    if brought.groups is not None:
        if not isinstance(folded.method, CandidatesMethod):
            raise ParameterError(
                "must be None without candidates to compare (l2 is one number).",
                owner=_OWNER,
                name="groups",
            )
        given = brought.groups
        whose = np.array(given, dtype=object) if isinstance(given, list | tuple) else given
        groups = read_groups(whose, owner=_OWNER, rows=len(y))
    ids = None
    if brought.ids is not None:
        ids = tuple(str(one) for one in brought.ids)
        if len(ids) != len(y):
            raise DataError(
                f"must have one entry for each of the {len(y)} rows; got {len(ids)}.",
                owner=_OWNER,
                name="ids",
            )
        if len(set(ids)) < len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise DataError(f"must tell the rows apart; got {twice!r:.80} twice.", owner=_OWNER, name="ids")
    return PackedRows(told=TellEvent(X=rows.X, y=y, columns=rows.columns, groups=groups), ids=ids)


def _only(packed: PackedRows, places: list[int]) -> PackedRows:
    """Return the rows in those places."""
    told = packed.told
    some = replace(
        told,
        X=np.ascontiguousarray(told.X[places]),
        y=told.y[places],
        groups=None if told.groups is None else told.groups[places],
    )
    return PackedRows(told=some, ids=None if packed.ids is None else tuple(packed.ids[place] for place in places))


def _fresh(store: Store, folded: CampaignState, ids: tuple[str, ...] | None) -> list[int] | None:
    """Return the places of rows whose id was not told in this period; None where all count."""
    if ids is None:
        return None
    seen = told_in(store, folded)
    return [place for place, one in enumerate(ids) if one not in seen] if seen else None


def _without_others(store: Store, folded: CampaignState, packed: PackedRows) -> tuple[PackedRows, int]:
    """Leave out rows that were drawn for an earlier period and came late, or in a file that only grows; how many those are."""
    others = set() if packed.ids is None else drawn_before(store, folded, set(packed.ids))
    if not others or packed.ids is None:
        return packed, 0
    places = [place for place, one in enumerate(packed.ids) if one not in others]
    return _only(packed, places), len(packed.ids) - len(places)


def digest_of(packed: PackedRows) -> str:
    """Return what a delivery without a name is known by: the same rows in the same order have the same, whatever file held them."""
    return f"sha256:{hashlib.sha256(content(packed)).hexdigest()}"


def _told_before(store: Store, folded: CampaignState, known_by: str, digest: str | None) -> tuple[int, Order] | None:
    """Return the entry that brought this delivery before and the order it was for; None where it is new or was taken back."""
    name = folded.definition.name
    found = store.find(name, "delivered", known_by)
    if found is None or _taken_back(store, name, found):
        return None
    period = found.body["period"]
    if digest is not None and found.body.get("digest") not in (None, digest):
        raise ParameterError(
            f"must name one delivery; {known_by!r:.80} named other rows in period {period} "
            f"(entry {found.seq} of the log).",
            owner=_OWNER,
            name="delivery",
        )
    order = folded.order
    if order is not None and order.period == period:
        return found.seq, order
    past = order_of_period(store, folded, period)
    return None if past is None else (found.seq, past)


def _taken_back(store: Store, name: str, delivered: Entry) -> bool:
    back = store.entries(name, after=delivered.seq, kinds=("forgotten",), limit=1)
    return bool(back) and back[0].body["period"] == delivered.body["period"]
