"""Bodies of the routes of fleets: campaigns with a model for each segment."""

from typing import Annotated, Any, Literal

from pydantic import Field

from driftpace.service.request_schemas import (
    WHOLE,
    Amount,
    Count,
    Currency,
    Key,
    Price,
    Reason,
    RequestModel,
    SegmentName,
    SegmentPricesRequest,
)
from driftpace.service.response_schemas import MoneyResponse, ResponseModel, TotalsResponse

SortColumn = Literal[
    "urgency",
    "segment",
    "first",
    "missing",
    "received",
    "risk",
    "epsilon",
    "outcome",
    "last",
    "status",
    "rows",
    "cost",
    "spent",
]
Show = Literal["", "attention", "set_aside", "failed", "not_met", "missing", "complete"]


class FleetAskRequest(RequestModel):
    """The key of the period, the most rows that each segment has, and segments to add."""

    key: Key | None = None
    pool: Count | Annotated[dict[SegmentName, Count], Field(max_length=100_000)] | None = None
    segments: Annotated[list[SegmentName], Field(max_length=100_000)] = Field(default_factory=list)


class FleetMoneyRequest(SegmentPricesRequest):
    """Money and periods to add to the budget that segments share, with the reason; prices, if given, apply from now on."""

    order_price: Price | None = None
    currency: Currency | None = None
    money: Amount
    periods: Annotated[int, Field(ge=0, le=10_000), WHOLE] = 0
    reason: Reason

    def prices(self) -> dict[str, Any]:
        """Return the prices that were given."""
        return {name: value for name, value in self.given().items() if name not in ("money", "periods", "reason")}


class FleetUndoRequest(RequestModel):
    """What to undo (a log entry, a delivery by its name or file, or the period closed last), and why."""

    entry: Annotated[int, Field(ge=1, le=10**12), WHOLE] | None = None
    delivery: Key | None = None
    period: Annotated[int, Field(ge=1, le=10**9), WHOLE] | None = None
    reason: Reason


class SegmentResponse(ResponseModel):
    """Where a segment is; ``trail`` is the excess loss expected of the last periods in units of the target."""

    segment: str
    first: int
    missing: int
    received: int
    risk: float | None
    epsilon: float | None
    outcome: str | None
    last: str | None
    status: str | None
    failed: list[str]
    problem: str | None
    rows: int
    cost: float | None
    spent: float | None
    trail: list[float | None]


class FleetPeriodResponse(ResponseModel):
    """A closed period of all segments."""

    period: int
    key: str | None
    at: str
    segments: int
    samples: int
    received: int
    outcomes: dict[str, int]
    not_met: int
    without_rows: int
    set_aside: int
    cost: MoneyResponse | None
    money_left: MoneyResponse | None


class ShareResponse(ResponseModel):
    """How the budget was shared: ``value``, the largest relative risk or weighted mean gap, is in no other way below ``lower``."""

    enough: bool
    value: float | None
    lower: float | None
    proven_gap: float | None
    later: MoneyResponse


class FleetOrderResponse(ResponseModel):
    """The rows of all segments that a period needs; ``code`` is the exit status of `driftpace ask`."""

    campaign: str
    period: int
    key: str | None
    samples: int
    received: int
    missing: int
    closed: bool
    cost: MoneyResponse | None
    money_left: MoneyResponse | None
    share: ShareResponse | None
    code: Literal[0, 10, 20]
    totals: TotalsResponse


class FleetStatusResponse(ResponseModel):
    """The status of a fleet, with the ten segments that matter."""

    name: str
    period: int
    stage: str
    todo: str
    target: str
    borrow: list[str]
    rows: int
    spent: MoneyResponse | None
    committed: MoneyResponse | None
    money_left: MoneyResponse | None
    entries: int
    created_at: str
    updated_at: str
    archived: bool
    order: FleetOrderResponse | None
    last: FleetPeriodResponse | None
    totals: TotalsResponse
    attention: list[SegmentResponse]


class FleetReceiptResponse(ResponseModel):
    """What became of a delivery."""

    rows: int
    repeated: int
    duplicate: int | None
    unlabelled: int
    without: dict[str, int]
    doubled: dict[str, int]
    rejected: dict[str, str]
    added: list[str]
    late: int | None
    closed: FleetPeriodResponse | None
    order: FleetOrderResponse


class FleetUndoneResponse(ResponseModel):
    """What was undone, and the status afterwards."""

    entry: int
    undone: int
    kind: str
    rows: int
    status: FleetStatusResponse


class FleetSampleResponse(ResponseModel):
    """Rows to label, ``ids`` by segment, ``new`` of them drawn now; ``short`` says how many more rows the pool should have."""

    ids: dict[str, list[str]]
    rows: list[dict[str, float | int | str | None]]
    new: int
    short: dict[str, int]
    pool_rows: int


class SegmentsResponse(ResponseModel):
    """A page of the segments: ``total`` match, and ``next`` is the offset of the page that follows."""

    segments: list[SegmentResponse]
    total: int
    next: int | None


class SegmentPeriodResponse(ResponseModel):
    """A closed period of one segment; ``period`` is that of the fleet."""

    period: int
    asked: int
    samples: int
    epsilon: float | None
    risk_bound: float | None
    certificate: float | None
    outcome: str
    status: str | None


class SegmentDetailResponse(SegmentResponse):
    """A segment with the reason for its order, its coefficients, and its closed periods."""

    reason: str | None
    coefficients: dict[str, float] | None
    periods: list[SegmentPeriodResponse]


class FleetLedgerResponse(ResponseModel):
    """The closed periods of all segments together."""

    periods: list[FleetPeriodResponse]
