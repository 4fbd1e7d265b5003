"""What the service remembers of the logs of campaigns, so that only what was added since is read and drawn again."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from driftpace.campaign.handle import unknown_campaign
from driftpace.campaign.ledger import Ledger
from driftpace.campaign.ledger_log import LedgerLog
from driftpace.storage.base import Head, Store

Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class History:
    """The closed periods of a campaign up to an entry of its log, and parts of its page that were made of them.

    Parameters
    ----------
    seq : int
        The last entry of the log.
    ledger : Ledger
        The closed periods.
    """

    seq: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    _parts: dict[Hashable, Any] = field(default_factory=dict)

    def part(self, key: Hashable, make: Callable[[], Part]) -> Part:
        """Return a part of the page, made when it is first asked for."""
        if key not in self._parts and len(self._parts) >= _MAX_PARTS:
            return make()
        made: Part = self._parts[key] if key in self._parts else make()
        self._parts[key] = made
        return made


_MAX_PARTS = 16
"""Parts kept of each campaign: of the pages of its history that were looked at."""


@dataclass(kw_only=True, slots=True, eq=False)
class _Kept:
    log: LedgerLog
    history: History = field(default_factory=History)
    lock: threading.Lock = field(default_factory=threading.Lock)


class HistoryCache:
    """The histories of the campaigns used last.

    Parameters
    ----------
    store : Store
        Where the campaigns are.
    periods : int
        How many closed periods are kept, of all campaigns together; always those of the campaign used last.

    Examples
    --------
    >>> from driftpace.campaign import Campaign
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> campaign = Campaign.create({"name": "churn", "target": "left", "epsilon": 0.1}, storage=store)
    >>> HistoryCache(store).get("churn").seq
    1
    """

    def __init__(self, store: Store, *, periods: int = 20_000) -> None:
        self._store = store
        self._periods = periods
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> History:
        """Return the history of a campaign as the store has it now, or raise UnknownCampaignError."""
        head = self._store.head(name)
        if head is None:
            raise unknown_campaign(name, self._store)
        kept = self._find(head)
        with kept.lock:
            if kept.history.seq != head.seq:
                kept.history = History(seq=head.seq, ledger=kept.log.read())
            history = kept.history
        self._drop()
        return history

    def _find(self, head: Head) -> _Kept:
        key = (head.name, head.created_at)
        with self._lock:
            kept = self._kept.pop(key, None) or _Kept(log=LedgerLog(self._store, head.name))
            self._kept[key] = kept
            return kept

    def _drop(self) -> None:
        with self._lock:
            periods = sum(len(kept.history.ledger) for kept in self._kept.values())
            while periods > self._periods and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                periods -= len(dropped.history.ledger)
