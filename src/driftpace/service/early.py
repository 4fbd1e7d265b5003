"""Answers that go out before the body of the request has come: the rest is dropped, a little of it, and then the line is cut.

Without that, whoever needs no leave to be refused could hold a connection open for as long as they like, a byte at a time.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace.service.access import SAFE

_LINGER_BYTES = 4 * 2**20
_LINGER_SECONDS = 1.0
_MOMENT = 0.2
_SMALL = 64 * 2**10
_LEFT = "left"
_CLOSE = (b"connection", b"close")
_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"expect"})


class Early:
    """The outermost layer: no answer is over before its request is, except by ending the connection.

    Something of what is still on its way is taken in, so that a client that sends it reads the answer first; a small body, which
    most clients send right behind its head, has a moment to come, and the connection goes on. What is sent along with a GET is
    nothing that anybody reads.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stand between a request and its answer, where the request has a body."""
        sent = {name: value for name, value in scope.get("headers", ()) if name in _FRAMING}
        if scope["type"] != "http" or (b"transfer-encoding" not in sent and sent.get(b"content-length", b"0") == b"0"):
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive)
        closing = False

        async def sending(message: Message) -> None:
            nonlocal closing
            if message["type"] == "http.response.start":
                if b"expect" not in sent:  # who waits to be told to go on has sent nothing yet
                    await body.drop(_MOMENT if _is_small(sent) else 0.0)
                closing = not body.over
                if closing:
                    kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() != _CLOSE[0]]
                    message = {**message, "headers": [*kept, _CLOSE]}
                await send(message)
            elif closing and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await body.drop(_LINGER_SECONDS)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await send(message)

        await self._app(scope, body.ignored if scope["method"] in SAFE else body.receive, sending)


class _Body:
    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._hidden = False
        self.over = False

    async def receive(self) -> Message:
        """Return what comes, and take note of its end; who leaves before it is noted too."""
        message = await self._receive()
        if message["type"] != "http.request":
            if not self.over:
                self._scope.setdefault("state", {})[_LEFT] = True
            self.over = True
        elif not message.get("more_body", False):
            self.over = True
        return message

    async def ignored(self) -> Message:
        """Return an empty body, then nothing until the client leaves."""
        if not self._hidden:
            self._hidden = True
            return {"type": "http.request", "body": b"", "more_body": False}
        while (message := await self._receive())["type"] == "http.request":
            self.over = self.over or not message.get("more_body", False)
        self.over = True
        return message

    async def drop(self, seconds: float) -> None:
        """Drop what comes within that time, or is there already; not more than a little."""
        dropped = 0
        try:
            async with asyncio.timeout(seconds):
                while not self.over and dropped < _LINGER_BYTES:
                    dropped += len((await self.receive()).get("body", b""))
        except TimeoutError:
            pass


def _is_small(sent: dict[bytes, bytes]) -> bool:
    length = sent.get(b"content-length", b"")
    return length.isdigit() and len(length) < 10 and int(length) <= _SMALL


def has_left(scope: Scope) -> bool:
    """Whether the client hung up before all of its request had come."""
    return bool(scope.get("state", {}).get(_LEFT, False))
