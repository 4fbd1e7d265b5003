"""Several services over one store, behind a load balancer."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.service.auth import make_token
from driftpace.service.limits import ServiceLimits
from driftpace.storage import open_store
from driftpace.storage.base import Store
from tests.reference.balancer import balancing
from tests.reference.periods import begun
from tests.reference.serving import PATIENCE, Serving, poll, serving

PROGRAM = """
import json, sys
from driftpace.service import run
run(sys.argv[1], port=0, token_always=True, drain_seconds=1.0, on_listening=lambda store, url: print(json.dumps(url), flush=True))
"""
DELIVERIES = "/api/campaigns/churn/deliveries?final=false"
CLIENTS = 6


@pytest.fixture
def two(postgres_url: str) -> Iterator[tuple[Serving, Serving, Store]]:
    """Two services with connections of their own to one database, and a third connection."""
    with ExitStack() as closing:
        stores = [open_store(postgres_url) for _ in range(3)]
        for store in stores:
            closing.callback(store.close)
        limits = ServiceLimits(poll_seconds=0.05)
        one, other = (
            closing.enter_context(serving(store, always=True, limits=limits, dashboard=True)) for store in stores[:2]
        )
        yield one, other, stores[2]


def test_a_login_counts_at_every_service(two: tuple[Serving, Serving, Store]) -> None:
    one, other, store = two
    begun(store, "churn").ask()
    secret = make_token(store, "ada", ["read", "write"])
    with balancing(one.port, other.port) as balancer, httpx.Client(base_url=balancer.url, trust_env=False) as browser:
        headers = {"Connection": "close", "Origin": balancer.url}
        answer = browser.post("/login", data={"token": secret}, headers=headers)
        assert answer.status_code == 303
        pages = [browser.get("/campaigns/churn", headers=headers) for _ in range(4)]
        assert [page.status_code for page in pages] == [200] * 4
        tokens = {re.findall(r'name="csrf-token" content="(\w+)"', page.text)[0] for page in pages}
        assert len(tokens) == 1  # a page of one service writes at the other
        headers["X-CSRF-Token"] = tokens.pop()
        override = "/api/campaigns/churn/orders/current/override"
        for samples in range(20, 24):
            answer = browser.post(override, json={"samples": samples, "reason": "why"}, headers=headers)
            assert (answer.status_code, answer.json()["samples"]) == (200, samples)
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        assert cookie.startswith(f"driftpace_session_{balancer.port}=")
        assert browser.post("/logout", headers=headers).status_code == 303
        for service in (one, other):
            named = {"Host": f"127.0.0.1:{balancer.port}", "Cookie": cookie}
            assert service.client.get("/api/session", headers=named).status_code == 401


def test_a_stream_tells_of_changes_by_another_service(two: tuple[Serving, Serving, Store]) -> None:
    one, other, store = two
    begun(store, "churn")
    secret = make_token(store, "ada", ["read", "write"])
    headers = {"Authorization": f"Bearer {secret}"}
    with one.client.stream("GET", "/api/campaigns/churn/stream", headers=headers) as stream:
        events = (line for line in stream.iter_lines() if line.startswith("data: "))
        assert json.loads(next(events)[6:])["entries"] == 1
        assert other.client.post("/api/campaigns/churn/orders", json={"key": "a"}, headers=headers).status_code == 200
        assert json.loads(next(events)[6:])["entries"] == 2


def test_a_service_that_drains_is_not_ready_and_answers(store: Store) -> None:
    begun(store, "churn").ask()
    with serving(store) as running:
        assert running.client.get("/readyz").status_code == 200
        running.server._drain_seconds = PATIENCE
        running.server.handle_exit(signal.SIGTERM, None)
        answer = running.client.get("/readyz")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "busy")
        answer = running.client.get("/api/campaigns/churn")
        assert (answer.status_code, answer.headers["Connection"]) == (200, "close")
        assert not running.server.should_exit
        running.server.handle_exit(signal.SIGTERM, None)  # a second signal does not wait
        assert running.server.should_exit


def test_draining_ends(store: Store) -> None:
    with serving(store) as running:
        running.server._drain_seconds = 0.01
        running.server.handle_exit(signal.SIGTERM, None)
        poll(lambda: running.server.should_exit)


@dataclass(frozen=True, slots=True)
class Instance:
    process: subprocess.Popen[str]
    port: int


@contextmanager
def instances(storage: str, count: int, log: Path) -> Iterator[list[Instance]]:
    """Serve a store with several processes."""
    with log.open("w") as errors:
        started = [
            subprocess.Popen([sys.executable, "-c", PROGRAM, storage], stdout=subprocess.PIPE, stderr=errors, text=True)
            for _ in range(count)
        ]
        try:
            made = []
            for process in started:
                assert process.stdout is not None
                made.append(Instance(process, int(json.loads(process.stdout.readline()).rsplit(":", 1)[1])))
            yield made
        finally:
            for process in started:
                process.kill()
                process.wait()
                assert process.stdout is not None
                process.stdout.close()


class Load:
    """Clients that deliver rows until they are stopped, each delivery until it is acknowledged."""

    def __init__(self, url: str, secret: str) -> None:
        self._headers = {"Authorization": f"Bearer {secret}"}
        self.acknowledged: dict[str, int] = {}
        self.failures: list[str] = []
        self._url = url
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._deliver, args=(client,)) for client in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_for(self, more: int) -> None:
        """Wait until so many more deliveries are acknowledged."""
        least = len(self.acknowledged) + more
        poll(lambda: len(self.acknowledged) >= least or len(self.failures) > 1_000)

    def _deliver(self, client: int) -> None:
        rng = np.random.default_rng(client)
        for number in range(10_000):
            if self._over.is_set():
                return
            key = f"{client}-{number}"
            rows = {"X": rng.normal(size=(2, 2)).tolist(), "y": rng.normal(size=2).tolist()}
            while key not in self.acknowledged:
                try:
                    answer = httpx.post(
                        self._url + DELIVERIES,
                        json=rows,
                        headers={**self._headers, "Idempotency-Key": key},
                        timeout=PATIENCE,
                        trust_env=False,
                    )
                    if answer.status_code == 200:
                        self.acknowledged[key] = answer.json()["rows"]
                    else:
                        self.failures.append(answer.text)
                except httpx.HTTPError as error:
                    self.failures.append(repr(error))
                    time.sleep(0.01)


def test_nothing_is_lost_where_a_service_stops_or_is_killed(postgres_url: str, tmp_path: Path) -> None:
    store = open_store(postgres_url)
    campaign = Campaign.create({"name": "churn", "target": "y", "epsilon": 1e-4, "seed": 0}, storage=store)
    campaign.ask()
    secret = make_token(store, "line", ["label"])
    with ExitStack() as closing:
        stops, dies, stays = closing.enter_context(instances(postgres_url, 3, tmp_path / "log"))
        with balancing(stops.port, dies.port, stays.port) as balancer:
            load = Load(balancer.url, secret)
            try:
                load.wait_for(12)
                stops.process.terminate()
                poll(lambda: stops.port not in balancer.ready)
                assert stops.process.wait(PATIENCE) == 0
                load.wait_for(6)
                assert load.failures == []  # every request of a service that stopped was answered
                dies.process.kill()
                dies.process.wait()
                load.wait_for(12)
            finally:
                load.stop()
            assert not [failure for failure in load.failures if "error" in failure.lower() and "{" in failure]
            assert balancer.ready == {stays.port}
    delivered = [entry.key for entry in store.entries("churn", kinds=("delivered",))]
    assert len(delivered) == len(set(delivered))  # nothing twice, although it was sent again
    assert set(load.acknowledged) <= set(delivered)
    order = campaign.status().order
    assert order is not None
    assert order.received == 2 * len(delivered)
    store.close()
