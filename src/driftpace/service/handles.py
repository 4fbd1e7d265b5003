"""Handles of campaigns: the ones used last are kept, with the state they have folded."""

import threading
from collections import OrderedDict

from driftpace.campaign import Campaign
from driftpace.storage.base import Store


class Handles:
    """Campaigns by name, at most ``most`` of them.

    Reading and changing go by the same handle, so that what was just written is not read again; a handle can be read while it fits.

    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> made = Campaign.create({"name": "churn", "target": "left", "epsilon": 0.1}, storage=store)
    >>> handles = Handles(store)
    >>> handles.campaign("churn") is handles.campaign("churn")
    True
    """

    def __init__(self, store: Store, *, most: int = 128) -> None:
        self._store = store
        self._most = most
        self._kept: OrderedDict[str, Campaign] = OrderedDict()
        self._lock = threading.Lock()

    def campaign(self, name: str) -> Campaign:
        """Return a campaign to look at or to change, or raise UnknownCampaignError."""
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
                return found
        opened = Campaign.open(name, storage=self._store)  # asks the store, so not under the lock
        with self._lock:
            kept = self._kept.setdefault(name, opened)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return kept
