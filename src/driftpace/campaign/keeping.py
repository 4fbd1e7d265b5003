"""Where a campaign stands, kept in a store: read, decided upon, and appended to, whoever else does the same at that moment."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from driftpace import validation
from driftpace.campaign import fold
from driftpace.campaign.folded import Folded, from_checkpoint
from driftpace.campaign.rowbytes import unpack
from driftpace.campaign.writing import Draft
from driftpace.errors import ConflictError, StorageError, UnknownCampaignError
from driftpace.storage.store import Store

Answer = TypeVar("Answer")
Decide = Callable[[Folded, Draft], tuple[Folded, Answer]]
"""Given where a campaign stands, adds to the draft of its log, and returns where it stands then and the answer."""

PATIENCE = 120.0
"""Seconds that a change is tried for while others keep changing the same campaign."""


class Kept:
    """One campaign of a store, remembered since it was last read, by any number of threads: changed by one, read by all."""

    def __init__(self, name: str, store: Store, *, clock: Callable[[], str] | None = None) -> None:
        self.clock = utc_now if clock is None else clock
        self._name = name
        self._store = store
        self._changing = threading.RLock()
        self._reading = threading.Lock()
        self._known: Folded | None = None

    def change(self, decide: Decide[Answer], *, dry_run: bool) -> Answer:
        """Read, decide, append; again where somebody else was faster. A dry run appends nothing."""
        validation.switch("Campaign", dry_run=dry_run)
        until = time.monotonic() + PATIENCE
        pause = 0.002
        with self._changing:
            while True:
                before = self.load()
                draft = Draft(before=before, at=self.clock())
                after, answer = decide(before, draft)
                if not draft.entries or dry_run:
                    return answer
                after = replace(after, seq=before.seq + len(draft.entries))
                try:
                    self._store.append(self._name, before.seq, draft.change(after))
                except ConflictError:
                    self._known = None
                    if time.monotonic() > until:
                        raise StorageError(
                            f"campaign {self._name!r} was changed by others all the time; nothing was written, try again."
                        ) from None
                    time.sleep(pause * random.random())
                    pause = min(2.0 * pause, 0.25)
                    continue
                except BaseException:
                    self._known = None
                    raise
                self._known = after
                return answer

    def load(self) -> Folded:
        """Return where the campaign stands, from memory where nobody changed it since; nobody waits for a change under way."""
        while True:
            known = self._known
            if known is not None:
                head = self._store.head(self._name)
                if head is not None and head.seq == known.seq and head.created_at == known.created_at:
                    return known
            with self._reading:
                if self._known is known:  # otherwise somebody has read it meanwhile
                    found = self._known = self._read()
                    return found

    def _read(self) -> Folded:
        """Return what the store holds; read again where a period was closed, and its rows dropped, between two looks."""
        last = None
        while True:
            found = self._store.checkpoint(self._name)
            if found is None:
                raise unknown(self._name, self._store)
            folded = from_checkpoint(*found)
            seqs = () if folded.opened is None else folded.opened.deliveries
            rows = self._store.rows(self._name, seqs) if seqs else {}
            if len(rows) == len(seqs):
                return with_rows(folded, rows)
            if found[0] == last:
                gone = next(seq for seq in seqs if seq not in rows)
                raise StorageError(
                    f"the rows of entry {gone} of campaign {self._name!r} are gone; driftpace doctor says more."
                )
            last = found[0]


def with_rows(folded: Folded, rows: dict[int, bytes]) -> Folded:
    """Return the state with the rows of its open period, which the checkpoint left out."""
    if folded.opened is None:
        return folded
    whole = replace(folded, opened=replace(folded.opened, deliveries=()))
    for seq in folded.opened.deliveries:
        whole = fold.delivered(whole, unpack(rows[seq]).told, seq=seq)
    return whole


def unknown(name: str, store: Store) -> UnknownCampaignError:
    """Return the refusal of a name that no campaign has."""
    return UnknownCampaignError(f"there is no campaign named {name!r} in {store.url}.")


def utc_now() -> str:
    """Return the time as the log writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
