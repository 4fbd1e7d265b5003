"""The door: whatever the user brings becomes finite float arrays, or is refused in one sentence that names the column.

NumPy arrays, nested lists and every frame that narwhals understands (pandas, polars, pyarrow) come in here and nowhere else.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError
from driftpace.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import narwhals as nw

LARGEST = 1e75
"""Beyond this a fourth power overflows, and the estimates of the constants need fourth powers."""

_LARGEST_SINGLE = 1e12
"""Beyond this, sums of squares in single precision come near its largest number, and rows are read in double precision."""

MOST_COLUMNS = 5_000
"""The most columns of a linear model: beyond this, a matrix of columns by columns takes more than 200 MB."""
MOST_WIDE_COLUMNS = 200_000
"""The most columns of the wide method."""
MOST_DENSE_CELLS = 50_000_000
"""The most cells of a sparse matrix that is made dense: 400 MB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InputRows:
    """Rows that passed the door. ``columns`` are names where the user's table has them, else None."""

    X: FloatArray
    columns: tuple[str, ...] | None


def read_rows(
    X: Any,
    *,
    owner: str,
    features: int | None,
    columns: tuple[str, ...] | None,
    most: int = MOST_COLUMNS,
    missing: bool = False,
) -> InputRows:
    """Return the rows of ``X``, in the order of ``columns`` when both sides have names; DataError otherwise.

    With ``missing`` cells may be NaN, as a model takes them that was trained elsewhere.
    """
    frame = None if isinstance(X, InputRows) else _as_frame(X, owner)
    if isinstance(X, InputRows):
        names, array = X.columns, array_values(X.X, owner)
        if columns is not None and names is not None:
            array, names = np.ascontiguousarray(array[:, _places(names, columns, owner)]), columns
    elif frame is not None:
        names = tuple(str(name) for name in frame.columns)
        if columns is not None:
            frame, names = _reordered(frame, names, columns, owner)
        array = _frame_values(frame, owner)
    else:
        names = None
        array = array_values(X, owner)
    _check_columns(array.shape[1], features, most, owner)
    _refuse_wild(np.nan_to_num(array, posinf=np.inf, neginf=-np.inf) if missing else array, names or columns, owner)
    return InputRows(X=array, columns=names)


def is_sparse(X: Any) -> bool:
    """Return whether rows are a sparse matrix of SciPy."""
    return hasattr(X, "toarray") and hasattr(X, "nnz")


def column_count(X: Any) -> int | None:
    """Return the number of columns of rows, as far as it can be seen without reading them."""
    shape = X.X.shape if isinstance(X, InputRows) else getattr(X, "shape", None)
    if shape is None:
        first = X[0] if isinstance(X, list | tuple) and X else None
        return len(first) if isinstance(first, list | tuple | np.ndarray) else None
    return int(shape[1]) if len(shape) == 2 else None


def read_wide_rows(X: Any, *, owner: str, features: int | None, columns: tuple[str, ...] | None) -> InputRows:
    """Return rows of many columns, which stay sparse where they are: finite numbers, single or double precision."""
    names = None
    if is_sparse(X):
        array = _sparse_values(X, owner)
    elif isinstance(X, InputRows) or _as_frame(X, owner) is not None:
        return read_rows(X, owner=owner, features=features, columns=columns, most=MOST_WIDE_COLUMNS)
    else:
        array = _plain_array(_from_device(X), f"{owner}(X=...)")
        if array.ndim != 2:
            raise DataError(
                f"must be two-dimensional, rows by columns; got shape {array.shape}.", owner=owner, name="X"
            )
        if array.dtype != np.float32 or not np.abs(array).max(initial=0.0) < _LARGEST_SINGLE:
            array = _as_floats(array, f"{owner}(X=...)")
    _check_columns(array.shape[1], features, MOST_WIDE_COLUMNS, owner)
    if not is_sparse(array):
        _refuse_wild(array, columns, owner)
    return InputRows(X=array, columns=names)


def _from_device(X: Any) -> Any:
    """Return an array of another library, which may be on a GPU, as one that NumPy reads."""
    if isinstance(X, np.ndarray | list | tuple):
        return X
    for move in ("detach", "cpu", "get"):  # torch needs the first two, cupy the last
        if hasattr(X, move) and hasattr(X, "__dlpack__"):
            X = getattr(X, move)()
            if isinstance(X, np.ndarray):
                break
    return X.float() if str(getattr(X, "dtype", "")) == "torch.bfloat16" else X  # NumPy has no bfloat16


def _sparse_values(X: Any, owner: str) -> Any:
    """Return a sparse matrix by rows (CSR), with finite floats."""
    from scipy import sparse  # slow to import, and not always needed

    if len(X.shape) != 2:
        raise DataError(f"must be two-dimensional, rows by columns; got shape {X.shape}.", owner=owner, name="X")
    if X.dtype.kind not in "biuf":
        raise DataError(f"must be numeric; got a sparse matrix of {X.dtype}.", owner=owner, name="X")
    matrix = sparse.csr_matrix(X, dtype=np.float64)
    matrix.sum_duplicates()
    bad = ~(np.abs(matrix.data) <= LARGEST)
    if bad.any():
        place = int(np.argmax(bad))
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        raise DataError(
            f"must be finite and below {LARGEST:g} in size; column {int(matrix.indices[place])} has "
            f"{matrix.data[place]!s} in row {row}.",
            owner=owner,
            name="X",
        )
    return matrix


def _check_columns(count: int, features: int | None, most: int, owner: str) -> None:
    if count > most:
        hint = "" if most == MOST_COLUMNS else ", such as hashed terms"
        raise DataError(f"must have at most {most:,} columns{hint}; got {count:,}.", owner=owner, name="X")
    if count == 0:
        raise DataError("must have at least one column; got none.", owner=owner, name="X")
    if features is not None and count != features:
        raise DataError(f"must have {features} columns; got {count}.", owner=owner, name="X")


def read_targets(y: Any, *, owner: str, rows: int, several: bool = False) -> FloatArray:
    """Return the targets as floats, one for each of ``rows``, or ``several`` (rows, targets); DataError where that cannot be."""
    frame = _as_frame(y, owner) if several else None
    values = _series_values(y, f"{owner}(y=...)") if frame is None else _frame_values(frame, owner)
    if values.ndim == 2 and values.shape[1] == 1 and not several:
        values = values[:, 0]
    if values.ndim != (2 if several else 1):
        wanted = "two-dimensional, (rows, targets)" if several else "one-dimensional"
        raise DataError(f"must be {wanted}; got shape {values.shape}.", owner=owner, name="y")
    if len(values) != rows:
        raise DataError(
            f"must have one entry for each of the {rows} rows of X; got {len(values)}.",
            owner=owner,
            name="y",
        )
    numbers = _as_floats(values, f"{owner}(y=...)")
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(np.argmax(bad if bad.ndim == 1 else bad.any(axis=1)))
        raise DataError(f"must be finite; got {numbers[bad][0]!s} in row {row}.", owner=owner, name="y")
    if numbers.size and np.abs(numbers).max() > LARGEST:
        raise DataError(
            f"must be below {LARGEST:g} in size, or squares overflow; got {np.abs(numbers).max():g}.",
            owner=owner,
            name="y",
        )
    return numbers


def read_classes(
    y: Any, known: tuple[str | int, ...], *, owner: str, rows: int
) -> tuple[FloatArray, tuple[str | int, ...]]:
    """Return the number of the class of each row, and the labels of the classes: those known, then new ones in sorted order."""
    values = _series_values(np.array(y, dtype=object) if isinstance(y, list | tuple) else y, f"{owner}(y=...)")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (rows,):
        raise DataError(
            f"must have one label for each of the {rows} rows of X; got shape {values.shape}.", owner=owner, name="y"
        )
    labels = [_class_label(value, row, owner) for row, value in enumerate(values.tolist())]
    places = {str(label): place for place, label in enumerate(known)}
    whole = all(isinstance(label, int) for label in known)
    new = set(labels) - places.keys()
    if whole and all(_is_whole(label) for label in new):
        added: list[str | int] = sorted(int(label) for label in new)
    else:
        added = [*sorted(new)]
    places |= {str(label): len(known) + place for place, label in enumerate(added)}
    return np.array([float(places[label]) for label in labels]), (*known, *added)


def _class_label(value: Any, row: int, owner: str) -> str:
    label = _label(value, owner, "y")
    if isinstance(value, dict | list | set | tuple | bytes) or (isinstance(value, float) and not value.is_integer()):
        raise DataError(
            f"must be classes, texts or whole numbers; got {value!r:.40} in row {row}.", owner=owner, name="y"
        )
    return label


def _is_whole(label: str) -> bool:
    return label.removeprefix("-").isdecimal() and str(int(label)) == label


def read_groups(groups: Any, *, owner: str, rows: int) -> IntArray:
    """Return a number for each row that tells its group (a person, a shop); equal labels give equal numbers for ever."""
    values = _series_values(groups, f"{owner}(groups=...)")
    if values.shape != (rows,):
        raise DataError(
            f"must have one entry for each of the {rows} rows of X; got shape {values.shape}.",
            owner=owner,
            name="groups",
        )
    labels, of_row = np.unique(
        np.array([_label(value, owner) for value in values.tolist()], dtype=np.str_), return_inverse=True
    )
    codes = [int.from_bytes(hashlib.blake2b(label.encode(), digest_size=8).digest()) >> 2 for label in labels.tolist()]
    return np.array(codes, dtype=np.int64)[of_row] if rows else np.zeros(0, dtype=np.int64)


def read_labels(
    ids: Any, annotators: Any, *, owner: str, rows: int
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the ids of rows and who labelled them, as texts; None where no annotators are given."""
    if annotators is None:
        return None, None
    if ids is None:
        raise DataError(
            "must be given together with annotators, so that labels of one row are known.", owner=owner, name="ids"
        )
    found = []
    for name, given in (("ids", ids), ("annotators", annotators)):
        as_given = np.array(given, dtype=object) if isinstance(given, list | tuple) else given
        values = _series_values(as_given, f"{owner}({name}=...)")
        if values.shape != (rows,):
            raise DataError(
                f"must have one entry for each of the {rows} rows of X; got shape {values.shape}.",
                owner=owner,
                name=name,
            )
        found.append(tuple(_label(value, owner, name) for value in values.tolist()))
    return found[0], found[1]


def read_weights(weights: Any, *, owner: str, rows: int, name: str = "sample_weight") -> FloatArray:
    """Return the weights of rows as floats: not negative, and not all zero."""
    values = _series_values(weights, f"{owner}({name}=...)")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (rows,):
        raise DataError(
            f"must have one entry for each of the {rows} rows{' of X' if name == 'sample_weight' else ''}; got shape "
            f"{values.shape}.",
            owner=owner,
            name=name,
        )
    numbers = _as_floats(values, f"{owner}({name}=...)")
    bad = ~((numbers >= 0.0) & (numbers <= LARGEST))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"must be finite and not negative; got {numbers[row]!s} in row {row}.", owner=owner, name=name)
    if rows and not numbers.any():
        raise DataError(f"must have a positive entry; got {rows} zeros.", owner=owner, name=name)
    return numbers


def read_exposure(exposure: Any, *, owner: str, rows: int) -> FloatArray:
    """Return the exposures of rows as floats: finite and above zero."""
    numbers = read_weights(exposure, owner=owner, rows=rows, name="exposure")
    if (numbers <= 0.0).any():
        row = int(np.argmax(numbers <= 0.0))
        raise DataError(f"must be above zero; got {numbers[row]!s} in row {row}.", owner=owner, name="exposure")
    return numbers


def as_rates(y: FloatArray, weights: FloatArray | None, exposure: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return totals over an exposure as rates, and weights that are as many times larger.

    >>> rates, weights = as_rates(np.array([4.0, 1.0]), None, np.array([2.0, 0.5]))
    >>> rates.tolist(), weights.tolist()
    ([2.0, 2.0], [2.0, 0.5])
    """
    return y / exposure, exposure if weights is None else weights * exposure


def _label(value: Any, owner: str, name: str = "groups") -> str:
    try:
        missing = value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal nor unequal to itself
        missing = True
    if missing:
        raise DataError(f"must have no missing entries; got {value!r}.", owner=owner, name=name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _plain_array(values: Any, what: str) -> np.ndarray[Any, Any]:
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        raise DataError(f"{what} must have no masked entries; got some.")
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError(f"{what} must be numbers in rows of equal length; got unequal ones.") from None


def _series_values(y: Any, what: str) -> np.ndarray[Any, Any]:
    if not isinstance(y, np.ndarray | list | tuple):
        import narwhals as nw  # slow to import, and not always needed

        try:
            return np.asarray(nw.from_native(y, series_only=True).to_numpy())
        except TypeError:
            pass
    return _plain_array(y, what)


def is_frame(X: Any, owner: str) -> bool:
    """Return whether rows are a pandas, polars or pyarrow frame."""
    return _as_frame(X, owner) is not None


def frame_of(X: Any, owner: str) -> "nw.DataFrame[Any] | None":
    """Return rows as a frame; None where they are none."""
    return _as_frame(X, owner)


def _as_frame(X: Any, owner: str) -> "nw.DataFrame[Any] | None":
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals as nw  # slow to import, and not always needed

    try:
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
    except TypeError:
        return None
    except ValueError:
        raise DataError("must have columns of different names; got two of one name.", owner=owner, name="X") from None
    return frame


def _reordered(
    frame: "nw.DataFrame[Any]", names: tuple[str, ...], columns: tuple[str, ...], owner: str
) -> "tuple[nw.DataFrame[Any], tuple[str, ...]]":
    return frame[:, _places(names, columns, owner)], columns


def _places(names: tuple[str, ...], columns: tuple[str, ...], owner: str) -> list[int]:
    """Return where each of ``columns`` is among ``names``, which must be the same ones."""
    missing = [name for name in columns if name not in names]
    extra = [name for name in names if name not in columns]
    if missing or extra:
        what = "; ".join(
            f"{word} {', '.join(repr(name) for name in which)}"
            for word, which in (("missing", missing), ("unknown", extra))
            if which
        )
        raise DataError(f"must have the columns of the first rows; got {what}.", owner=owner, name="X")
    return [names.index(name) for name in columns]


def _frame_values(frame: "nw.DataFrame[Any]", owner: str) -> FloatArray:
    import narwhals as nw  # slow to import, and not always needed

    array = np.empty((frame.shape[0], frame.shape[1]))
    for index, name in enumerate(frame.columns):
        series = frame[:, index]
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            array[:, index] = series.cast(nw.Float64).to_numpy()
        elif series.dtype == nw.Object:
            array[:, index] = _as_floats(series.to_numpy(), f"{owner}(X=...), column {str(name)!r},")
        else:
            raise DataError(
                f"must have numeric columns; column {str(name)!r} is {series.dtype}.",
                owner=owner,
                name="X",
            )
    return array


def array_values(X: Any, owner: str) -> FloatArray:
    """Return a two-dimensional array of floats, or raise DataError."""
    if is_sparse(X):
        X = _dense(X, owner)
    values = _plain_array(_from_device(X), f"{owner}(X=...)")
    if values.ndim != 2:
        raise DataError(f"must be two-dimensional, rows by columns; got shape {values.shape}.", owner=owner, name="X")
    return np.ascontiguousarray(_as_floats(values, f"{owner}(X=...)"))


def _dense(X: Any, owner: str) -> Any:
    """Return a sparse matrix as an array, where that is not too large."""
    rows, columns = X.shape if len(X.shape) == 2 else (1, X.shape[0])
    if rows * columns > MOST_DENSE_CELLS:
        raise DataError(
            f"must have at most {MOST_DENSE_CELLS:,} cells, since a sparse matrix is made dense; got {rows:,} rows of {columns:,} "
            "columns: deliver fewer rows at a time, or select columns.",
            owner=owner,
            name="X",
        )
    return X.toarray()


def _as_floats(values: np.ndarray[Any, Any], what: str) -> FloatArray:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind == "O":
        for item in values.flat:
            if item is not None and not isinstance(item, int | float | np.number | np.bool_):
                raise DataError(f"{what} must be numeric; got {item!r}.")
        try:
            return values.astype(np.float64)
        except (OverflowError, TypeError, ValueError):
            raise DataError(f"{what} must be numbers that fit a float; got one that does not.") from None
    raise DataError(f"{what} must be numeric; got {values.dtype}.")


def _refuse_wild(array: FloatArray, names: tuple[str, ...] | None, owner: str) -> None:
    """Refuse NaN, infinity and numbers so large that their squares overflow, naming the first column at fault."""
    if array.size == 0:
        return
    with np.errstate(invalid="ignore"):
        largest = np.abs(array).max(axis=0).astype(np.float64)  # NaN wins in max
    if not (largest <= LARGEST).all():
        column = int(np.argmax(~(largest <= LARGEST)))
        shown = repr(names[column]) if names else str(column)
        wild = array[:, column]
        bad = ~np.isfinite(wild)
        if bad.any():
            raise DataError(
                f"must be finite; column {shown} has {wild[bad][0]!s} in row {int(np.argmax(bad))}.",
                owner=owner,
                name="X",
            )
        raise DataError(
            f"must be below {LARGEST:g} in size, or squares overflow; column {shown} reaches {largest[column]:g}.",
            owner=owner,
            name="X",
        )


def read_entropy(owner: str, rng: np.random.Generator | int | None) -> int:
    """Return an integer seed: ``rng`` itself, or one drawn from it."""
    if isinstance(rng, int | np.integer | np.bool_):
        validation.count(owner, rng=rng)
        return int(rng)
    try:
        return int(np.random.default_rng(rng).integers(2**63))
    except (TypeError, ValueError):
        raise ParameterError(
            f"must be a Generator, a whole number or None; got {rng!r}.",
            owner=owner,
            name="rng",
        ) from None
