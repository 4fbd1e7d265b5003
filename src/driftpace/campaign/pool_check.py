"""Whether the rows of a period look like the pool they were drawn from, and weights that make them look like it.

The log keeps a profile of the pool with each draw: its deciles and moments by encoded column.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.campaign.packing import PackedRows, unpack_ids, unpack_rows
from driftpace.campaign.row_choice import drawn_weights
from driftpace.campaign.schema import current_encoding, encoding_for
from driftpace.campaign.state import CampaignState
from driftpace.errors import DataError, ParameterError
from driftpace.storage.base import Store
from driftpace.tables.balance import balance
from driftpace.tables.encoding import OTHER
from driftpace.tables.pool_match import DeliveredRows, find_mismatch
from driftpace.tables.pool_mismatch import PoolMismatch
from driftpace.tables.pool_profile import PoolProfile
from driftpace.tracker.builder import check_weights
from driftpace.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from driftpace.tables import Column


def profile_pool(
    state: CampaignState, columns: "Mapping[str, Column]", valid: BoolArray, *, owner: str
) -> PoolProfile | None:
    """Return the profile of the valid rows of a pool; None where no rows have shown yet how its columns are encoded.

    In a first period the pool itself may show it, but for categories that are pooled: other rows may pool others.
    """
    encoding, names = current_encoding(state.definition, state.encoding), None
    with suppress(DataError):
        if encoding is None:
            encoding = encoding_for(state.definition, state.encoding, columns, owner=owner, keep=valid)
            names = [name for name in encoding.names if not name.endswith(f"={OTHER}")]
        rows = encoding.encode(columns, keep=valid, owner=owner)
        profile = PoolProfile.of_rows(rows.X, rows.names)
        return profile if names is None else profile.restricted(names)
    return None


def profile_body(store: Store, state: CampaignState, profile: PoolProfile) -> dict[str, Any]:
    """Return the profile as the body of a draw has it: the number of an earlier draw of the period from the same pool, or all."""
    draws = () if state.opened is None else state.opened.draws
    for seq, known in _profiles(store, state, draws).items():
        if known == profile:
            return {"profile_of": seq}
    return {"profile": profile.to_values()}


def _profiles(store: Store, state: CampaignState, draws: Sequence[int]) -> dict[int, PoolProfile]:
    """Return the profiles of the pools that these log entries drew from, by entry."""
    if not draws:
        return {}
    entries = store.entries(state.definition.name, after=min(draws) - 1, kinds=("selected",))
    bodies = {entry.seq: entry.body for entry in entries}
    made: dict[int, PoolProfile] = {}
    for seq in draws:
        body = bodies.get(seq, {})
        source = body.get("profile_of", seq)
        if source in made:
            made[seq] = made[source]
        elif "profile" in bodies.get(source, {}):
            made[seq] = made[source] = PoolProfile.of(bodies[source]["profile"])
    return made


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PeriodPool:
    """The pools of a period, and by row id the place of the pool that it was drawn from and its weight in that draw."""

    pools: tuple[PoolProfile, ...]
    pool_of: Mapping[str, int]
    weights: Mapping[str, float]

    @classmethod
    def of(cls, store: Store, state: CampaignState, draws: Sequence[int]) -> "PeriodPool | None":
        """Return the pools of these draws; None where none is known."""
        profiles = _profiles(store, state, draws)
        if not profiles:
            return None
        pools = tuple(dict.fromkeys(profiles.values()))
        rows = store.rows(state.definition.name, draws)
        pool_of = {
            row_id: pools.index(profile)
            for seq, profile in profiles.items()
            for row_id in unpack_ids(rows.get(seq, b""))
        }
        return cls(pools=pools, pool_of=pool_of, weights=drawn_weights(store, state, draws))

    def base_weights(self, packed: PackedRows) -> FloatArray:
        """Return the weights that rows were drawn with."""
        if packed.ids is None:
            return np.ones(len(packed.event.y))
        return np.array([self.weights.get(row_id, 1.0) for row_id in packed.ids])

    def parts(self, packed: PackedRows, seen: set[str]) -> list[tuple[int, DeliveredRows]]:
        """Return the rows of a delivery by the place of their pool; further labels of rows ``seen`` before are left out.

        Rows that were not drawn are left out too where the period has several pools.
        """
        other = -1 if len(self.pools) == 1 else -2
        ids = packed.ids or ("",) * len(packed.event.y)
        where = np.array([self.pool_of.get(row_id, other) for row_id in ids], dtype=np.int64)
        if packed.event.annotators is not None:  # the labels of a row are one row
            for place, row_id in enumerate(ids):
                where[place] = -2 if row_id in seen else where[place]
                seen.add(row_id)
        weights, parts = self.base_weights(packed), []
        for place in range(-1, len(self.pools)):
            mine = where == place
            X, profile = self.pools[max(place, 0)].aligned(packed.event.X[mine], packed.event.columns)
            if mine.any() and profile.columns:
                rows = DeliveredRows(X=X, profile=profile, weights=weights[mine], members=place >= 0)
                parts.append((max(place, 0), rows))
        return parts


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Matched:
    """Rows of a delivery, with new weights where they are balanced; how the period differs from its pool, and effective rows."""

    packed: PackedRows
    mismatch: PoolMismatch | None = None
    effective: float | None = None


def match_pool(
    store: Store,
    state: CampaignState,
    packed: PackedRows,
    *,
    draws: Sequence[int],
    deliveries: Sequence[int],
    balanced: bool,
    owner: str,
) -> Matched:
    """Compare the rows of a period, these and those of earlier ``deliveries``, with the pools of its ``draws``."""
    pool = PeriodPool.of(store, state, draws)
    if pool is None:
        if balanced:
            raise ParameterError(
                "must be False for a period whose pool is not known: draw its rows from a pool (Campaign.sample, ask --select).",
                owner=owner,
                name="balance",
            )
        return Matched(packed=packed)
    if balanced and packed.event.annotators is not None:
        raise ParameterError("must be False for rows with several labels.", owner=owner, name="balance")
    stored = store.rows(state.definition.name, deliveries)
    earlier = [unpack_rows(stored[seq]) for seq in deliveries if seq in stored]
    seen: set[str] = set()
    parts = [part for rows in (*earlier, packed) for part in pool.parts(rows, seen)]
    matched = Matched(packed=packed, mismatch=find_mismatch([rows for _, rows in parts]))
    if not balanced or not parts:
        return matched
    check_weights(state.method, owner)
    shares = Counter[int]()
    for place, rows in parts:
        shares[place] += len(rows.X)
    every = [*earlier, packed]
    aligned = [pool.pools[0].aligned(rows.event.X, rows.event.columns) for rows in every]
    names = aligned[0][1].names
    made = balance(
        np.concatenate([X for X, _ in aligned]),
        [(pool.pools[place].restricted(names), float(count)) for place, count in shares.items()],
        np.concatenate([pool.base_weights(rows) for rows in every]),
        owner=owner,
    )
    before = len(made.weights) - len(packed.event.y)
    event = replace(
        packed.event, weights=made.weights[before:], earlier_weights=made.weights[:before] if before else None
    )
    return replace(matched, packed=replace(packed, event=event), effective=made.effective)
