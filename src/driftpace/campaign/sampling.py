"""Draw the rows to label from a pool: at random, valid ones only, and none twice in a period."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace import validation
from driftpace.adaptive import CHOICES
from driftpace.campaign.definition import Definition
from driftpace.campaign.handle import Draft
from driftpace.campaign.orders import awaited_in, drawn_in, open_order
from driftpace.campaign.packing import pack_ids
from driftpace.campaign.period_column import shown_day_order
from driftpace.campaign.pool_check import profile_body, profile_pool
from driftpace.campaign.records import Order
from driftpace.campaign.row_choice import draw_by_model, drawn_weights
from driftpace.campaign.schema import current_encoding, encoding_for, invalid_rows, read_table
from driftpace.campaign.state import CampaignState
from driftpace.campaign.text import period_name
from driftpace.campaign.transitions import selected
from driftpace.errors import ConflictError, ParameterError
from driftpace.storage.base import Store
from driftpace.tables.pool_profile import PoolProfile
from driftpace.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from driftpace.tables import Column, DrawnRows

OWNER = "Campaign.sample"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shortfall:
    """How many rows of an order are still to be drawn.

    Attributes
    ----------
    samples : int
        Rows to draw now.
    drawn : tuple of str
        Ids of the rows drawn before in the period.
    awaited : tuple of str
        Those of them that are still without a label, at most as many as the order is missing.
    """

    samples: int
    drawn: tuple[str, ...]
    awaited: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sample:
    """Rows of a pool to label.

    Attributes
    ----------
    ids : tuple of str
        The id of each row.
    positions : numpy.ndarray
        Its position in the pool.
    new : int
        How many rows were drawn now; 0 where rows drawn before are returned again.
    eligible : int
        How many rows the draw could choose from.
    pool_rows : int
        How many rows the pool has.
    invalid : mapping of str to int
        Why rows of the pool were not eligible, and how many; a row may have several reasons.
    skipped : int
        How many rows of the pool were not eligible.
    labelled : int
        How many of the rows have a label in the pool already.
    weights : numpy.ndarray, optional
        What each row counts for when it is labelled, which :meth:`Campaign.tell` knows; None where all were equally likely.
    sentence : str
        How the rows were drawn.
    """

    ids: tuple[str, ...]
    positions: IntArray
    new: int = 0
    eligible: int = 0
    pool_rows: int
    invalid: Mapping[str, int]
    skipped: int = 0
    labelled: int = 0
    weights: FloatArray | None = None
    sentence: str
    _columns: Mapping[str, "Column"]
    _drawn: "DrawnRows | None"
    _id_column: str | None
    _target: str | None
    _valid: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, *, as_text: bool = False) -> dict[str, list[Any]]:
        """Return the values of the rows by column, without the target.

        Parameters
        ----------
        as_text : bool
            Return cells as they were written, where the pool knows it; suits a text file.
        """
        from driftpace.tables import rows_of

        if self._drawn is None:
            return {name: [] for name in self._columns if name != self._target}
        rows = rows_of(self._columns, self._drawn, id_column=self._id_column, as_text=as_text)
        if self._target is not None:
            rows.pop(self._target, None)
        return rows


def day_order_of(state: CampaignState, sample: Sample) -> bool | None:
    """Return whether the day comes first in the dates of the pool, where it shows that and it was not known."""
    features = (state.definition.features or ()) if state.encoding is None else state.encoding.sources
    return shown_day_order(state.definition, features, sample._columns)


def find_shortfall(store: Store, state: CampaignState, order: Order, *, replace: bool = False) -> Shortfall:
    """Return how many rows of an order are still to be drawn; ``replace`` counts rows that are drawn but not labelled too."""
    if order.closed or order.samples == 0:
        return Shortfall(samples=0, drawn=(), awaited=())
    begun = state.state.period == order.period  # the order of a dry run may be that of the next period
    drawn = tuple(dict.fromkeys(drawn_in(store, state))) if begun else ()
    awaited = awaited_in(store, state)[: order.missing] if begun else ()
    return Shortfall(samples=order.missing if replace else order.missing - len(awaited), drawn=drawn, awaited=awaited)


def draw_sample(
    store: Store,
    state: CampaignState,
    order: Order,
    pool: Any,
    *,
    strata: str | None = None,
    choose: str = "uniform",
    replace: bool = False,
    source: str = "",
) -> Sample:
    """Return the rows to label for an order, without recording them.

    Rows drawn before in the period are not drawn again. Where none are to be drawn, those without a label are returned again.
    """
    from driftpace.tables import draw_rows

    validation.choice(OWNER, CHOICES, choose=choose)
    if choose != "uniform" and strata is not None:
        raise ParameterError(
            f"must be 'uniform' with a column to stratify by; got {choose!r}.", owner=OWNER, name="choose"
        )
    definition = state.definition
    shortfall = find_shortfall(store, state, order, replace=replace)
    columns = read_table(pool, owner=OWNER, name="pool", definition=definition, encoding=state.encoding)
    if order.closed or order.missing == 0:
        return _sample(state, columns, None, sentence="No rows are missing, so none are drawn.")
    if shortfall.samples == 0:
        drawn = _rows_by_id(columns, shortfall.awaited, definition)
        return _sample(state, columns, drawn, sentence=f"the {len(drawn):,} rows drawn before and not labelled yet")
    leave, invalid = _invalid_rows(state, columns, order.key, source)
    rng_key, early = _rng_key(store, state, order.period), ""
    chosen = None
    if choose != "uniform":
        chosen = draw_by_model(
            state,
            columns,
            shortfall.samples,
            choose=choose,
            rng_key=rng_key,
            already=shortfall.drawn,
            leave=leave,
            weighted=0 if state.opened is None else len(drawn_weights(store, state, state.opened.draws)),
        )
        early = "" if chosen is not None else " There is no model to choose by yet."
    drawn = chosen or draw_rows(
        columns,
        shortfall.samples,
        rng_key=rng_key,
        strata=strata,
        already=shortfall.drawn,
        leave=leave,
        id_column=definition.id,
        labels=definition.label_columns,
        owner=OWNER,
    )
    if len(drawn) == 0:
        raise ParameterError(
            f"must have rows that were not drawn before; {source or 'it'} has none left. If there are no others, close the "
            "period with the rows received.",
            owner=OWNER,
            name="pool",
        )
    return _sample(
        state,
        columns,
        drawn,
        sentence=drawn.sentence + early,
        weights=drawn.weights,
        new=len(drawn),
        eligible=drawn.pool,
        invalid=invalid,
        skipped=int(leave.sum()),
        _valid=~leave,
    )


def profile_of(state: CampaignState, sample: Sample) -> PoolProfile | None:
    """Return the profile of the pool that rows were drawn from; None where none were, or its columns cannot be encoded yet."""
    return None if sample._valid is None else profile_pool(state, sample._columns, sample._valid, owner=OWNER)


def _sample(
    state: CampaignState, columns: "Mapping[str, Column]", drawn: "DrawnRows | None", *, sentence: str, **counts: Any
) -> Sample:
    target = state.definition.target
    labelled = 0
    if drawn is not None and target is not None and target in columns:
        from driftpace.tables.cells import without_marks

        column = without_marks(columns[target], state.definition.classes or ())
        labelled = int((~column.missing[drawn.places]).sum())
    return Sample(
        ids=() if drawn is None else drawn.ids,
        positions=np.empty(0, dtype=np.int64) if drawn is None else drawn.places,
        pool_rows=next((column.missing.size for column in columns.values()), 0),
        labelled=labelled,
        sentence=sentence,
        _columns=columns,
        _drawn=drawn,
        _id_column=state.definition.id,
        _target=target,
        **{"invalid": {}, **counts},
    )


def _invalid_rows(
    state: CampaignState, columns: "Mapping[str, Column]", key: str | None, source: str
) -> tuple[BoolArray, dict[str, int]]:
    """Return which rows ``tell`` would refuse even with a label, and the reasons with their counts.

    A pool is refused whose columns do not fit the definition: its rows would be refused once they are labelled.
    """
    reasons = invalid_rows(state.definition, columns, learned=state.encoding, key=key, owner=OWNER)
    leave = np.zeros(next(iter(columns.values())).missing.size, dtype=np.bool_)
    for rows in reasons.values():
        leave |= rows
    counts = {reason: int(rows.sum()) for reason, rows in reasons.items()}
    if leave.all():
        why = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        raise ParameterError(f"must have valid rows; {source or 'it'} has none: {why}.", owner=OWNER, name="pool")
    if state.definition.features is not None and current_encoding(state.definition, state.encoding) is None:
        encoding_for(state.definition, None, columns, keep=~leave, owner=OWNER)
    return leave, counts


def _rows_by_id(columns: "Mapping[str, Column]", ids: tuple[str, ...], definition: Definition) -> "DrawnRows":
    """Return the rows with those ids, in that order."""
    from driftpace.tables import DrawnRows, row_ids

    names = row_ids(columns, id_column=definition.id, labels=definition.label_columns, owner=OWNER)
    positions = {name: position for position, name in enumerate(names)}
    missing = next((name for name in ids if name not in positions), None)
    if missing is not None:
        raise ParameterError(
            f"must contain the rows drawn from it before; {missing!r:.80} is missing.", owner=OWNER, name="pool"
        )
    places = np.array([positions[name] for name in ids], dtype=np.int64)
    return DrawnRows(places=places, ids=ids, sentence="", pool=len(positions))


def _rng_key(store: Store, state: CampaignState, period: int) -> tuple[int, ...]:
    """Return what the draw depends on: the campaign, the period, and the number of draws before it in the period."""
    seed, name = state.definition.seed, state.definition.name
    if seed is None:
        digest = hashlib.sha256(f"{name}\n{state.created_at}".encode()).digest()
        seed = int.from_bytes(digest[:4], "big")
    draws = sum(entry.body["period"] == period for entry in store.entries(name, kinds=("selected",)))
    return seed, period, draws


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """Rows drawn for labelling, and ``before``, those drawn earlier in the period when they were chosen; see the campaign."""

    ids: Sequence[str]
    before: Sequence[str] | None
    source: str
    pool_rows: int
    who: str
    weights: Sequence[float] | None = None
    profile: PoolProfile | None = None
    dayfirst: bool | None = None


def record_draw(store: Store, state: CampaignState, draft: Draft, draw: Draw, *, period: int | None) -> CampaignState:
    """Add drawn rows to the log; raise ConflictError if other rows were drawn meanwhile."""
    order = open_order(state, "sample", period)
    if draw.before is not None and set(draw.before) != set(drawn_in(store, state)):
        raise ConflictError(f"other rows were drawn for {period_name(order.period, order.key)} meanwhile; try again.")
    body: dict[str, Any] = {
        "period": order.period,
        "rows": len(draw.ids),
        "pool": draw.pool_rows,
        "source": draw.source,
        "who": draw.who,
    }
    if draw.weights is not None:
        body["weighted"] = True
    if draw.dayfirst is not None:
        body["dayfirst"] = draw.dayfirst
    if draw.profile is not None:
        body |= profile_body(store, state, draw.profile)
    seq = draft.next_seq
    draft.add("selected", body, rows=pack_ids(draw.ids, draw.weights))
    return selected(state, body, seq=seq)
