"""Streams tell when a campaign changes, whoever changed it; they are counted, and end when the service does."""

import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from driftpace.campaign import Campaign
from driftpace.errors import StorageError
from driftpace.service.limits import ServiceLimits
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, poll, serving

QUICK = ServiceLimits(streams=2, poll_seconds=0.05, heartbeat_seconds=0.2)
PATH = "/api/campaigns/churn/stream"


@pytest.fixture
def quick(store: Store) -> Iterator[Serving]:
    begun(store, "churn")
    with serving(store, limits=QUICK) as running:
        yield running


def entries(lines: Iterator[str]) -> Iterator[int]:
    """Yield the number of entries that each event tells."""
    event = ""
    for line in lines:
        if line.startswith("event: "):
            event = line.removeprefix("event: ")
        elif line.startswith("data: ") and event == "changed":
            yield json.loads(line.removeprefix("data: "))["entries"]


def test_streams_report_changes_of_all_writers(quick: Serving, store: Store) -> None:
    with quick.client.stream("GET", PATH) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        told = entries(answer.iter_lines())
        assert next(told) == 1
        assert httpx.post(f"{quick.url}/api/campaigns/churn/orders", json={}, trust_env=False).status_code == 200
        assert next(told) == 2
        Campaign.open("churn", storage=store).override(3, reason="from another process, say")
        assert next(told) == 3


def test_own_changes_are_sent_at_once(store: Store) -> None:
    begun(store, "churn")
    with (
        serving(store, limits=ServiceLimits(poll_seconds=3600.0)) as running,
        running.client.stream("GET", PATH) as answer,
    ):
        told = entries(answer.iter_lines())
        assert next(told) == 1
        httpx.post(f"{running.url}/api/campaigns/churn/orders", json={}, trust_env=False)
        assert next(told) == 2  # long before the store is asked again


def test_silent_streams_send_keep_alives(quick: Serving) -> None:
    with quick.client.stream("GET", PATH) as answer:
        assert next(line for line in answer.iter_lines() if line.startswith(":")) == ": keep-alive"


def test_streams_end_after_their_time_limit(store: Store) -> None:
    begun(store, "churn")
    with serving(store, limits=ServiceLimits(poll_seconds=0.05, stream_seconds=0.1)) as running:
        assert list(entries(iter(running.client.get(PATH).text.splitlines()))) == [1]


def test_streams_are_bounded_and_released(quick: Serving) -> None:
    with quick.client.stream("GET", PATH) as one, quick.client.stream("GET", PATH) as two:
        told = [entries(one.iter_lines()), entries(two.iter_lines())]
        assert [next(stream) for stream in told] == [1, 1]
        with quick.client.stream("GET", PATH) as third:
            assert third.status_code == 503
            assert "Retry-After" in third.headers
        assert "driftpace_streams 2.0" in quick.client.get("/metrics").text
    poll(lambda: quick.service.events.streams == 0)
    with quick.client.stream("GET", PATH) as again:
        assert again.status_code == 200


def test_streams_end_when_the_campaign_is_removed(quick: Serving, store: Store) -> None:
    with quick.client.stream("GET", PATH) as answer:
        told = entries(answer.iter_lines())
        assert next(told) == 1
        store.remove("churn")
        assert list(told) == []


def test_streams_end_cleanly_when_the_store_fails(
    quick: Serving, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object) -> None:
        raise StorageError("the server cannot be reached.")

    with caplog.at_level("ERROR"), quick.client.stream("GET", PATH) as answer:
        told = entries(answer.iter_lines())
        assert next(told) == 1
        monkeypatch.setattr(type(store), "head", away)
        assert list(told) == []  # a stream that broke off would raise here
    assert caplog.records == []


def test_streams_end_at_shutdown(store: Store) -> None:
    begun(store, "churn")
    ended = threading.Event()
    with serving(store, limits=QUICK) as running:

        def listen() -> None:
            with (
                httpx.Client(base_url=running.url, timeout=60.0, trust_env=False) as client,
                client.stream("GET", PATH) as answer,
            ):
                for _ in answer.iter_lines():
                    pass
            ended.set()

        thread = threading.Thread(target=listen)
        thread.start()
        poll(lambda: running.service.events.streams == 1)
    thread.join(30.0)
    assert ended.is_set()
