"""Rows of a table as a fleet campaign delivers and keeps them: labelled, of the columns it needs, and once by their id."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.schema import Columns, encoding_for, read_table
from driftpace.errors import DataError
from driftpace.fleet.rows import NumberedRows
from driftpace.storage.codec import decode, encode
from driftpace.storage.inflate import deflate, inflate
from driftpace.tables import ROW_ID, Column, Encoding
from driftpace.tables.categories import meanings, word_of
from driftpace.tables.cells import as_ids, repeated_marks, without_marks
from driftpace.tables.encoding import find_column
from driftpace.tables.sample import cell_texts
from driftpace.typing import BoolArray, IntArray

OWNER = "FleetCampaign.tell"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FleetRows:
    """Labelled rows of any segments: the columns that are kept, ids, their numbers in the file, and what was left out.

    ``without`` counts rows without a segment or an id by the column, and ``doubled`` those that have an id of another row of their
    segment and differ from it, by the id. ``set_aside`` are segments whose rows were not added.
    """

    columns: Columns
    ids: tuple[str, ...] | None
    numbers: IntArray
    encoding: Encoding | None = None
    unlabelled: int = 0
    repeated: int = 0
    without: Mapping[str, int] = field(default_factory=dict)
    doubled: Mapping[str, int] = field(default_factory=dict)
    set_aside: tuple[str, ...] = ()

    def __len__(self) -> int:
        return next(iter(self.columns.values())).missing.size

    @property
    def digest(self) -> str:
        """The name of a delivery without one: a hash of its rows."""
        return f"sha256:{hashlib.sha256(_content(self.columns)).hexdigest()}"

    def without_known(self, known: Collection[tuple[str, str]], segment: str) -> "FleetRows":
        """Return the rows whose segment and id are not known."""
        if self.ids is None or not known:
            return self
        names = self.columns[segment].values
        keep = np.array(
            [(str(name), one) not in known for name, one in zip(names, self.ids, strict=True)], dtype=np.bool_
        )
        return replace(self.taken(keep), repeated=self.repeated + int((~keep).sum()))

    def of(self, segments: Collection[str], segment: str) -> "FleetRows":
        """Return the rows of some segments."""
        return self.taken(np.array([str(name) in segments for name in self.columns[segment].values], dtype=np.bool_))

    def taken(self, keep: BoolArray) -> "FleetRows":
        """Return the rows that are kept."""
        if keep.all():
            return self
        ids = self.ids
        return replace(
            self,
            columns={name: taken(column, keep) for name, column in self.columns.items()},
            ids=None if ids is None else tuple(one for one, kept in zip(ids, keep.tolist(), strict=True) if kept),
            numbers=self.numbers[keep],
        )

    def table(self) -> NumberedRows:
        """Return the columns as arrays, as they are told to the fleet and kept in the log."""
        columns = {name: _column(_values(column)).values for name, column in self.columns.items()}
        return NumberedRows(columns=columns, numbers=self.numbers)

    def marks(self, segment: str) -> set[tuple[str, str]]:
        """Return the segment and the id of each row that was added; none where rows have no ids."""
        if self.ids is None:
            return set()
        marks, aside = zip(self.columns[segment].values, self.ids, strict=True), frozenset(self.set_aside)
        return {(str(name), one) for name, one in marks if str(name) not in aside}


def read_delivery(table: Any, definition: Definition, encoding: Encoding | None) -> FleetRows:
    """Return the labelled rows of a table, of the columns that the campaign needs.

    Rows without a segment or an id are left out, and so are those of a segment that share an id and differ; with
    ``missing="refuse"`` they are refused.
    """
    columns = read_table(table, owner=OWNER, definition=definition, encoding=encoding)
    assert definition.segment is not None
    assert definition.target is not None
    find_column(columns, definition.segment, OWNER)
    target = without_marks(find_column(columns, definition.target, OWNER), definition.classes or ())
    keep = ~target.missing
    unlabelled = int((~keep).sum())
    keep, without = _with_names(columns, definition, keep)
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
    id_name = _id_name(columns, definition)
    rows = FleetRows(
        columns=chosen,
        ids=None if id_name is None else tuple(_ids(taken(columns[id_name], keep))),
        numbers=np.flatnonzero(keep) + 1,
        encoding=known,
        unlabelled=unlabelled,
        without=without,
    )
    return rows if id_name is None else _once(rows, definition, id_name)


def _id_name(columns: Columns, definition: Definition) -> str | None:
    if definition.id is not None:
        find_column(columns, definition.id, OWNER)
    return definition.id or (ROW_ID if ROW_ID in columns else None)


def _ids(column: Column) -> list[str]:
    """Return ids as texts, "" where there is none."""
    names = as_ids([name or "" for name in cell_texts(column)])
    return ["" if gone else name.strip() for name, gone in zip(names, repeated_marks(column), strict=True)]


def _with_names(columns: Columns, definition: Definition, keep: BoolArray) -> tuple[BoolArray, dict[str, int]]:
    """Return the kept rows that have a segment and an id, and how many lack each."""
    segment, id_name = columns[str(definition.segment)], _id_name(columns, definition)
    lacking = {
        str(definition.segment): np.array(
            [gone or not str(cell).strip() for cell, gone in zip(segment.values, segment.missing, strict=True)],
            dtype=np.bool_,
        )
    }
    if id_name is not None:
        lacking[id_name] = np.array([not one for one in _ids(columns[id_name])], dtype=np.bool_)
    without = {}
    for name, empty in lacking.items():
        gone = keep & empty
        if gone.any() and (definition.missing == "refuse" or gone[keep].all()):
            what = "name a segment" if name == definition.segment else "have an id"
            row = int(np.argmax(gone)) + 1
            raise DataError(f"column {name!r} must {what} in every row; row {row:,} has none.", owner=OWNER)
        if gone.any():
            keep, without[name] = keep & ~gone, int(gone.sum())
    return keep, without


def _once(rows: FleetRows, definition: Definition, id_name: str) -> FleetRows:
    """Return rows whose ids differ in each segment: of equal rows the first, and none of those that share an id and differ."""
    assert rows.ids is not None
    cells = zip(*(_cells(column) for column in rows.columns.values()), strict=True)
    names = [str(name) for name in rows.columns[str(definition.segment)].values]
    found: dict[tuple[str, str], dict[tuple[Any, ...], int]] = {}
    marks = list(zip(names, rows.ids, strict=True))
    firsts = [
        found.setdefault(mark, {}).setdefault(row, place) == place
        for place, (mark, row) in enumerate(zip(marks, cells, strict=True))
    ]
    unlike = {mark for mark, places in found.items() if len(places) > 1}
    if unlike and definition.missing == "refuse":
        mark = next(mark for mark in marks if mark in unlike)
        first, second = sorted(found[mark].values())[:2]
        raise DataError(
            f"column {id_name!r} must have another id in each row of a segment; rows {rows.numbers[first]:,} and "
            f"{rows.numbers[second]:,} both have {mark[1]!r:.80}: keep one of them.",
            owner=OWNER,
        )
    doubled = np.array([mark in unlike for mark in marks], dtype=np.bool_)
    keep = np.array(firsts, dtype=np.bool_) & ~doubled
    counts = Counter(mark[1] for mark in marks if mark in unlike)
    made = rows.taken(keep)
    return replace(made, doubled=dict(counts), repeated=int((~keep & ~doubled).sum()))


def _cells(column: Column) -> list[Any]:
    """Return cells that can be compared, None where one is missing."""
    return [
        None if gone else value for value, gone in zip(column.values.tolist(), column.missing.tolist(), strict=True)
    ]


def taken(column: Column, keep: BoolArray) -> Column:
    """Return the rows of a column that are kept, without the texts they were read from."""
    return replace(column, values=column.values[keep], missing=column.missing[keep], written=None)


def pack_rows(rows: FleetRows) -> bytes:
    """Return rows as bytes."""
    content: dict[str, Any] = {
        "columns": json.loads(_content(rows.columns)),
        "ids": None if rows.ids is None else list(rows.ids),
    }
    if not np.array_equal(rows.numbers, np.arange(1, len(rows) + 1)):
        content["numbers"] = rows.numbers.tolist()
    if rows.set_aside:
        content["set_aside"] = list(rows.set_aside)
    return deflate(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())


def unpack_rows(data: bytes) -> FleetRows:
    """Return the rows of bytes that :func:`pack_rows` returned."""
    content = json.loads(inflate(data))
    columns = {name: _column(values) for name, values in content["columns"].items()}
    count = next(iter(columns.values())).missing.size
    return FleetRows(
        columns=columns,
        ids=None if content["ids"] is None else tuple(content["ids"]),
        numbers=np.array(content.get("numbers") or range(1, count + 1), dtype=np.int64),
        set_aside=tuple(content.get("set_aside", ())),
    )


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
