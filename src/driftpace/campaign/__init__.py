"""Campaigns: trackers with a name and a log, kept in a store."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.campaign.campaign import Campaign
    from driftpace.campaign.definition import Definition
    from driftpace.campaign.export_import import export_campaign, import_campaign
    from driftpace.campaign.fleet import FleetCampaign
    from driftpace.campaign.ledger import LEDGER_COLUMNS, Ledger, LedgerColumn
    from driftpace.campaign.prediction import CampaignModel
    from driftpace.campaign.record_text import render
    from driftpace.campaign.records import (
        Erasure,
        LedgerRow,
        Order,
        PoolComponents,
        Receipt,
        Revision,
        Served,
        Stage,
        Status,
        Undone,
    )

__all__ = [
    "LEDGER_COLUMNS",
    "Campaign",
    "CampaignModel",
    "Definition",
    "Erasure",
    "FleetCampaign",
    "Ledger",
    "LedgerColumn",
    "LedgerRow",
    "Order",
    "PoolComponents",
    "Receipt",
    "Revision",
    "Served",
    "Stage",
    "Status",
    "Undone",
    "export_campaign",
    "import_campaign",
    "render",
]

if not TYPE_CHECKING:  # type checkers use the imports above and reject other names
    __getattr__ = lazy(
        __name__,
        {
            "Campaign": "campaign",
            "CampaignModel": "prediction",
            "Definition": "definition",
            "Erasure": "records",
            "FleetCampaign": "fleet",
            "LEDGER_COLUMNS": "ledger",
            "Ledger": "ledger",
            "LedgerColumn": "ledger",
            "LedgerRow": "records",
            "Order": "records",
            "PoolComponents": "records",
            "Receipt": "records",
            "Revision": "records",
            "Served": "records",
            "Stage": "records",
            "Status": "records",
            "Undone": "records",
            "export_campaign": "export_import",
            "import_campaign": "export_import",
            "render": "record_text",
        },
    )
