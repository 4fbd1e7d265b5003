"""Spline terms and products: what they are, that they stay the same, and what is refused."""

from typing import Any

import numpy as np
import pytest

from driftpace.errors import DataError, ParameterError
from driftpace.tables import Encoding, learn_encoding, read_columns
from driftpace.tables.encoding import with_expansion
from driftpace.tables.expansion import (
    KNOTS,
    MOST_BANDS,
    Expansion,
    ExpansionRequest,
    band_sizes,
    learn_expansion,
)
from driftpace.typing import FloatArray


def rows(count: int = 500, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.standard_normal(count), rng.uniform(size=count), rng.integers(0, 2, count)])


def learn(
    splines: Any = None,
    interactions: Any = None,
    X: FloatArray | None = None,
    names: tuple[str, ...] = ("a", "b", "flag"),
) -> Expansion:
    request = ExpansionRequest.of("test", splines, interactions)
    assert request is not None
    return learn_expansion(request, rows() if X is None else X, names, numeric=names, owner="test")


@pytest.mark.parametrize("kind", ["natural", "b-spline"])
def test_terms_are_orthogonal_to_the_line_and_of_variance_one(kind: str) -> None:
    X = rows()
    inside = (X[:, 0] > np.quantile(X[:, 0], 0.02)) & (X[:, 0] < np.quantile(X[:, 0], 0.98))
    terms = learn({"a": kind}).expand(X, ("a", "b", "flag"))[:, 3:]
    assert np.allclose(terms.mean(axis=0), 0.0, atol=1e-8)
    assert np.allclose(terms.T @ terms / len(X), np.eye(terms.shape[1]), atol=1e-8)
    bounded = np.clip(X[:, 0], X[inside, 0].min(), X[inside, 0].max())
    assert np.abs(terms.T @ bounded).max() / len(X) < 0.02


@pytest.mark.parametrize("kind", ["natural", "b-spline"])
def test_a_smooth_curve_is_followed_closely(kind: str) -> None:
    X = rows(2000)
    curve = np.sin(1.5 * X[:, 0])
    inside = np.abs(X[:, 0]) < np.quantile(np.abs(X[:, 0]), 0.9)
    made = learn({"a": kind}, X=X).expand(X, ("a", "b", "flag"))[:, [0, *range(3, 3 + (KNOTS - 2))]]
    design = np.column_stack([np.ones(len(X)), made])[inside]
    left = curve[inside] - design @ np.linalg.lstsq(design, curve[inside], rcond=None)[0]
    line = np.column_stack([np.ones(inside.sum()), X[inside, 0]])
    straight = curve[inside] - line @ np.linalg.lstsq(line, curve[inside], rcond=None)[0]
    assert np.mean(left**2) < 0.1 * np.mean(straight**2)


def test_rows_far_out_have_the_terms_of_the_outer_knot() -> None:
    made = learn(["a"])
    far, farther = made.expand(np.array([[50.0, 0.0, 0.0], [5000.0, 0.0, 0.0]]), ("a", "b", "flag"))[:, 3:]
    assert np.array_equal(far, farther)


def test_all_numeric_columns_leave_flags_out() -> None:
    assert learn(True).names == ("a~1", "a~2", "a~3", "b~1", "b~2", "b~3")


def test_products_are_of_standardised_columns() -> None:
    X = rows()
    made = learn(None, [("a", "b")], X=X).expand(X, ("a", "b", "flag"))[:, 3]
    a, b = ((X[:, place] - X[:, place].mean()) / X[:, place].std() for place in (0, 1))
    assert np.allclose(made, a * b)


def test_an_expansion_survives_its_plain_values() -> None:
    X, made = rows(), learn(["a"], True)
    again = Expansion.of(made.to_values())
    assert np.array_equal(made.expand(X, ("a", "b", "flag")), again.expand(X, ("a", "b", "flag")))


def test_an_encoding_expands_the_same_way_in_every_period() -> None:
    rng = np.random.default_rng(1)

    def table(count: int) -> Any:
        return read_columns({"age": rng.normal(40, 10, count), "city": rng.choice(["Oslo", "Rome"], count)})

    first = table(200)
    learned = learn_encoding(first).encoding
    encoding = with_expansion(learned, ExpansionRequest.of("test", True, [("age", "city")]), first, owner="test")
    assert encoding.names == ("age", "city=Rome", "age~1", "age~2", "age~3", "age*city=Rome") or (
        encoding.names == ("age", "city=Oslo", "age~1", "age~2", "age~3", "age*city=Oslo")
    )
    assert with_expansion(encoding, ExpansionRequest.of("test", True, None), table(50), owner="test") is encoding
    later = table(50)
    again = Encoding.of(encoding.to_values())
    assert np.array_equal(encoding.encode(later).X, again.encode(later).X)


def test_bands_are_the_terms_of_a_column_and_all_products() -> None:
    assert band_sizes(("a", "b", "a~1", "a~2", "b~1", "a*b", "a*c")) == (2, 1, 2)
    assert band_sizes(None) == ()
    many = [f"c{place}~{term}" for place in range(MOST_BANDS + 1) for term in (1, 2, 3)]
    assert band_sizes(many) == (3 * (MOST_BANDS + 1),)


@pytest.mark.parametrize(
    ("splines", "interactions", "named"),
    [
        (3, None, "splines"),
        (["a", "a"], None, "splines"),
        ({"a": "cubic"}, None, "splines"),
        (None, "a*b", "interactions"),
        (None, [("a", "a")], "interactions"),
        (None, [("a", "b"), ("b", "a")], "interactions"),
        (None, [("a", "b", "c")], "interactions"),
    ],
)
def test_settings_that_cannot_be_are_refused(splines: Any, interactions: Any, named: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ExpansionRequest.of("test", splines, interactions)
    assert caught.value.name == named


def test_nothing_is_requested_by_none_and_false() -> None:
    assert ExpansionRequest.of("test", None, None) is None
    assert ExpansionRequest.of("test", False, []) is None


def test_columns_that_are_not_there_are_named() -> None:
    with pytest.raises(ParameterError, match="got 'c', there are a, b, flag"):
        learn(["c"])
    with pytest.raises(ParameterError, match="got 'c'"):
        learn(None, [("a", "c")])


def test_a_flag_has_no_spline_and_too_many_columns_are_not_all_multiplied() -> None:
    with pytest.raises(DataError, match="at least 5 different values in column 'flag'"):
        learn(["flag"])
    names = tuple(f"c{place}" for place in range(13))
    with pytest.raises(ParameterError, match="at most 12 numeric columns; got 13"):
        learn(None, True, X=np.random.default_rng(0).standard_normal((30, 13)), names=names)


def test_names_like_those_of_expanded_columns_are_refused() -> None:
    with pytest.raises(DataError, match="named like expanded ones; got 'a~1'"):
        learn(["b"], names=("a~1", "b", "c"))
