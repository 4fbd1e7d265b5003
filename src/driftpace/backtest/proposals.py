"""What a table holds, column by column, and which columns could be its periods and its target."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.backtest.periods import FEWEST_ROWS, PeriodRule
from driftpace.tables import Column
from driftpace.tables.calendar import UNITS, Unit, floor_dates
from driftpace.tables.cells import is_mark
from driftpace.tables.date_text import PRECISIONS
from driftpace.tables.dates import Dates, find_dates
from driftpace.tables.identity import find_ids
from driftpace.tables.learn import FEW_CATEGORIES, REPEATED, is_numeric
from driftpace.tables.targets import describe_target
from driftpace.typing import FloatArray

MOST_PERIODS, FEW_PERIODS = 260, 6
"""Periods are proposed as fine as possible with at most so many of them; fewer than that show little of the drift."""
ENOUGH_ROWS, SOME_ROWS = 100, 30
"""They have at least so many rows on average; the second where the first leaves too few periods."""

_PERIOD_NAMES = re.compile(
    r"period|wave|round|batch|epoch|year|quarter|month|week|yearmonth|survey_?year", re.IGNORECASE
)
_TIME_NAMES = re.compile(
    r"time|date|day|t|visit|occasion|session|season|cohort|(.*[^a-z])?(yr|year|month|week)|[a-z]year|yr.*",
    re.IGNORECASE,
)
"""Names of columns that may say when, and are only mentioned: a time may be a duration, a year that of a birth."""
_TARGET_NAMES = re.compile(r"target|label|y|outcome|class|response", re.IGNORECASE)
_TARGET_ORDER = {"two classes": 0, "a number": 1}
_CYCLES = {"month": 12, "quarter": 4, "week": 53}

Holds = Literal[
    "numbers", "whole numbers", "two values", "dates", "categories", "text", "ids", "nothing", "mixed values"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSummary:
    """What a column holds.

    Parameters
    ----------
    name : str
        The column.
    holds : str
        In a word: numbers, whole numbers, two values, dates, categories, text, ids, nothing or mixed values.
    detail : str
        The range or the first values.
    distinct : int
        Number of distinct values.
    missing : int
        Number of rows without a value.
    target : str or None
        How the column would be understood as a target; None where it cannot be one.
    """

    name: str
    holds: Holds
    detail: str
    distinct: int
    missing: int
    target: str | None


def summarise_columns(columns: Mapping[str, Column]) -> tuple[ColumnSummary, ...]:
    """Return what each column holds.

    >>> from driftpace.tables import read_columns
    >>> table = read_columns({"day": ["2010-03-15", "2010-03-16"], "sold": ["no", "yes"], "price": [1.5, None]})
    >>> [(column.name, column.holds, column.detail, column.target) for column in summarise_columns(table)]
    [('day', 'dates', '2010-03-15 to 2010-03-16', None), ('sold', 'two values', 'no, yes', 'two classes'),
     ('price', 'numbers', '1.5', None)]
    """
    rows = next(iter(columns.values())).missing.size if columns else 0
    ids = find_ids(columns, list(columns), np.ones(rows, dtype=np.bool_))
    return tuple(_summary(name, column, name in ids) for name, column in columns.items())


def _summary(name: str, column: Column, numbered: bool) -> ColumnSummary:
    missing = int(column.missing.sum())
    there = column.values[~column.missing]
    values: list[str] | FloatArray
    if column.kind in ("text", "other"):
        counts = Counter(str(cell) for cell in there.tolist())
        missing += sum(rows for text, rows in counts.items() if is_mark(text))
        values = [text for text in counts if not is_mark(text)]
    else:
        values = np.unique(there)
    if not len(values):
        return ColumnSummary(name=name, holds="nothing", detail="", distinct=0, missing=missing, target=None)
    holds, detail, target = _contents(name, column, there, values, numbered)
    return ColumnSummary(name=name, holds=holds, detail=detail, distinct=len(values), missing=missing, target=target)


def _contents(
    name: str,
    column: Column,
    there: "np.ndarray[tuple[int], np.dtype[np.generic]]",
    values: "list[str] | FloatArray",
    numbered: bool,
) -> tuple[Holds, str, str | None]:
    dates = find_dates(column, name)
    if isinstance(dates, Dates) and column.kind != "number":
        days = dates.values[~np.isnat(dates.values)].astype("datetime64[D]")
        return "dates", f"{days.min()} to {days.max()}", None
    if len(values) == 2:
        words = [_short(value) for value in sorted(values, key=str)]
        return "two values", ", ".join(words), "two classes"
    if column.kind in ("number", "flag"):
        numbers = np.asarray(there, dtype=np.float64)
        span = _short(numbers.min()) if len(values) == 1 else f"{_short(numbers.min())} to {_short(numbers.max())}"
        whole = bool(np.all(numbers == np.trunc(numbers)))
        if numbered:
            return "ids", span, None
        classes = describe_target(name, numbers).classes
        target = f"{classes} classes, if they are codes" if classes else None if len(values) == 1 else "a number"
        return "whole numbers" if whole else "numbers", span, target
    if column.kind == "other":
        return "mixed values", ", ".join(_short(value) for value in values[:3]), None
    if is_numeric(column):
        return "numbers", f"and texts such as {_odd_cell(values)!r:.20}", "a number"
    if len(values) > max(FEW_CATEGORIES, REPEATED * there.size):
        return "text" if len(values) < there.size else "ids", ", ".join(_short(value) for value in values[:2]), None
    shown = ", ".join(_short(value) for value in values[:3])
    target = None if len(values) == 1 else f"{len(values):,} classes"
    return "categories", f"{shown}{', ...' if len(values) > 3 else ''}", target


def _odd_cell(values: "list[str] | FloatArray") -> str:
    for value in values:
        try:
            float(value)
        except ValueError:
            return str(value)
    return ""


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) >= 10_000 else f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 20 else f"{text[:17]}..."


@dataclass(frozen=True, kw_only=True, slots=True)
class PeriodProposal:
    """A way to put rows into periods: ``period`` as a backtest takes it, and why it is proposed."""

    period: str
    reason: str


def propose_periods(columns: Mapping[str, Column], dayfirst: bool | None = None) -> tuple[PeriodProposal, ...]:
    """Return ways to put the rows into periods, the best first; ``dayfirst`` says whether 03/04/2010 is 3 April.

    >>> from driftpace.tables import read_columns
    >>> days = np.arange("2010-01-01", "2011-01-01", dtype="datetime64[D]").repeat(5)
    >>> propose_periods(read_columns({"sold on": days, "price": np.arange(days.size)}))[0]
    PeriodProposal(period='sold on:month', reason='a column of dates')
    """
    rows = next(iter(columns.values())).missing.size if columns else 0
    named, dated = [], []
    for name, column in columns.items():
        if column.missing.mean() > 0.5:
            continue
        dates = find_dates(column, name, dayfirst=dayfirst)
        if isinstance(dates, Dates) and dates.precision != "year":
            unit = _propose_unit(dates)
            if unit is not None:
                dated.append(PeriodProposal(period=f"{name}:{unit}", reason="a column of dates"))
        elif _PERIOD_NAMES.fullmatch(name.strip()) and _is_sequence(name, column):
            named.append(PeriodProposal(period=name, reason="by its name"))
    named.sort(key=lambda proposal: proposal.period.lower() != "period")
    exact = [proposal for proposal in named if proposal.period.lower() == "period"]
    proposals = [*exact, *dated, *(proposal for proposal in named if proposal not in exact)]
    if not proposals and rows >= 2 * ENOUGH_ROWS:
        size = max(ENOUGH_ROWS, round(rows / 20, -2 if rows >= 20_000 else -1))
        proposals += [
            PeriodProposal(period=f"{name}:{int(size)}", reason="by its name")
            for name, column in columns.items()
            if _PERIOD_NAMES.fullmatch(name.strip()) and column.kind == "number" and _goes_on(name, column)
        ]
        if not proposals:
            reason = "no column says when: rows in the order of the file"
            proposals.append(PeriodProposal(period=f":{int(size)}", reason=reason))
        for name, column in columns.items():
            if _PERIOD_NAMES.fullmatch(name.strip()):
                continue
            if _TIME_NAMES.fullmatch(name.strip()) and column.kind == "number" and np.unique(column.values).size > 2:
                period = name if _is_sequence(name, column) else f"{name}:{int(size)}"
                proposals.append(PeriodProposal(period=period, reason="by its name"))
    return tuple(proposals)


def coarser_periods(
    columns: Mapping[str, Column], period: str, others: Sequence[PeriodProposal] = ()
) -> Iterator[PeriodProposal]:
    """Yield other periods where some have too few rows: the ``others``, coarser units of its dates, and rows in their order.

    Units that leave fewer than six periods come last.

    >>> from driftpace.tables import read_columns
    >>> table = read_columns({"sold on": np.arange("2010-01-01", "2011-01-01", dtype="datetime64[D]")})
    >>> [proposal.period for proposal in coarser_periods(table, "sold on:month")]
    ['sold on:100', 'sold on:quarter']
    """
    yield from others
    rule = PeriodRule.of(period, columns)
    if rule is None:
        return
    reason = f"some periods of {period} have too few rows: these are longer"
    if rule.rows is not None:
        for times in (2, 5, 10):
            yield PeriodProposal(period=f"{rule.column or ''}:{times * rule.rows}", reason=reason)
    elif rule.column is not None:
        column = columns[rule.column]
        dates = find_dates(column, rule.column)
        units = _coarser_units(dates, rule.unit) if isinstance(dates, Dates) else {}
        rows = column.missing.size - int(column.missing.sum())
        several = [unit for unit, count in units.items() if count >= FEW_PERIODS]
        ordered = isinstance(dates, Dates) or column.kind == "number"
        counted = [max(ENOUGH_ROWS, round(rows / parts, -1)) for parts in (20, 10, 6)] if ordered else []
        sizes = [f"{int(size)}" for size in dict.fromkeys(counted) if rows >= 2 * size]
        for how in (*several, *sizes, *(unit for unit in units if unit not in several)):
            yield PeriodProposal(period=f"{rule.column}:{how}", reason=reason)


def _coarser_units(dates: Dates, unit: Unit | None) -> dict[Unit, int]:
    """Return the units that are coarser than one, or any that the dates can have, and how many periods they give."""
    moments = dates.values[~np.isnat(dates.values)]
    finest = 0 if unit is None else UNITS.index(unit) + 1
    usable = [other for other in UNITS[finest:] if PRECISIONS.index(other) >= PRECISIONS.index(dates.precision)]
    counts = {other: np.unique(floor_dates(moments, other)).size for other in usable}
    return {other: count for other, count in counts.items() if count > 1}


def _propose_unit(dates: Dates) -> Unit | None:
    """Return the finest unit that gives enough rows a period and not too many periods."""
    moments = dates.values[~np.isnat(dates.values)]
    usable = [unit for unit in UNITS if PRECISIONS.index(unit) >= PRECISIONS.index(dates.precision)]
    counts = {unit: np.unique(floor_dates(moments, unit)).size for unit in usable}
    rows = {unit: moments.size / counts[unit] for unit in usable}
    several = [unit for unit in usable if counts[unit] > 1]
    for least, fewest in ((ENOUGH_ROWS, FEW_PERIODS), (SOME_ROWS, FEW_PERIODS), (SOME_ROWS, 2), (FEWEST_ROWS, 2)):
        fitting = [unit for unit in several if rows[unit] >= least and counts[unit] >= fewest]
        few = [unit for unit in fitting if counts[unit] <= MOST_PERIODS]
        if fitting:
            return few[0] if few else fitting[-1]
    return None


def _is_sequence(name: str, column: Column) -> bool:
    """Whether a column can be periods as it is: several values, each with enough rows, that do not begin again every year."""
    if column.kind not in ("number", "text") or column.missing.all():
        return False
    there = column.values[~column.missing]
    distinct, counts = np.unique(there.astype(np.str_) if column.kind == "text" else there, return_counts=True)
    if distinct.size < 2 or distinct.size > there.size / FEWEST_ROWS or counts.min() < FEWEST_ROWS:
        return False
    return column.kind != "number" or _goes_on(name, column)


def _goes_on(name: str, column: Column) -> bool:
    """Whether numbers have at least two values and do not begin again every year."""
    there = column.values[~column.missing]
    if column.missing.mean() > 0.5 or not np.isfinite(there).all():
        return False
    least, most = float(there.min()), float(there.max())
    return least < most and not (least >= 0.0 and most <= _CYCLES.get(name.strip().lower(), 0))


def propose_target(columns: tuple[ColumnSummary, ...]) -> str | None:
    """Return the only column with the name of a target, None where there is none or more than one."""
    named = [column.name for column in columns if column.target is not None and _TARGET_NAMES.fullmatch(column.name)]
    return named[0] if len(named) == 1 else None


def likely_targets(columns: tuple[ColumnSummary, ...], period: str | None) -> tuple[str, ...]:
    """Return the columns that could be the target: those with missing cells first, then two classes, numbers and classes."""
    when = (
        None
        if period is None
        else (PeriodRule.of(period, [column.name for column in columns]) or PeriodRule(column=None)).column
    )
    possible = [column for column in columns if column.target is not None and column.name != when]
    ranked = sorted(possible, key=lambda column: (column.missing == 0, _TARGET_ORDER.get(column.target or "", 2)))
    return tuple(column.name for column in ranked)
