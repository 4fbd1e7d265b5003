"""The rows of a delivery by segment: one table is read, encoded once for all segments, and split."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.fleet.magnitudes import FleetMagnitudes, Magnitudes, doubt, magnitudes_of
from driftpace.fleet.segments import Segment, sentence
from driftpace.tables import Column, Encoding, learn_encoding, read_columns
from driftpace.tables.categories import category_words
from driftpace.tables.cells import numbers_and_texts
from driftpace.tables.encoding import LARGEST, MissingPolicy, NumberColumn, find_column, too_many_texts
from driftpace.tracker.inputs import read_groups, read_targets, read_weights
from driftpace.tracker.method import TellEvent
from driftpace.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetColumns:
    """Which columns of a table are what: ``features`` None for all others that can be used."""

    segment: str
    target: str
    features: tuple[str, ...] | None = None
    weight: str | None = None
    groups: str | None = None
    missing: MissingPolicy = "impute"

    @property
    def apart(self) -> tuple[str, ...]:
        """The columns that are no features."""
        return tuple(name for name in (self.segment, self.target, self.weight, self.groups) if name is not None)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NumberedRows:
    """Columns of rows that are named by their ``numbers`` in the table that they are from."""

    columns: Mapping[str, Any]
    numbers: IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentRows:
    """The rows of each segment, why those of others cannot be used, and the encoding they were read by.

    ``seen`` is how large their numbers are, and ``without`` counts rows without a segment, by its column.
    """

    encoding: Encoding | None
    events: Mapping[str, TellEvent] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)
    seen: Mapping[str, Magnitudes] = field(default_factory=dict)
    without: Mapping[str, int] = field(default_factory=dict)

    def without_doubtful(
        self, segments: Mapping[str, Segment], target: str, accept: Collection[str] | None
    ) -> "SegmentRows":
        """Return the rows without those of segments whose numbers cannot be theirs, except those that are accepted.

        With None the rows of all segments are accepted.
        """
        seen = magnitudes_of(self.events)
        if accept is None or self.encoding is None:
            return replace(self, seen=seen)
        own = {name: one.seen for name, one in segments.items() if one.seen is not None}
        fleet = FleetMagnitudes(lambda: (seen | own).values())
        names = (*self.encoding.names, target)
        doubts = {
            name: why
            for name, new in seen.items()
            if name not in accept and (why := doubt(self.events[name], new, own.get(name), fleet, names)) is not None
        }
        return replace(
            self,
            events={name: event for name, event in self.events.items() if name not in doubts},
            rejected={**self.rejected, **doubts},
            seen=seen,
        )


def read_segments(source: Any, columns: FleetColumns, encoding: Encoding | None, *, owner: str) -> SegmentRows:
    """Read a table, and return the rows of each segment in the order of the table; the first table shows the encoding."""
    numbers = source.numbers if isinstance(source, NumberedRows) else None
    table = read_table(source.columns if isinstance(source, NumberedRows) else source, columns, encoding, owner)
    numbers = np.arange(1, table[columns.segment].missing.size + 1) if numbers is None else numbers
    table, numbers, without = _named(table, numbers, columns)
    if encoding is None:
        encoding = learned(table, columns, owner)
    names, codes = _segments(table[columns.segment], columns.segment, owner)
    X, keep, rejected = _encoded(table, encoding, codes, numbers, len(names), owner)
    target = _column(table, columns.target, owner)
    targets = _targets(target)
    weights = None if columns.weight is None else _targets(_column(table, columns.weight, owner))
    groups = None
    if columns.groups is not None:
        groups = read_groups(category_words(_column(table, columns.groups, owner)), owner=owner, rows=codes.size)
    events: dict[str, TellEvent] = {}
    problems: dict[str, str] = {names[code]: problem for code, problem in rejected.items()}
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
    for code, places in enumerate(parts[: len(names)]):  # one empty part of a table without rows
        if code in rejected:
            continue
        chosen = places[keep[places]]
        if not np.isfinite(targets[chosen]).all():
            problems[names[code]] = _no_number(target, columns.target, targets, chosen, numbers)
            continue
        if weights is not None and columns.weight is not None and not np.isfinite(weights[chosen]).all():
            problems[names[code]] = _no_number(table[columns.weight], columns.weight, weights, chosen, numbers)
            continue
        try:
            events[names[code]] = TellEvent(
                X=np.ascontiguousarray(X[chosen]),
                y=read_targets(targets[chosen], owner=owner, rows=chosen.size),
                columns=encoding.names,
                groups=None if groups is None else groups[chosen],
                weights=None
                if weights is None
                else read_weights(weights[chosen], owner=owner, rows=chosen.size, name="weight"),
            )
        except DataError as error:
            problems[names[code]] = _of_column(error, columns)
    return SegmentRows(events=events, rejected=problems, encoding=encoding, without=without)


def read_table(source: Any, columns: FleetColumns, encoding: Encoding | None, owner: str) -> dict[str, Column]:
    """Read a table: segments, groups and known categories as texts."""
    texts = {columns.segment, *(() if columns.groups is None else (columns.groups,))}
    if encoding is not None:
        texts |= set(encoding.text_columns)
    table = read_columns(source, owner=owner, as_text=texts)
    _column(table, columns.segment, owner)
    return table


def learned(table: Mapping[str, Column], columns: FleetColumns, owner: str) -> Encoding:
    """Return the encoding that a first table shows, of all segments together."""
    usable = np.ones(len(next(iter(table.values())).values), dtype=np.bool_)
    for column in table.values():
        if column.kind == "number":
            with np.errstate(invalid="ignore"):
                usable &= ~(np.abs(column.values) > LARGEST)
    made = learn_encoding(
        table, columns.features, apart=columns.apart, keep=usable, missing=columns.missing, owner=owner
    ).encoding
    if not made.columns:
        raise DataError(
            "must have at least one column that can be used as a feature; got none.", owner=owner, name="frame"
        )
    return made


def names_in(table: Mapping[str, Column], columns: FleetColumns, owner: str) -> list[str]:
    """Return the names of the segments of a table, in sorted order."""
    return _segments(table[columns.segment], columns.segment, owner)[0]


def _column(table: Mapping[str, Column], name: str, owner: str) -> Column:
    if name not in table:
        raise DataError(
            f"must have the column {name!r}; it has {', '.join(table) or 'none'}.", owner=owner, name="frame"
        )
    return table[name]


def _segments(column: Column, name: str, owner: str) -> tuple[list[str], IntArray]:
    """Return the names of the segments in sorted order, and the number of the segment of each row; each must have one."""
    if column.missing.any():
        row = int(np.argmax(column.missing)) + 1
        raise DataError(
            f"must have a segment in every row; column {name!r} has none in row {row:,}.", owner=owner, name="frame"
        )
    words = category_words(column)
    found, codes = np.unique(words.astype(np.str_), return_inverse=True)
    return found.tolist(), codes.astype(np.int64).reshape(-1)


def _named(
    table: dict[str, Column], numbers: IntArray, columns: FleetColumns
) -> tuple[dict[str, Column], IntArray, dict[str, int]]:
    """Return the rows with a segment and their numbers, and how many have none; all rows where these are refused."""
    gone = table[columns.segment].missing
    if not gone.any() or gone.all() or columns.missing == "refuse":
        return table, numbers, {}
    places = np.flatnonzero(~gone)
    kept = {name: _taken(column, places) for name, column in table.items()}
    return kept, numbers[places], {columns.segment: int(gone.sum())}


def _no_number(column: Column, name: str, targets: FloatArray, chosen: IntArray, numbers: IntArray) -> str:
    """Return which target of a segment is no number, by its row and what is there."""
    place = int(chosen[np.argmax(~np.isfinite(targets[chosen]))])
    there = column.values[place]
    cell = repr(there) if isinstance(there, str) else "none" if column.missing[place] else f"{targets[place]:g}"
    return f"column {name!r} must be a finite number; row {numbers[place]:,} has {cell:.80}."


def _targets(column: Column) -> FloatArray:
    """Return the numbers of a column; NaN where there is none."""
    return numbers_and_texts(column)[0]


def _encoded(
    table: Mapping[str, Column], encoding: Encoding, codes: IntArray, numbers: IntArray, count: int, owner: str
) -> tuple[FloatArray, BoolArray, dict[int, str]]:
    """Return the rows encoded, which of them are kept, and why segments cannot be encoded.

    All rows are encoded together; where that fails, the segments are halved until those are found whose rows are the reason.
    """
    for name in encoding.sources:
        find_column(table, name, owner, encoding.dayfirst)
    X, keep = np.full((codes.size, len(encoding.names)), np.nan), np.ones(codes.size, dtype=np.bool_)
    rejected: dict[int, str] = {}
    parts = [np.arange(count)]
    while parts:
        part = parts.pop()
        whole = part.size == count
        places = np.arange(codes.size) if whole else np.flatnonzero(np.isin(codes, part))
        rows = table if whole else {name: _taken(column, places) for name, column in table.items()}
        try:
            if encoding.missing == "drop":
                keep[places] = ~encoding.incomplete(rows, owner=owner, numbers=numbers[places])
            made = encoding.encode(rows, keep=keep[places], owner=owner, numbers=numbers[places])
        except DataError as error:
            if part.size == 1:
                rejected[int(part[0])] = sentence(error)
            else:
                middle = part.size // 2
                parts += [part[middle:], part[:middle]]
            continue
        X[places[keep[places]]] = made.X
        for name, words in made.texts.items():
            kept = places[keep[places]]
            rejected |= _mostly_text(name, words, codes[kept], numbers[kept], encoding)
    return X, keep, rejected


def _mostly_text(
    name: str, words: "np.ndarray[Any, Any]", codes: IntArray, numbers: IntArray, encoding: Encoding
) -> dict[int, str]:
    """Return the segments in which a numeric column has too many cells that are no numbers, as a table of their own would."""
    if not any(isinstance(column, NumberColumn) and column.name == name for column in encoding.columns):
        return {}
    strange = np.array([word is not None for word in words.tolist()])
    bad, every = np.bincount(codes[strange], minlength=1), np.bincount(codes, minlength=1)
    few = {int(code): words[(codes == code) & strange].tolist() for code in np.flatnonzero(bad)}
    many = [code for code, texts in few.items() if too_many_texts(len(texts), int(every[code]), texts)]
    first = {code: int(np.argmax((codes == code) & strange)) for code in many}
    return {
        code: f"column {name!r} must be numeric; row {numbers[place]:,} has {words[place]!r:.80}."
        for code, place in first.items()
    }


def _taken(column: Column, places: IntArray) -> Column:
    written = None if column.written is None else column.written[places]
    return replace(column, values=column.values[places], missing=column.missing[places], written=written)


def _of_column(error: DataError, columns: FleetColumns) -> str:
    """Return an error about targets or weights as a sentence about their column."""
    name = columns.target if error.name == "y" else columns.weight
    return str(error.renamed(subject=f"column {name!r}"))


def segment_names(names: Sequence[str] | None, owner: str) -> tuple[str, ...]:
    """Return the names of segments, none twice."""
    if names is None:
        return ()
    if isinstance(names, str) or any(not isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ParameterError(f"must be different names; got {names!r:.80}.", owner=owner, name="segments")
    return tuple(names)


def accepted_segments(accept: Any, owner: str) -> Collection[str] | None:
    """Return the segments whose rows are taken whatever their numbers; None for all."""
    if isinstance(accept, bool | np.bool_):
        return None if accept else ()
    if isinstance(accept, str) or not isinstance(accept, Sequence) or any(not isinstance(one, str) for one in accept):
        raise ParameterError(
            f"must be True, False, or names of segments; got {accept!r:.80}.", owner=owner, name="accept"
        )
    return frozenset(accept)
