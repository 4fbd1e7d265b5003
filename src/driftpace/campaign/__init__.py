"""Campaigns: trackers with a name, a store and a history that survives whatever happens to the process."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.campaign.campaign import Campaign
    from driftpace.campaign.definition import Definition
    from driftpace.campaign.records import LedgerRow, Order, Receipt, Served, Stage, Status

__all__ = ["Campaign", "Definition", "LedgerRow", "Order", "Receipt", "Served", "Stage", "Status"]

if not TYPE_CHECKING:  # a type checker knows the names above, and is to refuse any other
    __getattr__ = lazy(
        __name__,
        {
            "Campaign": "campaign",
            "Definition": "definition",
            "LedgerRow": "records",
            "Order": "records",
            "Receipt": "records",
            "Served": "records",
            "Stage": "records",
            "Status": "records",
        },
    )
