"""Draw the rows of each segment from a pool, so that none is drawn twice in a period."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.fleet.actions import marks_of
from driftpace.campaign.fleet.changes import unpacked
from driftpace.campaign.fleet.state import FleetCampaignState
from driftpace.campaign.schema import Columns, invalid_rows, read_table
from driftpace.errors import ParameterError
from driftpace.storage.base import Store
from driftpace.tables import DrawnRows, row_ids, rows_of
from driftpace.tables.categories import word_of
from driftpace.tables.encoding import find_column

OWNER = "FleetCampaign.sample"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FleetSample:
    """The rows to label of each segment.

    Parameters
    ----------
    ids : mapping of str to tuple of str
        The ids of the rows of each segment.
    new : int
        How many rows were drawn now; 0 where rows drawn before are returned again.
    short : mapping of str to int
        The segments of which the pool has too few rows, and how many more are missing.
    pool_rows : int
        How many rows the pool has.
    """

    ids: Mapping[str, tuple[str, ...]]
    new: int
    short: Mapping[str, int]
    pool_rows: int
    _columns: Columns
    _places: Mapping[str, np.ndarray[Any, Any]]
    _id_column: str | None
    _target: str

    def __len__(self) -> int:
        return sum(len(ids) for ids in self.ids.values())

    def rows(self, segment: str | None = None, *, as_text: bool = False) -> dict[str, list[Any]]:
        """Return the values of the rows by column, without the target; of all segments or one."""
        names = list(self.ids) if segment is None else [segment]
        places = np.concatenate([np.empty(0, dtype=np.int64), *(self._places[name] for name in names)])
        ids = tuple(one for name in names for one in self.ids[name])
        drawn = DrawnRows(places=places.astype(np.int64), ids=ids, sentence="", pool=self.pool_rows)
        rows = rows_of(self._columns, drawn, id_column=self._id_column, as_text=as_text)
        rows.pop(self._target, None)
        return rows


def segments_in(pool: Any, state: FleetCampaignState) -> tuple[Columns, list[str]]:
    """Return the columns of a pool, and the segment of each row."""
    definition = state.definition
    columns = read_table(pool, owner=OWNER, name="pool", definition=definition, encoding=state.fleet.encoding)
    return columns, _names_in(columns, definition)


def segments_of(columns: Columns, definition: Definition) -> list[str]:
    """Return the segments of a pool, sorted."""
    return sorted(set(_names_in(columns, definition)) - {""})


def _names_in(columns: Columns, definition: Definition) -> list[str]:
    """Return the segment of each row, "" where it has none; with ``missing="refuse"`` each must have one."""
    column = find_column(columns, str(definition.segment), OWNER)
    if column.missing.any() and (definition.missing == "refuse" or column.missing.all()):
        row = int(np.argmax(column.missing)) + 1
        raise ParameterError(
            f"must have a segment in every row; column {definition.segment!r} has none in row {row:,}.",
            owner=OWNER,
            name="pool",
        )
    cells = zip(column.values, column.missing.tolist(), strict=True)
    return ["" if gone else word_of(value, column.kind) for value, gone in cells]


def draw(store: Store, state: FleetCampaignState, columns: Columns, names: Sequence[str], *, draws: int) -> FleetSample:
    """Return the rows of each segment that its order still needs; rows drawn before without a label are part of them."""
    definition = state.definition
    ids = row_ids(columns, id_column=definition.id, owner=OWNER)
    opened = state.opened
    assert opened is not None
    drawn = drawn_in(store, state)
    delivered: dict[str, set[str]] = {}
    for segment, one in marks_of(store, state, opened.deliveries):
        delivered.setdefault(segment, set()).add(one)
    bad = np.zeros(len(ids), dtype=np.bool_)
    for rows in invalid_rows(definition, columns, learned=state.fleet.encoding, owner=OWNER).values():
        bad |= rows
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        if name and not bad[place]:
            places.setdefault(name, []).append(place)
    rng = np.random.default_rng([_seed(state), state.fleet.period, draws])
    chosen: dict[str, np.ndarray[Any, Any]] = {}
    short: dict[str, int] = {}
    new = 0
    for name, missing in sorted(state.table.missing.items()):
        before = set(drawn.get(name, ()))
        known = delivered.get(name, set())
        there = places.get(name, [])
        awaited = [place for place in there if ids[place] in before and ids[place] not in known][:missing]
        free = [place for place in there if ids[place] not in before and ids[place] not in known]
        fresh = sorted(rng.permutation(free)[: missing - len(awaited)].tolist()) if free else []
        new += len(fresh)
        chosen[name] = np.array([*awaited, *fresh], dtype=np.int64)
        if len(chosen[name]) < missing:
            short[name] = missing - len(chosen[name])
    return FleetSample(
        ids={name: tuple(ids[place] for place in rows.tolist()) for name, rows in chosen.items()},
        new=new,
        short=short,
        pool_rows=len(ids),
        _columns=columns,
        _places=chosen,
        _id_column=definition.id,
        _target=str(definition.target),
    )


def drawn_in(store: Store, state: FleetCampaignState) -> dict[str, tuple[str, ...]]:
    """Return the ids of the rows drawn in the open period, by segment."""
    if state.opened is None or not state.opened.draws:
        return {}
    drawn: dict[str, tuple[str, ...]] = {}
    for data in store.rows(state.definition.name, state.opened.draws).values():
        for name, ids in unpacked(data).items():
            drawn[name] = tuple(dict.fromkeys((*drawn.get(name, ()), *ids)))
    return drawn


def _seed(state: FleetCampaignState) -> int:
    if state.definition.seed is not None:
        return state.definition.seed
    digest = hashlib.sha256(f"{state.definition.name}\n{state.created_at}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
