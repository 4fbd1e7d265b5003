"""Deliver labelled rows: validation, duplicates, what was drawn, late rows, and closing the period."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.campaign import transitions
from driftpace.campaign.contradictions import joined_contradictions
from driftpace.campaign.handle import Draft, check_key
from driftpace.campaign.late import (
    SplitRows,
    absorb_late_rows,
    contradictions_of,
    known_periods,
    new_rows,
    select,
    split_rows,
)
from driftpace.campaign.orders import (
    ask_again,
    close,
    delivered_in,
    drawn_by,
    drawn_in,
    not_open,
    open_order,
    order_of_period,
    past_order,
    require_period,
)
from driftpace.campaign.packing import PackedRows, pack_rows, repeated_labels, rows_content
from driftpace.campaign.period_column import joined
from driftpace.campaign.pool_check import Matched, match_pool
from driftpace.campaign.records import Contradictions, LateRows, Order, Receipt, Revision
from driftpace.campaign.replay import LogInForce
from driftpace.campaign.row_choice import drawn_weights, with_drawn_weights
from driftpace.campaign.row_warnings import row_warnings, shown_features
from driftpace.campaign.schema import Columns, TableRows, current_encoding, labelled
from driftpace.campaign.serialization import filled_cells_json, mapped_categories_json
from driftpace.campaign.state import CampaignState
from driftpace.campaign.text import period_name
from driftpace.campaign.transitions import undone_by
from driftpace.errors import DataError, ParameterError
from driftpace.storage.base import Entry, Store
from driftpace.tables import ROW_ID, content_ids
from driftpace.tables.cell_counts import FilledCells, MappedCategories
from driftpace.tables.encoding import EncodedRows
from driftpace.tables.pool_mismatch import PoolMismatch
from driftpace.tracker.builder import check_annotators, check_exposure, check_weights, uses_groups
from driftpace.tracker.inputs import (
    InputRows,
    as_rates,
    read_exposure,
    read_groups,
    read_labels,
    read_rows,
    read_targets,
    read_weights,
)
from driftpace.tracker.method import TellEvent
from driftpace.tracker.row_reader import named_errors
from driftpace.typing import FloatArray

_OWNER = "Campaign.tell"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Delivery:
    """Rows as the caller passes them, none where X is None.

    ``name`` identifies the delivery and ``digest`` its content; ``left_out`` counts rows that were ignored before. Rows of a
    table are ``encoded``. ``periods`` are those for which the rows were drawn, by their own account; ``accept_others`` takes rows
    that were not drawn, ``balance`` weights the rows of the period. ``dayfirst`` is what its dates show that was not known,
    ``warnings`` what looks wrong in its rows, ``features`` what the first rows show. Where ids were made of the content of rows,
    ``recognised`` are those of them that were drawn or delivered before.
    """

    X: Any
    y: Any
    groups: Any
    weights: Any
    ids: Sequence[Any] | None
    name: str | None
    digest: str | None
    source: str
    left_out: Mapping[str, Any]
    who: str
    encoded: EncodedRows | None = None
    periods: Sequence[int] | None = None
    accept_others: bool = False
    annotators: Sequence[Any] | None = None
    balance: bool = False
    exposure: Any = None
    dayfirst: bool | None = None
    warnings: Sequence[str] = ()
    features: str = ""
    recognised: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The period that a delivery is meant for, and whether to close it; see :meth:`Campaign.tell`."""

    final: bool | None
    key: str | None
    period: int | None
    again: bool

    @classmethod
    def checked(cls, *, final: bool | None, key: str | None, period: int | None, again: bool) -> Self:
        """Return the target, or raise ParameterError."""
        if final is not None:
            validation.switch(_OWNER, final=final)
        validation.switch(_OWNER, again=again)
        return cls(final=final, key=check_key(_OWNER, "key", key), period=period, again=again)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Counted:
    """What became of a delivery: the rows ``taken``, how many are new, repeated or not drawn, and whether they look drawn.

    ``effective`` counts the effective rows of a balanced period.
    """

    taken: tuple[PackedRows, ...] = ()
    rows: int = 0
    repeated: int = 0
    others: int = 0
    mismatch: PoolMismatch | None = None
    effective: float | None = None
    contradictions: Contradictions | None = None

    @property
    def more_labels(self) -> int:
        """How many labels are of rows that have one already."""
        return sum(len(part.event.y) for part in self.taken) - self.rows


def read_delivery(
    store: Store,
    state: CampaignState,
    columns: Columns,
    **options: Any,
) -> Delivery:
    """Return the labelled rows of a table as a delivery, with these ``options`` of it."""
    rows = labelled(
        state.definition,
        columns,
        period=state.state.period,
        names=() if state.opened is None else state.opened.names,
        learned=state.encoding,
        keys=None if state.definition.period is None else known_periods(store, state),
        owner=_OWNER,
    )
    ids, recognised = (rows.ids, None) if rows.ids is not None else _content_ids(store, state, columns, rows)
    return Delivery(
        X=InputRows(X=rows.rows.X, columns=rows.rows.names),
        y=rows.y,
        groups=rows.groups,
        weights=rows.weights,
        exposure=rows.exposure,
        ids=ids,
        recognised=recognised,
        left_out={
            "unlabelled": rows.unlabelled,
            "other_period_rows": rows.other_period_rows,
            "incomplete": rows.incomplete,
            **({"other_periods": dict(rows.other_periods)} if rows.other_periods else {}),
            **({"without": dict(rows.without)} if rows.without else {}),
        },
        encoded=rows.rows,
        periods=rows.periods,
        annotators=rows.annotators,
        dayfirst=rows.dayfirst,
        warnings=row_warnings(state.definition, columns, rows) if state.state.period == 1 else (),
        features=""
        if state.definition.features is not None or state.encoding is not None
        else shown_features(state.definition, columns, rows.rows.encoding),
        **options,
    )


def _content_ids(
    store: Store, state: CampaignState, columns: Columns, rows: TableRows
) -> tuple[list[str] | None, frozenset[str] | None]:
    """Return ids made from the content of rows that have none, and those that are known; None where none is.

    Where rows were drawn for the open period, a row with the cells of one that was delivered in it is that row. Otherwise it is
    another: no draw says which rows were meant, and persons of one age and city are not one person.
    """
    draws = LogInForce.of(store.entries(state.definition.name, kinds=("selected", "undone"), limit=state.seq)).draws
    seqs = [seq for period in sorted(draws) for seq in draws[period]]
    drawn, delivered = dict.fromkeys((*drawn_by(store, state, seqs), *drawn_in(store, state))), delivered_in(state)
    if drawn_in(store, state):
        known, used = tuple({**drawn, **dict.fromkeys(delivered)}), frozenset[str]()
    else:
        known, used = tuple(one for one in drawn if one not in delivered), frozenset(delivered)
    ids = content_ids(columns, known, labels=state.definition.label_columns, used=used) if known else None
    if ids is None:
        return None, None
    return [ids[place] for place in np.flatnonzero(rows.keep)], frozenset(known)


def forget(
    state: CampaignState, draft: Draft, *, period: int | None, reason: str, who: str
) -> tuple[CampaignState, Order]:
    """Discard the rows delivered in the open period, and compute its order again."""
    order = open_order(state, "forget", period)
    if order.received:
        seqs = state.opened.deliveries if state.opened else ()
        draft.add("forgotten", {"period": order.period, "rows": order.received, "reason": reason, "who": who})
        if not state.definition.keep_rows:
            draft.drop(seqs)
        state = ask_again(transitions.forgotten(state), draft, who=who)
    return state, open_order(state, "forget")


def tell(
    store: Store, state: CampaignState, draft: Draft, delivery: Delivery, target: Target
) -> tuple[CampaignState, Receipt]:
    """Add a delivery, once: late rows to their closed periods, the others to the open one, which is closed when it is complete."""
    left_out: dict[str, Any] = {**delivery.left_out}
    packed = _read(state, delivery)
    known_by = None if packed is None else delivery.name or digest_of(packed)
    by_column = state.definition.period is not None
    by_row = by_column and packed is not None and packed.ids is not None and delivery.name is None
    counts = target.again or by_row  # rows of several periods with ids: each counts once, in its period
    earlier = None if counts or known_by is None else _delivered_before(store, state, known_by, delivery.digest)
    seq, past = (None, None) if earlier is None else earlier
    if past is not None and (past.closed or not target.final):
        return state, Receipt(rows=0, order=past, duplicate=seq, **left_out)
    require_period(state, target.period, "tell")
    closed = _closed_order(store, state, target, packed)
    late: tuple[LateRows, ...] = ()
    revision = None
    arrived, counted = _Counted(), _Counted()
    repeated, contradictions = 0, None
    given = packed
    delivery = replace(delivery, name=known_by)
    if past is None and packed is not None and (closed is not None or not target.again or by_column):
        split = split_rows(
            store,
            state,
            packed,
            periods=delivery.periods,
            closed=None if closed is None else closed.period,
            recognised=delivery.recognised,
        )
        repeated, packed, contradictions = split.repeated, split.now, split.contradictions
        left_out["other_period_rows"] += split.other_period_rows
        if split.other_periods and state.definition.period is not None:
            keys = {period: key for key, period in known_periods(store, state).items()}
            named = {keys.get(period, str(period)): rows for period, rows in split.other_periods.items()}
            left_out["other_periods"] = joined(left_out.get("other_periods", {}), named)
        if split.late:
            state, late, revision, arrived = _take_late(store, state, draft, delivery, split)
    order = state.order
    if closed is not None or (order is None and (late or repeated) and packed is None):
        past = closed or order_of_period(store, state, late[0].period if late else state.state.period - 1)
        assert past is not None
        mapped, filled = _cells(delivery, arrived.taken)
        return state, Receipt(
            rows=0,
            order=_with_late(past, late),
            repeated=repeated,
            unknown_categories=mapped,
            filled=filled,
            others=arrived.others,
            mismatch=arrived.mismatch,
            effective=arrived.effective,
            late=late,
            revision=revision,
            features=delivery.features if arrived.taken else "",
            contradictions=contradictions,
            **left_out,
        )
    if order is None or (target.key is not None and order.key != target.key):
        raise not_open(store, state, target.key)
    if past is None and packed is not None:
        state, counted = _gather(store, state, draft, replace(delivery, left_out=left_out), packed)
    if counted.rows:
        state = ask_again(state, draft, who=delivery.who)
    order = state.order
    assert order is not None
    report = None
    only_ignored = (any(left_out.values()) or bool(late) or repeated > 0) and not counted.taken and not counted.repeated
    complete = given is None or (order.missing == 0 and not only_ignored)
    if target.final or (target.final is None and complete):
        state, report = close(state, draft, who=delivery.who, why="")
        order = replace(order, closed=True, missing=0)
    mapped, filled = _cells(delivery, arrived.taken + counted.taken)
    return state, Receipt(
        rows=counted.rows,
        order=order,
        report=report,
        repeated=repeated + counted.repeated,
        duplicate=seq,
        unknown_categories=mapped,
        filled=filled,
        others=arrived.others + counted.others,
        mismatch=counted.mismatch or arrived.mismatch,
        effective=arrived.effective if counted.effective is None else counted.effective,
        late=late,
        revision=revision,
        more_labels=counted.more_labels,
        warnings=tuple(delivery.warnings) if counted.taken else (),
        features=delivery.features if arrived.taken or counted.taken else "",
        contradictions=joined_contradictions([contradictions, counted.contradictions]),
        **left_out,
    )


def _closed_order(store: Store, state: CampaignState, target: Target, packed: PackedRows | None) -> Order | None:
    """Return the order of the closed period that rows are meant for; None where they are for the open one."""
    if target.key is None or packed is None or (state.order is not None and state.order.key == target.key):
        return None
    return past_order(store, state, target.key)


def _take_late(
    store: Store, state: CampaignState, draft: Draft, delivery: Delivery, split: SplitRows
) -> tuple[CampaignState, tuple[LateRows, ...], Revision, _Counted]:
    """Absorb late rows; those that were not drawn for their period are refused or counted, where it had a draw."""
    log = LogInForce.of(store.entries(state.definition.name, kinds=("selected", "delivered", "forgotten", "undone")))
    bodies, others, found = {}, 0, {}
    for period, rows in split.late.items():
        draws = log.draws.get(period, ())
        there = sum(entry.body["rows"] for entry in log.entries if entry.seq in log.deliveries.get(period, ()))
        _check_room(state, period, None, there=there, more=len(rows.event.y))
        count = _check_drawn(delivery, rows, drawn_by(store, state, draws), f"period {period}")
        found[period] = _match(store, state, delivery, rows, draws, log.deliveries.get(period, ()))
        bodies[period] = {
            "repeated": 0,
            **_entry_body(delivery, found[period], split.rows[period], count),
            **_shown_encoding(state, delivery),
        }
        others += count
    late = {period: matched.packed for period, matched in found.items()}
    assert delivery.name is not None
    state, parts, revision = absorb_late_rows(store, state, draft, late, bodies, delivery.name)
    last = found[max(found)]
    counted = _Counted(
        taken=tuple(late.values()),
        rows=sum(split.rows.values()),
        others=others,
        mismatch=last.mismatch,
        effective=last.effective,
    )
    return state, parts, revision, counted


def _match(
    store: Store,
    state: CampaignState,
    delivery: Delivery,
    packed: PackedRows,
    draws: Sequence[int],
    deliveries: Sequence[int],
) -> Matched:
    """Return rows with the weights they were drawn with, compared with their pool, and balanced if that is asked for."""
    if delivery.balance and packed.event.weights is not None:
        raise ParameterError("cannot be used with rows that have weights already.", owner=_OWNER, name="balance")
    weighted = with_drawn_weights(state, packed, drawn_weights(store, state, draws), owner=_OWNER)
    return match_pool(
        store, state, weighted, draws=draws, deliveries=deliveries, balanced=delivery.balance, owner=_OWNER
    )


def _entry_body(delivery: Delivery, matched: Matched, new: int, others: int) -> dict[str, Any]:
    """Return what the log says of rows wherever they are delivered; ``new`` of them had no label before."""
    body: dict[str, Any] = {"rows": new, "source": delivery.source, "who": delivery.who}
    if len(matched.packed.event.y) > new:
        body["more_labels"] = len(matched.packed.event.y) - new
    if delivery.digest is not None:
        body["digest"] = delivery.digest
    if delivery.dayfirst is not None:
        body["dayfirst"] = delivery.dayfirst
    if delivery.warnings:
        body["warnings"] = list(delivery.warnings)
    if others:
        body["others"] = others
    if matched.mismatch is not None:
        body["mismatch"] = matched.mismatch.to_values()
    if matched.effective is not None:
        body["balanced"] = matched.effective
    mapped, filled = _cells(delivery, (matched.packed,))
    if mapped:
        body["unknown_categories"] = [mapped_categories_json(item) for item in mapped]
    if filled:
        body["filled"] = [filled_cells_json(item) for item in filled]
    return body


def _shown_encoding(state: CampaignState, delivery: Delivery) -> dict[str, Any]:
    """Return the encoding for the log, where the rows of a delivery are the first to show it."""
    if delivery.encoded is None or current_encoding(state.definition, state.encoding) is not None:
        return {}
    return {"encoding": delivery.encoded.encoding.to_values()}


def _cells(
    delivery: Delivery, taken: Sequence[PackedRows]
) -> tuple[tuple[MappedCategories, ...], tuple[FilledCells, ...]]:
    """Return the unlisted categories and the missing cells of rows of a delivery."""
    encoded = delivery.encoded
    if encoded is None or not taken:
        return (), ()
    ids = {row_id for part in taken for row_id in part.ids or ()}
    if delivery.ids is not None and ids:
        encoded = encoded.take([place for place, row_id in enumerate(delivery.ids) if str(row_id) in ids])
    return encoded.mapped_categories(), encoded.filled_cells()


def _with_late(order: Order, late: Sequence[LateRows]) -> Order:
    rows = order.received + sum(part.rows for part in late if part.period == order.period)
    return replace(order, received=rows, samples=max(rows, order.samples))


def _check_room(state: CampaignState, period: int, key: str | None, *, there: int, more: int) -> None:
    """Raise DataError where a period would have more rows than the definition allows."""
    most = state.definition.row_limit
    if there + more > most:
        raise DataError(
            f"must be at most {most:,} rows in a period (max_rows of the definition); {period_name(period, key)} has {there:,} "
            f"and got {more:,} more.",
            owner=_OWNER,
            name="X",
        )


def _check_drawn(delivery: Delivery, packed: PackedRows, drawn: Sequence[str], period: str) -> int:
    """Return how many rows were not drawn for their period, or raise DataError unless they are accepted.

    Arrays without ids count as the rows that were drawn; those of a table have to say so, by an id or by their cells.
    """
    ids = packed.ids
    if not drawn or (ids is None and delivery.encoded is None):
        return 0
    if ids is None:
        if delivery.accept_others:
            return len(packed.event.y)
        raise DataError(
            f"must be rows drawn for {period}; the table has no column {ROW_ID!r}, and no row with the cells of a drawn one. "
            "Deliver the rows that were drawn, or accept others (accept_others, --accept-others).",
            owner=_OWNER,
            name="ids",
        )
    known, ids = set(drawn), tuple(dict.fromkeys(ids))
    others = [row_id for row_id in ids if row_id not in known]
    if others and not delivery.accept_others:
        count = f"{len(others):,} of {len(ids):,} rows were" if len(ids) > 1 else "the row was"
        raise DataError(
            f"must be rows drawn for {period}; {count} not, such as {others[0]!r:.80}. Deliver the rows that were drawn, or "
            "accept others (accept_others, --accept-others).",
            owner=_OWNER,
            name="ids",
        )
    return len(others)


def _gather(
    store: Store, state: CampaignState, draft: Draft, delivery: Delivery, packed: PackedRows
) -> tuple[CampaignState, _Counted]:
    """Add the rows whose id was not delivered before in this period, and labels of others by another annotator."""
    before = {} if packed.ids is None else delivered_in(state)
    known = repeated_labels(packed, before)
    repeated, contradictions = sum(known), None
    if repeated:
        again = select(packed, [place for place, again in enumerate(known) if again])
        contradictions = contradictions_of(store, state, again, state.opened.deliveries if state.opened else ())
        packed = select(packed, [place for place, again in enumerate(known) if not again])
    order = open_order(state, "tell")
    others = _check_drawn(delivery, packed, drawn_in(store, state), period_name(order.period, order.key))
    if len(packed.event.y) == 0:
        return state, _Counted(repeated=repeated, contradictions=contradictions)
    rows = new_rows(packed, before)
    _check_room(state, order.period, order.key, there=state.state.gathered, more=len(packed.event.y))
    opened = state.opened
    assert opened is not None
    matched = _match(store, state, delivery, packed, opened.draws, opened.deliveries)
    packed = matched.packed
    try:
        after = transitions.delivered(state, packed, seq=draft.next_seq)
    except DataError as error:
        raise error.renamed(owner=_OWNER, name=error.name or "X") from None
    body = {
        "period": state.state.period,
        "repeated": repeated,
        **({} if contradictions is None else {"contradicted": contradictions.rows}),
        **delivery.left_out,
        **_entry_body(delivery, matched, rows, others),
    }
    body |= _shown_encoding(state, delivery)
    after = transitions.dated(transitions.encoded(after, body), body)
    draft.add("delivered", body, key=delivery.name, rows=pack_rows(packed))
    return after, _Counted(
        taken=(packed,),
        rows=rows,
        repeated=repeated,
        others=others,
        mismatch=matched.mismatch,
        effective=matched.effective,
        contradictions=contradictions,
    )


def _read(state: CampaignState, delivery: Delivery) -> PackedRows | None:
    """Return the rows, checked against earlier ones; None where there are none."""
    if delivery.X is None and delivery.y is None:
        beside = (delivery.groups, delivery.weights, delivery.exposure, delivery.ids, delivery.annotators)
        if any(given is not None for given in beside):
            problem = "must be given together with groups, weights, exposures, ids and annotators; got None."
            raise DataError(problem, owner=_OWNER, name="X")
        return None
    if (delivery.X is None) != (delivery.y is None):
        missing = "X" if delivery.X is None else "y"
        raise DataError("must be given together with the other; got None.", owner=_OWNER, name=missing)
    model = state.definition.model
    if delivery.encoded is None and model is not None and "trained_until" in model:
        raise DataError(
            f"must be a table (tell_table), whose dates are compared with trained_until, {model['trained_until']}; got arrays.",
            owner=_OWNER,
            name="X",
        )
    if delivery.encoded is None and state.definition.text:
        raise DataError(
            f"must be a table (tell_table), whose column {state.definition.text[0]!r} has the texts; got arrays.",
            owner=_OWNER,
            name="X",
        )
    rows = read_rows(
        delivery.X,
        owner=_OWNER,
        features=state.state.features,
        columns=state.state.columns,
        missing=state.definition.model is not None,
    )
    y = _read_codes(state, read_targets(_codes(state, delivery.y), owner=_OWNER, rows=len(rows.X)))
    groups = _read_groups(state, delivery.groups, len(y))
    if delivery.annotators is not None:
        check_annotators(state.method, _OWNER)
    _, annotators = read_labels(delivery.ids, delivery.annotators, owner=_OWNER, rows=len(y))
    ids = None if delivery.ids is None else _read_ids(delivery.ids, len(y), delivery.periods, annotators)
    weights = None
    if delivery.weights is not None and len(y):
        check_weights(state.method, _OWNER)
        weights = read_weights(delivery.weights, owner=_OWNER, rows=len(y))
    if delivery.exposure is None and state.definition.exposure is not None and len(y):
        raise DataError(
            f"must be given with arrays, since the column {state.definition.exposure!r} of tables has it; got None.",
            owner=_OWNER,
            name="exposure",
        )
    if delivery.exposure is not None and len(y):
        check_exposure(state.method, _OWNER)
        with named_errors(_OWNER):
            state.method.spec.loss.encode(y)  # a rate would be refused with another number
        y, weights = as_rates(y, weights, read_exposure(delivery.exposure, owner=_OWNER, rows=len(y)))
    event = TellEvent(
        X=rows.X,
        y=y,
        columns=rows.columns,
        groups=groups,
        weights=weights,
        ids=None if annotators is None else ids,
        annotators=annotators,
    )
    return PackedRows(event=event, ids=ids)


def _codes(state: CampaignState, y: Any) -> Any:
    """Return targets with the number of each class for its name, where there are several; numbers are taken as they are."""
    classes = state.definition.classes
    if classes is None or state.definition.task != "multiclass":
        return y
    given = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if given.ndim != 1 or not any(isinstance(value, str) for value in given.tolist()):
        return y
    numbers = {name: float(code) for code, name in enumerate(classes)}
    for row, value in enumerate(given.tolist(), start=1):
        if value not in numbers:
            raise DataError(
                f"must be one of the classes {', '.join(map(repr, classes))}; row {row:,} has {value!r:.80}: correct it, or add "
                "the class with amend (new_classes).",
                owner=_OWNER,
                name="y",
            )
    return np.array([numbers[value] for value in given.tolist()])


def _read_codes(state: CampaignState, y: FloatArray) -> FloatArray:
    """Return targets; refuse numbers of classes that are not listed."""
    classes = state.definition.classes
    if classes is None or state.definition.task != "multiclass":
        return y
    strange = y[~np.isin(y, np.arange(len(classes)))]
    if strange.size:
        raise DataError(
            f"must be the names of classes, or their numbers 0 to {len(classes) - 1}; got {strange[0]:g}.",
            owner=_OWNER,
            name="y",
        )
    return y


def _read_groups(state: CampaignState, groups: Any, rows: int) -> Any:
    if groups is None:
        return None
    if not uses_groups(state.method):
        problem = "must be None with learner=, drift= and rule=, unless there are candidates to compare."
        raise ParameterError(problem, owner=_OWNER, name="groups")
    values = np.array(groups, dtype=object) if isinstance(groups, list | tuple) else groups
    return read_groups(values, owner=_OWNER, rows=rows)


def _read_ids(
    values: Sequence[Any], rows: int, periods: Sequence[int] | None, annotators: Sequence[str] | None
) -> tuple[str, ...]:
    ids = tuple(str(value) for value in values)
    if len(ids) != rows:
        raise DataError(f"must have one entry for each of the {rows} rows; got {len(ids)}.", owner=_OWNER, name="ids")
    marked = list(zip(ids, periods or [0] * rows, annotators or [""] * rows, strict=True))
    if len(set(marked)) < len(ids):
        repeated, _, name = Counter(marked).most_common(1)[0][0]
        by = f" by {name!r:.80}" if name else ""
        raise DataError(f"must be unique; got {repeated!r:.80} twice{by}.", owner=_OWNER, name="ids")
    return ids


def digest_of(packed: PackedRows) -> str:
    """Return the default name of a delivery, a hash of its rows in their order: it does not depend on their file."""
    return f"sha256:{hashlib.sha256(rows_content(packed)).hexdigest()}"


def _delivered_before(
    store: Store, state: CampaignState, known_by: str, digest: str | None
) -> tuple[int, Order] | None:
    """Return the entry with the same delivery and its order; None where it is new, or no longer counts."""
    entry = _counted_delivery(store, state.definition.name, known_by)
    if entry is None:
        return None
    period = entry.body["period"]
    if digest is not None and entry.body.get("digest") not in (None, digest):
        raise ParameterError(
            f"must name one delivery; {known_by!r:.80} named other rows in period {period} "
            f"(entry {entry.seq} of the log).",
            owner=_OWNER,
            name="delivery",
        )
    order = state.order
    if order is not None and order.period == period:
        return entry.seq, order
    past = order_of_period(store, state, period)
    return None if past is None else (entry.seq, past)


def _counted_delivery(store: Store, name: str, known_by: str) -> Entry | None:
    """Return the last delivery of a name that was neither forgotten nor undone."""
    found = store.find(name, "delivered", known_by)
    if found is None:
        return None
    log = store.entries(name, kinds=("forgotten", "undone"))
    gone = undone_by(log)
    withdrawn = {entry.body["period"] for entry in log if entry.kind == "forgotten" and entry.seq > found.seq}
    if found.seq not in gone and found.body["period"] not in withdrawn:
        return found
    log = store.entries(name, kinds=("delivered", "forgotten", "undone"))
    last: Entry | None = None
    for entry in log:
        if entry.seq in gone:
            continue
        if entry.kind == "forgotten" and last is not None and last.body["period"] == entry.body["period"]:
            last = None
        elif entry.kind == "delivered" and entry.key == known_by:
            last = entry
    return last
