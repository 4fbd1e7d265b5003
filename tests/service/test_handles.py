import threading

import numpy as np
import pytest

from driftpace.errors import UnknownCampaignError
from driftpace.service.handles import Handles
from driftpace.storage import MemoryStore
from tests.reference.periods import begun, rows


def test_handles_are_bounded_and_open_again() -> None:
    store = MemoryStore()
    for place in range(6):
        begun(store, f"c{place}")
    handles = Handles(store, most=2)
    first = handles.writer("c0")
    for place in range(1, 6):
        assert handles.writer(f"c{place}").name == f"c{place}"
    assert handles.writer("c0") is not first
    assert handles.writer("c0").status() == first.status()


def test_what_is_gone_is_unknown_to_a_handle_that_was_kept() -> None:
    store = MemoryStore()
    begun(store, "churn")
    handles = Handles(store)
    assert handles.reader("churn").status().period == 1
    store.remove("churn")
    with pytest.raises(UnknownCampaignError):
        handles.reader("churn").status()
    with pytest.raises(UnknownCampaignError):
        handles.reader("never")


def test_a_campaign_is_read_while_it_is_changed(rng: np.random.Generator) -> None:
    store = MemoryStore()
    begun(store, "churn").ask()
    handles = Handles(store)
    writer, reader = handles.writer("churn"), handles.reader("churn")
    inside, go = threading.Event(), threading.Event()
    append = store.append

    def slow(*given: object) -> int:
        inside.set()
        assert go.wait(30.0)
        return append(*given)  # type: ignore[arg-type]

    store.append = slow  # type: ignore[method-assign, assignment]
    thread = threading.Thread(target=writer.tell, args=rows(rng, 5), kwargs={"final": False})
    thread.start()
    assert inside.wait(30.0)
    order = reader.status().order
    assert order is not None
    assert order.came == 0  # and it came back although the other is locked
    go.set()
    thread.join(30.0)
    order = reader.status().order
    assert order is not None
    assert order.came == 5
