"""Campaigns: trackers with a name, a store and a history that survives whatever happens to the process."""

from driftpace.campaign.campaign import Campaign
from driftpace.campaign.definition import Definition
from driftpace.campaign.records import LedgerRow, Order, Receipt, Served, Stage, Status

__all__ = ["Campaign", "Definition", "LedgerRow", "Order", "Receipt", "Served", "Stage", "Status"]
