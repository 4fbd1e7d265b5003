"""The table of segments: where each is, as plain columns that are read, sorted, filtered and paged without their models."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice
from typing import Any, Self

from driftpace import validation
from driftpace.campaign.records import resolved_checks
from driftpace.errors import ParameterError
from driftpace.fleet.records import FleetOrders
from driftpace.fleet.segments import Segment
from driftpace.records import Assumption, Outcome, StepReport, Verdict

SHOWN = 10
"""Segments that matter most, which a status shows."""

TRAIL = 12
"""Closed periods whose risks the table keeps."""

SHOWS = ("attention", "set_aside", "failed", "not_met", "missing", "complete")
"""Filters of a page of segments: any of the next three; set aside, with a failed check, not met; rows missing, or none."""


_PROMISED = frozenset(outcome.value for outcome in Outcome if outcome.promised)


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentRow:
    """Where a segment is.

    Parameters
    ----------
    segment : str
        Its name.
    first : int
        The period in which it appeared.
    missing, received : int
        Rows of the open period that are missing and delivered.
    risk : float, optional
        The excess loss expected: with the rows of the open order, or between periods that of the model; None where unknown.
    epsilon : float, optional
        Its target.
    outcome : str, optional
        Whether that is within the target, as in :class:`~driftpace.records.Outcome`; None before the first order.
    last : str, optional
        The outcome of the period closed last.
    status : str, optional
        "stable", "warning" or "drift".
    failed : tuple of str
        The checks that fail.
    problem : str, optional
        Why its last rows were set aside.
    rows : int
        Rows of the closed periods.
    cost, spent : float, optional
        What the missing rows cost, and what those of the closed periods have cost; None without a budget.
    trail : tuple of float
        The excess loss expected of the last closed periods in units of the target; None where unknown.
    """

    segment: str
    first: int = 1
    missing: int = 0
    received: int = 0
    risk: float | None = None
    epsilon: float | None = None
    outcome: str | None = None
    last: str | None = None
    status: str | None = None
    failed: tuple[str, ...] = ()
    problem: str | None = None
    rows: int = 0
    cost: float | None = None
    spent: float | None = None
    trail: tuple[float | None, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the last closed period met the target; true before the first one."""
        return self.last is None or self.last in _PROMISED

    @property
    def urgency(self) -> tuple[bool, bool, bool, int, str]:
        """What segments are sorted by, the most urgent first."""
        return (self.problem is None, not self.failed, self.met, -self.missing, self.segment)

    def to_values(self) -> dict[str, Any]:
        """Return the row as plain values."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**values, "failed": list(self.failed), "trail": list(self.trail)}


COLUMNS = tuple(item.name for item in fields(SegmentRow))
_TUPLES = ("failed", "trail")


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentTotals:
    """How many segments there are of each kind, and their rows.

    ``not_met`` counts those whose last closed period missed the target, ``outcomes`` all by the outcome of that period.
    """

    segments: int
    missing: int
    received: int
    incomplete: int
    set_aside: int
    failed: int
    not_met: int
    outcomes: Mapping[str, int]

    def to_values(self) -> dict[str, Any]:
        """Return the totals as plain values."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**values, "outcomes": dict(self.outcomes)}


@dataclass(frozen=True, eq=False)  # without slots, because it keeps what is computed once
class SegmentTable:
    """A row for each segment, in the order in which they appeared.

    Examples
    --------
    >>> table = SegmentTable((SegmentRow(segment="Oslo", missing=3), SegmentRow(segment="Rome", problem="no numbers")))
    >>> [row.segment for row in table.attention()], table.totals().missing, table["Oslo"].missing
    (['Rome', 'Oslo'], 3, 3)
    """

    rows: tuple[SegmentRow, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SegmentRow]:
        return iter(self.rows)

    def __getitem__(self, segment: str) -> SegmentRow:
        """Return the row of a segment."""
        for row in self.rows:
            if row.segment == segment:
                return row
        raise ParameterError(
            f"must be a segment of the fleet; got {segment!r:.80}.", owner="FleetCampaign", name="segment"
        )

    @property
    def missing(self) -> dict[str, int]:
        """The rows still missing of each segment that misses some."""
        return {row.segment: row.missing for row in self.rows if row.missing}

    @property
    def set_aside(self) -> tuple[str, ...]:
        """The segments whose last rows were set aside."""
        return tuple(row.segment for row in self.rows if row.problem is not None)

    def totals(self) -> SegmentTotals:
        """Return how many segments there are of each kind."""
        return self._totals

    @cached_property
    def _totals(self) -> SegmentTotals:
        return SegmentTotals(
            segments=len(self.rows),
            missing=sum(row.missing for row in self.rows),
            received=sum(row.received for row in self.rows),
            incomplete=sum(row.missing > 0 for row in self.rows),
            set_aside=sum(row.problem is not None for row in self.rows),
            failed=sum(bool(row.failed) for row in self.rows),
            not_met=sum(not row.met for row in self.rows),
            outcomes=dict(Counter(row.last for row in self.rows if row.last is not None)),
        )

    def attention(self, limit: int = SHOWN) -> tuple[SegmentRow, ...]:
        """Return the segments that matter most: set aside, with a failed check, not met, most rows missing."""
        waiting = (row for row in self._by_urgency if row.problem or row.failed or not row.met or row.missing)
        return tuple(islice(waiting, limit))

    @cached_property
    def _by_urgency(self) -> tuple[SegmentRow, ...]:
        return tuple(sorted(self.rows, key=lambda row: row.urgency))

    def page(
        self,
        *,
        sort: str = "urgency",
        descending: bool = False,
        show: str = "",
        outcome: str = "",
        search: str = "",
        offset: int = 0,
        limit: int = 100,
    ) -> tuple[tuple[SegmentRow, ...], int]:
        """Return a page of the segments, and how many there are in all that match.

        Parameters
        ----------
        sort : str
            ``"urgency"``, or the name of a column; unknown values come last.
        descending : bool
            Largest first.
        show : str
            One of ``SHOWS``: only these segments.
        outcome : str
            Only segments whose last closed period had this outcome.
        search : str
            Part of the name, whatever the case.
        offset, limit : int
            Segments to skip, and the most to return.
        """
        owner = "FleetCampaign.segments"
        validation.choice(owner, ("urgency", *COLUMNS), sort=sort)
        validation.choice(owner, ("", *SHOWS), show=show)
        validation.count(owner, offset=offset, limit=limit)
        lowered, shown = search.lower(), _SHOWN[show]
        rows = [
            row
            for row in (self._by_urgency if sort == "urgency" else self.rows)
            if shown(row) and (not outcome or row.last == outcome) and (not lowered or lowered in row.segment.lower())
        ]
        if sort == "urgency":
            rows = rows[::-1] if descending else rows
        else:
            known = [row for row in rows if _sortable(getattr(row, sort))]
            rest = [row for row in rows if not _sortable(getattr(row, sort))]
            rows = sorted(known, key=lambda row: getattr(row, sort), reverse=descending) + rest
        return tuple(rows[offset : offset + limit]), len(rows)

    def columns(self) -> dict[str, list[Any]]:
        """Return the table as columns of plain values."""
        values = {name: [getattr(row, name) for row in self.rows] for name in COLUMNS}
        return values | {name: [list(held) for held in values[name]] for name in _TUPLES}

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> Self:
        """Return the table of plain columns."""
        plain = {**columns, **{name: [tuple(held) for held in columns[name]] for name in _TUPLES}}
        lines = zip(*(plain[name] for name in COLUMNS), strict=True)
        return cls(tuple(SegmentRow(**dict(zip(COLUMNS, line, strict=True))) for line in lines))


def table_of(
    segments: Mapping[str, Segment], before: SegmentTable, orders: FleetOrders | None, aside: Mapping[str, str]
) -> SegmentTable:
    """Return the table of a fleet, with these orders of the open period; without, what its closed periods have shown."""
    earlier = {row.segment: row for row in before}
    rows = []
    for name, segment in segments.items():
        row = _closed_row(name, segment, None if orders is None else earlier.get(name), aside.get(name))
        if orders is not None and name in orders:
            order = orders[name]
            placed = segment.state.order
            checks = () if placed is None else placed.assumptions
            row = replace(
                row,
                missing=order.samples,
                received=segment.state.gathered,
                risk=_finite(order.risk),
                epsilon=_finite(order.epsilon),
                outcome=order.outcome.value,
                status=order.status,
                failed=_failed(checks, order.samples),
                cost=None if order.cost is None else float(order.cost),
            )
        rows.append(row)
    return SegmentTable(tuple(rows))


def _closed_row(name: str, segment: Segment, earlier: SegmentRow | None, problem: str | None) -> SegmentRow:
    """Return the row of a segment between two periods; ``earlier`` has its rows, where no period was closed since."""
    if not segment.reports:
        return SegmentRow(segment=name, first=segment.first, problem=problem)
    last = segment.reports[-1]
    return SegmentRow(
        segment=name,
        first=segment.first,
        risk=_finite(last.risk_bound),
        epsilon=_finite(last.epsilon),
        outcome=last.outcome.value,
        last=last.outcome.value,
        status=last.status,
        failed=_failed(last.assumptions, 0),
        problem=problem,
        rows=sum(report.samples for report in segment.reports) if earlier is None else earlier.rows,
        spent=_spent(segment.reports) if earlier is None else earlier.spent,
        trail=tuple(_relative(report) for report in segment.reports[-TRAIL:]),
    )


def _spent(reports: Sequence[StepReport]) -> float | None:
    """Return what the periods have cost; None where none has a price."""
    costs = [report.cost.amount for report in reports if report.cost is not None]
    return float(sum(costs)) if costs else None


def _relative(report: StepReport) -> float | None:
    """Return the excess loss expected in units of the target, of three digits."""
    share = report.risk_bound / report.epsilon if report.epsilon > 0.0 else math.nan
    return float(f"{share:.3g}") if math.isfinite(share) else None


def _failed(checks: Sequence[Assumption], missing: int) -> tuple[str, ...]:
    """Return the checks that fail, and that labelling the missing rows does not resolve."""
    resolved = resolved_checks(missing, checks)
    failed = [check for check in checks if check.verdict is Verdict.FAIL and check.judged]
    return tuple(check.name for check in failed if check.name not in resolved)


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _sortable(value: Any) -> bool:
    return value is not None and value != ()


_SHOWN: Mapping[str, Callable[[SegmentRow], bool]] = {
    "": lambda _: True,
    "attention": lambda row: row.problem is not None or bool(row.failed) or not row.met,
    "set_aside": lambda row: row.problem is not None,
    "failed": lambda row: bool(row.failed),
    "not_met": lambda row: not row.met,
    "missing": lambda row: row.missing > 0,
    "complete": lambda row: row.missing == 0,
}
"""Which segments each of ``SHOWS`` shows."""
