"""Rows drawn with unequal probabilities: choose them by the model of a campaign, and give them their weights when they arrive."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from driftpace.campaign.packing import PackedRows, unpack_weights
from driftpace.campaign.schema import current_encoding
from driftpace.campaign.state import CampaignState
from driftpace.errors import DataError, ParameterError
from driftpace.storage.base import Store
from driftpace.tracker.builder import check_weights
from driftpace.tracker.inputs import InputRows, read_rows
from driftpace.tracker.row_choice import choose_rows
from driftpace.typing import BoolArray

if TYPE_CHECKING:
    from driftpace.tables import Column, DrawnRows

_OWNER = "Campaign.sample"


def draw_by_model(
    state: CampaignState,
    columns: "Mapping[str, Column]",
    samples: int,
    *,
    choose: str,
    rng_key: Sequence[int],
    already: Collection[str],
    leave: BoolArray,
    weighted: int,
) -> "DrawnRows | None":
    """Draw informative or stratified rows of a pool, without replacement; None as long as there is no model to choose by.

    ``weighted`` of the rows drawn before were informative ones.
    """
    from driftpace.tables import DrawnRows, row_ids

    encoding = current_encoding(state.definition, state.encoding)
    if encoding is None or state.state.coef is None or (state.last is None and not state.state.gathered):
        return None
    ids = row_ids(columns, id_column=state.definition.id, labels=state.definition.label_columns, owner=_OWNER)
    before = frozenset(already)
    eligible = ~leave & np.array([name not in before for name in ids], dtype=np.bool_)
    places = np.flatnonzero(eligible)
    if not places.size:
        return DrawnRows(places=places, ids=(), sentence="", pool=0)
    encoded = encoding.encode(columns, keep=eligible, owner=_OWNER)
    rows = read_rows(
        InputRows(X=encoded.X, columns=encoded.names),
        owner=_OWNER,
        features=state.state.features,
        columns=state.state.columns,
        missing=state.definition.model is not None,
    )
    rng = np.random.default_rng([len(rng_key), *rng_key])
    try:
        chosen, weights = choose_rows(
            state.method, state.state, rows.X, samples, choose, rng, owner=_OWNER, before=weighted
        )
    except ParameterError as error:
        raise error.renamed(name="choose") from None
    what = f"{len(chosen):,} of the {places.size:,} rows"
    sentence = (
        f"{what}, in proportion to their predictions; every row was as likely as any other, so no weights are needed."
    )
    if weights is not None:
        sentence = f"{what}, informative ones more often; their weights are kept and count when the labels arrive."
    return DrawnRows(
        places=places[chosen],
        ids=tuple(ids[place] for place in places[chosen].tolist()),
        sentence=sentence,
        pool=places.size,
        weights=weights,
    )


def drawn_weights(store: Store, state: CampaignState, seqs: Sequence[int]) -> dict[str, float]:
    """Return the weights of the rows that these log entries drew, by id; rows that count alike have none."""
    rows = store.rows(state.definition.name, seqs)
    return {row_id: weight for seq in seqs for row_id, weight in unpack_weights(rows.get(seq, b"")).items()}


def with_drawn_weights(
    state: CampaignState, packed: PackedRows, weights: Mapping[str, float], *, owner: str
) -> PackedRows:
    """Return rows with the weights they were drawn with, times their own; rows that were drawn at random count for one."""
    if not weights:
        return packed
    if packed.ids is None:
        raise DataError(
            "must be given: the rows of this period were drawn with weights, which are found by id.",
            owner=owner,
            name="ids",
        )
    check_weights(state.method, owner)
    given = np.array([weights.get(row_id, 1.0) for row_id in packed.ids])
    own = packed.event.weights
    return replace(packed, event=replace(packed.event, weights=given if own is None else given * own))
