"""A line to a PostgreSQL server that breaks where it is told to: before the server hears of a COMMIT, or after it has obeyed.

A proxy on 127.0.0.1 hands everything on in both directions. Armed, it cuts the connection at the next COMMIT that passes; with
``heard=True`` the server gets it and answers, and only the answer is lost.
"""

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Line:
    """The proxy. ``cuts`` is how many COMMITs are yet to be cut, ``cut`` how many were.

    ``then`` is called when the server's end is closed already and the client does not know of it yet.
    """

    port: int
    target: tuple[str, int]
    cuts: int = 0
    heard: bool = True
    cut: int = 0
    open: bool = True
    then: Callable[[], object] = bool
    closing: threading.Event = field(default_factory=threading.Event)

    def arm(self, *, heard: bool, cuts: int = 1) -> None:
        self.heard, self.cuts = heard, cuts


@contextmanager
def breaking_line(port: int) -> Iterator[Line]:
    """Run a proxy in front of a server on 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        line = Line(port=listening.getsockname()[1], target=("127.0.0.1", port))
        accepting = threading.Thread(target=_accept, args=(line, listening))
        accepting.start()
        try:
            yield line
        finally:
            line.closing.set()
            accepting.join(timeout=30)


def _accept(line: Line, listening: socket.socket) -> None:
    calls: list[threading.Thread] = []
    while not line.closing.is_set():
        with suppress(TimeoutError):
            client, _ = listening.accept()
            calls.append(threading.Thread(target=_carry, args=(line, client)))
            calls[-1].start()
    for call in calls:
        call.join(timeout=30)


def _carry(line: Line, client: socket.socket) -> None:
    with client:
        if not line.open:
            return
        with socket.create_connection(line.target) as server, suppress(OSError):
            while not line.closing.is_set():
                ready, _, _ = select.select([client, server], [], [], 0.05)
                for source in ready:
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    if source is client and b"COMMIT" in data and line.cuts > 0:
                        line.cuts, line.cut = line.cuts - 1, line.cut + 1
                        if line.heard:
                            server.sendall(data)
                            server.recv(1 << 16)
                        server.close()
                        line.then()
                        return
                    (server if source is client else client).sendall(data)
