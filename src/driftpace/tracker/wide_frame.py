"""Frames with texts and embeddings as one matrix: hashed terms, lists of numbers and numbers, in the same order in every period."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.limits import check_unique_names
from driftpace.tables.text import TextTerms
from driftpace.tracker.inputs import frame_of


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FrameLayout:
    """The columns of frames: ``texts`` with their terms, ``lists`` of so many numbers each, and ``numbers``."""

    texts: tuple[tuple[str, TextTerms], ...]
    lists: tuple[tuple[str, int], ...]
    numbers: tuple[str, ...]

    @classmethod
    def of_frame(cls, X: Any, text: tuple[str, ...], owner: str) -> "FrameLayout | None":
        """Return the layout that the first frame shows; None for what needs none: frames of plain columns, and other rows."""
        import narwhals as nw  # slow to import, and not always needed

        frame = frame_of(X, owner)
        if frame is None:
            if text:
                raise DataError(f"must be a frame with the column {text[0]!r}; got no frame.", owner=owner, name="X")
            return None
        columns = _columns(frame, owner)
        for name in text:
            if name not in columns:
                raise DataError(f"must have the text column {name!r}; got none.", owner=owner, name="X")
        lists = []
        for name, series in columns.items():
            if name not in text and (isinstance(series.dtype, nw.List | nw.Array) or _holds_lists(series)):
                lists.append((name, _stacked(series, name, None, owner).shape[1]))
        if not text and not lists:
            return None
        others = tuple(name for name in columns if name not in text and name not in dict(lists))
        texts = tuple((name, TextTerms().fit(columns[name].to_list())) for name in text)
        return cls(texts=texts, lists=tuple(lists), numbers=others)

    def matrix(self, X: Any, owner: str) -> Any:
        """Return a frame as a matrix, sparse where it has texts."""
        frame = frame_of(X, owner)
        names = [*(name for name, _ in self.texts), *(name for name, _ in self.lists), *self.numbers]
        columns = {} if frame is None else _columns(frame, owner)
        if set(columns) != set(names):
            wanted = ", ".join(repr(name) for name in names[:5]) + (" ..." if len(names) > 5 else "")
            got = "no frame" if frame is None else ", ".join(repr(name) for name in [*columns][:5])
            raise DataError(
                f"must be a frame with the columns of the first one, {wanted}; got {got}.", owner=owner, name="X"
            )
        parts = [_stacked(columns[name], name, width, owner) for name, width in self.lists]
        if self.numbers:
            parts.append(np.column_stack([_numbers(columns[name], name, owner) for name in self.numbers]))
        if not self.texts:
            return np.concatenate(parts, axis=1)
        from scipy import sparse  # slow to import, and not always needed

        terms = [one.transform(columns[name].to_list()) for name, one in self.texts]
        return sparse.hstack([*terms, *(sparse.csr_matrix(part) for part in parts)], format="csr")

    def to_values(self) -> dict[str, Any]:
        """Encode the layout as JSON values."""
        return {
            "texts": [[name, terms.to_values()] for name, terms in self.texts],
            "lists": [list(pair) for pair in self.lists],
            "numbers": list(self.numbers),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Decode a layout."""
        return cls(
            texts=tuple((name, TextTerms.of(terms)) for name, terms in values["texts"]),
            lists=tuple((name, width) for name, width in values["lists"]),
            numbers=tuple(values["numbers"]),
        )


def _columns(frame: Any, owner: str) -> dict[str, Any]:
    """Return the columns of a frame by their names as texts; names of pandas may be numbers or tuples."""
    names = [str(name) for name in frame.columns]
    check_unique_names(names, f"{owner}: the table")
    return {name: frame[:, place] for place, name in enumerate(names)}


def _holds_lists(series: Any) -> bool:
    """Whether a column of objects holds lists or arrays, as pandas reads them from Parquet."""
    return bool(len(series)) and isinstance(series.to_list()[0], list | tuple | np.ndarray)


def _stacked(series: Any, name: str, width: int | None, owner: str) -> Any:
    rows = [_list_values(row, name, place, owner) for place, row in enumerate(series.to_list())]
    width = (len(rows[0]) if rows else 0) if width is None else width
    for place, row in enumerate(rows):
        if row.shape != (width,):
            raise DataError(
                f"must have lists of {width} numbers in column {name!r}; got {row.size} in row {place}.",
                owner=owner,
                name="X",
            )
    return np.array(rows).reshape(len(rows), width)


def _list_values(row: Any, name: str, place: int, owner: str) -> Any:
    if row is None:
        return np.zeros(0)
    try:
        values = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"must have lists of numbers in column {name!r}; got {row!r:.40} in row {place}.", owner=owner, name="X"
        ) from None
    if not np.isfinite(values).all():
        raise DataError(
            f"must be finite; column {name!r} has {values[~np.isfinite(values)][0]!s} in row {place}.",
            owner=owner,
            name="X",
        )
    return values


def _numbers(series: Any, name: str, owner: str) -> Any:
    import narwhals as nw  # slow to import, and not always needed

    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise DataError(
            f"must have numbers beside texts and lists; column {name!r} is {series.dtype}: name it in text=, or leave it out.",
            owner=owner,
            name="X",
        )
    values = series.cast(nw.Float64).to_numpy()
    bad = ~np.isfinite(values)
    if bad.any():
        raise DataError(
            f"must be finite beside texts and lists; column {name!r} has {values[bad][0]!s} in row {int(np.argmax(bad))}.",
            owner=owner,
            name="X",
        )
    return values
