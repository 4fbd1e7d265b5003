"""Many segments with a model each: one order and one delivery a period."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.fleet.fleet import Fleet
    from driftpace.fleet.records import Delivery, FleetLedger, FleetOrders, SegmentOrder

__all__ = ["Delivery", "Fleet", "FleetLedger", "FleetOrders", "SegmentOrder"]

_MODULES = {
    "Delivery": "records",
    "Fleet": "fleet",
    "FleetLedger": "records",
    "FleetOrders": "records",
    "SegmentOrder": "records",
}

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, _MODULES)
