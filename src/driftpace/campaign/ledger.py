"""The ledger: what was promised in each closed period and what was measured, read from the log."""

from typing import Any

from driftpace.campaign.records import LedgerRow, Served
from driftpace.storage.store import Store
from driftpace.tracker.exactly import from_plain


def ledger_of(store: Store, name: str) -> tuple[LedgerRow, ...]:
    """Return the closed periods in order; those of a tracker that was adopted come first."""
    rows: list[LedgerRow] = []
    key: str | None = None
    for entry in store.entries(name, kinds=("created", "closed", "certified")):
        if entry.kind == "created":
            rows += [LedgerRow(key=None, closed_at=entry.at, report=from_plain(one)) for one in entry.body["history"]]
        elif entry.kind == "closed":
            key = entry.body["key"]
        else:
            report, served = from_plain(entry.body["report"]), _served(entry.body["served"])
            rows.append(LedgerRow(key=key, closed_at=entry.at, report=report, served=served))
    return tuple(rows)


def _served(plain: Any) -> Served | None:
    return None if plain is None else Served(**{**plain, "error": from_plain(plain["error"])})
