"""Check a table: its periods, target and features, what is wrong with it, its drift, and the labels that it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from driftpace.backtest.check_labels import estimate_labels, problem_of
from driftpace.backtest.check_result import NOTHING_GAINED, DriftGlance, TableCheck
from driftpace.backtest.job import check_rows, default_loss
from driftpace.backtest.periods import Groups, PeriodRule, group_rows
from driftpace.backtest.population import (
    intercept_free,
    mean_losses,
    scores_of,
    weighted_best,
    with_intercept,
)
from driftpace.backtest.proposals import (
    ColumnSummary,
    PeriodProposal,
    coarser_periods,
    likely_targets,
    propose_periods,
    propose_target,
    summarise_columns,
)
from driftpace.backtest.table import Panel, named_column, period_rule, read_frame, read_moments, read_table
from driftpace.backtest.table_warnings import group_warnings, table_warnings
from driftpace.constraints import WholeSpace
from driftpace.datasets import Table
from driftpace.errors import DataError
from driftpace.learners.newton import minimise
from driftpace.losses import LinearLoss, Loss, VectorLoss
from driftpace.progress import Progress
from driftpace.tables import Column
from driftpace.tables.cells import without_marks
from driftpace.tables.identity import NAMED, named_like_id
from driftpace.tables.targets import list_classes
from driftpace.typing import BoolArray, FloatArray

OWNER = "check_table"
MOST_ROWS = 10_000
"""Rows of the first and of the last third that the glance at the drift uses."""
TEST_FRACTION = 0.2
"""Share of the rows of a period that a backtest keeps for testing by default."""
_ANCHOR = 1e-4


@dataclass(frozen=True, kw_only=True, slots=True)
class _Options:
    """How to read the table, as :func:`driftpace.backtest` takes it."""

    features: Sequence[str] | None
    exclude: Sequence[str]
    groups: str | None
    weight: str | None
    calendar: Sequence[str]
    dayfirst: bool | None
    sheet: str | int | None

    def arguments(self, period: str | None, target: str | None) -> tuple[str, ...]:
        """Return the options of the command line that say the same."""
        given = {
            "--period": period,
            "--target": target,
            "--features": None if self.features is None else ",".join(self.features),
            "--exclude": ",".join(self.exclude) or None,
            "--groups": self.groups,
            "--weight": self.weight,
            "--calendar": ",".join(self.calendar) or None,
            "--sheet": None if self.sheet is None else str(self.sheet),
        }
        words = [word for option, value in given.items() if value is not None for word in (option, value)]
        order = [] if self.dayfirst is None else ["--dayfirst" if self.dayfirst else "--monthfirst"]
        return (*words, *order)

    def read(self, columns: Mapping[str, Column], period: str, target: str) -> Panel:
        """Return the panel of the table."""
        return read_table(
            columns,
            period=period,
            target=target,
            features=self.features,
            exclude=self.exclude,
            groups=self.groups,
            weight=self.weight,
            calendar=self.calendar,
            dayfirst=self.dayfirst,
            owner=OWNER,
        )


def check_table(  # noqa: PLR0913  public API
    frame: Any,
    *,
    period: str | None = None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    groups: str | None = None,
    weight: str | None = None,
    calendar: Sequence[str] = (),
    dayfirst: bool | None = None,
    sheet: str | int | None = None,
    progress: bool | None = False,
) -> TableCheck:
    """Say what driftpace would make of a table, without buying or deciding anything.

    Where no period is given, the best column of dates or periods is proposed. The target is never guessed, unless exactly one
    column is called target, label, y, outcome, class or response. With both, the table is read as a backtest reads it, a model
    of the first third of the periods is compared with one of the last third, and the last periods are replayed once or twice
    for three targets, to estimate how many labels a period they take. ``driftpace.backtest`` gives the full answer.

    Parameters
    ----------
    frame : path, bytes, mapping, frame or Table
        Anything that :func:`driftpace.backtest` reads.
    period, target, features, exclude, groups, weight, calendar, dayfirst, sheet
        As in :func:`driftpace.backtest`; all optional.
    progress : bool, optional
        Whether to show on stderr what is being computed; None where that is a terminal.

    Returns
    -------
    TableCheck

    Raises
    ------
    ParameterError, DataError
        If the table cannot be read, or a named column is not in it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=900)
    >>> days = np.datetime64("2024-01-01") + np.arange(900) // 5
    >>> check = check_table({"day": days, "x": x, "sales": 2.0 * x + rng.normal(size=900)}, target="sales")
    >>> check.period, len(check.periods), check.features
    ('day:month', 6, ('x',))
    >>> check.command
    'driftpace backtest FILE --period day:month --target sales --tolerance 0.1'
    """
    name, columns = read_frame(frame, OWNER, sheet)
    if isinstance(frame, Table):
        period, target = period or frame.period, target or frame.target
        features = list(frame.features) if features is None and frame.features else features
    for role, given in (("target", target), ("groups", groups), ("weight", weight)):
        if given is not None:
            named_column(columns, given, frame, role, OWNER)
    options = _Options(
        features=features,
        exclude=exclude,
        groups=groups,
        weight=weight,
        calendar=calendar,
        dayfirst=dayfirst,
        sheet=sheet,
    )
    summaries = summarise_columns(columns)
    aim = target if target is not None else propose_target(summaries)
    proposals: tuple[PeriodProposal, ...] = ()
    if period is None:
        apart = (target, groups, weight)
        proposals = propose_periods({name: column for name, column in columns.items() if name not in apart}, dayfirst)
    chosen = period if period is not None else proposals[0].period if proposals else None
    if _is_file(frame):
        columns |= {name: without_marks(columns[name], ()) for name in (aim, chosen) if name in columns and name}
    check = TableCheck(
        name=name,
        rows=next(iter(columns.values())).missing.size,
        columns=summaries,
        period=chosen,
        proposals=proposals,
        target=aim,
        target_proposed=aim is not None and target is None,
        candidates=likely_targets(summaries, chosen),
        row_id=_row_id(summaries, columns),
        arguments=options.arguments(chosen, aim),
        warnings=table_warnings(columns, dayfirst=dayfirst),
    )
    if chosen is None:
        return replace(check, problems=("it has too few rows, and no column that says when a row was observed.",))
    if aim is None:
        return _with_periods(check, columns, dayfirst)
    with Progress(progress) as bar:
        first, thin = _checked(check, columns, options, bar)
        for other in coarser_periods(columns, chosen, proposals[1:]) if thin else ():
            again = replace(
                check, period=other.period, proposals=(other,), arguments=options.arguments(other.period, aim)
            )
            again, _ = _checked(again, columns, options, bar)
            if not again.problems:
                return again if period is None else replace(again, problems=first.problems)
    return first


def _is_file(frame: Any) -> bool:
    """Whether a table is a file, or the columns of one: it has NA where a row has no label yet."""
    if isinstance(frame, Mapping):
        return all(isinstance(column, Column) for column in frame.values())
    return isinstance(frame, str | PathLike | bytes)


def _row_id(summaries: Sequence[ColumnSummary], columns: Mapping[str, Column]) -> str | None:
    """Return the first column of ids that is different in every row."""
    unique = (
        item.name for item in summaries if item.holds == "ids" and item.distinct == columns[item.name].values.size
    )
    return next(unique, None)


def _checked(
    check: TableCheck, columns: Mapping[str, Column], options: _Options, bar: Progress
) -> tuple[TableCheck, bool]:
    """Return the check of a table whose period and target are known, and whether there are too few rows a period.

    What is wrong with the table is a problem of the check, not an error.
    """
    period, target = check.period, check.target
    assert period is not None
    assert target is not None
    try:
        panel = options.read(columns, period, target)
        check = _with_group_warnings(_with_panel(check, panel, columns), columns, options)
        if options.features is None:
            return _without_suspects(check, panel, columns, options, bar), False
        try:
            return _with_numbers(check, panel, bar), False
        except DataError as error:  # columns were named, but nothing can be fitted to a copy of the target
            if error.name != "X" or not panel.leaks:
                raise
            return _without_suspects(check, panel, columns, options, bar), False
    except DataError as error:
        check, thin = replace(check, problems=(problem_of(error),)), error.name == "period"
    try:
        return check if check.periods else _with_periods(check, columns, options.dayfirst), thin
    except DataError:
        return check, True


def _without_suspects(
    check: TableCheck, panel: Panel, columns: Mapping[str, Column], options: _Options, bar: Progress
) -> TableCheck:
    """Return the check with numbers that are those without the features that may give the target away."""
    assert check.period is not None
    leaks, suspects = list(panel.leaks), [leak.feature for leak in panel.leaks]
    while panel.leaks and len(set(suspects) - set(options.exclude)) < len(panel.encoding.sources):
        options = replace(options, exclude=list(dict.fromkeys([*options.exclude, *suspects])))
        panel = options.read(columns, check.period, panel.target)
        leaks += [leak for leak in panel.leaks if leak.feature not in suspects]
        suspects = [leak.feature for leak in leaks]
        check = replace(
            check,
            leaks=tuple(leaks),
            suspects=tuple(dict.fromkeys(suspects)),
            arguments=options.arguments(check.period, panel.target),
        )
    return _with_numbers(check, panel, bar)


def _with_periods(check: TableCheck, columns: Mapping[str, Column], dayfirst: bool | None) -> TableCheck:
    """Return the check with the periods of all rows, where the target is not known."""
    notes: list[str] = []
    labels, groups = _rows_by_period(check, columns, np.ones(check.rows, dtype=np.bool_), dayfirst, notes)
    return replace(check, periods=labels, sizes=tuple(group.size for group in groups), notes=tuple(notes))


def _rows_by_period(
    check: TableCheck, columns: Mapping[str, Column], keep: BoolArray, dayfirst: bool | None, notes: list[str]
) -> Groups:
    """Return the labels of the periods, and those rows of the table that each has."""
    rule = period_rule(dict(columns), check.period, None, OWNER)
    column = None if rule.column is None else columns[rule.column]
    if column is not None:
        if rule.dated:
            column = read_moments(column, rule, dayfirst, OWNER)
        keep = keep & ~column.missing
        column = Column(kind=column.kind, values=column.values[keep], missing=column.missing[keep])
    labels, groups = group_rows(rule, column, int(keep.sum()), owner=OWNER, notes=notes)
    rows = np.flatnonzero(keep)
    return labels, tuple(rows[group] for group in groups)


def _with_group_warnings(check: TableCheck, columns: Mapping[str, Column], options: _Options) -> TableCheck:
    """Return the check with warnings of ids that have several rows in a period, where no groups were given."""
    taken = (check.target, options.groups, options.weight, *check.features)  # categories that are used are no units
    names = [name for name in columns if named_like_id(name) or check.left_out.get(name) == NAMED]
    names = [name for name in names if name not in taken and name != check.row_id]
    if options.groups is not None or not names:
        return check
    assert check.target is not None
    _, rows = _rows_by_period(check, columns, ~columns[check.target].missing, options.dayfirst, [])
    rule = PeriodRule.of(str(check.period), columns)
    by_file = rule is not None and rule.column is None
    return replace(check, warnings=(*check.warnings, *group_warnings(columns, names, rows, by_file=by_file)))


def _with_panel(check: TableCheck, panel: Panel, columns: Mapping[str, Column]) -> TableCheck:
    """Return the check with what a panel shows."""
    return replace(
        check,
        periods=panel.periods,
        sizes=panel.sizes,
        target_detail=_describe(panel),
        unlabelled=int(columns[panel.target].missing.sum()),
        features=panel.encoding.sources,
        coefficients=len(panel.features),
        left_out=panel.left_out,
        notes=panel.details,
        leaks=panel.leaks,
    )


def _with_numbers(check: TableCheck, panel: Panel, bar: Progress) -> TableCheck:
    """Return the check with the drift of a panel and the labels it takes."""
    for label, size in zip(panel.periods, panel.sizes, strict=True):
        check_rows(label, size, len(panel.features) + 1, TEST_FRACTION)
    if np.ptp(np.concatenate(panel.y)) == 0.0:
        return replace(check, problems=(f"target {panel.target!r} is the same in every row.",))
    bar.searching("comparing models")
    drift = glance_at_drift(panel)
    gain = np.inf if drift is None else drift.explained
    if gain <= NOTHING_GAINED:
        return replace(check, drift=drift)
    labels, l2, problems = estimate_labels(panel, gain, bar)
    return replace(check, drift=drift, labels=labels, l2=l2, problems=problems)


def _describe(panel: Panel) -> str:
    """Return how the target is understood."""
    y = np.concatenate(panel.y)
    if panel.task == "multiclass":
        assert panel.classes is not None
        most = np.bincount(y.astype(np.int64), minlength=len(panel.classes))
        common = panel.classes[int(most.argmax())]
        listed = list_classes(panel.classes)
        return f"{len(panel.classes)} classes: {listed}; {100.0 * most.max() / y.size:.3g} % are {common}"
    if panel.task == "classification":
        first, second = panel.classes or (f"{y.min():g}", f"{y.max():g}")
        return f"two classes, {first} and {second}; {100.0 * (y == y.max()).mean():.3g} % are {second}"
    return f"a number, {y.min():.6g} to {y.max():.6g}, mean {y.mean():.4g}"


def glance_at_drift(panel: Panel) -> DriftGlance | None:
    """Compare a model of the first third of the periods with one of the last third, on rows of the last third.

    Returns
    -------
    DriftGlance or None
        None where there are fewer than three periods.
    """
    third = len(panel.periods) // 3
    if third == 0:
        return None
    loss = intercept_free(default_loss(panel))
    old, new = slice(0, third), slice(len(panel.periods) - third, None)
    past, late = _thin(panel, old), _thin(panel, new)
    fit, test = late.every_other(0), late.every_other(1)
    stale, fresh = _fit(loss, past), _fit(loss, fit)
    constant = _fit(loss, replace(fit, X=fit.X[:, :0]))
    rows, targets = with_intercept(test.X), loss.encode(test.y)
    free = replace(loss, l2=0.0)  # type: ignore[type-var]
    of_stale, of_fresh = mean_losses(free, np.array([stale, fresh]), rows, targets, test.weights)
    of_constant = mean_losses(free, constant[None, :], rows[:, -1:], targets, test.weights)[0]
    return DriftGlance(
        first=_span(panel.periods[old]),
        last=_span(panel.periods[new]),
        stale=float(of_stale),
        fresh=float(of_fresh),
        constant=float(of_constant),
    )


def _span(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Rows:
    """Rows of several periods, with their weights if they have any."""

    X: FloatArray
    y: FloatArray
    weights: FloatArray | None

    def every_other(self, first: int) -> "_Rows":
        """Return every second row."""
        weights = None if self.weights is None else self.weights[first::2]
        return _Rows(X=self.X[first::2], y=self.y[first::2], weights=weights)


def _thin(panel: Panel, periods: slice) -> _Rows:
    """Return at most so many rows of the periods, evenly spaced."""
    y = np.concatenate(panel.y[periods])
    chosen = np.unique(np.linspace(0, y.size - 1, min(y.size, MOST_ROWS)).astype(np.int64))
    weights = None if panel.weights is None else np.concatenate(panel.weights[periods])[chosen]
    return _Rows(X=np.concatenate(panel.X[periods])[chosen], y=y[chosen], weights=weights)


def _fit(loss: Loss, rows: _Rows) -> FloatArray:
    """Return the best coefficients, the intercept last; a weak anchor at 0 decides between equally good ones."""
    X, y = with_intercept(rows.X), loss.encode(rows.y)
    start = np.zeros(X.shape[1] * scores_of(loss))
    if not (isinstance(loss, VectorLoss) or np.unique(rows.y).size == 2):
        start[-1] = rows.y.mean()
    best = minimise(loss, WholeSpace(), start, X, y, _ANCHOR)[0]
    if rows.weights is None:
        return best
    assert isinstance(loss, LinearLoss | VectorLoss)
    return weighted_best(loss, X, y, rows.weights, best)[0]
