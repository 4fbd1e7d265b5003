"""Any table becomes finite numbers, each row by itself, in the same way for ever."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.errors import DataError
from driftpace.tables import CategoryColumn, Column, Encoding, NumberColumn, learn_encoding, read_columns

_NUMBERS = st.lists(st.none() | st.floats(-1e6, 1e6), min_size=12, max_size=12)
_WORDS = st.lists(
    st.none() | st.sampled_from(["a", "b", "1", "1.0", "true", "missing", "other"]) | st.text(max_size=3),
    min_size=12,
    max_size=12,
)
_MIXED = st.lists(st.none() | st.integers(-5, 5) | st.text(max_size=2), min_size=12, max_size=12)
_TABLES = st.fixed_dictionaries({"x": _NUMBERS, "city": _WORDS, "odd": _MIXED, "full": _NUMBERS})


def _rows(columns: dict[str, Column], places: Any) -> dict[str, Column]:
    return {
        name: Column(kind=column.kind, values=column.values[places], missing=column.missing[places])
        for name, column in columns.items()
    }


@settings(max_examples=60, deadline=None)
@given(table=_TABLES, order=st.permutations(range(12)), size=st.integers(1, 12))
def test_rows_are_encoded_one_by_one_as_finite_numbers(table: dict[str, Any], order: list[int], size: int) -> None:
    columns = read_columns(table)
    encoding = learn_encoding(columns).encoding
    if not encoding.columns:
        return
    whole = encoding.encode(columns)
    assert np.isfinite(whole.X).all()
    assert whole.X.shape == (12, len(encoding.names))
    places = np.array(order[:size])
    np.testing.assert_array_equal(encoding.encode(_rows(columns, places)).X, whole.X[places])
    keep = np.isin(np.arange(12), places)
    np.testing.assert_array_equal(encoding.encode(columns, keep=keep).X, whole.X[keep])
    np.testing.assert_array_equal(whole.take(places).X, whole.X[places])


@settings(max_examples=60, deadline=None)
@given(table=_TABLES, later=_TABLES)
def test_an_encoding_is_saved_exactly_and_takes_other_tables(table: dict[str, Any], later: dict[str, Any]) -> None:
    columns = read_columns(table)
    encoding = learn_encoding(columns).encoding
    saved = Encoding.of(json.loads(json.dumps(encoding.to_values())))
    assert saved == encoding
    np.testing.assert_array_equal(saved.encode(columns).X, encoding.encode(columns).X)
    try:
        assert np.isfinite(saved.encode(read_columns(later)).X).all()
    except DataError as error:
        assert "must be numeric" in str(error)  # noqa: PT017  a column of numbers that now holds words


@settings(max_examples=40, deadline=None)
@given(row=st.integers(0, 9), name=st.sampled_from(["age", "city", "member"]))
def test_one_empty_cell_never_refuses_a_table(row: int, name: str) -> None:
    table: dict[str, list[Any]] = {"age": list(range(10)), "city": ["Oslo", "Rome"] * 5, "member": [True, False] * 5}
    encoding = learn_encoding(read_columns(table)).encoding
    table[name][row] = None
    rows = encoding.encode(read_columns(table))
    assert np.isfinite(rows.X).all()
    (filled,) = rows.filled_cells()
    assert (filled.column, filled.cells) == (name, 1)
    assert np.isfinite(learn_encoding(read_columns(table)).encoding.encode(read_columns(table)).X).all()


def test_the_filled_value_does_not_matter_to_least_squares_with_its_indicator() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200))
    y = np.where(np.isnan(x), 1.0, 2.0 * x) + rng.normal(size=200)
    fits = []
    for fill in (0.0, 7.0):
        encoding = Encoding(columns=(NumberColumn(name="x", fill=fill, indicator=True),))
        X = np.column_stack([encoding.encode(read_columns({"x": x})).X, np.ones(200)])
        fits.append(X @ np.linalg.lstsq(X, y, rcond=None)[0])
    np.testing.assert_allclose(fits[0], fits[1], rtol=1e-10)


def test_rare_categories_are_pooled_and_many_are_hashed() -> None:
    rng = np.random.default_rng(1)
    city = ["Oslo"] * 500 + ["Rome"] * 480 + ["Bari", "Como"] * 10
    assert learn_encoding(read_columns({"city": city})).encoding.names == ("city=Bari", "city=Como", "city=Rome")
    rare = learn_encoding(read_columns({"city": city + [f"village {n}" for n in range(30)]}))
    assert rare.encoding.names[-1] == "city=other"
    assert rare.encoding.columns[0].unknown == ("other",)  # type: ignore[union-attr]
    assert "32 rarer values are city=other" in rare.notes["city"]
    users = [f"user {n}" for n in rng.integers(0, 3000, size=20_000)]
    hashed = learn_encoding(read_columns({"user": users}), ["user"])
    assert hashed.encoding.names == tuple(f"user=other {bucket}" for bucket in range(1, 9))
    assert "are hashed into 8 columns" in hashed.notes["user"]
    again = hashed.encoding.encode(read_columns({"user": ["user 1", "somebody new", "user 1"]})).X
    assert (again.sum(axis=1) == 1.0).all()
    assert (again[0] == again[2]).all()
    assert learn_encoding(read_columns({"user": users[:500]})).left_out == {"user": "free text or ids"}


def test_the_hash_of_a_category_is_the_same_for_ever() -> None:
    column = CategoryColumn(
        name="a", levels=("x", "other 1", "other 2", "other 3"), unknown=("other 1", "other 2", "other 3")
    )
    assert [column.category_of(word) for word in ("Rome", "Ō", "")] == ["other 2", "other 1", "other 1"]


def test_unknown_categories_and_missing_cells_are_counted() -> None:
    encoding = learn_encoding(
        read_columns({"city": ["Oslo"] * 5 + ["Rome"] * 4 + [None], "age": list(range(10))})
    ).encoding
    rows = encoding.encode(read_columns({"city": ["Bari", None, "Rome", "Bari"], "age": ["4", "", "5", "6"]}))
    assert [mapped.sentence for mapped in rows.mapped_categories()] == [
        "2 rows with an unlisted city (Bari) count as Oslo"
    ]
    assert [filled.sentence for filled in rows.filled_cells()] == [
        "1 cell of city is missing and counts as missing",
        "1 cell of age is missing and counts as 4.5",
    ]


def test_few_texts_among_numbers_are_missing_and_named() -> None:
    age = [str(n) for n in range(40)]
    age[7] = "five"
    learned = learn_encoding(read_columns({"age": age}))
    assert learned.encoding.names == ("age", "age=missing")
    assert "missing or not a number (row 8 has 'five')" in learned.notes["age"]
    half = learn_encoding(read_columns({"age": ["4", "five"] * 20}))
    assert half.encoding.text_columns == ("age",)
    with pytest.raises(DataError, match=r"feature 'age' must be numeric; row 2 has 'five'"):
        learned.encoding.encode(read_columns({"age": ["4", "five", "six"]}))
    codes = learn_encoding(read_columns(b"code\n007\n012\n007\n"))
    assert codes.encoding.text_columns == ("code",)


def test_a_small_file_may_have_more_texts_among_its_numbers_by_chance() -> None:
    """Files of 60 rows of a column of which 3 % are "k.A." are taken (error budget 1 %); twelve such cells are another column."""
    rng = np.random.default_rng(0)
    learned = learn_encoding(read_columns({"units": ["k.A." if rng.random() < 0.03 else "3" for _ in range(5000)]}))
    for _ in range(300):
        cells = ["k.A." if rng.random() < 0.03 else "3" for _ in range(60)]
        rows = learned.encoding.encode(read_columns({"units": cells}))
        assert sum(cell.cells for cell in rows.filled_cells()) == cells.count("k.A.")
    with pytest.raises(DataError, match=r"feature 'units' must be numeric; row 49 has 'k\.A\.'"):
        learned.encoding.encode(read_columns({"units": ["3"] * 48 + ["k.A."] * 12}))
    with pytest.raises(DataError, match=r"row 10 has '24 kg'; write numbers without 'kg'"):
        learned.encoding.encode(read_columns({"units": ["3"] * 9 + ["24 kg"]}))


def test_columns_missing_in_the_same_rows_share_a_mark() -> None:
    x = [None if n % 5 == 0 else float(n) for n in range(100)]
    learned = learn_encoding(read_columns({"x": x, "y": [None if v is None else v * v for v in x]}))
    assert learned.encoding.names == ("x", "x=missing", "y")
    assert learned.notes["y"].endswith("and x=missing says where.")


def test_columns_without_values_and_copies_are_left_out() -> None:
    table = {"x": [1.0, 2.0], "none": [None, None], "a": ["p", "q"], "b": ["r", "s"]}
    learned = learn_encoding(read_columns(table))
    assert learned.left_out == {"none": "no values", "b": "the same categories as a"}
    assert learn_encoding(read_columns(table), ["x", "none", "b"]).left_out == {"none": "no values"}
