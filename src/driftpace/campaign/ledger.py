"""The ledger: what was promised in each closed period and what was measured, read from the log."""

from typing import Any

from driftpace.campaign.records import Decision, LedgerRow, Served
from driftpace.storage.codec import decode
from driftpace.storage.store import Store


class Ledger(tuple[LedgerRow, ...]):
    """A tuple of closed periods, that can be turned into a table."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        """Return a closed period, or for a slice a shorter ledger."""
        found = super().__getitem__(index)
        return Ledger(found) if isinstance(index, slice) else found

    def columns(self) -> dict[str, list[Any]]:
        """Return the periods as columns of plain values: the key, the report, and how the model in use did on the fresh rows."""
        from driftpace.tracker.history import History

        columns = {"key": [row.key for row in self], **History(row.report for row in self).columns()}
        columns["closed_at"] = [row.closed_at for row in self]
        for name in ("loss", "error", "accuracy"):
            columns[f"served_{name}"] = [None if row.served is None else getattr(row.served, name) for row in self]
        for name in ("samples", "risk_bound"):
            columns[f"overridden_{name}"] = [
                None if row.overridden is None else getattr(row.overridden, name) for row in self
            ]
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with one row for each period: of ``backend`` ("pandas", "polars", "pyarrow"), or the first installed."""
        from driftpace.tracker.history import frame_of

        return frame_of(self.columns(), backend, owner="Ledger.to_frame")


def ledger_of(store: Store, name: str) -> Ledger:
    """Return the closed periods in order; those of a tracker that was adopted come first."""
    rows: list[LedgerRow] = []
    key: str | None = None
    mine: dict[str, Any] | None = None
    for entry in store.entries(name, kinds=("created", "closed", "certified")):
        if entry.kind == "created":
            rows += [LedgerRow(key=None, closed_at=entry.at, report=decode(one)) for one in entry.body["history"]]
        elif entry.kind == "closed":
            key, mine = entry.body["key"], entry.body.get("overridden")
        else:
            report, served = decode(entry.body["report"]), _served(entry.body["served"])
            overridden = None if mine is None else Decision(**mine)
            rows.append(LedgerRow(key=key, closed_at=entry.at, report=report, served=served, overridden=overridden))
    return Ledger(rows)


def _served(plain: Any) -> Served | None:
    return None if plain is None else Served(**{**plain, "error": decode(plain["error"])})
