"""A user's own extract of the PSID, CSV or Stata, becomes a table; what is odd is left out with a count or refused."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.datasets import load_psid7682, load_psid_extract
from driftpace.datasets.prices import CPI_U
from driftpace.errors import DataError, MissingExtraError, ParameterError


def _columns(rng: np.random.Generator, rows: int = 60) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "wave": np.repeat([1981.0, 1982.0, 1983.0], rows // 3),
        "labour": np.round(np.exp(rng.normal(9.5, 0.6, rows))),
        "old": rng.integers(25, 60, rows).astype(float),
        "school": rng.integers(9, 18, rows).astype(float),
        "worked": rng.integers(0, 40, rows).astype(float),
        "female": rng.integers(0, 2, rows).astype(float),
    }


NAMES: dict[str, Any] = {"year": "wave", "income": "labour", "age": "old", "education": "school"}


def _write(path: Path, columns: dict[str, np.ndarray[Any, Any]]) -> Path:
    if path.suffix == ".dta":
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame(columns).to_stata(path, write_index=False)
    else:
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        text = [",".join("" if cell != cell else f"{cell}" for cell in row) for row in rows]
        path.write_text("\n".join([",".join(columns), *text]) + "\n")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".dta"])
def test_an_extract_becomes_a_table(tmp_path: Path, rng: np.random.Generator, suffix: str) -> None:
    columns = _columns(rng)
    table = load_psid_extract(
        _write(tmp_path / f"mine{suffix}", columns), **NAMES, experience="worked", more=("female",)
    )
    dollars = columns["labour"] * [CPI_U[1997] / CPI_U[int(year) - 1] for year in columns["wave"]]
    np.testing.assert_allclose(table["income"], dollars, rtol=1e-14)
    np.testing.assert_allclose(table["log_income"], np.log(dollars), rtol=1e-14)
    np.testing.assert_array_equal(table["year"], columns["wave"].astype(int))
    u = (columns["worked"] - 20) / 20
    np.testing.assert_allclose(table["exper_1"], u)
    np.testing.assert_allclose(table["exper_4"], (35 * u**4 - 30 * u**2 + 3) / 8, atol=1e-14)
    assert table.features == ("education", "exper_1", "exper_2", "exper_3", "exper_4", "female")
    assert (table.name, table.period, table.target) == ("mine", "year", "log_income")
    assert "may not be passed on" in table.terms


def test_without_experience_it_is_what_age_and_schooling_leave(tmp_path: Path, rng: np.random.Generator) -> None:
    columns = _columns(rng)
    columns["old"][:2], columns["school"][:2] = (20.0, 30.0), (17.0, 12.0)
    table = load_psid_extract(_write(tmp_path / "mine.csv", columns), **NAMES)
    np.testing.assert_allclose(table["exper_1"][:2], [-1.0, -0.4])
    assert "Experience is max(age - education - 6, 0)." in table.notes


def test_the_quartic_is_better_conditioned_than_powers() -> None:
    u = (load_psid7682()["exper_c"] * 10.0) / 20.0
    years = 20.0 * u + 20.0
    powers = np.arange(1, 5)
    results = []
    for X in (np.polynomial.legendre.legvander(u, 4)[:, 1:], u[:, None] ** powers, years[:, None] ** powers):
        Z = np.column_stack([np.ones(u.size), (X - X.mean(axis=0)) / X.std(axis=0)])
        results.append(np.linalg.eigvalsh(Z.T @ Z / u.size)[0])
    np.testing.assert_allclose(results, [0.137, 0.0336, 0.000047], rtol=0.01)


def test_dollars_of_the_file_and_of_the_year_earned(tmp_path: Path, rng: np.random.Generator) -> None:
    columns = _columns(rng)
    path = _write(tmp_path / "mine.csv", columns)
    np.testing.assert_array_equal(load_psid_extract(path, **NAMES, deflate=False)["income"], columns["labour"])
    same_year = load_psid_extract(path, **NAMES, income_lag=0)
    assert same_year["income"][0] == pytest.approx(columns["labour"][0] * 160.5 / 90.9)


@pytest.mark.parametrize("suffix", [".csv", ".dta"])
def test_rows_that_are_not_known_are_left_out_and_counted(
    tmp_path: Path, rng: np.random.Generator, suffix: str
) -> None:
    columns = _columns(rng)
    columns["labour"][:3] = 0.0, -5.0, 9_999_999.0
    columns["school"][3:6] = 99.0, 98.0, np.nan
    columns["old"][6:9] = 999.0, 17.0, 70.0
    columns["worked"][9] = 99.0
    columns["female"][10] = np.nan
    path = _write(tmp_path / f"mine{suffix}", columns)
    table = load_psid_extract(path, **NAMES, experience="worked", more=("female",))
    assert len(table) == 49
    assert table.notes[:6] == (
        "2 of 60 rows left out: labour is not positive.",
        "1 of 60 rows left out: labour is missing or not known.",
        "1 of 60 rows left out: old is missing or not known.",
        "3 of 60 rows left out: school is missing or not known.",
        "1 of 60 rows left out: worked is missing or not known.",
        "1 of 60 rows left out: female is missing.",
    )
    assert table.notes[6] == "2 of 60 rows left out: old is outside 18 to 65."


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("school", 40.0, r"school must be between 0 and 25; got 40, which is no known code\."),
        ("school", -1.0, r"school must be between 0 and 25; got -1, which is no known code\."),
        ("labour", 2e7, r"labour must be between 0 and 9,999,997; got 2e\+07, which is no known code\."),
        ("wave", 1981.5, r"wave must be whole years; got 1981\.5\."),
        ("wave", 1900.0, r"knows prices of 1960 to 2024; got 1899: deflate them yourself\."),
    ],
)
def test_impossible_values_are_refused(
    tmp_path: Path, rng: np.random.Generator, column: str, value: float, sentence: str
) -> None:
    columns = _columns(rng)
    columns[column][0] = value
    with pytest.raises(DataError, match=sentence):
        load_psid_extract(_write(tmp_path / "mine.csv", columns), **NAMES)


def test_brackets_of_schooling_are_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    columns = _columns(rng)
    columns["school"][:20] = rng.integers(0, 9, 20)
    with pytest.raises(
        DataError, match=r"school must be years of schooling; in 1981 the most is \d, which looks like the brackets"
    ):
        load_psid_extract(_write(tmp_path / "mine.csv", columns), **NAMES)


def test_parameters_are_checked(tmp_path: Path, rng: np.random.Generator) -> None:
    path = _write(tmp_path / "mine.csv", _columns(rng))
    with pytest.raises(
        ParameterError, match=r"\(income=\.\.\.\) must be a column of the file; got 'labor': did you mean 'labour'\?"
    ):
        load_psid_extract(path, **(NAMES | {"income": "labor"}))
    with pytest.raises(
        ParameterError, match=r"\(path=\.\.\.\) must be an existing CSV or Stata file; got '.*none\.csv'"
    ):
        load_psid_extract(tmp_path / "none.csv")
    with pytest.raises(ParameterError, match=r"\(ages=\.\.\.\) must be the youngest and the oldest; got \(65, 18\)"):
        load_psid_extract(path, **NAMES, ages=(65, 18))
    with pytest.raises(ParameterError, match=r"\(deflate=\.\.\.\) must be True or False"):
        load_psid_extract(path, **NAMES, deflate=1)  # type: ignore[arg-type]
    with pytest.raises(
        DataError, match=r"must have rows that can be used; got none\. 60 of 60 rows left out: old is outside 1 to 2"
    ):
        load_psid_extract(path, **NAMES, ages=(1, 2))


def test_more_must_not_hide_a_column_of_the_table(tmp_path: Path, rng: np.random.Generator) -> None:
    columns = _columns(rng)
    columns["exper_1"] = columns["worked"]
    with pytest.raises(
        ParameterError, match=r"\(more=\.\.\.\) must be names that the table does not use itself; got 'exper_1'"
    ):
        load_psid_extract(_write(tmp_path / "mine.csv", columns), **NAMES, more=("exper_1",))


def test_text_is_rejected_as_income(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("year,income,age,education\n1981,,30,12\n1981,none of it,30,12\n")
    with pytest.raises(DataError, match=r"\(income=\.\.\.\) must be a column of numbers; 'income' has 'none of it'"):
        load_psid_extract(path)


def test_stata_needs_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.dta"
    path.write_bytes(b"not Stata")
    with pytest.raises(DataError, match=r"mine\.dta must be a Stata file; it cannot be read"):
        load_psid_extract(path)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"needs pandas to read a Stata file: pip install pandas"):
        load_psid_extract(path)


def test_codes_are_numbers_where_numbers_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("year,income,age,education\n1981,9000,30,08\n1981,9500,40,12\n1982,12000,50,NA\n")
    table = load_psid_extract(path)
    assert table["education"].tolist() == [8.0, 12.0]
    path.write_text("year,income,age,education\n1981,9000,30,1_0\n1982,9500,40,12\n")
    with pytest.raises(DataError, match=r"education=.* must be a column of numbers; 'education' has '1_0'"):
        load_psid_extract(path)
