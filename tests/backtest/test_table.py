"""Every kind of table becomes the same panel; what cannot be used is refused in a sentence."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftpace.backtest.table import Panel, read_table
from driftpace.datasets import Table, load_gss_income, load_psid7682
from driftpace.errors import DataError, MissingExtraError, ParameterError
from driftpace.losses import LogisticLoss
from driftpace.tables import write_rows

Columns = dict[str, list[Any]]


def _columns(rng: np.random.Generator, sizes: tuple[int, ...] = (12, 7, 30)) -> Columns:
    """Columns of every kind, rows of the periods mixed."""
    years = rng.permutation(np.repeat([2010, 2009, 2011], sizes))
    rows = years.size
    return {
        "year": years.tolist(),
        "month": [date(int(year), 3, 1) for year in years],
        "y": rng.normal(size=rows).tolist(),
        "bought": [("yes", "no")[int(draw)] for draw in rng.integers(0, 2, rows)],
        "x": rng.normal(5.0, 3.0, rows).tolist(),
        "count": rng.integers(0, 9, rows).tolist(),
        "member": rng.integers(0, 2, rows).astype(bool).tolist(),
        "city": rng.choice(["Rome", "Oslo", "Lima"], rows, p=[0.6, 0.3, 0.1]).tolist(),
    }


def _with_holes(columns: Columns) -> Columns:
    for name, row in (
        ("y", 0),
        ("y", 1),
        ("x", 2),
        ("count", 3),
        ("member", 4),
        ("city", 5),
        ("bought", 6),
        ("year", 7),
    ):
        columns[name][row] = None
    return columns


def _csv(columns: Columns, folder: Path) -> Path:
    path = folder / "rows.csv.gz"
    pl.DataFrame(columns, strict=False).to_pandas().to_csv(path, index=False)
    return path


def _parquet(columns: Columns, folder: Path) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def _arrow(columns: Columns, folder: Path) -> Path:
    path = folder / "rows.arrow"
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def _rows(columns: Columns, path: Path) -> Path:
    dates = {"month": [str(day) for day in columns["month"]]}
    write_rows(path, columns | dates)
    return path


def _text(text: str, path: Path) -> Path:
    path.write_text(text)
    return path


SOURCES: dict[str, Callable[[Columns, Path], Any]] = {
    "mapping": lambda columns, _: columns,
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "pandas of arrow": lambda columns, _: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of nullable": lambda columns, _: pd.DataFrame(columns).convert_dtypes(),
    "polars": lambda columns, _: pl.DataFrame(columns, strict=False),
    "polars, lazy": lambda columns, _: pl.LazyFrame(columns, strict=False),
    "polars of categories": lambda columns, _: pl.DataFrame(columns, strict=False).with_columns(
        pl.col("city").cast(pl.Categorical)
    ),
    "pyarrow": lambda columns, _: pa.table(columns),
    "csv": _csv,
    "tsv": lambda columns, folder: _rows(columns, folder / "rows.tsv"),
    "json": lambda columns, folder: _text(json.dumps({"columns": columns}, default=str), folder / "rows.json"),
    "json lines": lambda columns, folder: _rows(columns, folder / "rows.jsonl"),
    "arrow": _arrow,
    "parquet": _parquet,
    "bytes of parquet": lambda columns, folder: _parquet(columns, folder).read_bytes(),
}
DATES_ARE_TEXT = ("csv", "tsv", "json", "json lines")
FEATURES = ["x", "count", "member", "city"]


def _same(a: Panel, b: Panel) -> None:
    assert (a.periods, a.features, a.target, a.classes) == (b.periods, b.features, b.target, b.classes)
    assert a.notes == b.notes
    for ours, theirs in zip((*a.X, *a.y, a.mean, a.scale), (*b.X, *b.y, b.mean, b.scale), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("period", ["year", "month"])
@pytest.mark.parametrize("target", ["y", "bought"])
def test_every_kind_of_table_gives_the_same_panel(
    tmp_path: Path, rng: np.random.Generator, kind: str, period: str, target: str
) -> None:
    columns = _columns(rng)
    arrays = {name: np.array(values) for name, values in columns.items()}
    table_read = read_table(SOURCES[kind](columns, tmp_path), period=period, target=target, features=FEATURES)
    expected = read_table(arrays, period=period, target=target, features=FEATURES)
    if kind in DATES_ARE_TEXT and period == "month":  # dates are texts there, and the notes say so
        assert table_read.notes[0] == "Periods are texts, in this order: 2009-03-01, 2010-03-01, 2011-03-01."
        table_read = _without_note(table_read, 0)
    _same(table_read, expected)


def _without_note(panel: Panel, index: int) -> Panel:
    notes = list(panel.notes)
    del notes[index]
    return Panel(**({name: getattr(panel, name) for name in Panel.__slots__} | {"notes": tuple(notes)}))


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("target", ["y", "bought"])
def test_every_kind_of_table_says_the_same_of_holes(
    tmp_path: Path, rng: np.random.Generator, kind: str, target: str
) -> None:
    columns = _with_holes(_columns(rng))
    options: dict[str, Any] = {"period": "year", "target": target, "features": FEATURES, "missing": "drop"}
    table_read = read_table(SOURCES[kind](columns, tmp_path), **options)
    assert table_read.features[:3] == ("x", "count", "member")
    _same(table_read, read_table(columns, **options))
    assert sum(table_read.sizes) == 49 - (7 if target == "y" else 6)
    assert table_read.notes[0] == (
        f"{2 if target == 'y' else 1} of 49 rows left out: {target} is missing, so they are not labelled yet."
    )
    assert table_read.notes[1] == "1 of 49 rows left out: year is missing."


def test_the_numbers_are_right(rng: np.random.Generator) -> None:
    columns = _columns(rng)
    panel = read_table(columns, period="year", target="y", features=["city", "x"])
    year, x, city = np.array(columns["year"]), np.array(columns["x"]), np.array(columns["city"])
    assert panel.periods == ("2009", "2010", "2011")
    assert (len(panel), panel.sizes) == (3, (7, 12, 30))
    most = max(set(columns["city"]), key=columns["city"].count)
    others = sorted(set(columns["city"]) - {most})
    assert panel.features == (*(f"city={name}" for name in others), "x")
    for label, X, y in zip(panel.periods, panel.X, panel.y, strict=True):
        here = year == int(label)
        np.testing.assert_array_equal(y, np.array(columns["y"])[here])
        np.testing.assert_allclose(X[:, -1], (x[here] - x.mean()) / x.std(), rtol=1e-13)
        dummy = city == others[0]
        np.testing.assert_allclose(X[:, 0], (dummy[here] - dummy.mean()) / dummy.std(), rtol=1e-13)
    pooled = np.concatenate(panel.X)
    np.testing.assert_allclose(pooled.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(pooled.std(axis=0), 1.0, rtol=1e-14)
    assert f"city became 2 columns of 0 and 1, with {most!r} as the reference." in panel.notes


def test_without_standardising_values_stay(rng: np.random.Generator) -> None:
    columns = _columns(rng)
    panel = read_table(columns, period="year", target="y", features=["count"], standardise=False)
    assert sorted(np.concatenate(panel.X)[:, 0].tolist()) == sorted(columns["count"])
    assert (panel.mean.tolist(), panel.scale.tolist()) == ([0.0], [1.0])


def test_features_are_all_columns_but_dates_and_free_text_and_the_notes_say_which(rng: np.random.Generator) -> None:
    columns = {name: list(values) * 2 for name, values in _columns(rng).items()}
    columns["remark"] = [f"remark {row}" for row in range(98)]
    panel = read_table(columns, period="year", target="y", name="mine")
    assert panel.name == "mine"
    assert {name.split("=")[0] for name in panel.features} == {"x", "count", "member", "bought", "city"}
    assert panel.notes[1] == "Not among the features: month (dates); remark (free text or ids)."


@pytest.mark.parametrize("load", [load_gss_income, load_psid7682])
def test_a_bundled_table_knows_its_own_columns(load: Callable[[], Table]) -> None:
    table = load()
    panel = read_table(table)
    assert (panel.name, panel.target, panel.features) == (table.name, table.target, table.features)
    assert panel.periods == tuple(str(year) for year in sorted(set(table["year"].tolist())))
    np.testing.assert_array_equal(np.concatenate(panel.y), table[table.target])
    assert panel.task == "regression"


def test_another_target_of_a_bundled_table_keeps_the_recommended_features() -> None:
    panel = read_table(load_gss_income(), target="log_rinc_nominal", period="period")
    assert panel.features == load_gss_income().features
    assert panel.periods[:3] == ("0", "1", "2")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([10, 9, -1], ("-1", "9", "10")),
        ([0.5, 10.0, 9.0], ("0.5", "9", "10")),
        (["10", "9", "1e1"], ("9", "10", "1e1")),
        (["week 10", "week 9", "year 1"], ("week 9", "week 10", "year 1")),
        (["2020-Q1", "2019-Q4", "2020-Q2"], ("2019-Q4", "2020-Q1", "2020-Q2")),
        (["b1", "nan", "inf"], ("b1", "inf", "nan")),
        (["wave C", "wave A", "wave B"], ("wave A", "wave B", "wave C")),
        (["Mar", "january", "Feb."], ("january", "Feb.", "Mar")),
        (["Wed", "Tuesday", "Mon"], ("Mon", "Tuesday", "Wed")),
        (["Feb-10", "Jan-10", "Dec-09"], ("Dec-09", "Jan-10", "Feb-10")),
        ([date(2020, 2, 1), date(2019, 12, 1), date(2020, 1, 1)], ("2019-12-01", "2020-01-01", "2020-02-01")),
        (
            [
                datetime(2020, 2, 1, 6),
                datetime(2020, 2, 1, tzinfo=timezone(timedelta(hours=-2))),
                datetime(2020, 2, 1, tzinfo=UTC),
            ],
            ("2020-02-01T00:00:00", "2020-02-01T02:00:00", "2020-02-01T06:00:00"),
        ),
        (list(np.array(["2020-03", "2020-01", "2020-02"], dtype="M8[M]")), ("2020-01-01", "2020-02-01", "2020-03-01")),
        (list(pd.period_range("2020-01", periods=3, freq="M")[::-1]), ("2020-01", "2020-02", "2020-03")),
        ([True, False], ("False", "True")),
    ],
)
def test_periods_come_in_their_natural_order(values: list[Any], labels: tuple[str, ...]) -> None:
    rows = 5 * len(values)
    panel = read_table({"when": values * 5, "x": np.arange(rows), "y": np.arange(rows) ** 2}, period="when", target="y")
    assert panel.periods == labels


@pytest.mark.parametrize("words", [["pre", "during", "after"], ["Nov", "Dec", "Jan"], ["spring", "summer", "autumn"]])
def test_words_are_periods_in_the_order_of_the_table(words: list[str]) -> None:
    table = {"when": [word for word in words for _ in range(5)], "x": np.arange(15.0), "y": np.arange(15.0) ** 2}
    assert read_table(table, period="when", target="y").periods == tuple(words)


def test_words_without_an_order_in_time_are_refused() -> None:
    table = {"when": ["pre", "after"] * 10, "x": np.arange(20.0), "y": np.arange(20.0) ** 2}
    with pytest.raises(DataError) as error:
        read_table(table, period="when", target="y")
    assert str(error.value) == (
        "read_table: period 'when' must sort in time; words such as 'after', 'pre' do not, and the rows are not in the order of "
        "their periods: sort the rows by time, or write periods such as 2010-03."
    )


def test_pandas_periods_and_categories_are_texts() -> None:
    frame = pd.DataFrame(
        {"when": pd.period_range("2020-01", periods=2, freq="M").repeat(5), "y": range(10), "c": list("aabbb") * 2}
    )
    frame["c"] = frame["c"].astype("category")
    panel = read_table(frame, period="when", target="y", features=["c"])
    assert (panel.periods, panel.features) == (("2020-01", "2020-02"), ("c=a",))


@pytest.mark.parametrize(
    ("given", "classes"),
    [(["no", "yes"], ("no", "yes")), ([False, True], ("False", "True")), ([0, 1], None), ([-1, 1], None)],
)
def test_two_classes_can_be_given_to_the_losses(given: list[Any], classes: tuple[str, str] | None) -> None:
    rows = given * 10
    panel = read_table({"t": [0] * 10 + [1] * 10, "x": np.arange(20.0), "y": rows}, period="t", target="y")
    assert panel.task == "classification"
    assert panel.classes == classes
    encoded = LogisticLoss(l2=0.1).encode(np.concatenate(panel.y))
    np.testing.assert_array_equal(encoded, [-1.0, 1.0] * 10)


def test_constants_and_copies_are_noticed() -> None:
    y = np.linspace(0.0, 1.0, 20)
    columns = {"t": [0, 1] * 10, "y": y, "x": y**2, "copy": 3.0 * y + 1.0, "one": np.ones(20), "word": ["same"] * 20}
    panel = read_table(columns, period="t", target="y", features=["x", "copy", "one", "word"])
    assert panel.features == ("x", "copy")
    assert "Left out because constant: one." in panel.notes
    assert "word became 0 columns of 0 and 1, with 'same' as the reference." in panel.notes
    leaks = [note for note in panel.notes if note.startswith("Leakage: ")]
    assert [note.split()[1] for note in leaks] == ["x", "copy"]
    assert leaks[1].startswith(
        "Leakage: copy predicts y almost perfectly (correlation 1; all other features together 0)"
    )
    still = read_table({"t": [0, 1] * 10, "y": np.ones(20), "x": y}, period="t", target="y")
    assert "Target y is the same in every row." in still.notes


def _refused(
    error: type[Exception], sentence: str, changes: dict[str, Any] | None = None, source: Any = None, **options: Any
) -> None:
    columns = {"t": [0] * 10 + [1] * 10, "y": np.arange(20.0), "rain": np.arange(20.0) ** 2, "city": ["a", "b"] * 10}
    given = {"period": "t", "target": "y"} | options
    with pytest.raises(error) as caught:
        read_table(columns | (changes or {}) if source is None else source, **given)
    assert str(caught.value) == f"read_table{sentence}"


def test_names_are_checked() -> None:
    _refused(
        ParameterError, "(target=...) must be a column of the table; got 'Y2': it has t, y, rain, city.", target="Y2"
    )
    _refused(
        ParameterError,
        "(features=...) must be a column of the table; got 'rian': did you mean 'rain'?",
        features=["rian"],
    )
    _refused(
        ParameterError,
        "(period=...) is required: name the column with the period; the table has t, y, rain, city.",
        period=None,
    )
    _refused(ParameterError, "(target=...) must be another column than the period; got 't' for both.", target="t")
    _refused(ParameterError, "(features=...) must be a list of names; got the text 'rain'.", features="rain")
    _refused(ParameterError, "(features=...) must be at least one column; got none.", features=[])
    different = "(features=...) must be different columns, neither period nor target; got "
    _refused(ParameterError, different + "'rain', twice.", features=["rain", "rain"])
    _refused(ParameterError, different + "'y', which is the target.", features=["y"])
    _refused(ParameterError, different + "'t', which is the period.", features=["t"])
    _refused(ParameterError, "(missing=...) must be one of 'impute', 'drop', 'refuse'; got 'fill'.", missing="fill")
    _refused(ParameterError, "(max_categories=...) must be a whole number of at least 2; got 1.", max_categories=1)
    _refused(ParameterError, "(standardise=...) must be True or False; got 1.", standardise=1)


def test_the_sentence_names_the_function_that_was_called() -> None:
    with pytest.raises(ParameterError, match=r"^backtest\(period=\.\.\.\) must be a column"):
        read_table({"t": [1]}, period="u", target="y", owner="backtest")


def test_missing_values_are_refused_if_asked() -> None:
    hole = np.where(np.arange(20) < 3, np.nan, np.arange(20.0))
    features = 'must have a value in every row with missing="refuse"; row 1 has none.'
    _refused(DataError, f": column 'rain' {features}", {"rain": hole}, missing="refuse")
    _refused(DataError, f": column 'city' {features}", {"city": [None] * 3 + ["a", "b"] * 8 + ["b"]}, missing="refuse")
    _refused(
        DataError,
        ": column 't' must have a value in every row with missing=\"refuse\"; 3 of 20 are missing, the first in row 1.",
        {"t": [None] * 3 + [0] * 7 + [1] * 10},
        missing="refuse",
    )
    _refused(DataError, ": the table must have rows that can be used; got none of 20.", {"y": [None] * 20})
    masked = np.ma.masked_less(np.arange(20.0), 3.0)
    _refused(DataError, f": column 'rain' {features}", {"rain": masked}, missing="refuse")


def test_rows_without_a_weight_or_an_exposure_are_left_out() -> None:
    columns = {
        "t": [0] * 10 + [1] * 10,
        "y": np.arange(20.0),
        "x": np.arange(20.0) % 7,
        "w": [None] + [2.0] * 19,
        "days": [1.0] * 18 + [None, 1.0],
    }
    panel = read_table(columns, period="t", target="y", weight="w", exposure="days")
    assert panel.sizes == (9, 9)
    assert {"1 of 20 rows left out: w is missing.", "1 of 20 rows left out: days is missing."} <= set(panel.notes)
    with pytest.raises(DataError, match="column 'w' must have a value in every row with missing=\"refuse\"; 1 of 20"):
        read_table(columns, period="t", target="y", weight="w", missing="refuse")
    with pytest.raises(DataError, match="must have rows that can be used; got none of 20"):
        read_table({**columns, "w": [None] * 20}, period="t", target="y", weight="w")


def test_missing_values_are_filled_and_marked() -> None:
    hole = np.where(np.arange(20) < 3, np.nan, np.arange(20.0))
    columns = {"t": [None] + [0] * 9 + [1] * 10, "y": np.arange(20.0), "rain": hole, "who": ["a", None] * 10}
    panel = read_table(columns, period="t", target="y", groups="who", standardise=False)
    assert panel.features == ("rain", "rain=missing")
    assert panel.sizes == (9, 10)
    np.testing.assert_array_equal(np.concatenate(panel.X)[:3], [[11.0, 1.0], [11.0, 1.0], [3.0, 0.0]])
    assert "1 of 20 rows left out: t is missing." in panel.notes
    assert "rain: 2 of 19 cells are missing; filled with the mean 11, and rain=missing says where." in panel.notes
    assert panel.groups is not None
    assert len(set(np.concatenate(panel.groups).tolist())) == 1 + 10  # a row without a group is one by itself
    dropped = read_table(columns, period="t", target="y", missing="drop", features=["rain"])
    assert dropped.sizes == (7, 10)
    assert "2 of 20 rows left out: rain is missing." in dropped.notes


def test_codes_of_classes_are_not_regressed_in_silence() -> None:
    columns = {"t": [0] * 15 + [1] * 15, "x": np.arange(30.0)}
    coded = read_table({**columns, "y": [0, 1, 2] * 10}, period="t", target="y")
    assert coded.classes == ("0", "1", "2")
    panel = read_table({**columns, "y": [0, 1, 2] * 10}, period="t", target="y", task="regression")
    assert panel.classes is None
    assert panel.notes[1].startswith("Features have")
    rated = read_table({**columns, "y": [1, 2, 3, 4, 5] * 6}, period="t", target="y")
    assert any(
        note.startswith("Target y has 5 whole values, 1 to 5, and is treated as a number") for note in rated.notes
    )
    counted = read_table({**columns, "y": range(30)}, period="t", target="y")
    assert any(note.startswith("Target y holds whole numbers, 0 to 29, such as counts") for note in counted.notes)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e80])
def test_wild_numbers_are_refused(value: float) -> None:
    wild = np.r_[value, np.arange(19.0)]
    _refused(DataError, f": column 'rain' must be finite and below 1e+75 in size; row 1 has {value:g}.", {"rain": wild})
    _refused(DataError, f": column 'y' must be finite and below 1e+75 in size; got {value:g}.", {"y": wild})


def test_periods_that_are_none_are_refused() -> None:
    _refused(DataError, ": period 't' must have at least two distinct values; got only 7.", {"t": [7] * 20})
    _refused(
        DataError,
        ": period 't' must have at least 5 rows for each value; got 20 values in 20 rows: "
        "make a coarser column, such as the month or the year.",
        {"t": np.arange(20)},
    )
    _refused(DataError, ": period 't' must be finite; got inf.", {"t": [0.0] * 10 + [np.inf] * 10})
    _refused(DataError, ": period 't' must be numbers, dates or texts; it is of another type.", {"t": [0, "a"] * 10})


def test_columns_of_the_wrong_kind_are_refused() -> None:
    days = [date(2020, 1, 1)] * 20
    feature = "must be numbers or categories; it has"
    _refused(DataError, f": feature 'day' {feature} dates.", {"day": days}, features=["day"])
    odd = f": feature 'odd' {feature} values that are neither numbers nor texts."
    _refused(DataError, odd, {"odd": [1, b"a"] * 10}, features=["odd"])
    _refused(DataError, ": target 'y' must be numbers or classes; it is a date or time.", {"y": days})
    _refused(
        DataError,
        ": target 'y' must be numbers or at most 100 classes; got 20 texts, such as 'row 0'.",
        {"y": [f"row {row}" for row in range(20)]},
    )
    _refused(
        DataError,
        ": at least one feature must change from row to row; got none that does.",
        {"rain": [1.0] * 20},
        features=["rain"],
    )
    _refused(
        DataError,
        ": column 'city=b' has the name of a category of another column; rename it.",
        {"city=b": range(20)},
        features=["city", "city=b"],
    )


def test_tables_that_do_not_hold_together_are_refused() -> None:
    _refused(DataError, ": columns must be of one length; got lengths [3, 20].", {"z": [1, 2, 3]})
    _refused(DataError, ": column 'z' must be one-dimensional; got shape (20, 1).", {"z": np.zeros((20, 1))})
    _refused(DataError, ": column 'z' must be one-dimensional; got shape ().", {"z": "abc"})
    twins = pd.DataFrame(np.zeros((6, 2)), columns=["a", "a"])
    _refused(DataError, ": the table must have columns of different names; got 'a' twice.", source=twins)
    arrow = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    _refused(DataError, ": the table must have columns of different names; got 'a' twice.", source=arrow)
    _refused(DataError, ": the table must have columns of different names; got '1' twice.", source={1: [0], "1": [0]})
    kinds = "a path, bytes, an open binary file, arrays by name, or a pandas, polars or pyarrow frame"
    _refused(ParameterError, f"(frame=...) must be {kinds}; got int.", source=3)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refused(
        ParameterError,
        "(frame=...) must be a readable file; got 'a.xlsx': No such file or directory.",
        source="a.xlsx",
    )
    _refused(
        ParameterError,
        f"(frame=...) must be a regular file; {str(tmp_path)!r} is a folder, a pipe or a device.",
        source=tmp_path,
    )
    workbook = tmp_path / "rows.xlsx"
    workbook.write_bytes(b"PK\x03\x04")
    with pytest.raises(
        DataError,
        match=r"^read_table: rows\.xlsx must be a whole workbook; it cannot be read: File is not a zip file\.$",
    ):
        read_table(workbook, period="t", target="y")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=r"^read_table: broken\.parquet must be a whole Parquet file; it is cut short"):
        read_table(broken, period="t", target="y")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"^read_table\(\) needs pyarrow for this file: .*driftpace\[tables\]"):
        read_table(broken, period="t", target="y")


@pytest.mark.parametrize("name", ["rows.csv", "rows.CSV.gz", "rows"])
def test_a_file_gives_the_table_its_name(tmp_path: Path, name: str) -> None:
    lines = [f"{row // 5},{row},{row % 3 + 0.5}" for row in range(20)]
    path = _text("\n".join(["t,x,y", *lines]), tmp_path / name)
    assert read_table(path, period="t", target="y").name == "rows"
    assert read_table(path, period="t", target="y", name="mine").name == "mine"
    assert read_table(path.rename(tmp_path / "rows.2018.csv"), period="t", target="y").name == "rows.2018"


def _written(path: Path, garage: str, target: list[str], months: list[str]) -> Path:
    words = [garage, "Carport", "Attached"]
    lines = [f"{months[one]},{words[one % 3]},{one % 5},{target[one]}" for one in range(len(target))]
    path.write_text("\n".join(["month,garage,size,sold", *lines, ""]))
    return path


def test_a_mark_is_a_word_among_features_and_no_label(tmp_path: Path) -> None:
    target = [("yes", "no", "NA")[one % 7 % 3] for one in range(60)]
    months = [f"2026-{1 + one // 20:02d}" for one in range(60)]
    path = _written(tmp_path / "a.csv", "None", target, months)
    panel = read_table(path, period="month", target="sold", features=["garage", "size"])
    assert (panel.classes, sum(panel.sizes)) == (("no", "yes"), 60 - target.count("NA"))
    assert f"{target.count('NA')} of 60 rows left out: sold is missing, so they are not labelled yet." in panel.notes
    assert any("garage became 2 columns of 0 and 1" in note for note in panel.notes)
    months[3] = "NA"
    path = _written(path, "None", target, months)
    panel = read_table(path, period="month", target="sold", features=["size"])
    assert "1 of 60 rows left out: month is missing." in panel.notes


def test_words_of_a_frame_are_its_own() -> None:
    table = {"t": [1] * 6 + [2] * 6, "x": range(12), "y": ["None", "Some"] * 6}
    assert read_table(table, period="t", target="y").classes == ("None", "Some")
