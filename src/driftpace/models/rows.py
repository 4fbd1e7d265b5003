"""Rows as a model takes them: arrays, sparse matrices or frames, selected and joined without changing their kind."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.errors import DataError

if TYPE_CHECKING:
    from driftpace.tables.cell_counts import MappedCategories


def is_matrix(X: Any) -> bool:
    """Return whether rows are an array or a sparse matrix."""
    return isinstance(X, np.ndarray) or (hasattr(X, "toarray") and hasattr(X, "nnz"))


def read_features(X: Any, owner: str) -> Any:
    """Return rows as an array, a sparse matrix by rows, or a frame; refuse anything else."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if is_matrix(X):
        if len(X.shape) != 2:
            raise DataError(f"must be two-dimensional, rows by columns; got shape {X.shape}.", owner=owner, name="X")
        return X if isinstance(X, np.ndarray) else X.tocsr()
    _frame(X, owner)
    return X


def _frame(X: Any, owner: str) -> Any:
    import narwhals as nw  # slow to import, and not always needed

    try:
        return nw.from_native(X, eager_only=True)
    except TypeError:
        raise DataError(f"must be an array or a frame; got {type(X).__name__}.", owner=owner, name="X") from None


def count_rows(X: Any) -> int:
    """Return the number of rows."""
    return int(X.shape[0])


def count_columns(X: Any, owner: str) -> int:
    """Return the number of columns."""
    return int(X.shape[1] if is_matrix(X) else _frame(X, owner).shape[1])


def column_names(X: Any, owner: str) -> tuple[str, ...] | None:
    """Return the names of the columns of a frame; None where there are none."""
    return None if is_matrix(X) else tuple(str(name) for name in _frame(X, owner).columns)


def with_columns(X: Any, names: Sequence[str]) -> Any:
    """Return a frame with these columns, in this order."""
    return _frame(X, "with_columns").select(list(names)).to_native()


def category_columns(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame of pandas that hold categories."""
    return tuple(str(name) for name, kind in getattr(X, "dtypes", {}).items() if kind == "category")


def with_categories(X: Any, known: Mapping[str, Sequence[Any]]) -> Any:
    """Return a frame whose columns of categories have those that are known, the others missing.

    >>> import pandas as pd
    >>> cells = with_categories(pd.DataFrame({"city": ["Rome", "Bari"]}), {"city": ["Oslo", "Rome"]})["city"]
    >>> list(cells.cat.categories), cells.isna().tolist()
    (['Oslo', 'Rome'], [False, True])
    """
    implementation = _frame(X, "with_categories").implementation
    if implementation.is_pandas():
        import pandas as pd

        made = {}
        for name, categories in known.items():
            ordered = X[name].dtype == "category" and X[name].cat.ordered
            wanted = pd.CategoricalDtype(list(categories), ordered=bool(ordered))
            if X[name].dtype != wanted:
                cells = X[name].astype(object)
                made[name] = cells.where(cells.isin(list(categories)), None).astype(wanted)
        return X.assign(**made) if made else X
    if implementation.is_polars():
        import polars as pl

        wanted = {name: pl.Enum([str(word) for word in categories]) for name, categories in known.items()}
        return X.with_columns(pl.col(name).cast(kind, strict=False) for name, kind in wanted.items())
    return X


def unknown_categories(before: Any, after: Any) -> "tuple[MappedCategories, ...]":
    """Return what :func:`with_categories` made missing, by column.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"city": ["Rome", "Bari"]})
    >>> [each.sentence for each in unknown_categories(frame, with_categories(frame, {"city": ["Oslo", "Rome"]}))]
    ['1 row with an unlisted city (Bari) counts as missing']
    """
    if before is after or is_matrix(after):
        return ()
    import narwhals as nw

    from driftpace.tables.cell_counts import MappedCategories
    from driftpace.tables.encoding import SHOWN

    old, new = (nw.from_native(X, eager_only=True) for X in (before, after))
    mapped = []
    for name in new.columns:
        if new[name].dtype not in (nw.Categorical, nw.Enum):
            continue
        lost = new[name].is_null().to_numpy() & ~old[name].is_null().to_numpy()
        if lost.any():
            words = [str(old[name][int(row)]) for row in np.flatnonzero(lost)]
            different = tuple(dict.fromkeys(words))
            mapped.append(
                MappedCategories(
                    column=name,
                    category="missing",
                    rows=len(words),
                    distinct=len(different),
                    examples=different[:SHOWN],
                )
            )
    return tuple(mapped)


def take(X: Any, places: Any) -> Any:
    """Return the rows at these places."""
    if is_matrix(X):
        return X[places]
    return _frame(X, "take")[np.asarray(places).tolist() if len(places) else [], :].to_native()


def join(parts: Sequence[Any]) -> Any:
    """Return the rows of several parts of one kind, one below the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if is_matrix(first):
        from scipy import sparse

        return sparse.vstack(parts).tocsr()
    import narwhals as nw

    frames = [nw.from_native(part, eager_only=True) for part in parts]
    kind = frames[0].implementation
    if kind.is_pandas():
        return _join_pandas(parts)
    if kind.is_polars():
        import polars as pl

        return pl.concat(parts, how="vertical_relaxed")  # whole numbers in one part may be fractions in another
    if kind.is_pyarrow():
        import pyarrow as pa

        return pa.concat_tables(parts, promote_options="permissive")
    return nw.concat(frames).to_native()


def _join_pandas(parts: Sequence[Any]) -> Any:
    """Return frames of pandas one below the other; columns of categories have those of all parts."""
    import pandas as pd

    mixed = [
        name
        for name in category_columns(parts[0])
        if len({part[name].dtype for part in parts}) > 1 and all(part[name].dtype == "category" for part in parts)
    ]
    for name in mixed:
        every = list(dict.fromkeys(word for part in parts for word in part[name].cat.categories))
        parts = [part.assign(**{name: part[name].cat.set_categories(every)}) for part in parts]
    return pd.concat(parts, ignore_index=True)


def alike(X: Any, known: Any, owner: str) -> Any:
    """Return rows of the kind of those known before, frames with the same columns in their order, or refuse them."""
    kinds = [_kind(rows, owner) for rows in (X, known)]
    if kinds[0] != kinds[1]:
        raise DataError(f"must be of one kind in every call, {kinds[1]}; got {kinds[0]}.", owner=owner, name="X")
    names, before = column_names(X, owner), column_names(known, owner)
    if names is None or before is None or names == before:
        return X
    if missing := [name for name in before if name not in names]:
        raise DataError(
            f"must have the columns of the rows before; got no {missing[0]!r} among {len(names)} columns.",
            owner=owner,
            name="X",
        )
    return with_columns(X, before)


def _kind(X: Any, owner: str) -> str:
    if is_matrix(X):
        return "arrays" if isinstance(X, np.ndarray) else "sparse matrices"
    return f"frames of {_frame(X, owner).implementation.name.lower()}"


def rows_to_values(X: Any) -> dict[str, Any]:
    """Return rows as JSON values that :func:`rows_from_values` reads: arrays to the bit, frames as Arrow."""
    from driftpace.storage.codec import encode

    if isinstance(X, np.ndarray):
        if X.dtype.kind not in "biuf":
            return {"cells": X.tolist(), "shape": list(X.shape)}
        return {"array": encode(np.asarray(X, dtype=np.float64)), "dtype": X.dtype.str}
    if is_matrix(X):
        parts = {name: np.asarray(getattr(X, name)) for name in ("data", "indices", "indptr")}
        held = {name: encode(part.astype(np.float64 if name == "data" else np.int64)) for name, part in parts.items()}
        return {"sparse": held, "shape": list(X.shape), "dtype": X.dtype.str}
    import base64
    import io

    import narwhals as nw
    import pyarrow as pa

    frame = nw.from_native(X, eager_only=True)
    table = pa.Table.from_pandas(X) if frame.implementation.is_pandas() else frame.to_arrow()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return {"arrow": base64.b64encode(sink.getvalue()).decode(), "kind": frame.implementation.name.lower()}


def rows_from_values(values: Any) -> Any:
    """Return the rows of :func:`rows_to_values`."""
    from driftpace.storage.codec import decode

    if "array" in values:
        return decode(values["array"]).astype(values.get("dtype", "<f8"), copy=False)
    if "cells" in values:
        return np.array(values["cells"], dtype=object).reshape(values["shape"])
    if "sparse" in values:
        from scipy import sparse

        held = {name: decode(part) for name, part in values["sparse"].items()}
        held["data"] = held["data"].astype(values.get("dtype", "<f8"), copy=False)
        return sparse.csr_matrix((held["data"], held["indices"], held["indptr"]), shape=tuple(values["shape"]))
    import base64

    import narwhals as nw
    import pyarrow as pa

    table = pa.ipc.open_stream(base64.b64decode(values["arrow"])).read_all()
    if values["kind"] == "pandas":
        return table.to_pandas()
    return nw.from_native(table).to_polars() if values["kind"] == "polars" else table
