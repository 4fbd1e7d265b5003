"""Serving: one process, threads for what blocks, and a stop that lets requests end."""

import errno
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from driftpace import validation
from driftpace.errors import ParameterError, StorageError
from driftpace.service.access import Access, is_loopback
from driftpace.service.app import create_app
from driftpace.service.limits import Limits
from driftpace.service.logs import write_logs
from driftpace.service.protocol import protocol_with
from driftpace.storage import open_store
from driftpace.storage.base import Store

PORT = 8321


def run(
    storage: Any,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token_always: bool = False,
    limits: Limits | None = None,
    dashboard: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the campaigns of a store until interrupted.

    Without set-up the service is for the machine it runs on. Any other ``host`` needs a token in the store, for nobody could come
    in otherwise. ``token_always`` asks for one on loopback too, such as behind a proxy. Port 0 takes any free one.
    """
    validation.count("serve", port=port)
    if port > 65_535:
        raise ParameterError(f"must be at most 65535; got {port}.", owner="serve", name="port")
    limits = Limits() if limits is None else limits
    store = open_store(storage)
    try:
        store.ping()
        if not is_loopback(host) or token_always:
            _require_token(store, host)
        with _bound(host, port) as listening:
            found = listening.getsockname()[1]
            access = Access(host=host, port=found, always=token_always)
            server = make_server(store, access=access, limits=limits, dashboard=dashboard)
            handler = write_logs()
            shown = f"[{host}]" if ":" in host else host
            say(f"driftpace serves {store.url} at http://{shown}:{found} (Ctrl+C stops it)")
            try:
                with _one_thread_each():
                    server.run(sockets=[listening])
            except KeyboardInterrupt:
                pass
            finally:
                handler.flush()
    finally:
        store.close()


class Stopping(uvicorn.Server):
    """A server that ends the streams of its service before it waits for requests to end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self.config.loaded_app.state.service.watch.close()
        await super().shutdown(sockets)


def make_server(store: Store, *, access: Access, limits: Limits | None = None, dashboard: bool = True) -> "Stopping":
    """Return a server for a socket that is bound already: ``server.run(sockets=[...])``."""
    limits = Limits() if limits is None else limits
    app = create_app(store, access=access, limits=limits, dashboard=dashboard)
    config = uvicorn.Config(
        app,
        http=protocol_with(limits.head_seconds),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=15,
        h11_max_incomplete_event_size=32_768,
    )
    config.load()
    config.loaded_app = app  # what stands around it is for proxies and lifespans, which are not used
    return Stopping(config)


def _one_thread_each() -> Any:
    """Keep linear algebra to the thread that asks for it: several fits at once would fight over the cores, and all be slower."""
    import scipy.linalg  # noqa: F401  # brings a library of its own, which has to be there to be told
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(limits=1)


def _require_token(store: Store, host: str) -> None:
    if not store.tokens():
        raise ParameterError(
            f"must be 127.0.0.1 until there is a token, for others could come in; got {host!r}. "
            "`driftpace token make NAME` makes one.",
            owner="serve",
            name="host",
        )


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens there, or say in a sentence why there is none."""
    try:
        place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise ParameterError(
            f"must be an address of this machine; got {host!r}: {error.strerror}.",
            owner="serve",
            name="host",
        ) from None
    # The protocol has to be named: asyncio sends small pieces at once (TCP_NODELAY) only on sockets that say they are TCP.
    listening = socket.socket(place[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place[4])
        listening.listen(512)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ParameterError(
                f"must be a port that is free; got {port}, where something listens already.",
                owner="serve",
                name="port",
            ) from None
        raise StorageError(f"serve(host=..., port=...) cannot listen at {host}:{port}: {error.strerror}.") from None
    return listening
