"""The ledger of a campaign: its closed periods, and the one definition of the columns that every output shows.

The command line, the REST interface, the dashboard and the report all use :data:`LEDGER_COLUMNS`, so that a column has the same
name, heading, value and format everywhere.
"""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from driftpace.campaign.records import LedgerRow
from driftpace.formatting import no_formula

NO_VALUE = "–"
"""Shown in the place of a value that a period does not have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerColumn:
    """One column of the ledger.

    Parameters
    ----------
    key : str
        Name in data frames and CSV files.
    heading : str
        Heading in tables for people.
    description : str
        One sentence for help texts and tooltips.
    value : callable
        Returns the plain value of a :class:`LedgerRow`: a number, text, or None.
    kind : {"text", "integer", "number", "money", "share"}
        Decides the format and the alignment: everything but text is right-aligned.
    shown : bool, default False
        Whether tables for people show the column; files hold all of them.
    optional : bool, default False
        Left out where no period has a value.
    text : callable, optional
        Returns the formatted cell of a :class:`LedgerRow` where that is more than its value.
    """

    key: str
    heading: str
    description: str
    value: Callable[[LedgerRow], Any]
    kind: str = "number"
    shown: bool = False
    optional: bool = False
    text: Callable[[LedgerRow], str] | None = None

    @property
    def right(self) -> bool:
        """Whether cells are right-aligned."""
        return self.kind != "text"


def _report(name: str) -> Callable[[LedgerRow], Any]:
    return lambda row: getattr(row.report, name)


def _served(name: str) -> Callable[[LedgerRow], Any]:
    return lambda row: None if row.served is None else getattr(row.served, name)


_SERVED_METRICS = {
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "auc": "AUC",
    "deviance_explained": "deviance explained",
    "r2": "R^2",
    "mae": "MAE",
    "rmse": "RMSE",
    "pinball": "pinball loss",
    "share_below": "share below",
}
"""Metrics of the previous model in files, with their titles."""


def _served_metric(name: str) -> Callable[[LedgerRow], Any]:
    return lambda row: None if row.served is None else row.served.metrics.get(name)


def _overridden(name: str) -> Callable[[LedgerRow], Any]:
    return lambda row: None if row.overridden is None else getattr(row.overridden, name)


def _assumptions(row: LedgerRow) -> str:
    return "; ".join(f"{check.name}: {check.verdict.value}" for check in row.report.assumptions)


def _audit(name: str) -> Callable[[LedgerRow], Any]:
    return lambda row: None if row.report.audit is None else getattr(row.report.audit, name)


def _metric(name: str) -> Callable[[LedgerRow], Any]:
    return lambda row: None if row.report.metric is None else getattr(row.report.metric, name)


def _metric_text(value: str, error: str) -> Callable[[LedgerRow], str]:
    return lambda row: _with_error(_metric(value)(row), _metric(error)(row))


def _with_error(value: float | None, error: float | None) -> str:
    """Return a measured number with its standard error."""
    if value is None:
        return NO_VALUE
    known = error is not None and math.isfinite(error)
    return format_value("number", value) + (f" ± {error:.2g}" if known else "")


def _measured(value: str, error: str) -> Callable[[LedgerRow], str]:
    return lambda row: _with_error(_audit(value)(row), _audit(error)(row))


def _prior_loss(row: LedgerRow) -> str:
    return NO_VALUE if row.served is None else _with_error(row.served.loss, row.served.error)


LEDGER_COLUMNS: tuple[LedgerColumn, ...] = (
    LedgerColumn(
        key="period",
        heading="period",
        description="Number of the period.",
        value=_report("period"),
        kind="integer",
        shown=True,
    ),
    LedgerColumn(
        key="key",
        heading="key",
        description="Your name of the period.",
        value=lambda row: row.key,
        kind="text",
        shown=True,
    ),
    LedgerColumn(
        key="closed_at",
        heading="closed at",
        description="When the period was closed (UTC).",
        value=lambda row: row.closed_at,
        kind="text",
    ),
    LedgerColumn(
        key="asked",
        heading="requested",
        description="Rows that were requested.",
        value=_report("asked"),
        kind="integer",
    ),
    LedgerColumn(
        key="samples",
        heading="rows",
        description="Rows that were labelled.",
        value=_report("samples"),
        kind="integer",
        shown=True,
    ),
    LedgerColumn(
        key="samples_theory",
        heading="rows by theory",
        description="Rows that the proven rule requires.",
        value=_report("samples_theory"),
        kind="integer",
    ),
    LedgerColumn(
        key="effective_samples",
        heading="effective rows",
        description="Rows of equal weight that would say as much as the fitted ones, where rows have weights.",
        value=_report("effective_samples"),
        shown=True,
        optional=True,
    ),
    LedgerColumn(
        key="cost",
        heading="cost",
        description="Cost of the labelled rows.",
        value=lambda row: None if row.report.cost is None else float(row.report.cost),
        kind="money",
        shown=True,
        optional=True,
        text=lambda row: NO_VALUE if row.report.cost is None else str(row.report.cost),
    ),
    LedgerColumn(
        key="currency",
        heading="currency",
        description="Currency of the cost.",
        value=lambda row: None if row.report.cost is None else row.report.cost.currency,
        kind="text",
        optional=True,
    ),
    LedgerColumn(
        key="epsilon",
        heading="target",
        description="Largest accepted excess loss over the best model.",
        value=_report("epsilon"),
        shown=True,
    ),
    LedgerColumn(
        key="risk_bound",
        heading="expected excess",
        description="Expected excess loss of the model over the best one.",
        value=_report("risk_bound"),
        shown=True,
    ),
    LedgerColumn(
        key="certificate",
        heading="upper bound",
        description="Upper confidence bound on the excess loss.",
        value=_report("certificate"),
        shown=True,
    ),
    LedgerColumn(
        key="measured",
        heading="measured excess",
        description="Excess loss measured on rows that had no part in the decisions of the period, ± its standard error; noisy, "
        "and negative by chance.",
        value=_audit("measured"),
        shown=True,
        optional=True,
        text=_measured("measured", "error"),
    ),
    LedgerColumn(
        key="measured_error",
        heading="standard error of the measured excess",
        description="Standard error of the measured excess loss.",
        value=_audit("error"),
        optional=True,
    ),
    LedgerColumn(
        key="measured_mean",
        heading="measured mean",
        description="Mean of the measured excess losses of the last periods, at most twenty, ± its standard error.",
        value=_audit("mean"),
        shown=True,
        optional=True,
        text=_measured("mean", "mean_error"),
    ),
    LedgerColumn(
        key="measured_mean_error",
        heading="standard error of the measured mean",
        description="Standard error of the mean of the measured excess losses.",
        value=_audit("mean_error"),
        optional=True,
    ),
    LedgerColumn(
        key="promised_mean",
        heading="promised mean",
        description="Mean of the expected excess losses of the same periods.",
        value=_audit("promised"),
        optional=True,
    ),
    LedgerColumn(
        key="measured_periods",
        heading="periods measured",
        description="Number of periods in the measured mean.",
        value=_audit("periods"),
        kind="integer",
        optional=True,
    ),
    LedgerColumn(
        key="aim",
        heading="aim",
        description="Correction of the orders by what was measured: they aim at so many times their usual share of the target.",
        value=_audit("aim"),
        optional=True,
    ),
    LedgerColumn(
        key="metric",
        heading="metric",
        description="The metric in which the target is given, and the target.",
        value=_metric("goal"),
        kind="text",
        shown=True,
        optional=True,
    ),
    LedgerColumn(
        key="metric_measured",
        heading="measured metric",
        description="The metric on rows of the period that the model had not seen, ± its standard error.",
        value=_metric("measured"),
        shown=True,
        optional=True,
        text=_metric_text("measured", "error"),
    ),
    LedgerColumn(
        key="metric_error",
        heading="standard error of the measured metric",
        description="Standard error of the measured metric.",
        value=_metric("error"),
        optional=True,
    ),
    LedgerColumn(
        key="metric_mean",
        heading="mean metric",
        description="Mean of the measured metric over the last periods, at most twenty, ± its standard error.",
        value=_metric("mean"),
        shown=True,
        optional=True,
        text=_metric_text("mean", "mean_error"),
    ),
    LedgerColumn(
        key="metric_best",
        heading="best metric",
        description="The metric that the best model of its kind is estimated to have, ± its standard error.",
        value=_metric("best"),
        optional=True,
        text=_metric_text("best", "best_error"),
    ),
    LedgerColumn(
        key="served_rows",
        heading="evaluation rows",
        description="New rows that the previous model was evaluated on.",
        value=_served("rows"),
        kind="integer",
    ),
    LedgerColumn(
        key="served_loss",
        heading="prior loss",
        description="Mean loss of the previous model on the new rows, before training on them, ± its standard error.",
        value=_served("loss"),
        shown=True,
        text=_prior_loss,
    ),
    LedgerColumn(
        key="served_error",
        heading="standard error",
        description="Standard error of the prior loss.",
        value=_served("error"),
    ),
    LedgerColumn(
        key="served_accuracy",
        heading="prior accuracy",
        description="Accuracy of the previous model on the new rows, before training on them.",
        value=_served("accuracy"),
        kind="share",
        shown=True,
        optional=True,
    ),
    *(
        LedgerColumn(
            key=f"served_{name}",
            heading=f"prior {title}",
            description=f"The {title} of the previous model on the new rows, before training on them.",
            value=_served_metric(name),
            optional=True,
        )
        for name, title in _SERVED_METRICS.items()
    ),
    LedgerColumn(
        key="outcome",
        heading="outcome",
        description="Whether the model is expected to meet the target, and if not, why.",
        value=lambda row: row.report.outcome.value,
        kind="text",
        shown=True,
        text=lambda row: row.report.outcome.sentence,
    ),
    LedgerColumn(key="rho", heading="drift", description="Estimated drift of the best model.", value=_report("rho")),
    LedgerColumn(
        key="rho_upper",
        heading="drift, upper end",
        description="Upper end of the estimated drift.",
        value=_report("rho_upper"),
    ),
    LedgerColumn(
        key="measures",
        heading="drift measures",
        description='What the drift measures: "rho", or the "distance" from the previous model to the new minimiser.',
        value=_report("measures"),
        kind="text",
    ),
    LedgerColumn(
        key="status",
        heading="drift status",
        description='Whether the rows agree with the prediction: "stable", "warning" or "drift".',
        value=_report("status"),
        kind="text",
    ),
    LedgerColumn(
        key="assumptions",
        heading="assumptions",
        description="Each assumption with its verdict.",
        value=_assumptions,
        kind="text",
    ),
    LedgerColumn(
        key="selected",
        heading="selected",
        description="The candidate chosen by cross-validation.",
        value=lambda row: None if row.report.selected is None else row.report.selected.chosen,
        kind="text",
        optional=True,
    ),
    LedgerColumn(
        key="overridden_samples",
        heading="override",
        description="Rows that a person ordered instead.",
        value=_overridden("samples"),
        kind="integer",
    ),
    LedgerColumn(
        key="overridden_risk_bound",
        heading="override, expected excess",
        description="Expected excess loss for the number of rows that a person ordered.",
        value=_overridden("risk_bound"),
    ),
    LedgerColumn(
        key="late",
        heading="late rows",
        description="Rows that arrived after the period was closed, and were absorbed into it.",
        value=lambda row: row.late or None,
        kind="integer",
        shown=True,
        optional=True,
    ),
    LedgerColumn(
        key="others",
        heading="rows not drawn",
        description="Rows that count although they were not drawn for the period.",
        value=lambda row: row.others or None,
        kind="integer",
        shown=True,
        optional=True,
    ),
    LedgerColumn(
        key="mismatch",
        heading="unlike pool",
        description="The columns in which the rows of the period differ most from the pool they were drawn from.",
        value=lambda row: None if row.mismatch is None else ", ".join(one.column for one in row.mismatch.columns),
        kind="text",
        shown=True,
        optional=True,
    ),
    LedgerColumn(
        key="retraining_gain",
        heading="gain of training",
        description="How much training the base model again would have lowered the loss.",
        value=lambda row: None if row.report.retrain is None else row.report.retrain.gain,
        shown=True,
        optional=True,
    ),
    LedgerColumn(
        key="retraining_error",
        heading="error of the gain",
        description="Standard error of the gain of training the base model again.",
        value=lambda row: None if row.report.retrain is None else row.report.retrain.error,
        optional=True,
    ),
    LedgerColumn(
        key="revised",
        heading="revised",
        description="Whether the period was absorbed again because rows arrived late or something was undone.",
        value=lambda row: "yes" if row.revised else None,
        kind="text",
        shown=True,
        optional=True,
    ),
    LedgerColumn(key="seconds", heading="seconds", description="Time to close the period.", value=_report("seconds")),
)
"""All columns in their order; files hold all of them, tables for people those with ``shown``."""


def format_value(kind: str, value: Any) -> str:
    """Return a value as people read it.

    Examples
    --------
    >>> format_value("number", 0.014287), format_value("integer", 1200), format_value("share", 0.914), format_value("number", None)
    ('0.0143', '1,200', '91 %', '–')
    >>> from driftpace.records import Money
    >>> format_value("money", Money.of("12.50", "EUR"))
    '12.50 EUR'
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NO_VALUE
    if kind == "integer":
        return f"{value:,}"
    if kind == "share":
        return f"{100.0 * value:.0f} %"
    if kind == "number":
        return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e9 else f"{value:.3g}"
    return str(value)


def format_cell(column: LedgerColumn, row: LedgerRow) -> str:
    """Return the cell of a column for a closed period, as people read it."""
    return format_value(column.kind, column.value(row)) if column.text is None else column.text(row)


def ledger_columns(ledger: Sequence[LedgerRow], *, shown: bool = False) -> list[LedgerColumn]:
    """Return the columns of a ledger: all, or those that tables show; optional ones only where a period has a value."""
    columns = [column for column in LEDGER_COLUMNS if column.shown or not shown]
    return [column for column in columns if not column.optional or any(column.value(row) is not None for row in ledger)]


class Ledger(tuple[LedgerRow, ...]):
    """The closed periods of a campaign, as a tuple that converts to tables.

    Examples
    --------
    >>> ledger = Ledger()
    >>> headings, rows = ledger.table()
    >>> headings[:3], rows
    (['period', 'key', 'rows'], [])
    """

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        """Return a closed period, or for a slice a shorter ledger."""
        item = super().__getitem__(index)
        return Ledger(item) if isinstance(index, slice) else item

    def columns(self) -> dict[str, list[Any]]:
        """Return all columns by key as lists of plain values."""
        return {column.key: [column.value(row) for row in self] for column in ledger_columns(self)}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and formatted cells of the columns that people read."""
        columns = ledger_columns(self, shown=True)
        return [column.heading for column in columns], [
            [format_cell(column, row) for column in columns] for row in self
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per period.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.
        """
        from driftpace.tracker.history import frame_of

        return frame_of(self.columns(), backend, owner="Ledger.to_frame")

    def to_csv(self) -> str:
        """Return all columns as CSV for spreadsheets: exact costs, empty cells for missing values, no formulas."""
        columns = ledger_columns(self)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow([column.key for column in columns])
        writer.writerows([[_csv_cell(column, row) for column in columns] for row in self])
        return out.getvalue()


def _csv_cell(column: LedgerColumn, row: LedgerRow) -> Any:
    value: Any = column.value(row)
    if column.kind == "money" and row.report.cost is not None:
        amount: Decimal = row.report.cost.amount
        return format(amount, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return no_formula(value)
