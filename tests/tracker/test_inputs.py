"""Whatever comes to the door becomes finite floats or is refused in one sentence."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftpace.errors import DataError
from driftpace.tracker.inputs import read_rows, read_targets

TABLE = {"age": [1, 2, 3], "income": [0.5, 1.5, 2.5], "owner": [True, False, True]}
EXPECTED = np.array([[1, 0.5, 1], [2, 1.5, 0], [3, 2.5, 1]])


def rows(X: Any, features: int | None = None, columns: tuple[str, ...] | None = None) -> np.ndarray:
    return read_rows(X, owner="tell", features=features, columns=columns).X


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_of_every_kind_are_read(frame: Any) -> None:
    read = read_rows(frame(TABLE), owner="tell", features=None, columns=None)
    np.testing.assert_array_equal(read.X, EXPECTED)
    assert read.columns == ("age", "income", "owner")


def test_frames_without_column_names_are_read() -> None:
    np.testing.assert_array_equal(rows(pd.DataFrame(EXPECTED)), EXPECTED)
    np.testing.assert_array_equal(rows(pd.DataFrame(EXPECTED.astype(object))), EXPECTED)


def test_columns_are_matched_by_name() -> None:
    shuffled = pl.DataFrame({name: TABLE[name] for name in ("owner", "age", "income")})
    np.testing.assert_array_equal(rows(shuffled, 3, ("age", "income", "owner")), EXPECTED)
    with pytest.raises(DataError, match="missing 'owner'; unknown 'height'"):
        rows(pl.DataFrame({"age": [1], "income": [1.0], "height": [2]}), 3, ("age", "income", "owner"))


def test_arrays_and_lists_are_read_and_not_kept() -> None:
    source = np.array([[1.0, 2.0]])
    read = rows(source)
    source[0, 0] = 9.0
    assert read[0, 0] == 1.0
    np.testing.assert_array_equal(rows([[1, 2], [3, 4]]), [[1.0, 2.0], [3.0, 4.0]])
    assert rows(np.empty((0, 2))).shape == (0, 2)
    np.testing.assert_array_equal(rows(np.array([[1, 2.5]], dtype=object)), [[1.0, 2.5]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([1.0, 2.0]), "two-dimensional"),
        (np.zeros((2, 2, 2)), "two-dimensional"),
        (np.empty((3, 0)), "at least one column"),
        (np.ones((1, 3)), "must have 2 columns; got 3"),
        (np.array([[1.0, np.nan]]), "column 1 has nan in row 0"),
        (np.array([[1.0, 2.0], [-np.inf, 0.0]]), "column 0 has -inf in row 1"),
        (np.array([[1.0, 1e300]]), "column 1 reaches 1e[+]300"),
        (np.array([["a", "b"]]), "must be numeric"),
        (np.array([[1.0, "b"]], dtype=object), "must be numeric; got 'b'"),
        (np.array([[1.0, None]], dtype=object), "column 1 has nan|must be numeric"),
        (np.array([[1j, 0]]), "must be numeric"),
        ([[1.0, 2.0], [3.0]], "equal length"),
        ([[10**400, 1.0]], "fit a float"),
        (np.ma.array([[1.0, 2.0]], mask=[[True, False]]), "no masked entries"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "different names"),
        (pl.DataFrame({"a": [1.0], "name": ["x"]}), "column 'name' is String"),
        (pd.DataFrame({"a": [1.0], "name": ["x"]}), "column 'name' is"),
        (pl.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}), "column 'a' has nan in row 1"),
        (None, "two-dimensional|must be"),
        ("text", "must be"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_bad_rows_are_refused_in_a_sentence(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as refusal:
        rows(X, 2)
    assert str(refusal.value).count("\n") == 0
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    "y", [np.array([0, 1, 1]), [0, 1, 1], pl.Series([0, 1, 1]), pd.Series([0, 1, 1]), pa.chunked_array([[0, 1, 1]])]
)
def test_targets_of_every_kind_are_read(y: Any) -> None:
    np.testing.assert_array_equal(read_targets(y, owner="tell", rows=3), [0.0, 1.0, 1.0])


def test_a_column_vector_of_targets_is_read() -> None:
    assert read_targets(np.ones((3, 1)), owner="tell", rows=3).shape == (3,)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones((3, 2)), "one-dimensional"),
        (np.ones(2), "one entry for each of the 3 rows of X; got 2"),
        (np.array([1.0, np.nan, 2.0]), "must be finite; got nan in row 1"),
        (np.array([1.0, 2.0, np.inf]), "must be finite; got inf in row 2"),
        (np.array([1.0, 2.0, 1e300]), "squares overflow; got 1e[+]300"),
        (np.array(["a", "b", "c"]), "must be numeric"),
        (pl.Series(["a", "b", "c"]), "must be numeric"),
        (5.0, "one-dimensional"),
        ([[1.0], [1.0, 2.0], [3.0]], "equal length"),
        ([1.0, 2.0, 10**400], "fit a float"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_bad_targets_are_refused_in_a_sentence(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_targets(y, owner="tell", rows=3)


def test_a_sparse_matrix_is_made_dense_where_it_is_small() -> None:
    from scipy.sparse import csr_array, csr_matrix

    for sparse in (csr_array(np.eye(3)), csr_matrix(np.eye(3))):
        np.testing.assert_array_equal(read_rows(sparse, owner="Tracker.tell", features=None, columns=None).X, np.eye(3))
    huge = csr_array((60_000, 1_000))
    with pytest.raises(
        DataError, match=r"at most 50,000,000 cells, .* got 60,000 rows of 1,000 columns: deliver fewer"
    ):
        read_rows(huge, owner="Tracker.tell", features=None, columns=None)
    with pytest.raises(DataError, match=r"must have at most 5,000 columns; got 5,001\."):
        read_rows(np.zeros((2, 5_001)), owner="Tracker.tell", features=None, columns=None)
