"""What a fleet returns: the orders of a period, what became of a delivery, and the ledger."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from driftpace.fleet.budget import BudgetShare
from driftpace.records import Money, Outcome, StepReport
from driftpace.tracker.history import History, frame_of


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentOrder:
    """How many rows of a segment to label next, and why.

    Parameters
    ----------
    segment : str
        The segment.
    samples : int
        The rows still missing in this period; 0 where no more are needed.
    risk : float
        The excess risk predicted after them.
    epsilon : float
        The target.
    outcome : Outcome
        Whether the risk is within the target, and if not, why.
    reason : str
        The outcome in words, with its numbers.
    status : str, optional
        "stable", "warning" or "drift"; None without a check.
    cost : Money, optional
        What the rows cost; None where the fleet has no prices.
    problem : str, optional
        Why the last rows of the segment in this period were set aside.
    freed : bool
        Whether the segment drifts so unlike the others that it is not told how they drift.
    """

    segment: str
    samples: int
    risk: float
    epsilon: float
    outcome: Outcome
    reason: str
    status: str | None = None
    cost: Money | None = None
    problem: str | None = None
    freed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetOrders:
    """The orders of all segments in one period.

    Parameters
    ----------
    period : int
        The period of the fleet, from 1.
    orders : tuple of SegmentOrder
        One for each segment.
    cost : Money, optional
        What all rows cost, the price of the order itself included; None without a budget.
    money_left : Money, optional
        The money before that.
    share : BudgetShare, optional
        How the budget was shared when orders were last sized; None before that, and after its horizon.

    Examples
    --------
    >>> order = SegmentOrder(
    ...     segment="berlin", samples=12, risk=0.018, epsilon=0.02, outcome=Outcome.MET, reason="an example"
    ... )
    >>> orders = FleetOrders(period=3, orders=(order,))
    >>> orders.samples, orders["berlin"].samples, "oslo" in orders
    (12, 12, False)
    """

    period: int
    orders: tuple[SegmentOrder, ...]
    cost: Money | None = None
    money_left: Money | None = None
    share: BudgetShare | None = None
    _places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {order.segment: place for place, order in enumerate(self.orders)})

    @property
    def samples(self) -> int:
        """The rows still missing in all segments."""
        return sum(order.samples for order in self.orders)

    def __getitem__(self, segment: str) -> SegmentOrder:
        """Return the order of a segment."""
        return self.orders[self._places[segment]]

    def __contains__(self, segment: object) -> bool:
        return segment in self._places

    def __iter__(self) -> Iterator[SegmentOrder]:
        return iter(self.orders)

    def __len__(self) -> int:
        return len(self.orders)

    def columns(self) -> dict[str, list[Any]]:
        """Return the orders as columns of plain values."""
        columns: dict[str, list[Any]] = {"segment": [order.segment for order in self.orders]}
        for name in ("samples", "risk", "epsilon"):
            columns[name] = [getattr(order, name) for order in self.orders]
        columns["outcome"] = [order.outcome.value for order in self.orders]
        for name in ("reason", "status", "problem", "freed"):
            columns[name] = [getattr(order, name) for order in self.orders]
        if any(order.cost is not None for order in self.orders):
            columns["cost"] = [None if order.cost is None else float(order.cost) for order in self.orders]
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row for each segment.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Raises
        ------
        MissingExtraError
            If it is not installed.
        """
        return frame_of(self.columns(), backend, owner="FleetOrders.to_frame")


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """What became of a delivery.

    Parameters
    ----------
    period : int
        The period that the rows were added to.
    rows : int
        The rows that were added.
    rejected : dict of str to str
        The segments whose rows were set aside, and why.
    added : tuple of str
        The segments that appeared with these rows.
    closed : bool
        Whether the period was closed.
    repeated : bool
        Whether the delivery was known by its key, so that nothing was changed.
    without : dict of str to int
        The rows that were left out, since they name no segment, by its column.
    """

    period: int
    rows: int
    rejected: dict[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    closed: bool = False
    repeated: bool = False
    without: dict[str, int] = field(default_factory=dict)


class FleetLedger(Mapping[str, History]):
    """The reports of the closed periods of each segment; ``.to_frame()`` for a table of all.

    Parameters
    ----------
    reports : mapping of str to tuple of StepReport
        Those of each segment.
    first : mapping of str to int
        The period of the fleet in which each segment began.
    problems : mapping of str to mapping of int to str
        Why rows of a segment were set aside, by the period of the fleet.
    freed : mapping of str to tuple of int, optional
        The periods of the fleet in which a segment drifted so unlike the others that it was not told how they drift.
    """

    def __init__(
        self,
        reports: Mapping[str, tuple[StepReport, ...]],
        first: Mapping[str, int],
        problems: Mapping[str, Mapping[int, str]],
        freed: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self._reports, self._first, self._problems, self._freed = reports, first, problems, freed or {}

    def __getitem__(self, segment: str) -> History:
        """Return the history of a segment, whose periods count from its first one."""
        return History(self._reports[segment])

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def columns(self) -> dict[str, list[Any]]:
        """Return all reports as columns of plain values, the segments below each other; ``period`` is that of the fleet."""
        whole = History(report for reports in self._reports.values() for report in reports)
        columns = whole.columns()
        columns.pop("assumptions")
        names, periods, problems, freed = [], [], [], []
        for segment, reports in self._reports.items():
            for report in reports:
                period = self._first[segment] + report.period - 1
                names.append(segment)
                periods.append(period)
                problems.append(self._problems.get(segment, {}).get(period))
                freed.append(period in self._freed.get(segment, ()))
        return {"segment": names, **columns, "period": periods, "problem": problems, "freed": freed}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row for each segment and period.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Raises
        ------
        MissingExtraError
            If it is not installed.
        """
        return frame_of(self.columns(), backend, owner="FleetLedger.to_frame")
