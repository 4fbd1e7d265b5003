"""A socket to a server, for requests that no client would send."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.reference.serving import PATIENCE, Serving


def connect(running: Serving, *, seconds: float = PATIENCE) -> socket.socket:
    """Return a connection on which nobody waits longer than that."""
    return socket.create_connection(("127.0.0.1", running.port), timeout=seconds)


def request(running: Serving, method: str, path: str, *lines: str, body: bytes = b"") -> bytes:
    """Return the bytes of a request; ``lines`` are headers."""
    head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{running.port}", *lines, "", ""]
    return "\r\n".join(head).encode() + body


def answer_of(wire: socket.socket) -> bytes:
    """Return everything until the server hangs up."""
    pieces = []
    try:
        while piece := wire.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


@contextmanager
def trickling(wire: socket.socket) -> Iterator[None]:
    """Send a byte again and again until the server hangs up."""
    over = threading.Event()

    def trickle() -> None:
        try:
            while not over.wait(0.05):
                wire.sendall(b"x")
        except OSError:
            pass

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(PATIENCE)
