"""Small changes to a campaign, for tests of stores."""

import random
import time

from driftpace.errors import ConflictError
from driftpace.storage import Change, Entry, Store


def change(number: int = 0, *, size: int = 0, key: str | None = None) -> Change:
    """One entry that carries a number, with rows of a size."""
    entry = Entry(kind="told", body={"number": number}, at="2026-11-15T10:00:00Z", key=key)
    return Change(
        entries=[entry], checkpoint=b"%d" % number, summary={"number": number}, rows={0: b"r" * size} if size else {}
    )


def append_next(store: Store, name: str, number: int) -> int:
    """Append behind whatever is last, however often somebody else is faster; return the number it got."""
    while True:
        head = store.head(name)
        assert head is not None
        try:
            return store.append(name, head.seq, change(number))
        except ConflictError:
            time.sleep(0.01 * random.random())  # or all of a crowd would come back at once


def numbers(store: Store, name: str) -> list[int]:
    """The numbers that were appended, in order, after a look that the log has no gap."""
    log = store.entries(name)
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    checkpoint = store.checkpoint(name)
    assert checkpoint is not None
    assert checkpoint == (len(log), b"%d" % log[-1].body["number"])
    return [int(entry.body["number"]) for entry in log]
