"""Campaigns of fleets: a model for each segment, with one name and one log."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.campaign.fleet.campaign import FleetCampaign
    from driftpace.campaign.fleet.records import FleetOrder, FleetPeriod, FleetReceipt, FleetStatus, FleetUndone
    from driftpace.campaign.fleet.table import SegmentRow, SegmentTable, SegmentTotals

__all__ = [
    "FleetCampaign",
    "FleetOrder",
    "FleetPeriod",
    "FleetReceipt",
    "FleetStatus",
    "FleetUndone",
    "SegmentRow",
    "SegmentTable",
    "SegmentTotals",
]

if not TYPE_CHECKING:
    __getattr__ = lazy(
        __name__,
        {
            "FleetCampaign": "campaign",
            "FleetOrder": "records",
            "FleetPeriod": "records",
            "FleetReceipt": "records",
            "FleetStatus": "records",
            "FleetUndone": "records",
            "SegmentRow": "table",
            "SegmentTable": "table",
            "SegmentTotals": "table",
        },
    )
