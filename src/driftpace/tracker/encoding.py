"""Rows with missing cells and texts as a tracker takes them: encoded in the same way in every period."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.errors import DataError
from driftpace.tracker.inputs import InputRows, array_values, is_frame
from driftpace.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from driftpace.tables.columns import Column
    from driftpace.tables.encoding import Encoding, MissingPolicy
    from driftpace.tables.expansion import ExpansionRequest


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EncodedInput:
    """Rows without those that are dropped, which of the given rows they are (None: all), and the encoding they were read by."""

    rows: InputRows
    keep: BoolArray | None
    encoding: "Encoding"


def encode_rows(
    X: Any,
    *,
    encoding: "Encoding | None",
    missing: "MissingPolicy",
    widen: bool,
    drop: bool,
    owner: str,
    expand: "ExpansionRequest | None" = None,
) -> EncodedInput:
    """Encode rows; the first ones show the encoding. ``widen`` allows columns that say where cells are missing.

    ``expand`` says which columns are expanded; the first rows show how.
    """
    frame = is_frame(X, owner)
    array = None if frame else array_values(X, owner)
    if encoding is None:
        encoding = learn_rows(X if array is None else array, missing=missing, widen=widen, owner=owner)
    expand = expand if encoding.expansion is None else None
    if expand is None and array is not None and not encoding.text_columns and _plain(array, encoding, owner):
        return EncodedInput(rows=InputRows(X=array, columns=_names(encoding)), keep=None, encoding=encoding)
    columns, encoding = _columns(X if array is None else array, encoding, owner)
    if expand is not None:
        from driftpace.tables.encoding import with_expansion

        encoding = with_expansion(encoding, expand, columns, owner=owner)
    keep = None
    if drop and missing == "drop":
        keep = ~encoding.incomplete(columns, owner=owner)
    encoded = encoding.encode(columns, keep=keep, owner=owner)
    return EncodedInput(rows=InputRows(X=encoded.X, columns=_names(encoding)), keep=keep, encoding=encoding)


def learn_rows(X: Any, *, missing: "MissingPolicy", widen: bool, owner: str) -> "Encoding":
    """Return the encoding that rows show: every column of a frame is used."""
    from driftpace.tables.encoding import Encoding, NumberColumn

    if isinstance(X, np.ndarray):
        gone = np.isnan(X)
        counts = np.maximum((~gone).sum(axis=0), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            fills = np.nan_to_num(np.where(gone, 0.0, X).sum(axis=0) / counts, posinf=0.0, neginf=0.0)
        mark = widen and missing == "impute"
        return Encoding(
            columns=tuple(
                NumberColumn(name=str(place), fill=float(fill), indicator=bool(mark and 0 < lost < len(X)))
                for place, (fill, lost) in enumerate(zip(fills, gone.sum(axis=0), strict=True))
            ),
            missing=missing,
        )
    return learn_frame(X, missing=missing, widen=widen, owner=owner)[0]


def learn_frame(
    X: Any, *, missing: "MissingPolicy", widen: bool = True, owner: str
) -> "tuple[Encoding, tuple[str, ...]]":
    """Return the encoding that a frame shows, and sentences on it; every column is used, an empty one as zeros."""
    from driftpace.tables.columns import from_frame
    from driftpace.tables.encoding import NumberColumn
    from driftpace.tables.learn import learn_encoding

    columns = from_frame(X, owner)
    learned = learn_encoding(columns, list(columns), missing=missing, owner=owner)
    made = {column.name: column for column in learned.encoding.columns}
    specs = []
    for name in columns:
        spec = made.get(name, NumberColumn(name=name, fill=0.0))
        specs.append(spec if widen or not isinstance(spec, NumberColumn) else replace(spec, indicator=False))
    return replace(learned.encoding, columns=tuple(specs)), tuple(learned.notes.values())


def _plain(array: FloatArray, encoding: "Encoding", owner: str) -> bool:
    """Return whether an array needs no encoding: it has as many columns, and no cell is missing or may be marked."""
    if array.shape[1] != len(encoding.sources):
        raise DataError(
            f"must have {len(encoding.sources)} columns; got {array.shape[1]}.",
            owner=owner,
            name="X",
        )
    return len(encoding.names) == array.shape[1] and not np.isnan(array).any()


def _names(encoding: "Encoding") -> tuple[str, ...] | None:
    """Return the names of encoded columns; None where arrays gave none."""
    numbered = encoding.sources == tuple(str(place) for place in range(len(encoding.sources)))
    return None if numbered and encoding.names == encoding.sources else encoding.names


def _columns(X: Any, encoding: "Encoding", owner: str) -> "tuple[dict[str, Column], Encoding]":
    """Return rows as columns by the names of the encoding; an encoding without names takes those of the rows."""
    from driftpace.tables.columns import Column, from_frame

    if isinstance(X, np.ndarray):
        if encoding.text_columns:
            raise DataError("must be a frame with the columns of the first rows; got an array.", owner=owner, name="X")
        values = [
            Column(kind="number", values=X[:, place], missing=np.isnan(X[:, place])) for place in range(X.shape[1])
        ]
        return dict(zip(encoding.sources, values, strict=True)), encoding
    columns = from_frame(X, owner, as_text=encoding.text_columns)
    if set(columns) != set(encoding.sources) and _names(encoding) is None and len(columns) == len(encoding.sources):
        named = tuple(replace(spec, name=name) for spec, name in zip(encoding.columns, columns, strict=True))
        return columns, replace(encoding, columns=named)
    missing = [name for name in encoding.sources if name not in columns]
    extra = [name for name in columns if name not in encoding.sources]
    if missing or extra:
        what = "; ".join(
            f"{word} {', '.join(repr(name) for name in which)}"
            for word, which in (("missing", missing), ("unknown", extra))
            if which
        )
        raise DataError(f"must have the columns of the first rows; got {what}.", owner=owner, name="X")
    return columns, encoding
