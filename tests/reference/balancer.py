"""A load balancer for tests: connections go in turn to the services that are ready."""

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

import httpx

INTERVAL = 0.02


class Balancer:
    """Passes the bytes of each connection to one of several ports; those whose ``/readyz`` does not answer 200 are left out."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self._ready = set(ports)
        self._turn = count()
        self._closed = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        for target in (self._accept, self._look):
            threading.Thread(target=target, daemon=True).start()

    @property
    def ready(self) -> set[int]:
        """The ports that get connections."""
        return set(self._ready)

    def close(self) -> None:
        """Accept no more connections."""
        self._closed.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _look(self) -> None:
        with httpx.Client(trust_env=False, timeout=30.0) as client:
            while not self._closed.wait(INTERVAL):
                for port in self._ports:
                    try:
                        good = client.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
                    except httpx.HTTPError:
                        good = False
                    (self._ready.add if good else self._ready.discard)(port)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                wire, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(wire,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            service = self._connected()
            if service is None:
                return
            with service:
                others = {client: service, service: client}
                while True:
                    for readable in select.select(list(others), [], [])[0]:
                        piece = readable.recv(65_536)
                        if not piece:
                            return
                        others[readable].sendall(piece)

    def _connected(self) -> socket.socket | None:
        """Return a connection to the next service that takes one."""
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            ready = sorted(self._ready)
            if ready:
                with suppress(OSError):
                    return socket.create_connection(("127.0.0.1", ready[next(self._turn) % len(ready)]), timeout=60.0)
            time.sleep(INTERVAL)
        return None


@contextmanager
def balancing(*ports: int) -> Iterator[Balancer]:
    """Balance between the services on these ports."""
    made = Balancer(list(ports))
    try:
        yield made
    finally:
        made.close()
