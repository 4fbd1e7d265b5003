"""One run of the tracker over a table: its orders, reports and models."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.backtest.job import SplitRows
from driftpace.losses import Loss, VectorLoss
from driftpace.records import Assumption, StepReport
from driftpace.tracker import Tracker
from driftpace.tracker.builder import uses_groups
from driftpace.tracker.inputs import InputRows
from driftpace.typing import FloatArray

STATUS = {"stable": 0.0, "warning": 1.0, "drift": 2.0}

AUDITED = {
    "measured": "measured",
    "measured_error": "error",
    "measured_mean": "mean",
    "measured_mean_error": "mean_error",
    "aim": "aim",
}
"""Arrays of what the audit measured, with the field of :class:`~driftpace.records.Audit` that each holds."""


METRIC = {
    "metric": "measured",
    "metric_error": "error",
    "metric_mean": "mean",
    "metric_best": "best",
    "out_of_reach": "out_of_reach",
}
"""Arrays of what is known of the metric of the target, with the field of :class:`~driftpace.records.MetricReport`."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrackerRun:
    """A run of a tracker; arrays over periods, ``coefs`` (periods, coefficients), the intercept last."""

    coefs: FloatArray
    samples: FloatArray
    orders: FloatArray
    samples_theory: FloatArray
    risk_bound: FloatArray
    certificate: FloatArray
    drift: FloatArray
    drift_upper: FloatArray
    status: FloatArray
    measured: FloatArray
    measured_error: FloatArray
    measured_mean: FloatArray
    measured_mean_error: FloatArray
    aim: FloatArray
    metric: FloatArray
    metric_error: FloatArray
    metric_mean: FloatArray
    metric_best: FloatArray
    out_of_reach: FloatArray
    assumptions: tuple[tuple[Assumption, ...], ...]
    candidates: tuple[str, ...]
    chosen: FloatArray


class RowSource:
    """Return the next rows of a period on each call, fewer at its end; with ``ones``, with their column of ones.

    With ``names``, the rows have the names of their columns.
    """

    def __init__(
        self, rows: SplitRows, *, ones: bool = False, grouped: bool = False, names: tuple[str, ...] | None = None
    ) -> None:
        self._rows, self._given, self._columns = rows, 0, slice(None, None if ones else -1)
        self._grouped, self._names = grouped, names
        self.orders = 0

    def __call__(self, samples: int) -> tuple[Any, ...]:
        """Return the next rows, with their groups where there are any and ``grouped`` is set, and their weights."""
        self.orders += 1
        first, last = self._given, self._given + samples
        X, y = self._rows.bought(first, last)
        self._given += len(y)
        groups = self._rows.groups_of(first, last) if self._grouped else None
        weights = self._rows.weights_of(first, last)
        chosen = X[:, self._columns]
        given = chosen if self._names is None else InputRows(X=chosen, columns=self._names)
        if weights is not None:
            return given, y, groups, weights
        return (given, y) if groups is None else (given, y, groups)


def run_tracker(
    tracker: Tracker,
    rows: tuple[SplitRows, ...],
    names: tuple[str, ...] | None = None,
    *,
    read_rows: Callable[..., Any] = RowSource,
    read_model: Callable[[Tracker, Loss], FloatArray] | None = None,
) -> TrackerRun:
    """Run a tracker over all periods; ``names`` are those of the columns.

    ``read_rows`` makes the source of a period's rows, and ``read_model`` returns the model of a tracker.
    """
    read_model = _coefficients if read_model is None else read_model
    reports: list[StepReport] = []
    coefs, orders = [], []
    grouped = isinstance(tracker, Tracker) and uses_groups(tracker.snapshot()[0])
    for now in rows:
        source = read_rows(now, grouped=grouped, names=names if isinstance(tracker, Tracker) else None)
        reports.append(tracker.step(source, pool=now.pool))
        orders.append(float(source.orders))
        coefs.append(read_model(tracker, now.population.loss))
    return TrackerRun(
        coefs=np.array(coefs),
        samples=_numbers(reports, "samples"),
        orders=np.array(orders),
        samples_theory=_numbers(reports, "samples_theory"),
        risk_bound=_numbers(reports, "risk_bound"),
        certificate=_numbers(reports, "certificate"),
        drift=0.5 * np.square(_numbers(reports, "rho")),
        drift_upper=0.5 * np.square(_numbers(reports, "rho_upper")),
        status=np.array([STATUS.get(report.status or "", math.nan) for report in reports]),
        **{name: _audited(reports, field) for name, field in AUDITED.items()},
        **{name: _of_metric(reports, field) for name, field in METRIC.items()},
        assumptions=tuple(report.assumptions for report in reports),
        candidates=next((report.selected.candidates for report in reports if report.selected is not None), ()),
        chosen=np.array([math.nan if report.selected is None else report.selected.index for report in reports]),
    )


def _coefficients(tracker: Tracker, loss: Loss) -> FloatArray:
    """Return the model of a tracker as coefficients of the loss, those of the intercept last."""
    if isinstance(loss, VectorLoss):
        return loss.coefficients(np.column_stack([tracker.coef, tracker.intercept]))
    return np.append(tracker.coef, tracker.intercept)


def _audited(reports: list[StepReport], name: str) -> FloatArray:
    """Return one field of the audits as floats, NaN where nothing was measured."""
    values = [None if report.audit is None else getattr(report.audit, name) for report in reports]
    return np.array([math.nan if value is None else float(value) for value in values])


def _of_metric(reports: list[StepReport], name: str) -> FloatArray:
    """Return one field of what is known of the metric as floats, NaN where the target is given otherwise."""
    values = [None if report.metric is None else getattr(report.metric, name) for report in reports]
    return np.array([math.nan if value is None else float(value) for value in values])


def _numbers(reports: list[StepReport], name: str) -> FloatArray:
    """Return one field of the reports as floats, NaN where it is None."""
    values = [getattr(report, name) for report in reports]
    return np.array([math.nan if value is None else float(value) for value in values])
