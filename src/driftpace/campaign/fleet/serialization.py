"""Records of fleet campaigns as JSON values."""

import math
from typing import Any

from driftpace.campaign.fleet.campaign import FleetCampaign
from driftpace.campaign.fleet.records import FleetOrder, FleetPeriod, FleetReceipt, FleetStatus, FleetUndone


def order_json(order: FleetOrder, *, segments: bool = True) -> dict[str, Any]:
    """Return an order with a record for each segment; ``code`` is the exit code of ``driftpace ask``."""
    values = {name: getattr(order, name) for name in FleetOrder.__slots__ if name != "segments"}
    values |= {"code": order.code, "totals": order.segments.totals().to_values()}
    return values | ({"segments": [row.to_values() for row in order.segments]} if segments else {})


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
        "rows": status.rows,
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
