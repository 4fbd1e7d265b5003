"""Read the ledger of a campaign from its log: all of it, what was added since, or a few periods."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from driftpace.campaign.definition import of_segments
from driftpace.campaign.ledger import Ledger
from driftpace.campaign.records import Decision, LedgerRow, Served
from driftpace.campaign.transitions import undone_by
from driftpace.records import StepReport
from driftpace.storage.base import Entry, Store
from driftpace.storage.codec import decode
from driftpace.tables.pool_mismatch import PoolMismatch

_KINDS = ("created", "delivered", "closed", "certified", "revised", "undone")


class LedgerLog:
    """The ledger of a campaign as far as its log was read; :meth:`read` continues where it stopped."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self._forget()

    def _forget(self) -> None:
        self._seq = 0
        self._ledger = Ledger()
        self._adopted: list[LedgerRow] = []
        self._rows: dict[int, LedgerRow] = {}
        self._closing: dict[str, Any] = {}
        self._late: Counter[int] = Counter()
        self._others: Counter[int] = Counter()
        self._unlike: dict[int, PoolMismatch] = {}

    def read(self) -> Ledger:
        """Return the closed periods in order, as they were last absorbed; the history of an adopted tracker first."""
        log = self._store.entries(self._name, after=self._seq, kinds=_KINDS)
        if self._seq and any(entry.kind == "undone" for entry in log):  # it may take back what was read before
            self._forget()
            log = self._store.entries(self._name, kinds=_KINDS)
        return self.absorb(log)

    def absorb(self, log: Sequence[Entry]) -> Ledger:
        """Return the ledger with the next entries of the log."""
        gone = undone_by(log)
        for entry in log:
            if entry.seq not in gone:
                self._absorb_entry(entry)
        if log:
            self._seq = log[-1].seq
            closed = (
                replace(row, late=self._late[n], others=self._others[n], mismatch=self._unlike.get(n))
                for n, row in sorted(self._rows.items())
            )
            self._ledger = Ledger([*self._adopted, *closed])
        return self._ledger

    def _absorb_entry(self, entry: Entry) -> None:
        body = entry.body
        if entry.kind == "created":
            if "fleet" in body:
                raise of_segments(self._name, owner="ledger")
            history = (decode(report) for report in body["history"])
            self._adopted = [LedgerRow(key=None, closed_at=entry.at, report=report) for report in history]
        elif entry.kind == "delivered":
            self._late[body["period"]] += body["rows"] if body.get("late") else 0
            self._others[body["period"]] += body.get("others", 0)
            if "mismatch" in body:
                self._unlike[body["period"]] = PoolMismatch.of(body["mismatch"])
        elif entry.kind == "closed":
            self._closing = {"key": body["key"], "overridden": body.get("overridden")}
        elif entry.kind == "certified":
            override = self._closing["overridden"]
            report: StepReport = decode(body["report"])
            self._rows[report.period] = LedgerRow(
                key=self._closing["key"],
                closed_at=entry.at,
                report=report,
                served=_served_from_plain(body["served"]),
                overridden=None if override is None else Decision(**override),
            )
        elif entry.kind == "revised":
            for encoded, served in zip(body["reports"], body["served"], strict=True):
                report = decode(encoded)
                row = self._rows.get(report.period)
                if row is not None:
                    plain = _served_from_plain(served)
                    self._rows[report.period] = replace(row, report=report, served=plain, revised=True)


def read_ledger(store: Store, name: str) -> Ledger:
    """Return the closed periods in order, as they were last absorbed; the history of an adopted tracker first."""
    return LedgerLog(store, name).read()


def read_ledger_rows(store: Store, name: str, *, after: int, limit: int) -> Ledger:
    """Return at most ``limit`` closed periods after the period ``after``.

    Only the entries of these periods are read, unless the campaign has absorbed late rows or undone entries: then a later entry
    may change an earlier period.
    """
    if store.entries(name, limit=1, kinds=("revised", "undone")):
        log = LedgerLog(store, name)
        return _rows_after(log.read(), after, limit)
    adopted = LedgerLog(store, name).absorb(store.entries(name, limit=1, kinds=("created",)))
    start = _last_closing(store, name, after) if after else 0
    closings = store.entries(name, after=start, limit=limit, kinds=("certified",))
    if not closings:
        return _rows_after(adopted, after, limit)
    end = closings[-1].seq
    rest = store.entries(name, after=start, limit=end - start, kinds=("delivered", "closed"))
    entries = sorted([*closings, *(entry for entry in rest if entry.seq < end)], key=lambda entry: entry.seq)
    closed = LedgerLog(store, name).absorb(entries)
    return _rows_after([*adopted, *closed], after, limit)


def _rows_after(rows: Iterable[LedgerRow], after: int, limit: int) -> Ledger:
    return Ledger(islice((row for row in rows if row.report.period > after), limit))


def _last_closing(store: Store, name: str, period: int) -> int:
    """Return the number of the entry that ends the last period up to ``period``, by bisection; 0 if there is none."""
    head = store.head(name)
    low, high = 0, 0 if head is None else head.seq
    while low < high:
        middle = (low + high) // 2
        following = store.entries(name, after=middle, limit=1, kinds=("certified",))
        if following and decode(following[0].body["report"]).period <= period:
            low = following[0].seq
        else:
            high = middle
    return low


def _served_from_plain(plain: Any) -> Served | None:
    return None if plain is None else Served(**{**plain, "error": decode(plain["error"])})
