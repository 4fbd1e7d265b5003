import threading

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.errors import UnknownCampaignError
from driftpace.service.state import CampaignCache
from driftpace.storage import MemoryStore
from tests.reference.periods import begun, rows


def test_the_cache_is_bounded_and_reopens_campaigns() -> None:
    store = MemoryStore()
    for place in range(6):
        begun(store, f"c{place}")
    cache = CampaignCache(store, Campaign.open, size=2)
    first = cache.get("c0")
    for place in range(1, 6):
        assert cache.get(f"c{place}").name == f"c{place}"
    assert cache.get("c0") is not first
    assert cache.get("c0").status() == first.status()


def test_removed_campaigns_are_unknown_to_cached_handles() -> None:
    store = MemoryStore()
    begun(store, "churn")
    cache = CampaignCache(store, Campaign.open)
    assert cache.get("churn").status().period == 1
    store.remove("churn")
    with pytest.raises(UnknownCampaignError):
        cache.get("churn").status()
    with pytest.raises(UnknownCampaignError):
        cache.get("never")


def test_campaigns_can_be_read_during_a_write(rng: np.random.Generator) -> None:
    store = MemoryStore()
    begun(store, "churn").ask()
    cache = CampaignCache(store, Campaign.open)
    campaign = cache.get("churn")
    inside, go = threading.Event(), threading.Event()
    append = store.append

    def slow(*given: object) -> int:
        inside.set()
        assert go.wait(30.0)
        return append(*given)  # type: ignore[arg-type]

    store.append = slow  # type: ignore[method-assign, assignment]
    thread = threading.Thread(target=campaign.tell, args=rows(rng, 5), kwargs={"final": False})
    thread.start()
    assert inside.wait(30.0)
    order = campaign.status().order
    assert order is not None
    assert order.received == 0  # and it came back although the other is locked
    go.set()
    thread.join(30.0)
    order = campaign.status().order
    assert order is not None
    assert order.received == 5


class Counting(MemoryStore):
    """A store that counts how often a checkpoint is read, and can be made slow at it."""

    read = 0
    slowly: threading.Event | None = None

    def checkpoint(self, name: str) -> tuple[int, bytes] | None:
        self.read += 1
        if self.slowly is not None:
            assert self.slowly.wait(30.0)
        return super().checkpoint(name)


def test_own_writes_are_not_read_again(rng: np.random.Generator) -> None:
    store = Counting()
    begun(store, "churn")
    cache = CampaignCache(store, Campaign.open)
    for period in range(1, 4):
        cache.get("churn").ask()
        assert cache.get("churn").status().stage.value == "labels"
        cache.get("churn").tell(*rows(rng, 30), final=True)
        assert cache.get("churn").status().period == period + 1
    assert store.read == 1


def test_concurrent_readers_share_one_read(rng: np.random.Generator) -> None:
    store = Counting()
    begun(store, "churn")
    cache = CampaignCache(store, Campaign.open)
    assert cache.get("churn").status().period == 1
    other = Campaign.open("churn", storage=store)
    other.ask()
    store.read, store.slowly = 0, threading.Event()
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(cache.get("churn").status().stage.value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    store.slowly.set()
    for thread in threads:
        thread.join(30.0)
    assert seen == ["labels"] * 8
    assert store.read == 1
