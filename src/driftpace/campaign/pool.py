"""Learn the components of a campaign of texts or of many columns from unlabelled rows, which are not kept."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.campaign import transitions
from driftpace.campaign.components import pack_components
from driftpace.campaign.definition import MOST_COLUMNS, Definition
from driftpace.campaign.handle import Draft
from driftpace.campaign.records import PoolComponents
from driftpace.campaign.schema import Columns, current_encoding, encoding_for, read_table
from driftpace.campaign.state import CampaignState
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.storage.base import Change
from driftpace.tables.encoding import Encoding
from driftpace.tracker.builder import WIDE_COLUMNS, can_be_wide, is_wide, model_method
from driftpace.tracker.wide_method import WIDE_LOSSES, WideMethod, stacked
from driftpace.wide import Spectrum

OWNER = "Campaign.fit_pool"

MOST_CELLS = 100_000_000
"""The most cells of a pool of numbers that are used, 0.8 GB: of a larger one, as many rows at random."""

_BLOCK = 2048
"""Rows that are encoded at a time: texts are sparse, and dense only within a block."""

_UNUSED = (
    "segment",
    "groups",
    "weight",
    "exposure",
    "annotator",
    "metric",
    "season",
    "delay",
    "splines",
    "interactions",
    "model",
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedPool:
    """The components of a pool of so many rows, and the encoding that it has shown where the definition does not say it."""

    spectrum: Spectrum
    encoding: Encoding | None
    rows: int
    source: str

    @property
    def components(self) -> PoolComponents:
        """What the pool has shown."""
        return PoolComponents.of({"components": pack_components(self.spectrum)[0]})


def components_of(definition: Definition, pool: Any, *, source: str = "") -> FittedPool:
    """Return the components that the rows of a pool show to a campaign of this definition.

    Parameters
    ----------
    definition : Definition
        The definition, of texts or of more than a hundred columns.
    pool : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
        Unlabelled rows; a target that they have is ignored.
    source : str
        A name of the pool, for the log.

    Raises
    ------
    ParameterError
        If the campaign is not one of texts or of many columns, or uses what the wide method does not.
    DataError
        If the rows cannot be encoded, or do not differ.
    """
    method = _wide_method(definition)
    columns = read_table(pool, owner=OWNER, name="pool", definition=definition)
    rows = next(iter(columns.values())).missing.size if columns else 0
    if rows == 0:
        raise DataError("must have rows; got none.", owner=OWNER, name="pool")
    known = current_encoding(definition, None)
    encoding = encoding_for(definition, None, columns, owner=OWNER)
    count = len(encoding.names)
    if count > MOST_COLUMNS:
        raise DataError(
            f"must have at most {MOST_COLUMNS:,} encoded columns, since rows are kept with all of them; got {count:,}.",
            owner=OWNER,
            name="pool",
        )
    if count <= WIDE_COLUMNS and not definition.text:
        raise ParameterError(
            f"must be for a campaign of texts or of more than {WIDE_COLUMNS} columns, which follows components; got {count}.",
            owner=OWNER,
            name="pool",
        )
    X = _encoded(definition, encoding, columns)
    try:
        spectrum = method.pool_spectrum(X)
    except DataError as error:
        raise error.renamed(owner=OWNER, name="pool") from None
    if not source and isinstance(pool, str | Path):
        source = Path(pool).name
    return FittedPool(spectrum=spectrum, encoding=None if known else encoding, rows=rows, source=source)


def _wide_method(definition: Definition) -> WideMethod:
    """Return the method that finds components, or refuse a definition that has no use for them."""
    refused = next((name for name in _UNUSED if getattr(definition, name) is not None), None)
    if refused is not None:
        raise ParameterError(
            f"must be left out with {refused}, which the method of components does not use.", owner=OWNER, name="pool"
        )
    outer = definition.make_tracker(rng=0).snapshot()[0]
    if not is_wide(outer) and not can_be_wide(outer):
        got = "several penalties" if isinstance(definition.l2, tuple) else repr(definition.loss)
        raise ParameterError(f"must go with {WIDE_LOSSES} and one penalty; got {got}.", owner=OWNER, name="pool")
    inner: Any = model_method(outer)
    return WideMethod(spec=inner.spec, config=inner.config)


def fit_pool(state: CampaignState, draft: Draft, pool: FittedPool, *, who: str) -> tuple[CampaignState, PoolComponents]:
    """Follow the components of a pool, from the first order on."""
    if state.components is not None:
        raise ProtocolError(
            "fit_pool() must be called once: the components are learned, and mean the same in all periods. With another pool, "
            "create a new campaign."
        )
    if state.opened is not None or state.state.period > 1:
        raise ProtocolError(
            f"fit_pool() must be called before the first order; period {state.state.period} "
            f"{'is open' if state.opened is not None else 'is next'}. With a pool, create a new campaign."
        )
    facts, data = pack_components(pool.spectrum)
    body = {
        "period": state.state.period,
        "components": facts,
        "pool_rows": pool.rows,
        "source": pool.source,
        "who": who,
        **({} if pool.encoding is None else {"encoding": pool.encoding.to_values()}),
    }
    draft.add("learned", body, key=facts["sha256"], rows=data)
    return transitions.learned(state, body, pool.spectrum), PoolComponents.of(body)


def with_pool(created: Change, definition: Definition, pool: Any, *, who: str) -> Change:
    """Return the change that creates a campaign with its components learned from a pool, if they are not yet."""
    found = pool if isinstance(pool, FittedPool) else components_of(definition, pool)
    (entry,) = created.entries
    draft = Draft(before=transitions.created(entry), at=entry.at)
    state, _ = fit_pool(draft.before, draft, found, who=who)
    change = draft.finish(state)[1]
    first = replace(entry, body={name: value for name, value in entry.body.items() if name != "state_hash"})
    return replace(
        change, entries=(first, *change.entries), rows={place + 1: data for place, data in change.rows.items()}
    )


def _encoded(definition: Definition, encoding: Encoding, columns: Columns) -> Any:
    """Return the rows of a pool as numbers, sparse where they are texts; those that a delivery would leave out are left out."""
    rows = next(iter(columns.values())).missing.size
    keep = np.ones(rows, dtype=np.bool_)
    if definition.missing == "drop":
        keep &= ~encoding.incomplete(columns, owner=OWNER)
    places = np.flatnonzero(keep)
    if not places.size:
        raise DataError("must have rows without missing cells; got none.", owner=OWNER, name="pool")
    most = max(MOST_CELLS // len(encoding.names), 1)
    if not definition.text and places.size > most:
        places = np.sort(np.random.default_rng((definition.seed or 0, 0, 4)).choice(places, most, replace=False))
    parts = []
    for start in range(0, places.size, _BLOCK):
        chosen = np.zeros(rows, dtype=np.bool_)
        chosen[places[start : start + _BLOCK]] = True
        parts.append(encoding.encode(columns, keep=chosen, owner=OWNER).X)
        if definition.text:
            parts[-1] = _sparse(parts[-1])
    return stacked(parts)


def _sparse(block: Any) -> Any:
    from scipy import sparse  # slow to import, and not always needed

    return sparse.csr_matrix(block)
