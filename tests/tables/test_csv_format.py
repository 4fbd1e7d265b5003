"""CSV files are read, or refused with the line at fault."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.errors import DataError
from driftpace.tables import read_columns, to_arrays


def _read(tmp_path: Path, text: str | bytes) -> dict[str, np.ndarray[Any, Any]]:
    path = tmp_path / "file.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return to_arrays(read_columns(path, owner="owner"))


def test_each_column_becomes_what_it_holds(tmp_path: Path) -> None:
    found = _read(tmp_path, 'a,b,c,d,e\n1,1.5,x,true,\n2,NA,"y, z",False,3\n\n-3,inf,null,TRUE,4\n')
    assert found["a"].dtype == np.int64
    np.testing.assert_array_equal(found["b"], [1.5, np.nan, np.inf])
    assert found["c"].tolist() == ["x", "y, z", "null"]
    assert found["d"].tolist() == [True, False, True]
    np.testing.assert_array_equal(found["e"], [np.nan, 3.0, 4.0])
    assert _read(tmp_path, "a,b\ntrue,x\n,y\nfalse,z\n")["a"].tolist() == [True, None, False]


@pytest.mark.parametrize(
    "text", ["a;b\n1;2\n", "a\tb\n1\t2\n", "a,b\r\n1,2\r\n", "\ufeffa,b\n1,2", " a , b \n 1 , 2 \n"]
)
def test_separators_line_ends_and_spaces_do_not_matter(tmp_path: Path, text: str) -> None:
    found = _read(tmp_path, text)
    assert {name: column.tolist() for name, column in found.items()} == {"a": [1], "b": [2]}


def test_gzip_is_seen_from_the_bytes(tmp_path: Path) -> None:
    assert _read(tmp_path, gzip.compress(b"a\n7\n", mtime=0))["a"].tolist() == [7]


def test_odd_line_ends_inside_a_cell_stay_there(tmp_path: Path) -> None:
    assert _read(tmp_path, 'a,b\n"x\u2028y",1\n"z\n",2\n')["a"].tolist() == ["x\u2028y", "z"]


def test_a_number_too_large_to_be_exact_stays_a_float(tmp_path: Path) -> None:
    assert _read(tmp_path, "a\n1e20\n")["a"].dtype == np.float64


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"must hold at least one row; it is empty"),
        ("a,b\n", r"must have a line of names and at least one row; got the names alone"),
        ("a,b\n1,2\n1,2,3\n", r"must have 2 cells on every line; line 3 has 3"),
        ("a,b,a\n1,2,3\n", r"must have columns of different names; got 'a' twice"),
        ('a\n"x\n', r"must be a CSV file; line 2: unexpected end of data"),
        (b"a\n\xff\n", r"must be text in UTF-8, or in UTF-16 with a byte order mark; line 2 is neither"),
        (gzip.compress(b"a\n7\n" * 99, mtime=0)[:-12], r"must be a whole gzip file; it is damaged or cut short"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(DataError, match=rf"^owner: file\.csv {sentence}"):
        _read(tmp_path, text)
