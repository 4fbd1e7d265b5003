"""Your own extract of the Panel Study of Income Dynamics, made ready for the paper's experiment.

The PSID gives its files to registered users only and they may not be passed on, so driftpace brings none; it reads yours.
"""

import struct
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.datasets.prices import CPI_U
from driftpace.datasets.table import Table
from driftpace.errors import DataError, MissingExtraError, ParameterError
from driftpace.tables import LOCAL_LIMITS, read_columns, to_arrays
from driftpace.tables.cells import numbers_of
from driftpace.typing import BoolArray, FloatArray

_OWNER = "load_psid_extract"
_DOLLARS_OF = 1997

# Codes the PSID writes where it does not know, and the largest value that is a value.
_UNKNOWN = {
    "income": (9_999_998.0, 9_999_999.0),
    "age": (0.0, 999.0),
    "education": (98.0, 99.0),
    "experience": (98.0, 99.0, 998.0, 999.0),
}
_LARGEST = {"income": 9_999_997.0, "age": 120.0, "education": 25.0, "experience": 80.0}


def load_psid_extract(  # noqa: PLR0913  public API
    path: str | PathLike[str],
    *,
    year: str = "year",
    income: str = "income",
    age: str = "age",
    education: str = "education",
    experience: str | None = None,
    more: tuple[str, ...] = (),
    ages: tuple[float, float] = (18, 65),
    deflate: bool = True,
    income_lag: int = 1,
) -> Table:
    r"""Return an extract of the PSID as a table: log labour income to predict, one period for each year of interviews.

    ``path`` is a CSV file (gzipped or not) or a Stata file (.dta, which needs pandas), one row for each person and year.
    The next parameters are the names of its columns: ``year`` of the interview, yearly labour ``income`` in dollars, ``age``,
    years of ``education`` and, where the extract has it, years of work ``experience``; without it experience is
    ``max(age - education - 6, 0)``. ``more`` names further numeric columns to take along as features.

    Rows are left out, and counted in ``notes``, where the income is not positive, where a value is missing or one of the codes
    the PSID uses for "not known" (education 98, 99; age 0, 999; income 9999998, 9999999; ...), and where the age is outside
    ``ages``. Any other impossible value is refused, and so is a year whose schooling looks like brackets instead of years.

    With ``deflate`` incomes are in dollars of 1997, with the CPI-U of the year earned: ``income_lag`` years before the interview
    (the PSID asks about last year's income, so 1; give 0 when your ``year`` is the year earned).

    Experience enters as a quartic, after Murphy and Welch (1990): ``exper_1`` to ``exper_4`` are the Legendre polynomials of
    ``(experience - 20) / 20``. They fit what the four powers fit and are told apart by fewer rows: on the experience in
    ``load_psid7682`` the least eigenvalue of E[xx'] is 0.14, against 0.03 for centred powers and 0.00005 for plain ones.
    ``income`` is kept as a column, for those who want to predict dollars as the paper does.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("wave,earned,age,school\n1981,9000,30,12\n1981,0,40,12\n1982,12000,50,16\n")
    ...     table = load_psid_extract(path, year="wave", income="earned", education="school")
    >>> table["income"].round().tolist()
    [17530.0, 21188.0]
    >>> table.notes[0]
    '1 of 3 rows left out: earned is not positive.'
    """
    validation.switch(_OWNER, deflate=deflate)
    validation.count(_OWNER, income_lag=income_lag)
    low, high = _two_ages(ages)
    file = Path(path)
    wanted = {"year": year, "income": income, "age": age, "education": education}
    if experience is not None:
        wanted["experience"] = experience
    columns = _read(file)
    values = {role: _numbers(columns, name, role) for role, name in wanted.items()}
    extra = {name: _numbers(columns, name, "more") for name in more}
    clash = sorted(set(extra) & {"year", "income", "log_income", "age", "education", *_quartic_names()})
    if clash:
        raise ParameterError(
            f"must be names that the table does not use itself; got {clash[0]!r}.",
            owner=_OWNER,
            name="more",
        )

    keep, notes = _kept(values, extra, wanted, low, high)
    values = {role: column[keep] for role, column in values.items()}
    extra = {name: column[keep] for name, column in extra.items()}
    _refuse_odd(values, wanted)
    dollars = values["income"]
    if deflate:
        dollars = dollars * _prices(values["year"] - income_lag)
        notes.append(
            f"Incomes are in dollars of {_DOLLARS_OF} (CPI-U of the year earned, {income_lag} before the interview)."
        )
    else:
        notes.append("Incomes are in the dollars of the file.")
    worked = values.get("experience")
    if worked is None:
        worked = np.maximum(values["age"] - values["education"] - 6.0, 0.0)
        notes.append("Experience is max(age - education - 6, 0).")
    quartic = np.polynomial.legendre.legvander((worked - 20.0) / 20.0, 4)
    return Table(
        name=file.name.split(".")[0],
        columns={
            "year": values["year"].astype(np.int64),
            "log_income": np.log(dollars),
            "income": dollars,
            "age": values["age"],
            "education": values["education"],
            **{name: quartic[:, power] for power, name in enumerate(_quartic_names(), start=1)},
            **extra,
        },
        period="year",
        target="log_income",
        features=("education", *_quartic_names(), *extra),
        source=f"Panel Study of Income Dynamics, University of Michigan; the user's own extract {file.name}.",
        terms="PSID files are for registered users and may not be passed on to third parties.",
        notes=tuple(notes),
    )


def _quartic_names() -> tuple[str, ...]:
    return ("exper_1", "exper_2", "exper_3", "exper_4")


def _two_ages(ages: object) -> tuple[float, float]:
    low, high = validation.vector(_OWNER, length=2, ages=ages).tolist()
    if low > high:
        raise ParameterError(f"must be the youngest and the oldest; got {ages!r}.", owner=_OWNER, name="ages")
    return low, high


def _read(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    if not path.is_file():
        raise ParameterError(f"must be an existing CSV or Stata file; got {str(path)!r}.", owner=_OWNER, name="path")
    if path.suffix.lower() != ".dta":
        return to_arrays(read_columns(path, limits=LOCAL_LIMITS, owner=_OWNER))
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise MissingExtraError(f"{_OWNER}() needs pandas to read a Stata file: pip install pandas.") from None
    try:
        frame = pd.read_stata(path, convert_categoricals=False, convert_dates=False)
    except (ValueError, OSError, LookupError, struct.error) as error:
        raise DataError(f"{_OWNER}: {path.name} must be a Stata file; it cannot be read: {error}.") from None
    return {str(name): frame[name].to_numpy() for name in frame.columns}


def _numbers(columns: dict[str, np.ndarray[Any, Any]], name: str, role: str) -> FloatArray:
    if name not in columns:
        near = get_close_matches(str(name), columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns)}."
        raise ParameterError(f"must be a column of the file; got {name!r}: {hint}", owner=_OWNER, name=role)
    column = columns[name]
    written = numbers_of([str(cell) for cell in column]) if column.dtype.kind == "O" else None  # codes such as 08
    if written is not None:
        return written
    if column.dtype.kind not in "biuf":
        other = next((cell for cell in column.tolist() if isinstance(cell, str | bool)), None)
        raise DataError(f"must be a column of numbers; {name!r} has {other!r}.", owner=_OWNER, name=role)
    return column.astype(np.float64)


def _kept(
    values: dict[str, FloatArray], extra: dict[str, FloatArray], wanted: dict[str, str], low: float, high: float
) -> tuple[BoolArray, list[str]]:
    """Return which rows stay, and a sentence for each reason why others do not; a row is counted under the first."""
    reasons: list[tuple[str, BoolArray]] = [(f"{wanted['income']} is not positive", values["income"] <= 0.0)]
    for role, column in values.items():
        reasons.append(
            (f"{wanted[role]} is missing or not known", np.isnan(column) | np.isin(column, _UNKNOWN.get(role, ())))
        )
    reasons += [(f"{name} is missing", np.isnan(column)) for name, column in extra.items()]
    reasons.append(
        (f"{wanted['age']} is outside {low:g} to {high:g}", ~((values["age"] >= low) & (values["age"] <= high)))
    )
    rows = values["income"].size
    keep, notes = np.ones(rows, dtype=np.bool_), []
    for reason, out in reasons:
        count = int((keep & out).sum())
        if count:
            notes.append(f"{count:,} of {rows:,} rows left out: {reason}.")
        keep &= ~out
    if not keep.any():
        raise DataError(f"{_OWNER}: the file must have rows that can be used; got none. {' '.join(notes)}")
    return keep, notes


def _refuse_odd(values: dict[str, FloatArray], wanted: dict[str, str]) -> None:
    for role, largest in _LARGEST.items():
        column = values.get(role)
        if column is not None and not ((column >= 0.0) & (column <= largest)).all():
            odd = column[(column < 0.0) | (column > largest)][0]
            raise DataError(
                f"{_OWNER}: {wanted[role]} must be between 0 and {largest:,.0f}; got {odd:g}, which is no known code."
            )
    years, schooling = values["year"], values["education"]
    if (years != np.trunc(years)).any():
        raise DataError(f"{_OWNER}: {wanted['year']} must be whole years; got {years[years != np.trunc(years)][0]:g}.")
    for year in np.unique(years):
        if (most := schooling[years == year].max()) <= 8.0:
            raise DataError(
                f"{_OWNER}: {wanted['education']} must be years of schooling; in {year:.0f} the most is {most:g}, "
                "which looks like the brackets of the early interviews."
            )


def _prices(years: FloatArray) -> FloatArray:
    unknown = [year for year in np.unique(years).tolist() if year not in CPI_U]
    if unknown:
        raise DataError(
            f"{_OWNER}(deflate=True) knows prices of {min(CPI_U)} to {max(CPI_U)}; got {unknown[0]:.0f}: deflate them yourself."
        )
    return np.array([CPI_U[_DOLLARS_OF] / CPI_U[int(year)] for year in years.tolist()])
