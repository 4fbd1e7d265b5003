"""The steps of ask and tell on a campaign: each takes where it stands and a draft of the log, adds to the draft, and goes on."""

import hashlib
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftpace.campaign import fold
from driftpace.campaign.folded import (
    Folded,
    Opened,
    decision_to_plain,
    fingerprint,
    request_from_plain,
    request_to_plain,
)
from driftpace.campaign.records import Decision, Order, Served
from driftpace.campaign.rowbytes import Packed, content, pack, unpack
from driftpace.campaign.writing import Draft
from driftpace.errors import DataError, ParameterError
from driftpace.losses import classifies
from driftpace.records import StepReport
from driftpace.storage.store import Store
from driftpace.tracker.branching import chosen
from driftpace.tracker.events import Told
from driftpace.tracker.exactly import from_plain, to_plain
from driftpace.tracker.intake import read_groups, read_rows, read_targets
from driftpace.tracker.state import Settings

_OWNER = "Campaign.tell"
_DECIDED = ("approved", "overridden")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Delivery:
    """Rows as somebody brought them, with what is known about them; none where X is None."""

    X: Any
    y: Any
    groups: Any
    ids: Sequence[Any] | None
    identity: str | None
    source: str
    left_out: Mapping[str, int]
    who: str


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


def ask_again(folded: Folded, draft: Draft, *, who: str) -> Folded:
    """Decide anew how many rows are missing, with those that came."""
    folded, _ = fold.asked(folded, pool=None, key=None)
    draft.add("asked", _asked_body(folded, None, who))
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


def gather(store: Store, folded: Folded, draft: Draft, brought: Delivery) -> tuple[Folded, int, int]:
    """Lay aside the rows that were not told before in this period; how many those are, and how many were left out."""
    if brought.X is None and brought.y is None:
        if brought.groups is not None or brought.ids is not None:
            raise DataError(f"{_OWNER}(X=...) must come together with groups and ids; got None.")
        return folded, 0, 0
    told, ids = _read(folded, brought)
    fresh = _fresh(store, folded, ids)
    repeated = 0 if fresh is None else len(told.y) - len(fresh)
    identity = brought.identity or digest_of(told, ids)
    if fresh is not None and repeated:
        ids = None if ids is None else tuple(ids[place] for place in fresh)
        told = replace(
            told,
            X=np.ascontiguousarray(told.X[fresh]),
            y=told.y[fresh],
            groups=None if told.groups is None else told.groups[fresh],
        )
    rows = len(told.y)
    if rows == 0:
        return folded, 0, repeated
    seq = draft.next_seq
    try:
        after = fold.delivered(folded, told, seq=seq)
    except DataError as error:
        said = str(error)
        raise DataError(f"{_OWNER}(X=...) {said}" if said.startswith("must ") else said) from None
    draft.add(
        "delivered",
        {
            "period": folded.state.period,
            "rows": rows,
            "repeated": repeated,
            **brought.left_out,
            "source": brought.source,
            "who": brought.who,
        },
        key=identity,
        rows=pack(Packed(told=told, ids=ids)),
    )
    return after, rows, repeated


def _read(folded: Folded, brought: Delivery) -> tuple[Told, tuple[str, ...] | None]:
    if (brought.X is None) != (brought.y is None):
        missing = "X" if brought.X is None else "y"
        raise DataError(f"{_OWNER}({missing}=...) must come together with the other; got None.")
    rows = read_rows(brought.X, owner=_OWNER, features=folded.state.features, columns=folded.state.columns)
    y = read_targets(brought.y, owner=_OWNER, rows=len(rows.X))
    groups = None
    if brought.groups is not None:
        if isinstance(folded.settings, Settings):
            raise ParameterError(f"{_OWNER}(groups=...) must be None without candidates to compare (l2 is one number).")
        given = brought.groups
        whose = np.array(given, dtype=object) if isinstance(given, list | tuple) else given
        groups = read_groups(whose, owner=_OWNER, rows=len(y))
    ids = None
    if brought.ids is not None:
        ids = tuple(str(one) for one in brought.ids)
        if len(ids) != len(y):
            raise DataError(f"{_OWNER}(ids=...) must have one entry for each of the {len(y)} rows; got {len(ids)}.")
        if len(set(ids)) < len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise DataError(f"{_OWNER}(ids=...) must tell the rows apart; got {twice!r:.80} twice.")
    return Told(X=rows.X, y=y, columns=rows.columns, groups=groups), ids


def _fresh(store: Store, folded: Folded, ids: tuple[str, ...] | None) -> list[int] | None:
    """Return the places of rows whose id was not told in this period; None where all count."""
    if ids is None or folded.opened is None or not folded.opened.deliveries:
        return None
    kept = store.rows(folded.definition.name, folded.opened.deliveries)
    seen = {one for data in kept.values() for one in unpack(data).ids or ()}
    return [place for place, one in enumerate(ids) if one not in seen]


def digest_of(told: Told, ids: tuple[str, ...] | None) -> str:
    """Return what identifies a delivery that was given no name: the same rows in the same order have the same one."""
    found = hashlib.sha256(content(Packed(told=told, ids=ids)))
    return f"sha256:{found.hexdigest()}"


def told_before(store: Store, folded: Folded, brought: Delivery) -> tuple[int, Order] | None:
    """Return the entry that brought this delivery before and the order it was for; None where it is new or was taken back."""
    if brought.X is None or brought.y is None:
        return None
    identity = brought.identity
    if identity is None:
        told, ids = _read(folded, brought)
        identity = digest_of(told, ids)
    name = folded.definition.name
    found = store.find(name, "delivered", identity)
    if found is None:
        return None
    period = found.body["period"]
    back = store.entries(name, after=found.seq, kinds=("forgotten",), limit=1)
    if back and back[0].body["period"] == period:
        return None
    order = folded.order
    if order is not None and order.period == period:
        return found.seq, order
    past = _order_of_period(store, folded, period)
    return None if past is None else (found.seq, past)


def past_order(store: Store, folded: Folded, key: str) -> Order | None:
    """Return the order of the closed period that was asked for by that key."""
    found = store.find(folded.definition.name, "asked", key)
    if found is None or found.body["period"] >= folded.state.period:
        return None
    return _order_of_period(store, folded, found.body["period"])


def _order_of_period(store: Store, folded: Folded, period: int) -> Order | None:
    name = folded.definition.name
    done = store.find(name, "certified", str(period))
    closed = store.find(name, "closed", str(period))
    if done is None or closed is None:
        return None
    report: StepReport = from_plain(done.body["report"])
    return Order(
        campaign=name,
        period=period,
        key=closed.body["key"],
        samples=closed.body["samples"],
        came=report.samples,
        missing=0,
        closed=True,
        request=request_from_plain(closed.body["request"]),
        **{name: Decision(**closed.body[name]) for name in _DECIDED if name in closed.body},
    )


def close(folded: Folded, draft: Draft, *, who: str, why: str) -> tuple[Folded, StepReport]:
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
            "came": order.came,
            "request": request_to_plain(opened.request),
            **{name: decision_to_plain(getattr(opened, name)) for name in _DECIDED if getattr(opened, name)},
            "why": why,
            "who": who,
        },
        key=period,
    )
    began = time.perf_counter()
    after, report = fold.closed(folded)
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
    draft.add("certified", {"report": to_plain(report), "served": _served_to_plain(served)}, key=period)
    if not folded.definition.keep_rows:
        draft.drop((*opened.deliveries, *opened.draws))
    return after, report


def served_by(folded: Folded) -> Served | None:
    """Try the model that was in use on the rows of the period, before it learns from them; None where either is missing."""
    settings, state = chosen(folded.settings, folded.state)
    if folded.last is None or state.coef is None or not state.parts:
        return None
    X = np.concatenate([part.X for part in state.parts])
    y = np.concatenate([part.y for part in state.parts])
    loss = replace(settings.objective, l2=0.0)  # type: ignore[type-var]
    with np.errstate(all="ignore"):
        values = loss.row_values(state.coef, X, y)
        mean = float(values.mean())
        error = float(values.std(ddof=1) / math.sqrt(len(y))) if len(y) > 1 else math.inf
    if not math.isfinite(mean):
        return None
    accuracy = float((loss.predict(state.coef, X) == y).mean()) if classifies(settings.loss) else None
    return Served(rows=len(y), loss=mean, error=error, accuracy=accuracy)


def _served_to_plain(served: Served | None) -> dict[str, Any] | None:
    if served is None:
        return None
    held = {name: getattr(served, name) for name in Served.__slots__}
    return {**held, "error": to_plain(served.error)}
