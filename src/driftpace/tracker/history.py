"""The reports of the closed periods, as a tuple and as a table."""

from collections.abc import Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from driftpace import validation
from driftpace.errors import MissingExtraError
from driftpace.records import Outcome, StepReport

_BACKENDS = ("polars", "pandas", "pyarrow")

AUDITED = {
    "measured": "measured",
    "measured_error": "error",
    "measured_mean": "mean",
    "measured_mean_error": "mean_error",
    "promised_mean": "promised",
    "measured_periods": "periods",
    "aim": "aim",
}
"""Columns of what the audit measured, with the field of :class:`~driftpace.records.Audit` that each holds."""

MEASURED = {
    "metric": "goal",
    "metric_measured": "measured",
    "metric_error": "error",
    "metric_mean": "mean",
    "metric_mean_error": "mean_error",
    "metric_best": "best",
}
"""Columns of a target in a metric, with the field of :class:`~driftpace.records.MetricReport` that each holds."""


class History(tuple[StepReport, ...]):
    """A tuple of reports, one for each closed period, that can be turned into a table."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        """Return a report, or for a slice a shorter history."""
        item = super().__getitem__(index)
        return History(item) if isinstance(index, slice) else item

    def columns(self) -> dict[str, list[Any]]:
        """Return the reports as columns of plain values.

        The outcome is its name, a cost a number beside its currency; the audit has a column for each of :data:`AUDITED`, and
        a target in a metric one for each of :data:`MEASURED`.
        """
        apart = ("audit", "cost", "selected", "label_sums", "metric")
        names = [field.name for field in fields(StepReport) if field.name not in apart]
        columns = {name: [_plain(getattr(report, name)) for report in self] for name in names}
        for records, parts in (
            ([report.audit for report in self], AUDITED),
            ([report.metric for report in self], MEASURED),
        ):
            if any(one is not None for one in records):
                for column, name in parts.items():
                    columns[column] = [None if one is None else getattr(one, name) for one in records]
        costs = [report.cost for report in self]
        if any(cost is not None for cost in costs):
            columns["cost"] = [None if cost is None else float(cost) for cost in costs]
            columns["currency"] = [None if cost is None else cost.currency for cost in costs]
        if any(report.selected is not None for report in self):
            columns["selected"] = [None if report.selected is None else report.selected.chosen for report in self]
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row for each period.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Raises
        ------
        MissingExtraError
            If it is not installed.
        """
        return frame_of(self.columns(), backend, owner="History.to_frame")


def frame_of(columns: dict[str, list[Any]], backend: str | None, *, owner: str) -> Any:
    """Return columns of plain values as a table of ``backend``, or of the first that is installed."""
    if backend is not None:
        validation.choice(owner, _BACKENDS, backend=backend)
    import narwhals as nw  # slow to import, and not always needed

    return nw.from_dict(columns, backend=_installed(backend, owner)).to_native()


def _plain(value: object) -> object:
    """Return a value as a table can hold it: an outcome by its name, assumptions as one text."""
    if isinstance(value, Outcome):
        return value.name.lower()
    if isinstance(value, tuple):
        return "; ".join(f"{one.name}: {one.verdict.value}" for one in value)
    return value


def _installed(backend: str | None, owner: str) -> Any:
    wanted: Sequence[str] = _BACKENDS if backend is None else (backend,)
    for name in wanted:
        if find_spec(name) is not None:
            return name
    raise MissingExtraError(f"{owner}() needs {' or '.join(wanted)} to be installed: pip install {wanted[0]}.")
