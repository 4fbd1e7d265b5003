"""A real server on loopback in a thread, for tests that talk HTTP."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest import mock

import httpx
import numpy as np
import uvicorn.server

from driftpace.service.access import Access
from driftpace.service.limits import ServiceLimits
from driftpace.service.server import GracefulServer, make_server
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.reference.periods import begun, run_periods

PATIENCE = 120.0
"""Seconds for which anything is waited for: as long as a busy machine may take, for nobody waits longer than it takes."""


def _often(seconds: float) -> Any:
    return asyncio.sleep(min(seconds, 0.005))


# A server looks ten times a second whether it is to stop, and waits a tenth of a second more: most of what a small test takes.
_PROMPT = SimpleNamespace(**{**vars(asyncio), "sleep": _often})


def poll(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail where it never does."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


@cache
def compiled() -> None:
    """Fit and plan once: where nothing is compiled yet that takes a minute, and whoever waits for an answer would wait for it."""
    budget = {"total": 500, "horizon": 8, "fixed": 5, "per_sample": 1}
    campaign = begun(MemoryStore(), "compiled", budget=budget)
    run_periods(campaign, np.random.default_rng(0), 2)
    campaign.ask()
    campaign.plan()
    for gap in ("largest", "mean"):
        campaign.plan(budget=10_000, horizon=4, gap=gap)
        campaign.plan(epsilon=1e-7, budget=100, horizon=4, gap=gap)
    campaign.plan(epsilon=0.2, horizon=4)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Serving:
    """A server that answers; ``client`` speaks to it from this machine."""

    server: GracefulServer
    port: int
    client: httpx.Client

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def service(self) -> Any:
        return self.server.config.loaded_app.state.service


@contextmanager
def serving(
    store: Store,
    *,
    host: str = "127.0.0.1",
    always: bool = False,
    access: Access | None = None,
    limits: ServiceLimits | None = None,
    dashboard: bool = False,
) -> Iterator[Serving]:
    """Serve a store on a free port of 127.0.0.1. ``host`` is where it believes to listen: beyond loopback, a token is needed.

    ``access`` replaces ``host`` and ``always``; the port is added.
    """
    compiled()
    with (
        mock.patch.object(uvicorn.server, "asyncio", _PROMPT),
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening,
    ):
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        port = listening.getsockname()[1]
        access = replace(Access(host=host, token_always=always) if access is None else access, port=port)
        server = make_server(store, access=access, limits=limits, dashboard=dashboard)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + PATIENCE
        while not server.started and time.monotonic() < until:
            time.sleep(0.005)
        assert server.started
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, trust_env=False) as client:
                yield Serving(server=server, port=port, client=client)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()
