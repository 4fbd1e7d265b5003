"""Rows as a model takes them: arrays, sparse matrices or frames, selected and joined without changing their kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftpace.errors import DataError


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

    return nw.concat([nw.from_native(part, eager_only=True) for part in parts]).to_native()


def rows_to_values(X: Any) -> dict[str, Any]:
    """Return rows as JSON values that :func:`rows_from_values` reads: arrays to the bit, frames as Arrow."""
    from driftpace.storage.codec import encode

    if isinstance(X, np.ndarray):
        return {"array": encode(np.asarray(X, dtype=np.float64))}
    if is_matrix(X):
        parts = {name: np.asarray(getattr(X, name)) for name in ("data", "indices", "indptr")}
        held = {name: encode(part.astype(np.float64 if name == "data" else np.int64)) for name, part in parts.items()}
        return {"sparse": held, "shape": list(X.shape)}
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
        return decode(values["array"])
    if "sparse" in values:
        from scipy import sparse

        held = {name: decode(part) for name, part in values["sparse"].items()}
        return sparse.csr_matrix((held["data"], held["indices"], held["indptr"]), shape=tuple(values["shape"]))
    import base64

    import narwhals as nw
    import pyarrow as pa

    table = pa.ipc.open_stream(base64.b64decode(values["arrow"])).read_all()
    if values["kind"] == "pandas":
        return table.to_pandas()
    return nw.from_native(table).to_polars() if values["kind"] == "polars" else table
