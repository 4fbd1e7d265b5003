"""The rows of a table that a backtest uses, and their features as numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.errors import DataError
from driftpace.formatting import first_names
from driftpace.tables import Column, Encoding, LearnedEncoding, learn_encoding
from driftpace.tables.encoding import MissingPolicy
from driftpace.tables.identity import find_ids
from driftpace.tables.text_column import learn_text
from driftpace.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodingOptions:
    """How features are encoded, and the function that error messages name."""

    missing: MissingPolicy
    max_categories: int
    owner: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EncodedFeatures:
    """Encoded features: their names and values in the ``keep`` rows, how they were made, and why other columns are left out.

    ``details`` say what became of missing cells and categories.
    """

    names: tuple[str, ...]
    X: FloatArray
    keep: BoolArray
    encoding: Encoding
    left_out: Mapping[str, str]
    details: tuple[str, ...]


def encode_features(
    columns: dict[str, Column],
    features: Sequence[str] | None,
    apart: Sequence[str],
    keep: BoolArray,
    by_period: Sequence[IntArray],
    options: EncodingOptions,
    notes: list[str],
    *,
    required: bool = True,
) -> EncodedFeatures:
    """Return the encoded features; ``notes`` say what was done. Unless ``required``, there may be none.

    Where features are not named, ids are left out, and columns that only follow time: ``by_period`` are the kept rows of each
    period.
    """
    owner, missing = options.owner, options.missing
    others = [name for name in columns if name not in apart]
    order, sizes = np.concatenate(by_period), [rows.size for rows in by_period]
    ids = find_ids(columns, others, keep, order, sizes) if features is None else {}
    ids = ids if len(ids) < len(others) else {}
    learned = learn_encoding(
        columns,
        features,
        apart=[*apart, *ids],
        keep=keep,
        missing=missing,
        max_categories=options.max_categories,
        owner=owner,
    )
    if not learned.encoding.columns and required:
        raise DataError(f"the table must have a column to predict from; it has {', '.join(columns)}.", owner=owner)
    if missing == "drop":
        keep = keep & ~_dropped_cells(learned.encoding, columns, keep, owner, notes)
    notes += _feature_notes(learned, ids, chosen=features is None)
    encoded = learned.encoding.encode(columns, keep=keep, owner=owner)
    return EncodedFeatures(
        names=encoded.names,
        X=encoded.X,
        keep=keep,
        encoding=learned.encoding,
        left_out={**ids, **learned.left_out},
        details=tuple(learned.notes.values()),
    )


def grouped_rows(
    columns: dict[str, Column], groups: str | None, keep: BoolArray, missing: str, *, owner: str, notes: list[str]
) -> BoolArray:
    """Return the rows to use where some have no group: such a row is a group by itself, unless asked otherwise."""
    if groups is None or missing == "impute":
        return keep
    gone = keep & columns[groups].missing
    if gone.any() and missing == "refuse":
        raise _refuse_missing(groups, gone, keep, owner)
    return keep & ~_dropped(gone, keep, groups, notes)


def valued_rows(
    columns: dict[str, Column], names: Sequence[str], keep: BoolArray, missing: str, *, owner: str, notes: list[str]
) -> BoolArray:
    """Return the rows to use that have a value in every one of these columns."""
    for name in names:
        gone = keep & columns[name].missing
        if gone.any() and missing == "refuse":
            raise _refuse_missing(name, gone, keep, owner)
        keep = keep & ~_dropped(gone, keep, name, notes)
    if not keep.any():
        raise DataError(f"the table must have rows that can be used; got none of {keep.size:,}.", owner=owner)
    return keep


def labelled_rows(
    columns: dict[str, Column], period: str, target: str, missing: str, *, owner: str, notes: list[str]
) -> BoolArray:
    """Return which rows have a target and a period."""
    rows = columns[target].values.size
    keep = ~columns[target].missing
    if not keep.all():
        notes.append(
            f"{rows - int(keep.sum()):,} of {rows:,} rows left out: {target} is missing, so they are not labelled yet."
        )
    gone = keep & columns[period].missing if period else ~keep & keep
    if gone.any() and missing == "refuse":
        raise _refuse_missing(period, gone, keep, owner)
    keep &= ~_dropped(gone, keep, period, notes)
    if not keep.any():
        raise DataError(f"the table must have rows that can be used; got none of {rows:,}.", owner=owner)
    return keep


def _dropped(missing: BoolArray, keep: BoolArray, name: str, notes: list[str]) -> BoolArray:
    """Return the rows to leave out because of a missing cell, and say how many."""
    gone = keep & missing
    if gone.any():
        notes.append(f"{int(gone.sum()):,} of {gone.size:,} rows left out: {name} is missing.")
    return gone


def _dropped_cells(
    encoding: Encoding, columns: dict[str, Column], keep: BoolArray, owner: str, notes: list[str]
) -> BoolArray:
    """Return the rows with a missing feature, and say how many for each column."""
    gone = np.zeros(keep.size, dtype=np.bool_)
    for column in encoding.columns:
        alone = Encoding(columns=(column,)).incomplete(columns, keep=keep, owner=owner)
        gone |= _dropped(alone, keep & ~gone, column.name, notes)
    if not (keep & ~gone).any():
        raise DataError(f"the table must have rows that can be used; got none of {keep.size:,}.", owner=owner)
    return gone


def _refuse_missing(name: str, gone: BoolArray, keep: BoolArray, owner: str) -> DataError:
    row = int(np.argmax(gone)) + 1
    return DataError(
        f'column {name!r} must have a value in every row with missing="refuse"; {int(gone.sum()):,} of '
        f"{int(keep.sum()):,} are missing, the first in row {row:,}.",
        owner=owner,
    )


def _feature_notes(learned: LearnedEncoding, ids: Mapping[str, str], *, chosen: bool) -> list[str]:
    """Return notes on the features that were chosen by default, and on how their cells were encoded."""
    notes = [f"Features: {first_names(learned.encoding.sources)}."] if chosen else []
    if learned.left_out or ids:
        reasons: dict[str, list[str]] = {}
        for name, reason in (*ids.items(), *learned.left_out.items()):
            reasons.setdefault(reason, []).append(name)
        listed = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
        notes.append(f"Not among the features: {listed}.")
    return [*notes, *learned.notes.values()]


def with_texts(
    columns: Mapping[str, Column],
    texts: Sequence[str],
    names: Sequence[str],
    X: FloatArray,
    places: IntArray,
    first: IntArray,
    owner: str,
) -> tuple[tuple[str, ...], Any]:
    """Return features with the hashed words of texts after them, as a sparse matrix.

    ``places`` are the rows of ``X`` in the table, and ``first`` those of the first period in ``X``, which show how rare words are.
    """
    if not texts:
        return tuple(names), X
    from scipy import sparse  # slow to import, and not always needed

    parts, every = [sparse.csr_matrix(X)], list(names)
    for name in texts:
        spec = learn_text(name, columns[name], places[first], owner)
        parts.append(spec.terms(columns[name], places, owner))
        every += spec.names
    return tuple(every), sparse.hstack(parts, format="csr")
