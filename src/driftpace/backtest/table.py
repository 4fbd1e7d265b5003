"""Read a table into a panel: rows by period, numeric features, one target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.backtest.features import (
    EncodingOptions,
    encode_features,
    grouped_rows,
    labelled_rows,
    valued_rows,
    with_texts,
)
from driftpace.backtest.periods import Groups, PeriodRule, group_rows
from driftpace.backtest.target import read_target
from driftpace.datasets import Table
from driftpace.errors import DataError, ParameterError
from driftpace.losses.registry import Task
from driftpace.tables import LOCAL_LIMITS, MAX_CATEGORIES, Column, Encoding, read_columns
from driftpace.tables.calendar import UNITS, calendar_column, calendar_names, check_precision
from driftpace.tables.cells import numbers_each, without_marks
from driftpace.tables.dates import parse_dates
from driftpace.tables.encoding import MISSING_POLICIES, MissingPolicy
from driftpace.tables.expansion import ExpansionRequest, learn_expansion
from driftpace.tables.leakage import Leak, find_leaks
from driftpace.tracker.inputs import as_rates
from driftpace.typing import BoolArray, FloatArray, IntArray

_STANDARDISED = "Features have mean 0 and standard deviation 1 over all periods together."


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Panel:
    """Rows by period: ``X[n]`` and ``y[n]`` are the features and targets of ``periods[n]``, in the order of the table.

    ``mean`` was subtracted from each feature, which was then divided by ``scale``. ``classes`` are the values that became the
    targets 0, 1, ..., None for numbers. ``groups`` and ``weights`` are those of the rows, if any. ``notes`` list what was done,
    ``encoding`` how features are made of columns, ``left_out`` why others are not used, ``leaks`` what may give the target away.
    ``details`` are the notes on periods, missing cells and categories. ``text`` are the columns of texts; ``X`` is then sparse.
    """

    name: str
    target: str
    features: tuple[str, ...]
    periods: tuple[str, ...]
    X: tuple[Any, ...]
    y: tuple[FloatArray, ...]
    mean: FloatArray
    scale: FloatArray
    classes: tuple[str, ...] | None = None
    groups: tuple[IntArray, ...] | None = None
    weights: tuple[FloatArray, ...] | None = None
    notes: tuple[str, ...] = ()
    encoding: Encoding = field(default_factory=lambda: Encoding(columns=()))
    left_out: Mapping[str, str] = field(default_factory=dict)
    leaks: tuple[Leak, ...] = ()
    details: tuple[str, ...] = ()
    text: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.periods)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of rows of each period."""
        return tuple(y.size for y in self.y)

    @property
    def task(self) -> Task:
        """What the targets are: one of several classes, of two (0 and 1, or -1 and 1), or numbers."""
        if self.classes is not None and len(self.classes) > 2:
            return "multiclass"
        present = set(np.unique(np.concatenate(self.y)).tolist())
        return "classification" if present in ({0.0, 1.0}, {-1.0, 1.0}) else "regression"


def read_table(  # noqa: PLR0913  public API
    frame: Any,
    *,
    period: str | None = None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    text: str | Sequence[str] = (),
    groups: str | None = None,
    weight: str | None = None,
    exposure: str | None = None,
    name: str | None = None,
    standardise: bool = True,
    missing: MissingPolicy = "impute",
    max_categories: int = MAX_CATEGORIES,
    task: Task | None = None,
    calendar: Sequence[str] = (),
    dayfirst: bool | None = None,
    sheet: str | int | None = None,
    owner: str = "read_table",
) -> Panel:
    """Read a table and group its rows by period.

    Rows without a target are not labelled yet: they are left out and counted; in a file, marks such as NA are missing targets and
    periods. Features are encoded by :func:`driftpace.tables.learn_encoding`: missing numbers are filled, texts become columns of
    0 and 1. Constant columns are left out. Targets that are texts or flags become 0 and 1, or 0, 1, 2, ... where there are more.
    The ``notes`` of the panel list what was done.

    Parameters
    ----------
    frame : path, bytes, mapping, frame or Table
        Anything that :func:`driftpace.tables.read_columns` reads, or a ``Table``.
    period : str, optional
        Column with the period; a ``Table`` knows its own. Each distinct value is one period: numbers by value, dates by time,
        texts in natural order ("week 9" before "week 10"). ``"date:month"`` makes a period of each month of the column
        ``date``, and so do day, week, quarter and year; ``"date:500"`` of 500 rows in the order of the dates or numbers, and
        ``":500"`` in the order of the table. Dates are read as in :func:`driftpace.tables.dates.parse_dates`.
    target : str, optional
        Column to predict; a ``Table`` knows its own.
    features : sequence of str, optional
        Columns to predict from: by default those that a ``Table`` recommends, else all others but dates, free text,
        ids, and numbers that only follow time.
    exclude : sequence of str
        Columns not to predict from, such as those that are known only after the target.
    text : str or sequence of str
        Columns that are texts: words are hashed to 2,048 columns each, weighted by how rare they are in the first period, as in
        campaigns.
    groups : str, optional
        Column with the group of a row, such as a person or a shop: cross-validation keeps groups together, and their noise is
        counted by group.
    weight : str, optional
        Column with what a row counts for, such as one over the probability that it was drawn; a row without one is left out.
    exposure : str, optional
        Column with what a count or amount is a total over, such as years at risk: targets become rates, and rows count in
        proportion to it.
    name : str, optional
        Name of the table, by default that of the file.
    standardise : bool
        Give every feature mean 0 and standard deviation 1 over all periods together.
    missing : {"impute", "drop", "refuse"}
        Whether missing features are filled, their rows are left out, or the table is refused. Rows without a period are left out
        or refused.
    max_categories : int
        The most categories of a text feature that get a column of their own.
    task : {"regression", "classification", "multiclass"}, optional
        What the loss predicts. By default the target decides: texts are classes, and so are numbers such as 0, 1, 2 that look
        like codes of classes; "regression" treats them as numbers, "multiclass" treats any whole numbers as classes.
    calendar : sequence of str
        Features to make of dates: ``"month"`` and ``"weekday"`` are categories, ``"hour"`` is two waves a day and two of half a
        day. They are made of the column of the period, or of the only column of dates, or of a named one: ``"date:month"``.
    dayfirst : bool, optional
        Whether 03/04/2010 is 3 April; by default the other dates of the column decide.
    sheet : str or int, optional
        The sheet of an Excel workbook, by its name or its place from 0; the first by default.
    owner : str
        The function that error messages name.

    Returns
    -------
    Panel

    Raises
    ------
    ParameterError, DataError

    Examples
    --------
    >>> panel = read_table({"year": [1] * 5 + [2] * 5, "x": range(10), "y": range(10)}, period="year", target="y")
    >>> panel.periods, panel.features, panel.sizes
    (('1', '2'), ('x',), (5, 5))
    """
    validation.switch(owner, standardise=standardise)
    validation.choice(owner, MISSING_POLICIES, missing=missing)
    given, columns = read_frame(frame, owner, sheet)
    notes = list(frame.notes) if isinstance(frame, Table) else []
    rule = period_rule(columns, period, frame, owner)
    period = rule.column or ""
    target = named_column(columns, target, frame, "target", owner)
    if isinstance(
        frame, str | PathLike | bytes
    ):  # a file has NA where a row has no label yet; among features it is a word
        columns |= {name: without_marks(columns[name], ()) for name in (period, target) if name}
    if period == target:
        raise ParameterError(
            f"must be another column than the period; got {target!r} for both.",
            owner=owner,
            name="target",
        )
    if groups is not None:
        groups = named_column(columns, groups, frame, "groups", owner)
        if groups in (period, target):
            raise ParameterError(
                f"must be another column than period and target; got {groups!r}.",
                owner=owner,
                name="groups",
            )
    taken = {"period": period, "target": target, "groups": groups}
    weight = _other_column(columns, weight, frame, "weight", taken, owner)
    exposure = _other_column(columns, exposure, frame, "exposure", taken | {"weight": weight}, owner)
    apart = [period, target, *(name for name in (groups, weight, exposure) if name is not None)]
    texts = _text_columns(columns, text, apart, owner)
    apart += texts
    chosen = _beside_texts(columns, features, texts, frame, apart, owner)
    made = _add_calendar(columns, calendar, rule, dayfirst, owner)
    chosen = None if chosen is None else [name for name in (*chosen, *made) if name not in exclude]
    if rule.dated:
        columns[period] = read_moments(columns[period], rule, dayfirst, owner)
    keep = labelled_rows(columns, period, target, missing, owner=owner, notes=notes)
    keep = grouped_rows(columns, groups, keep, missing, owner=owner, notes=notes)
    counting = [name for name in (weight, exposure) if name is not None]
    keep = valued_rows(columns, counting, keep, missing, owner=owner, notes=notes)
    weights = None if weight is None else _weights(columns[weight], weight, keep, owner)
    if weights is not None:
        keep = _counting_rows(weights, keep, notes)
    exposures = None if exposure is None else _weights(columns[exposure], exposure, keep, owner, "exposure")
    about_periods: list[str] = []
    labels, by_period = _periods(rule, columns, keep, owner, about_periods)
    notes += about_periods
    options = EncodingOptions(missing=missing, max_categories=max_categories, owner=owner)
    apart += _excluded(columns, exclude, target, frame, owner)
    encoded = encode_features(columns, chosen, apart, keep, by_period, options, notes, required=not texts)
    if encoded.keep is not keep:
        keep = encoded.keep
        labels, by_period = _periods(rule, columns, keep, owner, [])
    y, classes = read_target(
        target, columns[target].values[keep], columns[target].kind, task, owner, notes, np.flatnonzero(keep)
    )
    if exposures is not None:
        _check_totals(y, target, np.flatnonzero(keep), owner)
        y, weights = as_rates(y, None if weights is None else weights[keep], exposures[keep])
        notes.append(f"The target is {target} for a unit of {exposure}, and rows count in proportion to it.")
    elif weights is not None:
        weights = weights[keep]
    names, X = _without_constants(encoded.names, encoded.X, owner, notes, required=not texts)
    if np.ptp(y) == 0.0:
        notes.append(f"Target {target} is the same in every row.")
    leaks = find_leaks(
        columns,
        encoded.encoding.sources,
        target,
        y,
        keep,
        _period_numbers(by_period, y.size),
        classes=classes is not None,
    )
    notes += [f"Leakage: {leak.sentence}" for leak in leaks]
    X, mean, scale = _standardised(X, standardise, notes)
    names, rows_X = with_texts(columns, texts, names, X, np.flatnonzero(keep), by_period[0], owner)
    return Panel(
        name=given if name is None else name,
        target=target,
        features=names,
        periods=labels,
        X=tuple(rows_X[rows] for rows in by_period),
        y=tuple(y[rows] for rows in by_period),
        mean=mean,
        scale=scale,
        classes=classes,
        groups=None if groups is None else _whose(columns[groups], keep, by_period),
        weights=None if weights is None else tuple(weights[rows] for rows in by_period),
        notes=tuple(notes),
        encoding=encoded.encoding,
        left_out=encoded.left_out,
        leaks=tuple(leaks),
        text=tuple(texts),
        details=(*about_periods, *(note for note in notes if "--loss " in note), *encoded.details),
    )


def read_frame(frame: Any, owner: str, sheet: str | int | None) -> tuple[str, dict[str, Column]]:
    """Return a name for the table, and its columns."""
    if isinstance(frame, Table):
        return frame.name, read_columns(frame.columns, owner=owner)
    if isinstance(frame, Mapping) and frame and all(isinstance(column, Column) for column in frame.values()):
        return "table", dict(frame)
    try:
        columns = read_columns(frame, limits=LOCAL_LIMITS, owner=owner, sheet=sheet)
    except ParameterError as error:
        raise (error.renamed(name="frame") if error.name == "source" else error) from None
    return _stem(Path(frame)) if isinstance(frame, str | PathLike) else "table", columns


def _stem(path: Path) -> str:
    """Return the name of a file without its endings.

    >>> _stem(Path("data/sales.2018.csv.gz"))
    'sales.2018'
    """
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def _text_columns(
    columns: Mapping[str, Column], text: str | Sequence[str], apart: Sequence[str], owner: str
) -> list[str]:
    """Return the columns of texts, or refuse names that are not columns, or have another role."""
    names = [text] if isinstance(text, str) else list(text)
    for name in names:
        if name not in columns or name in apart or names.count(name) > 1:
            near = get_close_matches(str(name), [one for one in columns if one not in apart], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns)}."
            raise ParameterError(
                f"must be different columns of the table that are nothing else; got {name!r}: {hint}",
                owner=owner,
                name="text",
            )
    return names


def _whose(column: Column, keep: BoolArray, by_period: Sequence[IntArray]) -> tuple[IntArray, ...]:
    """Return the number of the group of each row; a row without one is a group by itself."""
    alone = column.missing[keep]
    codes = np.unique(np.where(alone, "", column.values[keep].astype(np.str_)), return_inverse=True)[1].astype(np.int64)
    codes[alone] = codes.max(initial=0) + 1 + np.arange(int(alone.sum()))
    return tuple(codes[rows] for rows in by_period)


def _check_totals(y: FloatArray, target: str, rows: IntArray, owner: str) -> None:
    """Refuse a total over an exposure that is below zero, before it is divided."""
    if (y < 0.0).any():
        place = int(np.argmax(y < 0.0))
        raise DataError(
            f"target {target!r} must be 0 or more with an exposure; row {int(rows[place]) + 1:,} has {y[place]:g}.",
            owner=owner,
        )


def _weights(column: Column, name: str, keep: BoolArray, owner: str, role: str = "weight") -> FloatArray:
    """Return the weights, or exposures, of all rows; those that are kept must be numbers of 0 or more, exposures above 0."""
    numbers = numbers_each(column)
    exposure = role == "exposure"
    bad = keep & ~(((numbers > 0.0) if exposure else (numbers >= 0.0)) & np.isfinite(numbers))
    if bad.any():
        row = int(np.argmax(bad))
        cell = "none" if column.missing[row] else f"{str(column.values[row])!r:.80}"
        raise DataError(
            f"must be a number {'above 0' if exposure else 'of 0 or more'} in every row; column {name!r} has {cell} in row "
            f"{row + 1:,}.",
            owner=owner,
            name=role,
        )
    return numbers


def _other_column(
    columns: dict[str, Column], name: str | None, source: object, role: str, taken: Mapping[str, str | None], owner: str
) -> str | None:
    """Return the column of a role, which must have no other; None where none is given."""
    if name is None:
        return None
    found = named_column(columns, name, source, role, owner)
    if found in taken.values():
        *others, last = taken
        problem = f"must be another column than {', '.join(others)} and {last}; got {found!r}."
        raise ParameterError(problem, owner=owner, name=role)
    return found


def _counting_rows(weights: FloatArray, keep: BoolArray, notes: list[str]) -> BoolArray:
    """Return the rows that count for something."""
    gone = keep & (weights == 0.0)
    if gone.any():
        notes.append(f"Left out {int(gone.sum()):,} rows of weight 0.")
    return np.asarray(keep & ~gone)


def named_column(columns: dict[str, Column], name: str | None, source: object, role: str, owner: str) -> str:
    """Return the column that plays a role; a bundled table knows its own."""
    if name is None:
        if not isinstance(source, Table):
            raise ParameterError(
                f"is required: name the column with the {role}; the table has {', '.join(columns) or 'no columns'}.",
                owner=owner,
                name=role,
            )
        name = source.period if role == "period" else source.target
    if name not in columns:
        near = get_close_matches(str(name), columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns) or 'none'}."
        raise ParameterError(f"must be a column of the table; got {name!r}: {hint}", owner=owner, name=role)
    return name


def period_rule(columns: dict[str, Column], period: str | None, source: object, owner: str) -> PeriodRule:
    """Return how rows are put into periods; a bundled table knows its own."""
    rule = None if period is None else PeriodRule.of(str(period), columns)
    if rule is not None:
        return rule
    column, colon, unit = str(period).rpartition(":")
    if period is not None and colon and (column in columns or not column):
        near = get_close_matches(unit, UNITS, n=1)
        hint = f": did you mean '{column}:{near[0]}'?" if near and column else "."
        raise ParameterError(
            f"must be a column, or a column of dates with {', '.join(UNITS)} or a number of rows of at least 5, such as "
            f"{column or 'date'}:month; got {period!r}{hint}",
            owner=owner,
            name="period",
        )
    if period is not None and column:
        named_column(columns, column, source, "period", owner)
    return PeriodRule(column=named_column(columns, period, source, "period", owner))


def read_moments(column: Column, rule: PeriodRule, dayfirst: bool | None, owner: str) -> Column:
    """Return the column of a period as dates that are as precise as its unit; years and other numbers in order as they are.

    >>> years = Column(kind="number", values=np.array([2010.0, 2009.0]), missing=np.zeros(2, dtype=np.bool_))
    >>> read_moments(years, PeriodRule(column="year", rows=500), None, "example").kind
    'number'
    """
    counted = rule.rows is not None and column.kind == "number"
    try:
        dates = parse_dates(column, str(rule.column), owner=owner, dayfirst=dayfirst)
    except DataError:
        if counted and np.isfinite(column.values[~column.missing]).all():
            return column
        raise
    if rule.unit is not None:
        check_precision(dates, str(rule.column), rule.unit, owner=owner)
    return column if counted and dates.precision == "year" else dates.column


def _add_calendar(
    columns: dict[str, Column], calendar: Sequence[str], rule: PeriodRule, dayfirst: bool | None, owner: str
) -> list[str]:
    """Add the features made of dates to the columns, and return their names."""
    if not calendar:
        return []
    names = calendar_names(calendar, columns, dated=rule.column if rule.dated else None, owner=owner)
    for name in names:
        made = calendar_column(name, columns, owner=owner, dayfirst=dayfirst)
        columns[name] = columns[name] if made is None else made
    return names


def _periods(rule: PeriodRule, columns: dict[str, Column], keep: BoolArray, owner: str, notes: list[str]) -> Groups:
    """Return the labels of the periods in order, and the kept rows of each."""
    column = None if rule.column is None else columns[rule.column]
    if column is not None:
        column = Column(kind=column.kind, values=column.values[keep], missing=column.missing[keep])
    return group_rows(rule, column, int(keep.sum()), owner=owner, notes=notes)


def _named_features(
    columns: dict[str, Column], features: Sequence[str] | None, source: object, apart: Sequence[str], owner: str
) -> list[str] | None:
    """Return the features that were named, or that a bundled table recommends; None where they are to be chosen."""
    if features is None:
        recommended = source.features if isinstance(source, Table) else ()
        return [name for name in recommended if name not in apart] or None
    if isinstance(features, str):
        raise ParameterError(f"must be a list of names; got the text {features!r}.", owner=owner, name="features")
    chosen = [named_column(columns, name, source, "features", owner) for name in features]
    for name in chosen:
        if name in apart or chosen.count(name) > 1:
            kinds = ("period", "target", *["group, weight or exposure"] * 3)
            role = kinds[apart.index(name)] if name in apart else ""
            what = "twice" if chosen.count(name) > 1 else f"which is the {role}"
            raise ParameterError(
                f"must be different columns, neither period nor target; got {name!r}, {what}.",
                owner=owner,
                name="features",
            )
    if not chosen:
        raise ParameterError("must be at least one column; got none.", owner=owner, name="features")
    return chosen


def _excluded(columns: dict[str, Column], exclude: Sequence[str], target: str, source: object, owner: str) -> list[str]:
    if isinstance(exclude, str):
        raise ParameterError(f"must be a list of names; got the text {exclude!r}.", owner=owner, name="exclude")
    if target in exclude:
        raise ParameterError(f"must not be the target; got {target!r}.", owner=owner, name="exclude")
    return [named_column(columns, name, source, "exclude", owner) for name in exclude]


def _period_numbers(by_period: Sequence[IntArray], rows: int) -> IntArray:
    """Return the number of each row's period; rows without one share the last number."""
    numbers = np.full(rows, len(by_period), dtype=np.int64)
    for number, members in enumerate(by_period):
        numbers[members] = number
    return numbers


def _beside_texts(
    columns: dict[str, Column], features: Any, texts: Sequence[str], frame: Any, apart: Sequence[str], owner: str
) -> list[str] | None:
    """Return the features that are named, without texts; None where they are to be chosen."""
    if features is not None and not isinstance(features, str):
        features = [name for name in features if name not in texts]
    if texts and not features and features is not None:
        return []
    return _named_features(columns, features, frame, apart, owner)


def _standardised(X: FloatArray, standardise: bool, notes: list[str]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return features with mean 0 and standard deviation 1, if that is wanted, and what was subtracted and divided by."""
    if not standardise or not X.shape[1]:
        return X, np.zeros(X.shape[1]), np.ones(X.shape[1])
    notes.append(_STANDARDISED)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / scale, mean, scale


def _without_constants(
    names: tuple[str, ...], X: FloatArray, owner: str, notes: list[str], *, required: bool = True
) -> tuple[tuple[str, ...], FloatArray]:
    size = np.abs(X).max(axis=0, initial=0.0)
    moves = np.ptp(X, axis=0) > 1e-12 * size
    still = [name for name, moving in zip(names, moves, strict=True) if not moving]
    if still:
        notes.append(f"Left out because constant: {', '.join(still)}.")
    if not moves.any() and required:
        raise DataError("at least one feature must change from row to row; got none that does.", owner=owner)
    return tuple(name for name, moving in zip(names, moves, strict=True) if moving), X[:, moves]


def as_delivered(panel: Panel) -> Panel:
    """Return a panel with the columns in their own units, as trackers and campaigns follow components of them."""
    if panel.text:
        return panel
    return replace(
        panel,
        X=tuple(X * panel.scale + panel.mean for X in panel.X),
        mean=np.zeros(len(panel.features)),
        scale=np.ones(len(panel.features)),
        notes=tuple(note for note in panel.notes if note != _STANDARDISED),
    )


def expanded(panel: Panel, request: ExpansionRequest, *, owner: str) -> Panel:
    """Return a panel with expanded columns after the others; the rows of the first period show the knots."""
    numeric = [name for name in panel.encoding.numeric if name in panel.features]
    made = learn_expansion(request, panel.X[0], panel.features, numeric=numeric, owner=owner)
    return replace(
        panel,
        X=tuple(made.expand(X, panel.features) for X in panel.X),
        features=(*panel.features, *made.names),
        mean=np.append(panel.mean, np.zeros(len(made.names))),
        scale=np.append(panel.scale, np.ones(len(made.names))),
        notes=(*panel.notes, f"Expanded columns: {', '.join(made.names)}."),
    )
