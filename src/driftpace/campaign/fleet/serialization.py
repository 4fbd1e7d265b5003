"""Records of fleet campaigns as JSON values."""

import math
from typing import Any

from driftpace.campaign.fleet.campaign import FleetCampaign
from driftpace.campaign.fleet.records import FleetOrder, FleetPeriod, FleetReceipt, FleetStatus, FleetUndone
from driftpace.campaign.fleet.sampling import FleetSample
from driftpace.campaign.serialization import cell_json, money_json
from driftpace.fleet.budget import BudgetShare


def order_json(order: FleetOrder, *, segments: bool = True) -> dict[str, Any]:
    """Return an order with a record for each segment; ``code`` is the exit code of ``driftpace ask``."""
    values = {name: getattr(order, name) for name in FleetOrder.__slots__ if name not in ("segments", "share")}
    values |= {"cost": money_json(order.cost), "money_left": money_json(order.money_left)}
    values["share"] = None if order.share is None else share_json(order.share)
    values |= {"code": order.code, "totals": order.segments.totals().to_values()}
    return values | ({"segments": [row.to_values() for row in order.segments]} if segments else {})


def share_json(share: BudgetShare) -> dict[str, Any]:
    """Return how the budget was shared; ``proven_gap`` is what any other sharing could gain at most."""
    return {
        "enough": share.enough,
        "value": _finite(share.value),
        "lower": _finite(share.lower),
        "proven_gap": share.proven_gap if math.isfinite(share.value) else None,
        "later": money_json(share.later),
    }


def period_json(period: FleetPeriod) -> dict[str, Any]:
    """Return a closed period."""
    return period.to_values()


def receipt_json(receipt: FleetReceipt) -> dict[str, Any]:
    """Return what became of a delivery, with the totals of the order."""
    return {
        "rows": receipt.rows,
        "repeated": receipt.repeated,
        "duplicate": receipt.duplicate,
        "unlabelled": receipt.unlabelled,
        "without": dict(receipt.without),
        "doubled": dict(receipt.doubled),
        "rejected": dict(receipt.rejected),
        "added": list(receipt.added),
        "late": receipt.late,
        "closed": None if receipt.closed is None else period_json(receipt.closed),
        "order": order_json(receipt.order, segments=False),
    }


def status_json(status: FleetStatus, *, segments: bool = True) -> dict[str, Any]:
    """Return a status with a record for each segment, and those that matter."""
    return {
        "name": status.name,
        "period": status.period,
        "stage": status.stage.value,
        "todo": status.todo,
        "target": status.target,
        "borrow": list(status.borrow),
        "rows": status.rows,
        "spent": money_json(status.spent),
        "committed": money_json(status.committed),
        "money_left": money_json(status.money_left),
        "entries": status.entries,
        "created_at": status.created_at,
        "updated_at": status.updated_at,
        "archived": status.archived,
        "order": None if status.order is None else order_json(status.order, segments=False),
        "last": None if status.last is None else period_json(status.last),
        "totals": status.segments.totals().to_values(),
        "attention": [row.to_values() for row in status.segments.attention()],
        **({"segments": [row.to_values() for row in status.segments]} if segments else {}),
    }


def sample_json(sample: FleetSample) -> dict[str, Any]:
    """Return the rows that were drawn, and their ids by segment."""
    columns = {name: [cell_json(value) for value in values] for name, values in sample.rows().items()}
    return {
        "ids": {name: list(ids) for name, ids in sample.ids.items()},
        "rows": [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)],
        "new": sample.new,
        "short": dict(sample.short),
        "pool_rows": sample.pool_rows,
    }


def undone_json(undone: FleetUndone) -> dict[str, Any]:
    """Return what was undone."""
    values = {name: getattr(undone, name) for name in FleetUndone.__slots__ if name != "status"}
    return {**values, "status": status_json(undone.status, segments=False)}


def segment_json(fleet: FleetCampaign, name: str) -> dict[str, Any]:
    """Return a segment with the reason for its order, its coefficients, and its closed periods by the number of the fleet's."""
    row, tracker = fleet.segments[name], fleet.segment(name)
    coefficients = None
    if tracker.coef is not None:
        names = tracker.columns or tuple(f"x{place + 1}" for place in range(len(tracker.coef)))
        coefficients = dict(zip(names, tracker.coef.tolist(), strict=True))
        coefficients |= {"intercept": tracker.intercept} if fleet.definition.fit_intercept else {}
    periods = [
        {
            "period": row.first + report.period - 1,
            "asked": report.asked,
            "samples": report.samples,
            "epsilon": _finite(report.epsilon),
            "risk_bound": _finite(report.risk_bound),
            "certificate": _finite(report.certificate),
            "outcome": report.outcome.value,
            "status": report.status,
        }
        for report in tracker.history
    ]
    return {**row.to_values(), "reason": fleet.reason(name), "coefficients": coefficients, "periods": periods}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
