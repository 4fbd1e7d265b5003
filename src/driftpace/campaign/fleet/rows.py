"""Rows of a table as a fleet campaign delivers and keeps them: labelled, of the columns it needs, and once by their id."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.schema import Columns, encoding_for, read_table
from driftpace.errors import DataError
from driftpace.storage.codec import decode, encode
from driftpace.storage.inflate import deflate, inflate
from driftpace.tables import ROW_ID, Column, Encoding, row_ids
from driftpace.tables.categories import meanings, word_of
from driftpace.tables.cells import without_marks
from driftpace.tables.encoding import find_column
from driftpace.typing import BoolArray

OWNER = "FleetCampaign.tell"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FleetRows:
    """Labelled rows of any segments: the columns that are kept, ids, and what was left out."""

    columns: Columns
    ids: tuple[str, ...] | None
    encoding: Encoding | None = None
    unlabelled: int = 0
    repeated: int = 0

    def __len__(self) -> int:
        return next(iter(self.columns.values())).missing.size

    @property
    def digest(self) -> str:
        """The name of a delivery without one: a hash of its rows."""
        return f"sha256:{hashlib.sha256(_content(self.columns)).hexdigest()}"

    def without(self, known: Collection[tuple[str, str]], segment: str) -> "FleetRows":
        """Return the rows whose segment and id are not known."""
        if self.ids is None or not known:
            return self
        names = self.columns[segment].values
        keep = np.array(
            [(str(name), one) not in known for name, one in zip(names, self.ids, strict=True)], dtype=np.bool_
        )
        if keep.all():
            return self
        return replace(
            self,
            columns={name: taken(column, keep) for name, column in self.columns.items()},
            ids=tuple(one for one, kept in zip(self.ids, keep.tolist(), strict=True) if kept),
            repeated=self.repeated + int((~keep).sum()),
        )

    def table(self) -> dict[str, Any]:
        """Return the columns as arrays, as they are told to the fleet and kept in the log."""
        return {name: _column(_values(column)).values for name, column in self.columns.items()}

    def marks(self, segment: str) -> set[tuple[str, str]]:
        """Return the segment and the id of each row; none where rows have no ids."""
        if self.ids is None:
            return set()
        return {(str(name), one) for name, one in zip(self.columns[segment].values, self.ids, strict=True)}


def read_delivery(table: Any, definition: Definition, encoding: Encoding | None) -> FleetRows:
    """Return the labelled rows of a table, of the columns that the campaign needs."""
    columns = read_table(table, owner=OWNER, definition=definition, encoding=encoding)
    assert definition.segment is not None
    assert definition.target is not None
    segment = find_column(columns, definition.segment, OWNER)
    target = without_marks(find_column(columns, definition.target, OWNER), definition.classes or ())
    keep = ~target.missing
    gone = np.flatnonzero(keep & segment.missing)
    if gone.size:
        raise DataError(
            f"column {definition.segment!r} must name a segment in every row; row {gone[0] + 1:,} has none.",
            owner=OWNER,
        )
    ids = None
    if definition.id is not None or ROW_ID in columns:
        ids = tuple(
            row_ids(
                {name: taken(column, keep) for name, column in columns.items()}, id_column=definition.id, owner=OWNER
            )
        )
    known = encoding
    if known is None and keep.any():
        known = encoding_for(definition, None, columns, owner=OWNER, keep=keep)
    names = [definition.segment, definition.target, *(() if known is None else known.sources)]
    names += [name for name in (definition.weight, definition.groups) if name is not None]
    chosen = {
        name: taken(find_column(columns, name, OWNER, definition.dayfirst), keep) for name in dict.fromkeys(names)
    }
    chosen[definition.segment] = _texts(chosen[definition.segment])
    chosen[definition.target] = _coded(taken(target, keep), definition)
    return FleetRows(columns=chosen, ids=ids, encoding=known, unlabelled=int((~keep).sum()))


def taken(column: Column, keep: BoolArray) -> Column:
    """Return the rows of a column that are kept, without the texts they were read from."""
    return replace(column, values=column.values[keep], missing=column.missing[keep], written=None)


def pack_rows(rows: FleetRows) -> bytes:
    """Return rows as bytes."""
    content = {"columns": json.loads(_content(rows.columns)), "ids": None if rows.ids is None else list(rows.ids)}
    return deflate(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())


def unpack_rows(data: bytes) -> FleetRows:
    """Return the rows of bytes that :func:`pack_rows` returned."""
    content = json.loads(inflate(data))
    columns = {name: _column(values) for name, values in content["columns"].items()}
    return FleetRows(columns=columns, ids=None if content["ids"] is None else tuple(content["ids"]))


def _content(columns: Columns) -> bytes:
    values = {name: _values(column) for name, column in columns.items()}
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def _values(column: Column) -> dict[str, Any]:
    if column.kind in ("number", "flag"):
        held = encode(column.values.astype(np.float64))
    elif column.kind == "time":
        held = {"unit": np.datetime_data(column.values.dtype)[0], "ticks": encode(column.values.astype(np.int64))}
    else:
        held = [None if gone else str(value) for value, gone in zip(column.values, column.missing, strict=True)]
    return {"kind": column.kind, "values": held}


def _column(values: Mapping[str, Any]) -> Column:
    kind, held = values["kind"], values["values"]
    if kind in ("number", "flag"):
        numbers = np.asarray(decode(held))
        return Column(kind=kind, values=numbers, missing=np.isnan(numbers))
    if kind == "time":
        times = np.asarray(decode(held["ticks"])).astype(f"datetime64[{held['unit']}]")
        return Column(kind=kind, values=times, missing=np.isnat(times))
    texts = np.array(held, dtype=object)
    return Column(kind=kind, values=texts, missing=np.array([one is None for one in held], dtype=np.bool_))


def _texts(column: Column) -> Column:
    """Return the names of segments as texts."""
    words = np.array([word_of(value, column.kind) for value in column.values], dtype=object)
    return Column(kind="text", values=words, missing=column.missing)


def _coded(column: Column, definition: Definition) -> Column:
    """Return a target with classes as 0 and 1; a word that is none of them is no number, so that its segment is set aside."""
    if definition.classes is None:
        return column
    written = [word_of(value, column.kind) for value in column.values]
    meant = meanings(written, definition.classes)
    codes = {name: float(code) for code, name in enumerate(definition.classes)}
    values = np.array([codes.get(meant[word] or "", np.nan) for word in written], dtype=np.float64)
    return Column(kind="number", values=values, missing=np.isnan(values))
