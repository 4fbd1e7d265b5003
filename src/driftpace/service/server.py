"""The HTTP server: listening socket, time limit on request heads, error responses to malformed HTTP, graceful shutdown."""

import asyncio
import errno
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import HANDLED_SIGNALS

from driftpace import tracing, validation
from driftpace.errors import MissingExtraError, ParameterError, StorageError
from driftpace.service.access import Access, is_loopback
from driftpace.service.app import create_app
from driftpace.service.errors import ApiError, busy_error, json_error
from driftpace.service.limits import ServiceLimits
from driftpace.service.logging import LOGGER, LogFields, configure_logging, default_headers
from driftpace.service.notifications import Mailbox, Notifier, Webhook
from driftpace.service.state import Service
from driftpace.storage import open_store
from driftpace.storage.base import Store

PORT = 8321


def run(  # noqa: PLR0913  public API
    storage: Any,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token_always: bool = False,
    trusted_proxies: Sequence[str] = (),
    user_header: str | None = None,
    user_role: str | None = "read",
    limits: ServiceLimits | None = None,
    dashboard: bool = True,
    drain_seconds: float = 0.0,
    alert_webhooks: Sequence[str] = (),
    alert_mail: Sequence[str] = (),
    alert_secret: str = "",
    traces: bool = False,
    on_listening: Callable[[str, str], None] | None = None,
) -> None:
    """Serve the campaigns of a store until interrupted or terminated (SIGTERM); the store is then closed.

    Parameters
    ----------
    storage : str, path or Store
        The store, as in :func:`driftpace.storage.open_store`.
    host : str
        Address to listen on. Any address but loopback needs a token in the store.
    port : int
        Port; 0 takes a free one.
    token_always : bool
        Require a token on loopback too, such as behind a proxy.
    trusted_proxies : sequence of str
        Addresses or networks of proxies whose ``X-Forwarded-For`` names the client; their requests need a token on loopback too.
    user_header : str, optional
        Header in which these proxies name the user that they have signed in.
    user_role : {"read", "label", "order", "admin"}, optional
        Role of signed-in users that have no token of their name; None refuses them.
    limits : ServiceLimits, optional
        Limits of the service.
    dashboard : bool
        Whether to serve the dashboard.
    drain_seconds : float
        Seconds between SIGTERM and the end, in which ``/readyz`` answers 503 so that a load balancer sends requests elsewhere, and
        those that arrive are answered.
    alert_webhooks, alert_mail : sequence of str
        Addresses that alerts are sent to: ``https://...``, and ``smtps://user:password@host?from=a@b.org&to=c@d.org``.
    alert_secret : str
        What signs webhooks.
    traces : bool
        Send traces by OpenTelemetry, as its standard variables ``OTEL_*`` say; they switch traces on, too.
    on_listening : callable, optional
        Called with the store and the address once the service listens; by default both are printed.

    Raises
    ------
    ParameterError
        If the address or port cannot be used, or a token is needed and the store has none.
    MissingExtraError
        If there are to be traces, and OpenTelemetry is missing.
    """
    validation.count("serve", port=port)
    validation.nonnegative("serve", drain_seconds=drain_seconds)
    if port > 65_535:
        raise ParameterError(f"must be at most 65535; got {port}.", owner="serve", name="port")
    limits = ServiceLimits() if limits is None else limits
    targets: list[Webhook | Mailbox] = [
        *(Webhook(url, secret=alert_secret) for url in alert_webhooks),
        *map(Mailbox, alert_mail),
    ]
    access = Access(
        host=host,
        token_always=token_always,
        trusted_proxies=tuple(trusted_proxies),
        user_header=user_header,
        user_role=user_role,
    )
    with _interrupted_by_sigterm(), _traced(traces), closing(open_store(storage)) as store:
        store.ping()
        if (not is_loopback(host) or token_always) and user_header is None:
            _require_token(store, host)
        with _listen(host, port) as listening:
            actual_port = listening.getsockname()[1]
            access = replace(access, port=actual_port)
            server = make_server(store, access=access, limits=limits, dashboard=dashboard, drain_seconds=drain_seconds)
            handler = configure_logging()
            url_host = f"[{host}]" if ":" in host else host
            (on_listening or print_address)(store.url, f"http://{url_host}:{actual_port}")
            notifier = Notifier(store, targets)
            if targets:
                notifier.start(seconds=limits.alert_seconds)
            try:
                with _single_threaded_algebra():
                    server.run(sockets=[listening])
            finally:
                notifier.stop()
                server.service.close()
                handler.flush()


def print_address(storage: str, url: str) -> None:
    """Print the store and the address of the service."""
    print(f"driftpace serves {storage} at {url} (press Ctrl+C to stop)", flush=True)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Leave the block at the first SIGTERM as at Ctrl+C, without an error, so that everything is closed; ignore further ones."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
        yield
        return

    def interrupt(sig: int, _: FrameType | None) -> None:
        signal.signal(sig, signal.SIG_IGN)
        raise KeyboardInterrupt

    original = signal.signal(signal.SIGTERM, interrupt)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, original)


@contextmanager
def _traced(on: bool) -> Iterator[None]:
    """Send traces in the block, if that is asked for here or by the environment."""
    if not on and not tracing.asked_for(os.environ):
        yield
        return
    try:
        stop = tracing.start()
    except MissingExtraError as error:
        if on:
            raise
        LOGGER.warning(LogFields(event="traces", error=str(error)))  # the variables may be meant for other programs
        yield
        return
    try:
        yield
    finally:
        stop()


class GracefulServer(uvicorn.Server):
    """A server that first says that it is not ready, then ends event streams, and waits for open requests."""

    def __init__(self, config: uvicorn.Config, *, drain_seconds: float = 0.0) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def service(self) -> Service:
        """The state of the service."""
        service: Service = self.config.loaded_app.state.service
        return service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while the server runs; uvicorn raises them again at the end, which would leave the store open."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        original = {sig: signal.signal(sig, self.handle_exit) for sig in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for sig, handler in original.items():
                signal.signal(sig, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first SIGTERM; stop at once at another signal, or the second."""
        draining = self.service.draining
        if sig == signal.SIGTERM and self._drain_seconds and self._loop is not None and not draining.is_set():
            draining.set()
            self._loop.call_soon_threadsafe(self._loop.call_later, self._drain_seconds, super().handle_exit, sig, None)
            return
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down."""
        self.service.draining.set()
        self.service.events.close()
        await super().shutdown(sockets)
        self.service.reader.close()


def make_server(
    store: Store,
    *,
    access: Access,
    limits: ServiceLimits | None = None,
    dashboard: bool = True,
    drain_seconds: float = 0.0,
) -> GracefulServer:
    """Return a server for a bound socket: ``server.run(sockets=[...])``."""
    limits = ServiceLimits() if limits is None else limits
    app = create_app(store, access=access, limits=limits, dashboard=dashboard)
    config = uvicorn.Config(
        app,
        http=make_protocol(limits),
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
    config.loaded_app = app  # without the wrappers for proxies and lifespans, which are not used
    return GracefulServer(config, drain_seconds=drain_seconds)


def _single_threaded_algebra() -> Any:
    """Run linear algebra in the calling thread: concurrent fits that each use all cores slow each other down."""
    import scipy.linalg  # noqa: F401  # loads its own BLAS, which must be loaded to be limited
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(limits=1)


def _require_token(store: Store, host: str) -> None:
    if store.tokens():
        return
    if not is_loopback(host):
        raise ParameterError(
            f"must be 127.0.0.1 while the store has no token; got {host!r}. `driftpace token make NAME` creates one.",
            owner="serve",
            name="host",
        )
    raise ParameterError(
        "must not be set while the store has no token. `driftpace token make NAME` creates one.",
        owner="serve",
        name="token_always",
    )


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket."""
    try:
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise ParameterError(
            f"must be an address of this machine; got {host!r}: {error.strerror}.",
            owner="serve",
            name="host",
        ) from None
    # IPPROTO_TCP must be explicit: asyncio sets TCP_NODELAY only on sockets that report it.
    listening = socket.socket(address[0], socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address[4])
        listening.listen(512)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ParameterError(
                f"must be a free port; got {port}, which is in use.",
                owner="serve",
                name="port",
            ) from None
        raise StorageError(f"cannot listen at {host}:{port}: {error.strerror}.", owner="serve") from None
    return listening


_MALFORMED = {
    400: "the request must be HTTP/1.1; it cannot be parsed.",
    431: "the request head is too long.",
    501: "Transfer-Encoding must be chunked; it is not.",
}


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with time limits on request heads and on clients that do not read, and the error responses of this service."""

    head_seconds = 10.0
    write_seconds = 20.0
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._max_connections = self.limit_concurrency
        self.limit_concurrency = None  # uvicorn would refuse in a format of its own
        self._unlimited_app, self.app = self.app, self._limited_app

    def connection_made(self, transport: Any) -> None:
        """Start the timer of the first head."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Keep the timer running until the head of a request is complete."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._start_timer()
        else:
            self._stop_timer()

    def pause_writing(self) -> None:
        """Start the timer of a client that does not read what was sent."""
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        """Stop the timer: the client reads."""
        super().resume_writing()
        self._stop_write_timer()

    def on_response_complete(self) -> None:
        """Start the timer if a part of the response is still to be read."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._start_write_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer malformed HTTP in the format of this service, and close the connection."""
        del msg
        hint = getattr(sys.exc_info()[1], "error_status_hint", 400)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            status = hint if hint in _MALFORMED else 400
            headers, body = malformed_response(status, self._peer)
            start = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
            self.transport.write(self._encode(start))
            self.transport.write(self._encode(h11.Data(data=body)) + self._encode(h11.EndOfMessage()))
        self.transport.close()  # a response in progress then finds the client gone

    @property
    def _peer(self) -> str:
        return self.client[0] if self.client else "unknown"

    def _encode(self, event: h11.Event) -> bytes:
        return self.conn.send(event) or b""

    async def _limited_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or refuse it if there are too many connections."""
        if self._max_connections is None or max(len(self.connections), len(self.tasks)) <= self._max_connections:
            await self._unlimited_app(scope, receive, send)
            return
        error = busy_error("the service has reached its limit of connections; try again.", seconds=2)
        headers, body = _bare_response(error, self._peer)
        await send({"type": "http.response.start", "status": error.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._hang_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_write_timer(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write_seconds, self._drop_slow_reader)

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _drop_slow_reader(self) -> None:
        """Close a connection whose client did not read in time; what it has not read is lost."""
        self._write_timer = None
        unread = self.transport.get_write_buffer_size()
        if unread:
            LOGGER.info(LogFields(event="slow_reader", peer=self._peer, unread=unread))
            self.transport.abort()

    def _hang_up(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def make_protocol(limits: ServiceLimits) -> type[LimitedProtocol]:
    """Return the protocol with the time limits on request heads and on clients that do not read."""
    return type(
        "Protocol",
        (LimitedProtocol,),
        {"head_seconds": limits.head_seconds, "write_seconds": limits.write_seconds},
    )


def malformed_response(status: int, peer: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Log malformed HTTP, and return the headers and the body of the response."""
    return _bare_response(ApiError(status, "malformed", _MALFORMED[status]), peer)


def _bare_response(error: ApiError, peer: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Log an error outside the application, and return the headers and the body of its response."""
    request_id = secrets.token_hex(8)
    fields = {"id": request_id, "peer": peer, "method": "other", "route": "none", "status": error.status_code}
    LOGGER.info(LogFields(event="request", **fields))
    response = json_error(error)
    headers = [*response.raw_headers, *default_headers(request_id), (b"connection", b"close")]
    return headers, bytes(response.body)
