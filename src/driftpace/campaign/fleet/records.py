"""Frozen records that a fleet campaign returns: orders, receipts, status, closed periods and undone entries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from driftpace.campaign.fleet.table import SegmentTable
from driftpace.campaign.records import BUY, EXHAUSTED, SKIP, Stage
from driftpace.campaign.serialization import money_json
from driftpace.fleet.budget import BudgetShare
from driftpace.records import Money, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetOrder:
    """How many rows of all segments a period needs, and how far it is.

    Parameters
    ----------
    campaign : str
        Name of the campaign.
    period : int
        Number of the period.
    key : str, optional
        Your name of the period, such as 2026-W46.
    samples : int
        Rows of the whole period: ``received`` plus ``missing``.
    received : int
        Labelled rows delivered so far.
    missing : int
        Rows still to be labelled.
    closed : bool
        Whether the period is closed.
    cost : Money, optional
        The price of the missing rows; None without a budget.
    money_left : Money, optional
        The money before paying for them.
    share : BudgetShare, optional
        How the money was shared, with the proven bound on what any other sharing could gain.
    segments : SegmentTable
        A row for each segment; none for a period that was closed before.
    """

    campaign: str
    period: int
    key: str | None
    samples: int
    received: int
    missing: int
    closed: bool = False
    cost: Money | None = None
    money_left: Money | None = None
    share: BudgetShare | None = None
    segments: SegmentTable = field(default_factory=SegmentTable)

    @property
    def code(self) -> int:
        """Exit code of the command line: 0 label rows, 10 none are missing, 20 the money does not pay for those needed."""
        if self.missing:
            return BUY
        short = not self.closed and any(row.outcome == Outcome.BUDGET.value for row in self.segments)
        return EXHAUSTED if short else SKIP


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetPeriod:
    """A closed period of all segments.

    Parameters
    ----------
    period, key
        Its number, and your name of it.
    at : str
        When it was closed (UTC).
    segments : int
        Segments that the fleet had.
    samples, received : int
        Rows that were asked for, and delivered.
    outcomes : mapping of str to int
        Segments by outcome, such as "met"; see :class:`~driftpace.records.Outcome`.
    not_met : int
        Segments that do not meet their target.
    without_rows : int
        Segments without a row in the period.
    set_aside : int
        Segments whose last rows could not be used.
    cost, money_left : Money, optional
        What the rows cost, and what is left after them; None without a budget.
    """

    period: int
    key: str | None
    at: str
    segments: int
    samples: int
    received: int
    outcomes: Mapping[str, int]
    not_met: int
    without_rows: int
    set_aside: int
    cost: Money | None = None
    money_left: Money | None = None

    def to_values(self) -> dict[str, Any]:
        """Return the record as plain values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {**values, "outcomes": dict(self.outcomes)} | {name: money_json(values[name]) for name in _AMOUNTS}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the record of plain values; others are left out."""
        given = {name: values[name] for name in cls.__slots__ if name not in _AMOUNTS}
        given |= {name: _money(values.get(name)) for name in _AMOUNTS}
        return cls(**given)


_AMOUNTS = ("cost", "money_left")


def _money(value: Mapping[str, str] | None) -> Money | None:
    return None if value is None else Money(Decimal(value["amount"]), value["currency"])


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetReceipt:
    """What became of a delivery.

    Parameters
    ----------
    rows : int
        Rows that were added.
    order : FleetOrder
        The order of the period afterwards.
    closed : FleetPeriod, optional
        The period, if the delivery closed it.
    repeated : int
        Rows that were delivered before, by their id.
    duplicate : int, optional
        The log entry of the same delivery, which was counted before.
    unlabelled : int
        Rows without a target, which were left out.
    without : mapping of str to int
        Rows without a segment or an id, which were left out, by the column.
    doubled : mapping of str to int
        Rows that were left out, since they share an id with another row of their segment and differ from it, by the id.
    rejected : mapping of str to str
        Segments whose rows were set aside, and why.
    added : tuple of str
        Segments that appeared with these rows.
    late : int, optional
        The closed period that the rows were added to.
    """

    rows: int
    order: FleetOrder
    closed: FleetPeriod | None = None
    repeated: int = 0
    duplicate: int | None = None
    unlabelled: int = 0
    without: Mapping[str, int] = field(default_factory=dict)
    doubled: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    late: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetUndone:
    """What was undone.

    Parameters
    ----------
    entry : int
        The log entry of the undo, which can be undone too.
    undone : int
        The log entry that no longer counts.
    kind : str
        What it was, such as "delivered".
    rows : int
        Rows that no longer count.
    status : FleetStatus
        The status afterwards.
    """

    entry: int
    undone: int
    kind: str
    rows: int
    status: "FleetStatus"


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetStatus:
    """The state of a fleet campaign.

    Parameters
    ----------
    name : str
        Name of the campaign.
    period : int
        Number of the current period.
    stage : Stage
        What the campaign waits for.
    todo : str
        The next step as a sentence.
    target : str
        The target of each segment.
    borrow : tuple of str
        What segments learn from each other; see :class:`~driftpace.Fleet`.
    order : FleetOrder, optional
        The open order.
    last : FleetPeriod, optional
        The period closed last.
    segments : SegmentTable
        A row for each segment.
    rows : int
        Rows of the closed periods.
    spent, committed, money_left : Money, optional
        What the closed periods have cost, what the rows of the open one cost, and what is left; None without a budget.
    entries : int
        Entries of the log.
    created_at, updated_at : str
        UTC.
    archived : bool
        Whether it can only be read.
    """

    name: str
    period: int
    stage: Stage
    todo: str
    target: str
    borrow: tuple[str, ...]
    order: FleetOrder | None
    last: FleetPeriod | None
    segments: SegmentTable
    rows: int
    spent: Money | None
    committed: Money | None
    money_left: Money | None
    entries: int
    created_at: str
    updated_at: str
    archived: bool = False
