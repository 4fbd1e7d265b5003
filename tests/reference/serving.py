"""A real server on loopback in a thread, for tests that talk HTTP."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from driftpace.service.access import Access
from driftpace.service.limits import Limits
from driftpace.service.running import Stopping, make_server
from driftpace.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Serving:
    """A server that answers; ``client`` speaks to it from this machine."""

    server: Stopping
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
    limits: Limits | None = None,
    dashboard: bool = False,
) -> Iterator[Serving]:
    """Serve a store on a free port of 127.0.0.1. ``host`` is where it believes to listen: beyond loopback, a token is needed."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        port = listening.getsockname()[1]
        access = Access(host=host, port=port, always=always)
        server = make_server(store, access=access, limits=limits, dashboard=dashboard)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + 30.0
        while not server.started and time.monotonic() < until:
            time.sleep(0.005)
        assert server.started
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0, trust_env=False) as client:
                yield Serving(server=server, port=port, client=client)
        finally:
            server.should_exit = True
            thread.join(30.0)
            assert not thread.is_alive()
