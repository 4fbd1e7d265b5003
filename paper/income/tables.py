"""Settings of the income experiment and its tables by wave."""

from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import numpy as np

from driftpace.backtest.job import count_test_rows
from driftpace.backtest.table import Panel, read_table
from driftpace.datasets import Table, load_gss_income, load_psid7682, load_psid_extract
from driftpace.datasets.prices import CPI_U
from driftpace.errors import DataError, ParameterError
from driftpace.typing import FloatArray
from paper.runs import RunSettings

TableName = Literal["gss_real", "gss_nominal", "psid7682", "psid7682_real", "extract"]
Money = Literal["log", "dollars"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """Everything that a resampling depends on, beside its number; small, and the same in every process.

    ``money`` says what is predicted: the log of the income, or thousands of dollars as in the paper. The target excess risk is
    ``share`` of Var(y)/2 in the first wave. ``scaling`` says on which rows features get mean 0 and variance 1. With ``people`` the
    test rows of every wave are the same people, who are never bought. ``extract`` is the user's own file, with the names of its
    columns.

    >>> Setting(table="psid7682").share
    0.02
    """

    table: TableName
    money: Money = "log"
    share: float = 0.02
    l2: float = 1e-3
    test_fraction: float = 0.2
    scaling: Literal["first", "pooled"] = "first"
    features: Literal["all", "schooling"] = "all"
    people: bool = False
    seed: int = 0
    extract: tuple[str, tuple[tuple[str, Any], ...]] | None = None


DOLLARS_OF = 1997
_GSS_DOLLARS_OF = 1986
_LEAST_SPREAD = 1e-3  # of the largest: directions in which the first wave hardly spreads are not blown up further
_SCHOOLING = {
    "gss_real": ("educ", "exper_c", "exper_c2"),
    "gss_nominal": ("educ", "exper_c", "exper_c2"),
    "psid7682": ("education", "exper_c", "exper_c2"),
    "psid7682_real": ("education", "exper_c", "exper_c2"),
    "extract": ("education", "exper_1", "exper_2"),
}
TITLES = {
    "gss_real": "General Social Survey, real dollars",
    "gss_nominal": "General Social Survey, nominal dollars",
    "psid7682": "PSID 1976-1982, nominal dollars",
    "psid7682_real": "PSID 1976-1982, real dollars",
    "extract": "your own PSID extract",
}


def own_extract(asked: RunSettings) -> tuple[str, tuple[tuple[str, Any], ...]] | None:
    """Return the user's file and the names of its columns, or refuse a parameter that the reader of extracts does not have.

    >>> own_extract(RunSettings(psid="mine.csv", psid_columns={"wage": "earned"}))
    Traceback (most recent call last):
    driftpace.errors.ParameterError: reproduce(psid_columns=...) must be among year, income, age, ...; got 'wage'.
    """
    if asked.psid is None:
        return None
    known = [name for name in signature(load_psid_extract).parameters if name != "path"]
    for name in asked.psid_columns:
        if name not in known:
            raise ParameterError(
                f"must be among {', '.join(known)}; got {name!r}.",
                owner="reproduce",
                name="psid_columns",
            )
    columns = {name: tuple(value) if isinstance(value, list) else value for name, value in asked.psid_columns.items()}
    return str(asked.psid), tuple(sorted(columns.items()))


@lru_cache(maxsize=8)
def panel_of(setting: Setting) -> Panel:
    """Return the waves of a setting: features with mean 0 and variance 1, incomes measured from the mean of the first wave."""
    table = _with_target(setting)
    features = None if setting.features == "all" else _SCHOOLING[setting.table]
    panel = read_table(table, features=features, standardise=False, owner="reproduce")
    if setting.extract is not None:
        _refuse_short(panel, setting.test_fraction)
    first, every = panel.X[0], np.concatenate(panel.X)
    base = every if setting.scaling == "pooled" else first
    mean, spread = base.mean(axis=0), base.std(axis=0)
    scale = np.where(spread > 0.0, spread, every.std(axis=0))
    middle = float(panel.y[0].mean())
    if float(panel.y[0].std()) == 0.0:
        raise DataError(f"reproduce: the first wave of {panel.name} must have incomes that differ; all are the same.")
    return replace(
        panel,
        X=tuple((X - mean) / scale for X in panel.X),
        y=tuple(y - middle for y in panel.y),
        mean=mean,
        scale=scale,
    )


def whitened(panel: Panel) -> Panel:
    """Return the panel in coordinates in which the features of the first wave are uncorrelated: x -> C^(-1/2) (x - mean).

    The symmetric root keeps every coordinate as near to its feature as can be. Directions with less than a thousandth of the
    largest variance are treated as if they had that much.

    >>> panel = whitened(panel_of(Setting(table="psid7682")))
    >>> bool(np.allclose(np.cov(panel.X[0], rowvar=False, bias=True), np.eye(12)))
    True
    """
    first = panel.X[0]
    mean = first.mean(axis=0)
    values, directions = np.linalg.eigh(np.atleast_2d(np.cov(first, rowvar=False, bias=True)))
    root = (directions / np.sqrt(np.maximum(values, _LEAST_SPREAD * values[-1]))) @ directions.T
    return replace(panel, X=tuple((X - mean) @ root for X in panel.X))


def target_risk(setting: Setting, panel: Panel) -> float:
    """Return epsilon: the share of Var(y)/2 in the first wave, which is what predicting the mean for everybody loses there."""
    return setting.share * float(panel.y[0].var()) / 2.0


def dollars_of_1997(setting: Setting, panel: Panel) -> FloatArray:
    """Return what one unit of the target is worth in dollars of 1997, wave by wave; thousands are fitted, so 1000 and more.

    Dollars of the day are those of the year they were earned in: the year before the interview, in the General Social Survey and,
    unless its ``income_lag`` says otherwise, in the user's own extract.
    """
    if setting.extract is not None:
        columns = dict(setting.extract[1])
        lag = columns.get("income_lag", 1)
        today = not columns.get("deflate", True)
    else:
        lag = 1 if setting.table == "gss_nominal" else 0
        today = setting.table in ("gss_nominal", "psid7682")
    if not today:
        return np.full(len(panel), 1000.0)
    years = [int(float(label)) - lag for label in panel.periods]
    unknown = [year for year in years if year not in CPI_U]
    if unknown:
        raise DataError(f"reproduce knows prices of {min(CPI_U)} to {max(CPI_U)}; got incomes of {unknown[0]}.")
    return np.array([1000.0 * CPI_U[DOLLARS_OF] / CPI_U[year] for year in years])


def people_of(setting: Setting) -> tuple[FloatArray, ...]:
    """Return who each row of a wave is, in the order of the panel (the table that comes with driftpace knows)."""
    table = load_table(setting)
    return tuple(table["id"][table["year"] == year].astype(np.float64) for year in np.unique(table["year"]))


@lru_cache(maxsize=4)
def _table(name: str, extract: tuple[str, tuple[tuple[str, Any], ...]] | None) -> Table:
    if extract is not None:
        path, columns = extract
        return load_psid_extract(Path(path), **dict(columns))
    return load_gss_income() if name.startswith("gss") else load_psid7682()


def load_table(setting: Setting) -> Table:
    """Return the table of a setting as it came."""
    return _table(setting.table.removesuffix("_real").removesuffix("_nominal"), setting.extract)


def _refuse_short(panel: Panel, test_fraction: float) -> None:
    """Refuse an extract with too few waves to see a drift, or a wave with too few rows to fit one."""
    if len(panel) < 3:
        raise DataError(
            f"must have at least three waves; got {', '.join(panel.periods)}.",
            owner="reproduce",
            name="psid",
        )
    coefficients = len(panel.features) + 1
    for wave, size in zip(panel.periods, panel.sizes, strict=True):
        pool = size - count_test_rows(size, test_fraction) if size > 1 else 0
        if pool <= coefficients:
            raise DataError(
                f"must have more rows for training in each wave than the {coefficients} coefficients; wave "
                f"{wave} has {size} rows that can be used, of which {pool} are for training.",
                owner="reproduce",
                name="psid",
            )


def _with_target(setting: Setting) -> Table:
    table = load_table(setting)
    logs = _logs(setting, table)
    target = logs if setting.money == "log" else np.exp(logs) / 1000.0
    return Table(
        name=table.name,
        columns={**table.columns, "target": target},
        period=table.period,
        target="target",
        features=table.features,
        source=table.source,
        terms=table.terms,
        notes=table.notes,
    )


def _logs(setting: Setting, table: Table) -> FloatArray:
    """Return the log incomes in the money of the setting; real dollars are those of 1997 where dollars are predicted."""
    logs: FloatArray = table[
        {"gss_nominal": "log_rinc_nominal", "gss_real": "log_rinc", "extract": "log_income"}.get(
            setting.table, "log_wage"
        )
    ]
    prices = np.ones(logs.size)
    if setting.table == "gss_real" and setting.money == "dollars":
        prices[:] = CPI_U[DOLLARS_OF] / CPI_U[_GSS_DOLLARS_OF]
    if setting.table == "psid7682_real":
        prices[:] = [CPI_U[DOLLARS_OF] / CPI_U[int(year)] for year in table["year"].tolist()]
    now: FloatArray = logs + np.log(prices)
    return now
