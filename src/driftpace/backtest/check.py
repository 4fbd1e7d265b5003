"""Check a table: its periods, target and features, what is wrong with it, its drift, and the labels that it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from driftpace.backtest.check_result import NOTHING_GAINED, DriftGlance, LabelEstimate, TableCheck
from driftpace.backtest.job import check_rows, default_loss
from driftpace.backtest.periods import group_rows
from driftpace.backtest.population import mean_losses, with_intercept
from driftpace.backtest.proposals import likely_targets, propose_periods, propose_target, summarise_columns
from driftpace.backtest.replay import replay
from driftpace.backtest.table import Panel, period_rule, read_frame, read_table
from driftpace.constraints import WholeSpace
from driftpace.datasets import Table
from driftpace.errors import DataError, DriftpaceError
from driftpace.learners.newton import minimise
from driftpace.losses import Loss, get_loss, loss_names
from driftpace.tables import Column
from driftpace.tables.cells import without_marks
from driftpace.tables.dates import parse_dates
from driftpace.typing import FloatArray

OWNER = "check_table"
MOST_ROWS = 10_000
"""Rows of the first and of the last third that the glance at the drift uses."""
REPLAYED_PERIODS, REPLAYED_ROWS = 16, 2_000
"""The last periods that are replayed to estimate labels, and the most rows of each."""
TEST_FRACTION = 0.2
"""Share of the rows of a period that a backtest keeps for testing by default."""
TOLERANCES = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
"""Targets to try: the first three that are well below what the features explain."""
L2 = 0.001
"""Penalty where columns are linear combinations of others."""
_ANCHOR = 1e-4


def check_table(  # noqa: PLR0913  public API
    frame: Any,
    *,
    period: str | None = None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    groups: str | None = None,
    calendar: Sequence[str] = (),
    dayfirst: bool | None = None,
    sheet: str | int | None = None,
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
    period, target, features, exclude, groups, calendar, dayfirst, sheet
        As in :func:`driftpace.backtest`; all optional.

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
    if isinstance(frame, str | PathLike) and target in columns:
        columns[target] = without_marks(columns[target], ())
    summaries = summarise_columns(columns)
    if isinstance(frame, Table):
        period, target = period or frame.period, target or frame.target
        features = list(frame.features) if features is None and frame.features else features
    others = {name: column for name, column in columns.items() if name != target}
    proposals = () if period is not None else propose_periods(others)
    chosen = period if period is not None else proposals[0].period if proposals else None
    aim = target if target is not None else propose_target(summaries)
    check = TableCheck(
        name=name,
        rows=next(iter(columns.values())).missing.size,
        columns=summaries,
        period=chosen,
        proposals=proposals,
        target=aim,
        target_proposed=aim is not None and target is None,
        candidates=likely_targets(summaries, chosen),
        arguments=_arguments(chosen, aim, features, exclude, groups, calendar, dayfirst, sheet),
    )
    if chosen is None:
        return replace(check, problems=("it has too few rows, and no column that says when a row was observed.",))
    options: dict[str, Any] = {
        "period": chosen,
        "target": aim,
        "features": features,
        "groups": groups,
        "calendar": calendar,
        "dayfirst": dayfirst,
        "name": name,
        "owner": OWNER,
    }
    try:
        if aim is None:
            return _with_periods(check, columns, dayfirst)
        panel = read_table(columns, exclude=exclude, **options)
        suspects = list(dict.fromkeys(leak.feature for leak in panel.leaks))
        if features is not None or not suspects or len(suspects) == len(panel.encoding.sources):
            return _with_numbers(_with_panel(check, panel, columns), panel)
        apart = [*exclude, *suspects]
        check = replace(
            _with_panel(check, panel, columns),
            suspects=tuple(suspects),
            arguments=_arguments(chosen, aim, features, apart, groups, calendar, dayfirst, sheet),
        )
        return _with_numbers(check, read_table(columns, exclude=apart, **options))
    except DataError as error:
        check = replace(check, problems=(_problem(error),))
        if error.name == "period" and len(proposals) > 1:  # too few rows in a period: try the next proposal
            given = {key: value for key, value in options.items() if key not in ("period", "name", "owner")}
            again = check_table(columns, period=proposals[1].period, exclude=exclude, **given)
            if not again.problems:
                return replace(again, name=name, columns=summaries, proposals=proposals[1:])
    try:
        return check if check.periods else _with_periods(check, columns, dayfirst)
    except DataError:
        return check


def _problem(error: DriftpaceError) -> str:
    return f"{error.name} {error.problem}" if error.name else error.problem


def _with_periods(check: TableCheck, columns: Mapping[str, Column], dayfirst: bool | None) -> TableCheck:
    """Return the check with the periods of all rows, where the target is not known."""
    rule = period_rule(dict(columns), check.period, None, OWNER)
    column = None if rule.column is None else columns[rule.column]
    if column is not None:
        if rule.dated:
            column = parse_dates(column, str(rule.column), owner=OWNER, dayfirst=dayfirst).column
        keep = ~column.missing
        column = Column(kind=column.kind, values=column.values[keep], missing=column.missing[keep])
    notes: list[str] = []
    rows = check.rows if column is None else column.values.size
    labels, groups = group_rows(rule, column, rows, owner=OWNER, notes=notes)
    return replace(check, periods=labels, sizes=tuple(group.size for group in groups), notes=tuple(notes))


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


def _with_numbers(check: TableCheck, panel: Panel) -> TableCheck:
    """Return the check with the drift of a panel and the labels it takes."""
    for label, size in zip(panel.periods, panel.sizes, strict=True):
        check_rows(label, size, len(panel.features) + 1, TEST_FRACTION)
    if np.ptp(np.concatenate(panel.y)) == 0.0:
        return replace(check, problems=(f"target {panel.target!r} is the same in every row.",))
    drift = glance_at_drift(panel)
    gain = _gain(drift)
    if gain <= NOTHING_GAINED:
        return replace(check, drift=drift)
    labels, l2, problems = estimate_labels(panel, gain)
    return replace(check, drift=drift, labels=labels, l2=l2, problems=problems)


def _describe(panel: Panel) -> str:
    """Return how the target is understood."""
    y = np.concatenate(panel.y)
    if panel.two_classes:
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
    loss = default_loss(panel).with_unpenalised(1)
    old, new = slice(0, third), slice(len(panel.periods) - third, None)
    X, y = _thin(np.concatenate(panel.X[old]), np.concatenate(panel.y[old]))
    late, aims = _thin(np.concatenate(panel.X[new]), np.concatenate(panel.y[new]))
    fit, test = slice(0, None, 2), slice(1, None, 2)
    stale, fresh = _fit(loss, X, y), _fit(loss, late[fit], aims[fit])
    constant = _fit(loss, late[fit][:, :0], aims[fit])
    rows, targets = with_intercept(late[test]), loss.encode(aims[test])
    free = replace(loss, l2=0.0)  # type: ignore[type-var]
    of_stale, of_fresh = mean_losses(free, np.array([stale, fresh]), rows, targets)
    of_constant = mean_losses(free, constant[None, :], rows[:, -1:], targets)[0]
    return DriftGlance(
        first=_span(panel.periods[old]),
        last=_span(panel.periods[new]),
        stale=float(of_stale),
        fresh=float(of_fresh),
        constant=float(of_constant),
    )


def _span(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"


def _thin(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return at most so many rows, evenly spaced."""
    chosen = np.unique(np.linspace(0, y.size - 1, min(y.size, MOST_ROWS)).astype(np.int64))
    return X[chosen], y[chosen]


def _fit(loss: Loss, X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the best coefficients, the intercept last; a weak anchor at 0 decides between equally good ones."""
    rows = with_intercept(X)
    start = np.zeros(rows.shape[1])
    start[-1] = 0.0 if np.unique(y).size == 2 else y.mean()
    return minimise(loss, WholeSpace(), start, rows, loss.encode(y), _ANCHOR)[0]


def _gain(drift: DriftGlance | None) -> float:
    """Return what the features explain, as a share of the loss that is left."""
    return np.inf if drift is None or drift.fresh <= 0.0 else drift.constant / drift.fresh - 1.0


def estimate_labels(panel: Panel, gain: float) -> tuple[tuple[LabelEstimate, ...], float | None, tuple[str, ...]]:
    """Replay the last periods for three targets.

    Parameters
    ----------
    panel : Panel
        The table.
    gain : float
        What the features explain, as a share of the loss that is left: larger targets are met by a constant.

    Returns
    -------
    tuple
        The estimates, the penalty that was needed for them or None, and why there are none.
    """
    last = slice(max(len(panel.periods) - REPLAYED_PERIODS, 0), None)
    rng = np.random.default_rng(0)
    chosen = [np.sort(rng.permutation(size)[:REPLAYED_ROWS]) for size in panel.sizes[last]]
    part = replace(
        panel,
        periods=panel.periods[last],
        X=tuple(X[rows] for X, rows in zip(panel.X[last], chosen, strict=True)),
        y=tuple(y[rows] for y, rows in zip(panel.y[last], chosen, strict=True)),
        groups=None
        if panel.groups is None
        else tuple(groups[rows] for groups, rows in zip(panel.groups[last], chosen, strict=True)),
    )
    tolerances = [tolerance for tolerance in TOLERANCES if tolerance <= gain / 2.0][:3] or [TOLERANCES[-1]]
    runs = 2 if len(panel.features) <= 20 else 1
    penalty: float | None = None
    estimates: list[LabelEstimate] = []
    for tolerance in tolerances:
        try:
            try:
                estimates.append(_estimate(part, tolerance, runs, penalty))
            except DataError as error:
                if error.name != "features" or penalty is not None:
                    raise
                penalty = L2  # columns are collinear
                estimates.append(_estimate(part, tolerance, runs, penalty))
        except DriftpaceError as error:
            return tuple(estimates), None, (_problem(error),)
        if estimates[-1].missed or estimates[-1].later > 0.5 * np.mean(panel.sizes):
            break  # a smaller target takes more than there is
    return tuple(estimates), penalty, ()


def _estimate(panel: Panel, tolerance: float, runs: int, l2: float | None) -> LabelEstimate:
    loss = (
        None if l2 is None else get_loss(loss_names("classification" if panel.two_classes else "regression")[0], l2=l2)
    )
    result = replay(panel, loss=loss, tolerance=tolerance, runs=runs, workers=1, baselines=[], progress=False)
    followed = result.strategies[0]
    return LabelEstimate(
        tolerance=tolerance,
        first=float(followed.samples[:, 0].mean()),
        later=float(followed.samples[:, 1:].mean()),
        reached=float((followed.excess_risk / np.asarray(result.epsilon)).mean()),
    )


def _arguments(
    period: str | None,
    target: str | None,
    features: Sequence[str] | None,
    exclude: Sequence[str],
    groups: str | None,
    calendar: Sequence[str],
    dayfirst: bool | None,
    sheet: str | int | None,
) -> tuple[str, ...]:
    """Return the options of the command line that say the same."""
    given = {
        "--period": period,
        "--target": target,
        "--features": None if features is None else ",".join(features),
        "--exclude": ",".join(exclude) or None,
        "--groups": groups,
        "--calendar": ",".join(calendar) or None,
        "--sheet": None if sheet is None else str(sheet),
    }
    words = [word for option, value in given.items() if value is not None for word in (option, value)]
    return (*words, *([] if dayfirst is None else ["--dayfirst" if dayfirst else "--monthfirst"]))
