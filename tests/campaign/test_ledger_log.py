"""The ledger is the same however much of its log is read at once, and a few periods are read without the others."""

from collections.abc import Callable, Sequence

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.ledger_log import LedgerLog, read_ledger, read_ledger_rows
from driftpace.storage import MemoryStore
from driftpace.storage.base import Change, Entry
from tests.campaign.test_undo import after_periods, delivered_in
from tests.reference.campaigns import rows_of


class CountedStore(MemoryStore):
    """A store that counts the entries that were read."""

    read = 0

    def entries(
        self, name: str, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None
    ) -> list[Entry]:
        found = super().entries(name, after=after, limit=limit, kinds=kinds)
        self.read += len(found)
        return found


def plain() -> Campaign:
    return after_periods(5)


def late() -> Campaign:
    campaign = after_periods(4)
    campaign.tell(*rows_of(2, 100, 20), key="W2")
    return campaign


def undone() -> Campaign:
    campaign = after_periods(4)
    campaign.undo(delivered_in(campaign, 2)[0], reason="labels of May")
    campaign.undo(period=4, reason="closed too early")
    return campaign


@pytest.mark.parametrize("make", [plain, late, undone])
def test_rows_of_any_page_are_those_of_the_whole_ledger(make: Callable[[], Campaign]) -> None:
    campaign = make()
    ledger = read_ledger(campaign.store, campaign.name)
    for after in range(7):
        for limit in (1, 2, 10):
            wanted = [row for row in ledger if row.report.period > after][:limit]
            assert list(read_ledger_rows(campaign.store, campaign.name, after=after, limit=limit)) == wanted


@pytest.mark.parametrize("make", [plain, late, undone])
def test_reading_on_gives_the_whole_ledger(make: Callable[[], Campaign]) -> None:
    campaign = make()
    log = campaign.log()
    grown = MemoryStore()
    grown.create(campaign.name, _change(log[:1]))
    reader = LedgerLog(grown, campaign.name)
    for entry in log[1:]:
        grown.append(campaign.name, entry.seq - 1, _change([entry]))
        assert reader.read() == read_ledger(grown, campaign.name)
    assert list(reader.read()) == list(campaign.ledger())


def test_one_period_is_read_without_the_others() -> None:
    counted = {}
    for periods in (8, 32):
        source = after_periods(periods)
        store = CountedStore()
        store._campaigns = source.store._campaigns  # type: ignore[attr-defined]
        for after in (0, periods - 2):
            store.read = 0
            assert len(read_ledger_rows(store, source.name, after=after, limit=1)) == 1
            counted[periods, after] = store.read
    assert counted[8, 0] == counted[32, 0]
    assert counted[32, 30] <= counted[8, 6] + 4  # a few more steps of the bisection


def test_reading_on_reads_only_what_was_added() -> None:
    source = after_periods(6)
    store = CountedStore()
    store._campaigns = source.store._campaigns  # type: ignore[attr-defined]
    reader = LedgerLog(store, source.name)
    reader.read()
    store.read = 0
    assert reader.read() == source.ledger()
    assert store.read == 0


def _change(entries: Sequence[Entry]) -> Change:
    return Change(entries=entries, checkpoint=b"", summary={})
