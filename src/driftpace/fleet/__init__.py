"""Many segments with a model each: one order and one delivery a period."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.fleet.budget import BudgetShare, FleetBudget
    from driftpace.fleet.fleet import Fleet
    from driftpace.fleet.records import Delivery, FleetLedger, FleetOrders, SegmentOrder

__all__ = ["BudgetShare", "Delivery", "Fleet", "FleetBudget", "FleetLedger", "FleetOrders", "SegmentOrder"]

_MODULES = {
    "BudgetShare": "budget",
    "Delivery": "records",
    "Fleet": "fleet",
    "FleetBudget": "budget",
    "FleetLedger": "records",
    "FleetOrders": "records",
    "SegmentOrder": "records",
}

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, _MODULES)
